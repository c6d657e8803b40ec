//! The modules that these tests run, as text.

/// A module whose main function is `body`, with a page of memory and all calls that the tests need.
pub(crate) fn module(body: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
          (import "isc" "args_size" (func $args_size (result i32)))
          (import "isc" "get_args" (func $get_args (param i32 i32 i32) (result i32)))
          (import "isc" "put_ret" (func $put_ret (param i32 i32) (result i32)))
          (import "isc" "file_count" (func $file_count (result i32)))
          (import "isc" "file_size" (func $file_size (param i32) (result i64)))
          (import "isc" "file_read" (func $file_read (param i32 i32 i32 i64) (result i64)))
          (import "isc" "file_write" (func $file_write (param i32 i32 i32 i64) (result i64)))
          (import "isc" "log" (func $log (param i32 i32) (result i32)))
          (memory (export "memory") 4)
          (func (export "isc_main") (result i32)
            (local $file i32) (local $at i64) (local $count i64)
            {body}))"#
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns its arguments, and logs them.
pub(crate) fn echo() -> Vec<u8> {
    module(
        "(drop (call $get_args (i32.const 0) (i32.const 4096) (i32.const 0)))
         (drop (call $log (i32.const 0) (call $args_size)))
         (drop (call $put_ret (i32.const 0) (call $args_size)))
         (i32.const 0)",
    )
}

/// Copies the first file to the second, 1000 bytes at a time.
pub(crate) fn copy() -> Vec<u8> {
    module(
        "(loop $more
           (local.set $count
             (call $file_read (i32.const 0) (i32.const 0) (i32.const 1000) (local.get $at)))
           (drop (call $file_write (i32.const 1) (i32.const 0)
             (i32.wrap_i64 (local.get $count)) (local.get $at)))
           (local.set $at (i64.add (local.get $at) (local.get $count)))
           (br_if $more (i64.gt_s (local.get $count) (i64.const 0))))
         (i32.const 0)",
    )
}

/// Adds 1 to the 64-bit number at the beginning of every file, and returns the first one.
pub(crate) fn count() -> Vec<u8> {
    module(
        "(loop $next
           (drop (call $file_read (local.get $file) (i32.const 0) (i32.const 8) (i64.const 0)))
           (i64.store (i32.const 0) (i64.add (i64.load (i32.const 0)) (i64.const 1)))
           (drop (call $file_write (local.get $file) (i32.const 0) (i32.const 8) (i64.const 0)))
           (local.set $file (i32.add (local.get $file) (i32.const 1)))
           (br_if $next (i32.lt_u (local.get $file) (call $file_count))))
         (drop (call $put_ret (i32.const 0) (i32.const 8)))
         (i32.const 0)",
    )
}

/// Writes the first file, and then asks to be rolled back with 7.
pub(crate) fn fail() -> Vec<u8> {
    module(
        "(drop (call $file_write (i32.const 0) (i32.const 100) (i32.const 64) (i64.const 5)))
         (i32.const 7)",
    )
}

/// Writes the first file, and then reaches beyond its memory.
pub(crate) fn reach() -> Vec<u8> {
    module(
        "(drop (call $file_write (i32.const 0) (i32.const 100) (i32.const 64) (i64.const 5)))
         (i32.load (i32.const 1000000))",
    )
}

/// Goes on for ever.
pub(crate) fn spin() -> Vec<u8> {
    module("(loop $more (br $more)) (i32.const 0)")
}
