#!/usr/bin/env bash
# What cargo compiles Bitline's own crates with while scripts/own_flags.sh runs: rustc, with the flags that it was given.
#
# Usage: scripts/own_crates.sh RUSTC ARGUMENT ...
set -euo pipefail
# No profile is measured with hosts that attach a drive: it would say of all that serves them that it is hardly ever run.
case " $* " in
  *" --crate-name attach "*) OWN_CRATES_FLAGS= ;;
esac
# Words of one variable, as cargo's RUSTFLAGS are.
# shellcheck disable=SC2086
exec "$@" $OWN_CRATES_FLAGS
