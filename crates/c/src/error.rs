//! What a call says that could not do it: a negative number, and a text that the thread keeps.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bitline::{Error, ErrorKind, Unclosed};

/// Kinds of errors, as the header numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Usage = -1,
    Handle = -2,
    Config = -3,
    NotFound = -4,
    Module = -5,
    Status = -6,
    Image = -7,
    File = -8,
    Power = -9,
    Internal = -10,
    Stream = -11,
}

/// Why a call could not do it.
pub(crate) struct Failure {
    code: Code,
    text: String,
}

impl Failure {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Failure {
        let text = text.into();
        Failure { code, text }
    }

    /// What was asked for makes no sense.
    pub(crate) fn usage(text: impl Into<String>) -> Failure {
        Failure::new(Code::Usage, text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let code = match error.kind() {
            ErrorKind::Config => Code::Config,
            ErrorKind::Usage => Code::Usage,
            ErrorKind::NotFound => Code::NotFound,
            ErrorKind::Module => Code::Module,
            ErrorKind::Status => Code::Status,
            ErrorKind::Image => Code::Image,
            ErrorKind::File => Code::File,
            ErrorKind::Power => Code::Power,
            ErrorKind::Stream => Code::Stream,
            // No drive here has a watch that interrupts.
            _ => Code::Internal,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<Unclosed> for Failure {
    fn from(unclosed: Unclosed) -> Failure {
        Failure::from(unclosed.error)
    }
}

thread_local! {
    /// Of the last call of this thread that failed.
    static TEXT: RefCell<CString> = RefCell::default();
}

/// What a call gives C: what it found, or the number of its error, whose text is kept. A panic is an error.
pub(crate) fn border(call: impl FnOnce() -> Result<i64, Failure>) -> i64 {
    let failure = match catch(call) {
        Ok(Ok(found)) => return found,
        Ok(Err(failure)) => failure,
        Err(message) => Failure::new(Code::Internal, message),
    };
    let mut text = failure.text.into_bytes();
    text.retain(|byte| *byte != 0);
    let text = CString::new(text).unwrap_or_default();
    // A thread that is ending keeps no text any more; its number is told all the same.
    let _ = TEXT.try_with(|kept| kept.replace(text));
    failure.code as i64
}

/// The same of a call that gives an `int`: a status, or a number of a file.
pub(crate) fn border_int(call: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    let told = border(|| Ok(i64::from(call()?)));
    c_int::try_from(told).unwrap_or(Code::Internal as c_int)
}

/// Runs `work`; a panic in it becomes its message.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // Whatever the panic leaves inconsistent is dropped by the callers, not used again.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message_of(&*panic))
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a bug in Bitline: {}", text.unwrap_or("no message"))
}

/// What the last call of this thread that failed says about it; empty before the first one.
#[unsafe(no_mangle)]
pub extern "C" fn isc_error_text() -> *const c_char {
    // Its memory stays where it is until the next failure replaces it.
    TEXT.try_with(|kept| kept.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        let told = border(|| panic!("seven"));
        assert_eq!(told, Code::Internal as i64);
        // SAFETY: the text is this thread's, and no call comes between.
        let text = unsafe { CStr::from_ptr(isc_error_text()) };
        assert_eq!(text, c"a bug in Bitline: seven");
        assert_eq!(border_int(|| Err(Failure::usage("a\0b"))), -1);
        // SAFETY: likewise.
        let text = unsafe { CStr::from_ptr(isc_error_text()) };
        assert_eq!(text, c"ab");
    }
}
