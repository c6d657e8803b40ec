#!/usr/bin/env bash
# Builds the extension module in release mode into .venv.
#
# Usage: scripts/extension.sh [FLAG_OF_RUSTC ...]
set -euo pipefail
cd "$(dirname "$0")/.."

# With a target, flags are for the module only, not for what runs inside the compiler.
host=$(rustc -vV | sed -n 's/^host: //p')
export VIRTUAL_ENV=$PWD/.venv PIP_QUIET=1 RUSTFLAGS="${RUSTFLAGS:-} $*"
exec .venv/bin/maturin develop --release --locked --quiet --target "$host"
