"""A task for tests that look at files: it inverts the case of letters."""

import pytest

#: A module that inverts the case of letters of file 0. It writes the last file there is.
SWAP = """(module
  (import "isc" "file_size" (func $size (param i32) (result i64)))
  (import "isc" "file_read" (func $read (param i32 i32 i32 i64) (result i64)))
  (import "isc" "file_write" (func $write (param i32 i32 i32 i64) (result i64)))
  (import "isc" "file_count" (func $count (result i32)))
  (memory (export "memory") 4)
  (func (export "isc_main") (result i32) (local $bytes i32) (local $at i32) (local $last i32)
    (local.set $last (i32.sub (call $count) (i32.const 1)))
    (local.set $bytes (i32.wrap_i64 (call $size (i32.const 0))))
    (drop (call $read (i32.const 0) (i32.const 0) (local.get $bytes) (i64.const 0)))
    (loop $more
      (i32.store8 (local.get $at) (i32.xor (i32.const 32) (i32.load8_u (local.get $at))))
      (br_if $more
        (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 1))) (local.get $bytes))))
    (drop (call $write (local.get $last) (i32.const 0) (local.get $bytes) (i64.const 0)))
    (i32.const 0)))"""


def module(text: str) -> bytes:
    """A module's bytes; the test is skipped if nothing makes them."""
    wasmtime = pytest.importorskip(
        "wasmtime", reason="SKIPPED: no wasmtime for Python, which makes modules of text"
    )
    return bytes(wasmtime.wat2wasm(text))
