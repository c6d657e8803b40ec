//! The modules that these tests run, as text.

/// A module whose main function is `body`, with a page of memory and all calls that the tests need.
pub(crate) fn module(body: &str) -> Vec<u8> {
    with_data("", body)
}

/// The same with data at byte 1024 of its memory.
pub(crate) fn with_data(data: &str, body: &str) -> Vec<u8> {
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
          (import "isc" "evaluate" (func $evaluate (param i32 i32 i64 i32) (result i64)))
          (import "isc" "look_up" (func $look_up (param i32 i32 i32 i32 i32) (result i64)))
          (memory (export "memory") 4)
          (data (i32.const 1024) "{data}")
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

/// Evaluates the expression that its arguments are after 12 bytes: the bits, and the file that the result goes to. Returns what
/// it is told. Before that, `first` is done.
pub(crate) fn evaluate(first: &str) -> Vec<u8> {
    module(&format!(
        "{first}
         (drop (call $get_args (i32.const 1024) (i32.const 4096) (i32.const 0)))
         (i64.store (i32.const 0) (call $evaluate
           (i32.const 1036) (i32.sub (call $args_size) (i32.const 12))
           (i64.load (i32.const 1024)) (i32.load (i32.const 1032))))
         (drop (call $put_ret (i32.const 0) (i32.const 8)))
         (i32.const 0)"
    ))
}

/// Computes for so many rounds of its loop.
pub(crate) fn wait(rounds: u32) -> String {
    format!(
        "(local.set $file (i32.const {rounds}))
         (loop $again
           (br_if $again (local.tee $file (i32.sub (local.get $file) (i32.const 1)))))"
    )
}

/// Looks the name that its arguments are up in its first store, after `first`; returns what it is told, and up to 8 bytes of
/// the value.
pub(crate) fn look_up(first: &str) -> Vec<u8> {
    module(&format!(
        "{first}
         (drop (call $get_args (i32.const 1024) (i32.const 4096) (i32.const 0)))
         (i64.store (i32.const 0) (call $look_up
           (i32.const 0) (i32.const 1024) (call $args_size) (i32.const 8) (i32.const 8)))
         (drop (call $put_ret (i32.const 0) (i32.const 16)))
         (i32.const 0)"
    ))
}
