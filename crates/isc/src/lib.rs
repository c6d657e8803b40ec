//! What a task in Rust calls that runs inside a Bitline drive: the calls of `bitline/isc.h`.
//!
//! A task is a function that is compiled for `wasm32-unknown-unknown` as a `cdylib`. Each run of it is a transaction over
//! the files registered for it, known by number from 0 on: when it gives `Ok`, what it wrote is committed, all or none;
//! when it gives an error, nothing was written. Sizes and offsets are bytes. What a task cannot help (a conflict with
//! somebody else's write, an error of the drive) ends its run without coming back.
//!
//! ```ignore
//! fn task() -> Result<(), isc::Error> {
//!     let mut block = [0; 4096];
//!     let got = isc::File(0).read(&mut block, 0)?;
//!     isc::put_ret(&got.to_le_bytes())
//! }
//! isc::task!(task);
//! ```
#![no_std]

extern crate alloc;

mod imports;
mod names;
mod operate;
mod stream;

use alloc::vec;
use alloc::vec::Vec;

pub use names::{Name, look_up, look_up_key};
pub use operate::operate;
pub use operators;
pub use stream::{emit, next_piece};

/// Why a call was refused: an error's number, as Linux numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub i32);

impl Error {
    /// There is no such name in the store.
    pub const NO_ENTRY: Error = Error(2);
    /// No file of this number is registered.
    pub const BAD_FILE: Error = Error(9);
    /// As many calls are under way as may be: wait for one.
    pub const AGAIN: Error = Error(11);
    /// The drive has no accelerator.
    const NO_DEVICE: Error = Error(19);
    /// The file is registered for reading only.
    pub const ACCESS: Error = Error(13);
    /// An argument that cannot be.
    pub const INVALID: Error = Error(22);
    /// The write would go past the file's registered size.
    pub const TOO_BIG: Error = Error(27);
    /// The return value or the log is full.
    pub const NO_SPACE: Error = Error(28);
    /// The drive does not offer this call to this task.
    pub const NOT_OFFERED: Error = Error(38);
}

/// What a call gave: bytes or a ticket, or a negative error.
fn checked(result: i64) -> Result<usize, Error> {
    usize::try_from(result).map_err(|_| Error(i32::try_from(-result).unwrap_or(i32::MAX)))
}

/// A length as calls take it. Memory has no more than 4 GiB, which all are lengths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the drive takes 32 bits as they are"
)]
fn length(bytes: usize) -> i32 {
    bytes as u32 as i32
}

/// An offset as calls take it.
fn position(offset: u64) -> Result<i64, Error> {
    i64::try_from(offset).map_err(|_| Error::INVALID)
}

/// All bytes of the arguments that the host put.
pub fn args() -> Vec<u8> {
    // SAFETY: the call takes nothing and touches no memory.
    let size = unsafe { imports::args_size() };
    let mut all = vec![0; usize::try_from(size).unwrap_or(0)];
    // SAFETY: `all` has room for as many bytes as are asked for.
    let got = unsafe { imports::get_args(all.as_mut_ptr(), length(all.len()), 0) };
    all.truncate(usize::try_from(got).unwrap_or(0));
    all
}

/// A number that the host gives with a run over memory, of which there are two, 0 and 1; 0 in other runs.
pub fn parameter(number: usize) -> u64 {
    // SAFETY: the call touches no memory.
    unsafe { imports::parameter(length(number)) }.cast_unsigned()
}

/// Appends to the value that the host gets.
///
/// # Errors
/// [`Error::NO_SPACE`] past the run's limit, with nothing appended.
pub fn put_ret(value: &[u8]) -> Result<(), Error> {
    // SAFETY: `value` has as many bytes as are told.
    checked(unsafe { imports::put_ret(value.as_ptr(), length(value.len())) }.into()).map(drop)
}

/// Adds text to the run's log, as it is.
///
/// # Errors
/// [`Error::NO_SPACE`] once the log is full.
pub fn log(text: &str) -> Result<(), Error> {
    // SAFETY: `text` has as many bytes as are told.
    checked(unsafe { imports::log(text.as_ptr(), length(text.len())) }.into()).map(drop)
}

/// How many files are registered.
pub fn file_count() -> u32 {
    // SAFETY: the call takes nothing and touches no memory.
    u32::try_from(unsafe { imports::file_count() }).unwrap_or(0)
}

/// A registered file, by its number in the order of registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File(pub i32);

impl File {
    /// Bytes of the file. They do not change while the task runs.
    ///
    /// # Errors
    /// [`Error::BAD_FILE`]
    pub fn size(self) -> Result<u64, Error> {
        // SAFETY: the call touches no memory.
        checked_size(unsafe { imports::file_size(self.0) })
    }

    /// Reads at an offset; gives the bytes read: fewer at the file's end, 0 beyond it.
    ///
    /// # Errors
    /// [`Error::BAD_FILE`]
    pub fn read(self, to: &mut [u8], offset: u64) -> Result<usize, Error> {
        let at = position(offset)?;
        // SAFETY: `to` has room for as many bytes as are asked for.
        checked(unsafe { imports::file_read(self.0, to.as_mut_ptr(), length(to.len()), at) })
    }

    /// Writes at an offset, which nobody else sees before the commit.
    ///
    /// # Errors
    /// [`Error::BAD_FILE`], [`Error::ACCESS`], or [`Error::TOO_BIG`] where the range is not within the file.
    pub fn write(self, from: &[u8], offset: u64) -> Result<usize, Error> {
        let at = position(offset)?;
        // SAFETY: `from` has as many bytes as are told.
        checked(unsafe { imports::file_write(self.0, from.as_ptr(), length(from.len()), at) })
    }

