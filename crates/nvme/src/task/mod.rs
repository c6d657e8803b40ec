//! What crosses when a program runs over files: the request, which an Execute Program carries, what becomes of the run, and the
//! list of programs. All little-endian, each with its version first; any bytes decode or are refused.

mod list;
mod outcome;
mod request;
#[cfg(test)]
mod tests;

pub use list::{ProgramLimits, ProgramList, ProgramRecord, ProgramState};
pub use outcome::{Ended, MAX_RESULT_BYTES, Outcome, REASON_BYTES_MAX, RESULT_BYTES_MIN};
pub use request::{
    Extent, File, Isolation, Limits, MAX_EXTENTS, MAX_FILES, MAX_REQUEST_BYTES, MAX_STORES,
    REQUEST_BYTES_MIN, Request, RequestError,
};
