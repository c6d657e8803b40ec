#!/usr/bin/env bash
# Builds the extension module into .venv, in release mode or for tests.
#
# Usage: scripts/extension.sh [FLAG_OF_RUSTC ...]
#        scripts/extension.sh --for-tests
#
# The flags are for Bitline's own crates: what they depend on is compiled once, with a profile or without. For tests they are
# optimized, but not across crates, and share with `cargo test` what they depend on.
set -euo pipefail
cd "$(dirname "$0")/.."

export VIRTUAL_ENV=$PWD/.venv PIP_QUIET=1
if [ "${1:-}" = --for-tests ]; then
  CARGO_PROFILE_DEV_OPT_LEVEL=3 exec .venv/bin/maturin develop --profile dev --locked --quiet
fi
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/own_crates.sh OWN_CRATES_FLAGS="$*"
# Cargo does not see these flags: other ones than the last time need everything of ours anew.
flags=target/$host/own_crates_flags
if [ "$(cat "$flags" 2>/dev/null)" != "$*" ]; then
  cargo clean --quiet --release --target "$host" --workspace
  mkdir -p "$(dirname "$flags")"
  printf '%s' "$*" > "$flags"
fi
exec .venv/bin/maturin develop --release --locked --quiet --target "$host"
