//! Streams: a task that takes the pieces of a file, or of what the host sends, and emits what it makes of them.

use crate::{Error, checked, imports, length};

/// What comes next of the input: bytes of one piece, as many as there is room for, and where they lie in it; nothing at the end.
///
/// # Errors
/// [`Error::NOT_OFFERED`] outside of a stream.
pub fn next_piece(to: &mut [u8]) -> Result<Option<(u64, usize)>, Error> {
    let (room, mut offset) = (length(to.len()), 0);
    // SAFETY: `to` has room for as many bytes as are told, `offset` for the eight of its number.
    let got = checked(unsafe { imports::stream_next(to.as_mut_ptr(), room, &raw mut offset) })?;
    Ok((got > 0).then_some((offset, got)))
}

/// Adds to what is made of the piece that came last; after the end, to what comes at the end of all.
///
/// # Errors
/// [`Error::INVALID`] before the first piece; [`Error::TOO_BIG`] for more bytes at once than an eighth of the stream's buffers.
pub fn emit(from: &[u8]) -> Result<(), Error> {
    let bytes = length(from.len());
    // SAFETY: `from` has as many bytes as are told.
    checked(unsafe { imports::stream_emit(from.as_ptr(), bytes) }).map(drop)
}
