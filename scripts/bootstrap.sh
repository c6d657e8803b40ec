#!/usr/bin/env bash
# Installs what building Bitline needs and this machine lacks: a C linker, curl, Python with venv, Rust; the compiler of tasks that
# run inside drives (bitline cc) and what mounts a drive, without which all else works; with --tests, what tests hold Bitline against.
# Changes nothing when all is there. Debian and Ubuntu; elsewhere it says what to install by hand.
#
# Usage: scripts/bootstrap.sh [--tests]
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON_NEEDED=3.11
RUST_NEEDED=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

say() { printf 'bootstrap: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# at_least HAVE NEED: is version HAVE the same as NEED, or later?
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else fail "not root and no sudo here; run as root: $*"
  fi
}

missing_packages() {
  command -v cc >/dev/null || echo build-essential
  command -v curl >/dev/null || echo curl
  [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
  # Debian cuts ensurepip out of python3; without it venv cannot make an environment with pip.
  python3 -c 'import ensurepip, venv' 2>/dev/null || printf '%s\n' python3 python3-venv
}

install_packages() {
  local packages
  mapfile -t packages < <(missing_packages)
  [ "${#packages[@]}" -eq 0 ] && return
  command -v apt-get >/dev/null || fail "please install by hand: ${packages[*]}"
  say "installing ${packages[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}"
}

# What `bitline cc` compiles tasks in C with (python/bitline/cc.py looks for the same), and what a test holds one against.
missing_task_packages() {
  command -v clang-19 >/dev/null || echo clang-19
  command -v wasm-ld-19 >/dev/null || echo lld-19
  [ -e /usr/lib/wasm32-wasi/libc.a ] || echo wasi-libc
  compgen -G '/usr/lib/llvm-19/lib/clang/19*/lib/wasi/libclang_rt.builtins-wasm32.a' >/dev/null ||
    echo libclang-rt-19-dev-wasm32
  # The real LevelDB opens what a task has compacted.
  compgen -G '/usr/lib/*/libleveldb.so.1d' >/dev/null || echo libleveldb1d
}

# has PROGRAM: is it here, be it one of the administrator's?
has() { PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null; }

# What `bitline attach --mount` needs besides /dev/fuse and root.
missing_mount_packages() {
  has fusermount3 || echo fuse3
  has mkfs.ext4 || echo e2fsprogs
  has mkfs.xfs || echo xfsprogs
}

# Loads for drives that are attached: fio, and LevelDB, which is compiled (examples/leveldb); and Linux in a virtual machine, which
# connects to one (crates/attach/tests/guest).
missing_host_packages() {
  has fio || echo fio
  has g++ || echo g++
  has make || echo make
  has qemu-system-x86_64 || echo qemu-system-x86
  has nvme || echo nvme-cli
  has depmod || echo kmod
  has cpio || echo cpio
  busybox --list 2>/dev/null | grep -qx modprobe || echo busybox-static
}

# Without these packages, those of missing_NAME_packages, a system builds and tests everything but what they are for, whose tests
# then say SKIPPED.
install_optional() {
  local packages name=$1 purpose=$2
  mapfile -t packages < <("missing_${name}_packages")
  [ "${#packages[@]}" -eq 0 ] && return
  if ! command -v apt-get >/dev/null; then
    say "not here: ${packages[*]}, which $purpose; all else goes on without"
    return
  fi
  say "installing ${packages[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}" ||
    say "could not install ${packages[*]}, which $purpose; all else goes on without"
}

check_python() {
  local have
  have=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  at_least "$have" "$PYTHON_NEEDED" || fail "python3 is $have; Bitline needs $PYTHON_NEEDED or later"
}

# Empty when there is no cargo.
rust_version() { { cargo --version 2>/dev/null || true; } | cut -d' ' -f2; }

install_rust() {
  local have
  have=$(rust_version)
  if [ -z "$have" ] || ! at_least "$have" "$RUST_NEEDED"; then
    if command -v rustup >/dev/null; then
      say "Rust is ${have:-absent}, $RUST_NEEDED is needed: updating stable through rustup"
      rustup toolchain install stable --profile minimal --no-self-update
      rustup default stable
    else
      say "Rust is ${have:-absent}, $RUST_NEEDED is needed: installing stable through rustup"
      curl --proto '=https' --tlsv1.2 -fsSL https://static.rust-lang.org/rustup/rustup-init.sh |
        sh -s -- -y --profile minimal --default-toolchain stable --no-modify-path
    fi
    have=$(rust_version)
    at_least "${have:-0}" "$RUST_NEEDED" || fail "cargo is still ${have:-absent}"
  fi
  if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
    command -v rustup >/dev/null || fail "cargo fmt or cargo clippy is missing, and there is no rustup to add it"
    rustup component add rustfmt clippy
  fi
  # For scripts/profile.sh, which does without if need be.
  local host
  host=$(rustc -vV | sed -n 's/^host: //p')
  if command -v rustup >/dev/null && [ ! -x "$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata" ]; then
    rustup component add llvm-tools || say "no llvm-tools here: building will do without a profile"
  fi
}

export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
install_packages
install_optional task "tasks in C are compiled and tested with"
install_optional mount "drives are mounted with"
[ "${1:-}" != --tests ] || install_optional host "attached drives are tested with"
check_python
install_rust
