#!/usr/bin/env bash
# Measures which paths of the extension module are hot, so that the compiler can lay them out: builds it
# with counters into .venv, runs scripts/train.py, and merges what was counted.
#
# Usage: scripts/profile.sh PROFILE
#
# Where the toolchain has no llvm-profdata, the profile is an empty file: builds work without, a third slower.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'profile: %s\n' "$*" >&2; }

profile=$PWD/$1
raw=$PWD/$(dirname "$1")/raw
host=$(rustc -vV | sed -n 's/^host: //p')
merge=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata

mkdir -p "$(dirname "$profile")"
if [ ! -x "$merge" ]; then
  say "there is no llvm-profdata (rustup component add llvm-tools); building without a profile"
  : > "$profile"
  exit 0
fi

rm -rf "$raw"
scripts/extension.sh "-Cprofile-generate=$raw"
.venv/bin/python scripts/train.py
"$merge" merge --sparse -o "$profile" "$raw"
rm -rf "$raw"
