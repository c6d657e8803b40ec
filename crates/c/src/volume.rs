//! Files of a drive's volume: what tasks work on is written, read and removed.

use std::ffi::{c_char, c_int, c_void};

use bitline::{Content, Drive, Error, VolumeError};

use crate::error::{Failure, border, border_int};
use crate::handles::{DriveName, with_drive};
use crate::memory::{bytes, copy, text};

/// Bytes of an object.
fn size(drive: &mut Drive, name: &str) -> Result<u64, Error> {
    let object = drive.volume().get(name)?;
    let none = || VolumeError::NotFound {
        what: format!("object {name:?}"),
    };
    Ok(object.ok_or_else(none)?.content.bytes())
}

/// Makes a file, or replaces one.
///
/// # Safety
/// `name` is a text; `from` has `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_volume_write(
    drive: DriveName,
    name: *const c_char,
    from: *const c_void,
    count: usize,
) -> c_int {
    border_int(|| {
        // SAFETY: the caller's promise, of both.
        let name = unsafe { text(name, "the name of the file") }?;
        // SAFETY: likewise.
        let data = unsafe { bytes(from, count) }?;
        let content = Content::File {
            bytes: data.len() as u64,
        };
        with_drive(drive, |drive| {
            Ok(drive.volume().write(name, content, data)?)
        })?;
        Ok(0)
    })
}

/// Reads from a file, table or array.
///
/// # Safety
/// `name` is a text; `to` has room for `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_volume_read(
    drive: DriveName,
    name: *const c_char,
    to: *mut c_void,
    count: usize,
    offset: u64,
) -> i64 {
    border(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, "the name of the file") }?;
        let read = with_drive(drive, |drive| {
            let rest = size(drive, name)?.saturating_sub(offset);
            let wanted = rest.min(count as u64);
            if wanted == 0 {
                return Ok(Vec::new());
            }
            Ok(drive.volume().read_at(name, offset, wanted)?)
        })?;
        // SAFETY: the caller's promise.
        unsafe { copy(&read, to, count) }
    })
}

/// Bytes of a file, table or array.
///
/// # Safety
/// `name` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_volume_size(drive: DriveName, name: *const c_char) -> i64 {
    border(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, "the name of the file") }?;
        let found = with_drive(drive, |drive| Ok(size(drive, name)?))?;
        i64::try_from(found).map_err(|_| Failure::usage(format!("{name:?} has {found} bytes")))
    })
}

/// Removes an object.
///
/// # Safety
/// `name` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_volume_remove(drive: DriveName, name: *const c_char) -> c_int {
    border_int(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, "the name of the file") }?;
        with_drive(drive, |drive| Ok(drive.volume().remove(name)?))?;
        Ok(0)
    })
}
