#!/usr/bin/env bash
# Runs a command that builds in release mode, and has Bitline's own crates compiled with flags of rustc; what they depend on is compiled
# once, with flags or without. The command is told the target, which those flags want.
#
# Usage: scripts/own_flags.sh "FLAG_OF_RUSTC ..." COMMAND ...
set -euo pipefail
cd "$(dirname "$0")/.."

given=$1
shift
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/own_crates.sh OWN_CRATES_FLAGS=$given
# Cargo does not see these flags: other ones than the last time need everything of ours anew.
flags=target/$host/own_crates_flags
if [ "$(cat "$flags" 2>/dev/null)" != "$given" ]; then
  cargo clean --quiet --release --target "$host" --workspace
  mkdir -p "$(dirname "$flags")"
  printf '%s' "$given" > "$flags"
fi
exec "$@" --target "$host"