    /// Begins to read into a buffer, which is the call's until it has been waited for.
    ///
    /// # Errors
    /// Those of [`File::read`], and [`Error::AGAIN`] over the run's limit of calls.
    pub fn submit_read(self, mut buffer: Vec<u8>, offset: u64) -> Result<Submitted, Error> {
        let (at, bytes) = (position(offset)?, length(buffer.len()));
        // SAFETY: `Submitted` keeps the buffer, unless it is forgotten, which leaks it; the heap block stays where it is.
        let ticket = unsafe { imports::submit_read(self.0, buffer.as_mut_ptr(), bytes, at) };
        Submitted::new(ticket, buffer)
    }

    /// Begins to write a buffer, which is the call's until it has been waited for.
    ///
    /// # Errors
    /// Those of [`File::write`], and [`Error::AGAIN`] over the run's limit of calls.
    pub fn submit_write(self, buffer: Vec<u8>, offset: u64) -> Result<Submitted, Error> {
        let (at, bytes) = (position(offset)?, length(buffer.len()));
        // SAFETY: as in `submit_read`.
        let ticket = unsafe { imports::submit_write(self.0, buffer.as_ptr(), bytes, at) };
        Submitted::new(ticket, buffer)
    }
}

/// A file's size as it is given: it may be more than memory has.
fn checked_size(result: i64) -> Result<u64, Error> {
    u64::try_from(result).map_err(|_| Error(i32::try_from(-result).unwrap_or(i32::MAX)))
}

/// A read or write under way, with its buffer. Dropped, it is waited for.
#[derive(Debug)]
pub struct Submitted {
    ticket: Option<i32>,
    buffer: Vec<u8>,
}

impl Submitted {
    fn new(ticket: i32, buffer: Vec<u8>) -> Result<Submitted, Error> {
        checked(ticket.into())?;
        let ticket = Some(ticket);
        Ok(Submitted { ticket, buffer })
    }

    /// Waits until it has ended; gives the bytes and the buffer.
    ///
    /// # Errors
    /// Those of the synchronous call.
    pub fn wait(mut self) -> Result<(usize, Vec<u8>), Error> {
        let bytes = self.finish()?;
        Ok((bytes, core::mem::take(&mut self.buffer)))
    }

    fn finish(&mut self) -> Result<usize, Error> {
        let Some(ticket) = self.ticket.take() else {
            return Ok(0);
        };
        // SAFETY: the memory that the call writes to is `buffer`, which lives as long as the ticket.
        checked(unsafe { imports::wait(ticket) })
    }
}

impl Drop for Submitted {
    fn drop(&mut self) {
        // Whoever drops it does not ask how it went; the buffer may be freed once the call has ended.
        let _ = self.finish();
    }
}

/// A bulk bitwise expression over registered files, put together in postfix order: its operands, then what is done with them.
///
/// ```ignore
/// let mut either = isc::Expression::default();
/// either.vector(isc::File(0)).vector(isc::File(1)).or(2);
/// let ones = either.count(0)?;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Expression(Vec<u8>);

impl Expression {
    /// Adds a file.
    pub fn vector(&mut self, file: File) -> &mut Expression {
        self.0.push(1);
        self.0.extend(i64::from(file.0).to_le_bytes());
        self
    }

    /// Adds the complement of the last value.
    pub fn not(&mut self) -> &mut Expression {
        self.0.push(2);
        self
    }

    /// Adds the AND of the last `count` values, at least 2.
    pub fn and(&mut self, count: u16) -> &mut Expression {
        self.combination(3, count)
    }

    /// Adds the OR of the last `count` values, at least 2.
    pub fn or(&mut self, count: u16) -> &mut Expression {
        self.combination(4, count)
    }

    /// Adds the XOR of the last `count` values, at least 2.
    pub fn xor(&mut self, count: u16) -> &mut Expression {
        self.combination(5, count)
    }

    fn combination(&mut self, code: u8, count: u16) -> &mut Expression {
        self.0.push(code);
        self.0.extend(count.to_le_bytes());
        self
    }

    /// Evaluates it over the first `bits` bits of its files, or all that the shortest has if that is 0, within the flash array
    /// where they lie there, as the task sees them. The result goes to the beginning of a file; gives the bytes written.
    ///
    /// # Errors
    /// [`Error::INVALID`] for no expression, or more bits than a file has; [`Error::BAD_FILE`], [`Error::ACCESS`];
    /// [`Error::TOO_BIG`] where the result does not fit.
    pub fn evaluate(&self, bits: u64, to: File) -> Result<u64, Error> {
        self.carry_out(bits, to.0)
    }

    /// As [`Expression::evaluate`], but counts the ones of the result.
    ///
    /// # Errors
    /// [`Error::INVALID`], [`Error::BAD_FILE`]
    pub fn count(&self, bits: u64) -> Result<u64, Error> {
        self.carry_out(bits, -1)
    }

    fn carry_out(&self, bits: u64, to: i32) -> Result<u64, Error> {
        let (bytes, bits) = (length(self.0.len()), position(bits)?);
        // SAFETY: the expression has as many bytes as are told.
        checked_size(unsafe { imports::evaluate(self.0.as_ptr(), bytes, bits, to) })
    }
}

/// Makes a function `fn() -> Result<(), isc::Error>` the task of its module.
#[macro_export]
macro_rules! task {
    ($run:path) => {
        /// What the drive calls: 0 commits, anything else rolls back.
        // SAFETY: no other function of the module has this name.
        #[unsafe(no_mangle)]
        pub extern "C" fn isc_main() -> i32 {
            match $run() {
                Ok(()) => 0,
                Err($crate::Error(code)) => code,
            }
        }
    };
}
