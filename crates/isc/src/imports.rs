//! The drive's calls as WebAssembly imports them, from the module "isc".

#[link(wasm_import_module = "isc")]
unsafe extern "C" {
    pub(crate) fn args_size() -> i32;
    pub(crate) fn get_args(to: *mut u8, bytes: i32, offset: i32) -> i32;
    pub(crate) fn parameter(number: i32) -> i64;
    pub(crate) fn put_ret(from: *const u8, bytes: i32) -> i32;
    pub(crate) fn file_count() -> i32;
    pub(crate) fn file_size(file: i32) -> i64;
    pub(crate) fn file_read(file: i32, to: *mut u8, bytes: i32, offset: i64) -> i64;
    pub(crate) fn file_write(file: i32, from: *const u8, bytes: i32, offset: i64) -> i64;
    pub(crate) fn submit_read(file: i32, to: *mut u8, bytes: i32, offset: i64) -> i32;
    pub(crate) fn submit_write(file: i32, from: *const u8, bytes: i32, offset: i64) -> i32;
    pub(crate) fn wait(ticket: i32) -> i64;
    pub(crate) fn log(from: *const u8, bytes: i32) -> i32;
    pub(crate) fn evaluate(expression: *const u8, bytes: i32, bits: i64, to_file: i32) -> i64;
    pub(crate) fn stream_next(to: *mut u8, capacity: i32, offset: *mut u64) -> i64;
    pub(crate) fn stream_emit(from: *const u8, bytes: i32) -> i64;
    pub(crate) fn operate(descriptor: *const u32, bytes: i32) -> i32;
    pub(crate) fn look_up(
        store: i32,
        name: *const u8,
        bytes: i32,
        to: *mut u8,
        capacity: i32,
    ) -> i64;
}
