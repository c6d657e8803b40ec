#!/usr/bin/env bash
# Builds the extension module into .venv, in release mode or for tests.
#
# Usage: scripts/extension.sh [FLAG_OF_RUSTC ...]
#        scripts/extension.sh --for-tests
#
# The flags are for Bitline's own crates (scripts/own_flags.sh). For tests they are optimized, but not across crates, and share with
# `cargo test` what they depend on.
set -euo pipefail
cd "$(dirname "$0")/.."

export VIRTUAL_ENV=$PWD/.venv PIP_QUIET=1
if [ "${1:-}" = --for-tests ]; then
  CARGO_PROFILE_DEV_OPT_LEVEL=3 exec .venv/bin/maturin develop --profile dev --locked --quiet
fi
exec scripts/own_flags.sh "$*" .venv/bin/maturin develop --release --locked --quiet
