#!/usr/bin/env bash
# Builds the extension module in release mode into .venv.
#
# Usage: scripts/extension.sh [FLAG_OF_RUSTC ...]
#
# The flags are for Bitline's own crates: what they depend on is compiled once, with a profile or without.
set -euo pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
export VIRTUAL_ENV=$PWD/.venv PIP_QUIET=1
export RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/own_crates.sh OWN_CRATES_FLAGS="$*"
# Cargo does not see these flags: other ones than the last time need everything of ours anew.
flags=target/$host/own_crates_flags
if [ "$(cat "$flags" 2>/dev/null)" != "$*" ]; then
  cargo clean --quiet --release --target "$host" --workspace
  mkdir -p "$(dirname "$flags")"
  printf '%s' "$*" > "$flags"
fi
exec .venv/bin/maturin develop --release --locked --quiet --target "$host"
