//! Filestreams (TH-iSSD, Table 1): files as tasks of the drive make them.

use std::ffi::{c_int, c_void};

use bitline::{Stream, StreamRun};

use crate::drive::Task;
use crate::error::{Failure, border, border_int};
use crate::handles::{
    ContextName, StreamName, forget_stream, keep_stream, with_context, with_drive, with_stream,
};
use crate::memory::{bytes, check_place, put};

/// In the place of a file: the host.
const HOST: c_int = -1;

/// Opens a stream.
///
/// # Safety
/// `stream` is the place of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_fsopen(
    context: ContextName,
    task: Task,
    input: c_int,
    output: c_int,
    stream: *mut StreamName,
) -> c_int {
    border_int(|| {
        check_place(stream, "the place of the stream")?;
        let program = task.program()?;
        let (drive, run) = with_context(context, |context| {
            let context = context.idle()?;
            Ok((context.drive, context.run.clone()))
        })?;
        let mut asked = StreamRun::of(run);
        asked.shape.input = file(input, "input")?;
        asked.shape.output = file(output, "output")?;
        let opened = with_drive(drive, |drive| Ok(drive.streams().open(&program, &asked)?))?;
        let name = keep_stream(drive, opened)?;
        // SAFETY: the caller's promise.
        unsafe { put(name, stream, "the place of the stream") }?;
        Ok(0)
    })
}

fn file(number: c_int, what: &str) -> Result<Option<u32>, Failure> {
    match number {
        HOST => Ok(None),
        number => u32::try_from(number).map(Some).map_err(|_| {
            Failure::usage(format!(
                "the {what} is {number}; it must be the number of a file, or ISC_HOST"
            ))
        }),
    }
}

/// Reads what comes next of a stream.
///
/// # Safety
/// `to` has room for `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_fsread(stream: StreamName, to: *mut c_void, count: usize) -> i64 {
    border(|| {
        let (drive, mut opened) = of(stream)?;
        let read = with_drive(drive, |drive| {
            Ok(drive.streams().read(&mut opened, count as u64)?)
        })?;
        if !read.is_empty() {
            check_place(to.cast::<u8>(), "the place of what is read")?;
            // SAFETY: it is not NULL, and has room for as many as were asked for, as the caller says.
            unsafe { std::ptr::copy_nonoverlapping(read.as_ptr(), to.cast(), read.len()) };
        }
        Ok(read.len() as i64)
    })
}

/// Sends what a stream is to take next.
///
/// # Safety
/// `from` has `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_fswrite(stream: StreamName, from: *const c_void, count: usize) -> i64 {
    border(|| {
        let (drive, mut opened) = of(stream)?;
        // SAFETY: the caller's promise.
        let data = unsafe { bytes(from, count) }?;
        with_drive(drive, |drive| {
            Ok(drive.streams().write(&mut opened, data)?)
        })?;
        Ok(count as i64)
    })
}

/// Says that no more will be sent.
#[unsafe(no_mangle)]
pub extern "C" fn isc_fsfinish(stream: StreamName) -> c_int {
    border_int(|| {
        let (drive, mut opened) = of(stream)?;
        with_drive(drive, |drive| Ok(drive.streams().finish(&mut opened)?))?;
        Ok(0)
    })
}

/// Closes a stream.
#[unsafe(no_mangle)]
pub extern "C" fn isc_fsclose(stream: StreamName) -> c_int {
    border_int(|| {
        let (drive, opened) = forget_stream(stream)?;
        with_drive(drive, |drive| Ok(drive.streams().close(opened)?))?;
        Ok(0)
    })
}

fn of(stream: StreamName) -> Result<(crate::handles::DriveName, Stream), Failure> {
    with_stream(stream, |drive, stream| (drive, stream.clone()))
}
