//! What channels carry between the registers of planes and buffers: content, not time. A whole page is not copied: both hold the same
//! frame from then on.

use std::ops::Range;

use media::nand::{Nand, NandError, PlaneId};

use crate::memory::{BufferId, Buffers};

/// Fills a register from a buffer.
pub(super) fn move_in(
    nand: &mut Nand,
    plane: PlaneId,
    buffers: &Buffers,
    from: BufferId,
) -> Result<(), NandError> {
    if let Some(frame) = buffers.frame(from) {
        return nand.frame_in(plane, &frame);
    }
    let moved = buffers.with(from, |buffer| nand.data_in(plane, 0, buffer));
    moved.unwrap_or(Ok(()))
}

/// Moves what a register holds from byte `column` on to a place in a buffer.
pub(super) fn move_out(
    nand: &Nand,
    (plane, column): (PlaneId, usize),
    buffers: &Buffers,
    (into, place): (BufferId, Range<usize>),
) -> Result<(), NandError> {
    let is_page = (column, place.len()) == (0, nand.geometry().page_bytes as usize);
    if is_page
        && let Some(frame) = nand.frame_out(plane)?
        && buffers.share(into, frame)
    {
        return Ok(());
    }
    let moved = buffers.with_mut(into, |buffer| {
        nand.data_out(plane, column, &mut buffer[place])
    });
    moved.unwrap_or(Ok(()))
}
