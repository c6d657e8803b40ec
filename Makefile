# Bitline's commands. `make` alone lists them.
#
# The Python environment is .venv at the root, with the extension module in it: built in release mode, or just for tests.
# Each step is redone only when one of its sources is newer than its stamp.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Steps print as they run; cargo and pytest use the cores by themselves.
.NOTPARALLEL:

# Where scripts/bootstrap.sh puts Rust, when it has to.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
BIN := .venv/bin

# Which paths of the extension module are hot, as scripts/profile.sh measured it.
PROFILE := target/pgo/bitline.profdata
# What the compiler is told of them; nothing where there is no profile.
PROFILE_FLAGS = $(shell test -s $(PROFILE) && echo -Cprofile-use=$(CURDIR)/$(PROFILE) -Cllvm-args=-no-pgo-warn-mismatch)

# Everything that goes into the extension module; tests and benches of the crates do not.
SOURCES := Cargo.toml Cargo.lock pyproject.toml \
  $(shell find crates \( -name tests -o -name benches \) -prune -o -type f -print)

comma := ,
say = @printf '\n=== %s\n' "$(1)"

.PHONY: help demo c test soak fuzz mutants bench bench-attach instructions check docs build profile audit system system-tests check-rust check-python check-licences test-rust test-python

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## Answer TPC-H query 6's predicate inside the NAND array, beside three other ways
	$(BIN)/bitline demo

test: check test-rust test-python ## Everything that continuous integration runs
	$(call say,all checks and tests passed)

soak: system-tests ## Live 2,020 drives through 100,000 power cuts, damage a million images: more than the tests do
	BITLINE_DAMAGED=1000000 cargo test -p bitline-media --lib --locked -- --nocapture damaged_images
	BITLINE_CASES=10000 cargo test -p bitline --test fastest --locked -- --nocapture
	BITLINE_SEEDS=0..2020 cargo test -p bitline-tests --test simulation --locked -- --nocapture what_is_acknowledged_survives

fuzz: system ## Send ten million random queue entries to a drive and a million PDUs to its target, ten times what the tests do
	BITLINE_ENTRIES=10000000 cargo test --release -p bitline-tests --test simulation --locked -- --nocapture random_entries
	BITLINE_FUZZ_PDUS=1000000 cargo test --release -p bitline-attach --lib --locked -- --nocapture random_pdus

mutants: system ## Change the firmware in 80 places, one at a time: which changes fail no test? (an hour)
	python3 scripts/mutants.py

bench: build ## Measure the speed of the simulator on this machine
	$(BIN)/bitline bench

bench-attach: $(PROFILE) system-tests ## Measure attached drives beside a bare file over FUSE and a bare copy over TCP (needs root)
	scripts/own_flags.sh "$(PROFILE_FLAGS)" cargo bench -p bitline-attach --bench fuse --bench tcp --locked

instructions: system ## Count the instructions of a simulated read and write, which no noise changes (needs valgrind)
	python3 scripts/instructions.py
	python3 scripts/transactions.py --check

check: check-rust check-python check-licences ## The checks that need no test run: format, lints, types, licences

docs: system ## Build the API documentation into target/doc
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

build: $(PROFILE) ## Build .venv/bin/bitline and the Python module
	@$(MAKE) --no-print-directory .venv/.stamp-extension

c: system ## Build the library for host programs in C, and its header, into target/c
	cargo build --release -p bitline-c --locked
	mkdir -p target/c/include/bitline target/c/lib
	cp crates/c/include/bitline/host.h target/c/include/bitline
	cp target/release/libbitline_c.a target/release/libbitline_c.so target/c/lib

profile: ## Measure anew which paths are hot, after large changes, and build with that
	rm -f $(PROFILE)
	$(MAKE) build

audit: system ## Check the dependencies against published advisories (needs the network)
	cargo deny check advisories

# Installs what the machine lacks; tens of milliseconds when it lacks nothing.
system:
	@scripts/bootstrap.sh

system-tests:
	@scripts/bootstrap.sh --tests

.venv/.stamp-packages: python/requirements.txt | system
	python3 -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r python/requirements.txt
	@touch $@

# Made once and then kept: what has changed in the code since is built without. `make profile` makes it anew.
$(PROFILE): scripts/profile.sh scripts/extension.sh scripts/own_flags.sh scripts/train.py | .venv/.stamp-packages
	rm -f .venv/.stamp-test-extension
	scripts/profile.sh $@

.venv/.stamp-extension: $(SOURCES) .venv/.stamp-packages $(wildcard $(PROFILE)) | system
	rm -f .venv/.stamp-test-extension
	scripts/extension.sh $(PROFILE_FLAGS)
	@touch $@

# The checks and tests take one in release mode if there is one, or build another that shares with `cargo test` what it depends on.
EXTENSION := $(or $(wildcard .venv/.stamp-extension),.venv/.stamp-test-extension)

.venv/.stamp-test-extension: $(SOURCES) .venv/.stamp-packages | system
	rm -f .venv/.stamp-extension
	scripts/extension.sh --for-tests
	@touch $@

check-rust: docs
	$(call say,Rust: format and lints)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

check-python: $(EXTENSION)
	$(call say,Python: format$(comma) lints and types)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/stubtest bitline._bitline

check-licences: system
	$(call say,Dependencies: bans$(comma) licences and sources)
	@if cargo deny --version >/dev/null 2>&1; then \
	  cargo deny check bans licenses sources; \
	else \
	  echo "SKIPPED: cargo-deny is not installed (cargo install cargo-deny); the tidy test still checks the licences"; \
	fi

# With the bugs that one test plants compiled in, so that the firmware is compiled once; and with the extension module, which has no
# tests here, so that what it depends on is compiled for both.
test-rust: system-tests
	$(call say,Rust: tests)
	cargo test --workspace --locked --features bitline-tests/planted-bugs

test-python: $(EXTENSION) system-tests
	$(call say,Python: tests)
	$(BIN)/pytest --numprocesses auto --dist worksteal
