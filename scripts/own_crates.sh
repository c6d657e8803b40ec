#!/usr/bin/env bash
# What cargo compiles Bitline's own crates with while scripts/own_flags.sh runs: rustc, with the flags that it was given.
#
# Usage: scripts/own_crates.sh RUSTC ARGUMENT ...
set -euo pipefail
# Words of one variable, as cargo's RUSTFLAGS are.
# shellcheck disable=SC2086
exec "$@" $OWN_CRATES_FLAGS
