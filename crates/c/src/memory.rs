//! The caller's memory: looked at, copied from and to. What no memory can be is refused before it is touched.

use std::ffi::{CStr, c_char, c_void};

use crate::error::Failure;

/// A text that ends with a zero.
///
/// # Errors
/// It is NULL, or not UTF-8.
///
/// # Safety
/// What is not NULL is the beginning of a text with a zero at its end, which nobody changes while the result is used.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: as the caller says.
    let text = unsafe { text_if_any(text, what) }?;
    text.ok_or_else(|| Failure::usage(format!("{what} is NULL")))
}

/// The same, or none where it is NULL.
///
/// # Errors
/// It is not UTF-8.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn text_if_any<'a>(
    text: *const c_char,
    what: &str,
) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not NULL, so it is a text, as the caller says.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    let text = text.map_err(|_| Failure::usage(format!("{what} is not UTF-8")))?;
    Ok(Some(text))
}

/// So many bytes to read from.
///
/// # Errors
/// NULL, but for no byte; more than fit into memory behind that address.
///
/// # Safety
/// What is not NULL is the beginning of so many bytes, which nobody changes while the result is used.
pub(crate) unsafe fn bytes<'a>(from: *const c_void, bytes: usize) -> Result<&'a [u8], Failure> {
    if bytes == 0 {
        return Ok(&[]);
    }
    check(from, bytes)?;
    // SAFETY: it is not NULL and within the address space, so that they are bytes, as the caller says.
    Ok(unsafe { std::slice::from_raw_parts(from.cast(), bytes) })
}

/// Copies as much as there is room for; gives how much there was to copy.
///
/// # Errors
/// As [`bytes`], for where it goes.
///
/// # Safety
/// What is not NULL is the beginning of so many bytes, which are the caller's alone.
pub(crate) unsafe fn copy(from: &[u8], to: *mut c_void, bytes: usize) -> Result<i64, Failure> {
    let copied = from.len().min(bytes);
    if bytes > 0 {
        check(to, bytes)?;
        // SAFETY: `to` has room for that much, as the caller says, and is not the library's memory, which `from` is.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.cast(), copied) };
    }
    Ok(from.len() as i64)
}

/// Copies as much of a text as there is room for, and a zero behind it; gives the bytes of the text.
///
/// # Errors
/// As [`copy`].
///
/// # Safety
/// As [`copy`].
pub(crate) unsafe fn copy_text(from: &str, to: *mut c_char, bytes: usize) -> Result<i64, Failure> {
    let cut = from.floor_char_boundary(bytes.saturating_sub(1));
    // SAFETY: as the caller says.
    unsafe { copy(&from.as_bytes()[..cut], to.cast(), bytes) }?;
    if bytes > 0 {
        // SAFETY: there was room for `bytes`, which are more than `cut`.
        unsafe { to.add(cut).write(0) };
    }
    Ok(from.len() as i64)
}

/// Where one value goes.
///
/// # Errors
/// NULL, or not aligned.
///
/// # Safety
/// What is neither is the place of a value, which is the caller's alone.
pub(crate) unsafe fn put<T>(value: T, to: *mut T, what: &str) -> Result<(), Failure> {
    check_place(to, what)?;
    // SAFETY: it is not NULL and aligned, so it is such a place, as the caller says.
    unsafe { to.write(value) };
    Ok(())
}

/// A value.
///
/// # Errors
/// NULL, or not aligned.
///
/// # Safety
/// What is neither is a value, all bytes of which were set.
pub(crate) unsafe fn get<T: Copy>(from: *const T, what: &str) -> Result<T, Failure> {
    check_place(from, what)?;
    // SAFETY: it is not NULL and aligned, so it is a value, as the caller says.
    Ok(unsafe { from.read() })
}

/// Refuses what can be no place of a value, before anything is done whose result goes there.
pub(crate) fn check_place<T>(place: *const T, what: &str) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::usage(format!("{what} is NULL")));
    }
    if !place.is_aligned() {
        return Err(Failure::usage(format!("{what} is not aligned")));
    }
    Ok(())
}

fn check(place: *const c_void, bytes: usize) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::usage(format!("{bytes} bytes at NULL")));
    }
    let end = place.addr().checked_add(bytes);
    if bytes > isize::MAX as usize || end.is_none() {
        return Err(Failure::usage(format!("no memory has {bytes} bytes there")));
    }
    Ok(())
}
