//! The slices of logical pages that a command covers.

use std::ops::Range;

use nvme::Status;
use nvme::command::BlockRange;

use crate::frontend::Controller;
use crate::frontend::namespace::Namespace;
use crate::ftl::{Lpn, PageSlice};
use crate::memory::BufferId;
use crate::schedule::Origin;

/// The slice of one logical page that a command covers.
#[derive(Clone, Copy)]
pub(in crate::frontend) struct Piece {
    pub(in crate::frontend) lpn: Lpn,
    pub(in crate::frontend) column: u32,
    pub(in crate::frontend) bytes: u32,
    /// Where in the command's data the piece begins.
    pub(in crate::frontend) offset: u64,
    /// Where in a page buffer its page begins; a buffer has as many pieces that follow one another as fit.
    pub(in crate::frontend) base: u32,
    pub(in crate::frontend) origin: Origin,
}

impl Piece {
    /// Where it lies in its buffer.
    #[inline]
    pub(in crate::frontend) fn place(&self) -> Range<usize> {
        let begin = (self.base + self.column) as usize;
        begin..begin + self.bytes as usize
    }

    /// The piece, which lies at its place in `buffer`.
    #[inline]
    pub(in crate::frontend) fn in_buffer(&self, buffer: BufferId) -> PageSlice {
        PageSlice {
            lpn: self.lpn,
            column: self.column,
            bytes: self.bytes,
            buffer,
            base: self.base,
            origin: self.origin,
        }
    }
}
impl Controller {
    /// # Errors
    /// Invalid Field if a command's data is more than MDTS allows.
    #[inline]
    pub(in crate::frontend) fn check_transfer(&self, bytes: u64) -> Result<(), Status> {
        if bytes > self.transfer_bytes_max {
            return Err(Status::INVALID_FIELD);
        }
        Ok(())
    }

    /// The pieces of logical pages that `bytes` of a namespace cover, in order; where each lies in page buffers that are filled
    /// one after another.
    #[inline]
    pub(in crate::frontend) fn pieces(
        &self,
        namespace: &Namespace,
        bytes: &Range<u64>,
        origin: Origin,
    ) -> impl Iterator<Item = Piece> + Clone + use<> {
        let unit = self.unit;
        let base = namespace.lpn(0).0;
        let (start, end) = (bytes.start, bytes.end);
        let touched = unit.touched(bytes);
        let begin = touched.start;
        touched.map(move |page| {
            let first = start.max(unit.start(page));
            let last = end.min(unit.start(page + 1));
            Piece {
                lpn: Lpn(base + page),
                column: (first - unit.start(page)) as u32,
                bytes: (last - first) as u32,
                offset: first - start,
                base: unit.base(page - begin),
                origin,
            }
        })
    }

    /// The logical pages that a range of bytes of a namespace touches.
    pub(in crate::frontend) fn pages(
        &self,
        namespace: &Namespace,
        bytes: &Range<u64>,
    ) -> Range<u32> {
        namespace.lpns(self.unit.touched(bytes))
    }

    /// The logical pages that a range of bytes of a namespace covers entirely.
    pub(super) fn whole_pages(&self, namespace: &Namespace, bytes: &Range<u64>) -> Range<u32> {
        namespace.lpns(self.unit.covered(bytes))
    }

    /// The bytes of a namespace that a slice of one of its pages is.
    pub(super) fn bytes(&self, namespace: &Namespace, slice: &PageSlice) -> Range<u64> {
        let page = self.unit.start(slice.lpn.0 - namespace.lpn(0).0);
        let start = page + u64::from(slice.column);
        start..start + u64::from(slice.bytes)
    }

    /// Page buffers that so many pieces take.
    pub(super) fn buffers_for(&self, pieces: usize) -> u32 {
        self.unit.pages_of(pieces as u32)
    }

    /// The piece of a page that `blocks` are, if they are in range and of one page.
    #[inline]
    pub(super) fn only_piece(
        &self,
        namespace: &Namespace,
        blocks: &BlockRange,
        origin: Origin,
    ) -> Option<Piece> {
        let bytes = namespace.byte_range(blocks).ok()?;
        let mut pieces = self.pieces(namespace, &bytes, origin);
        let only = pieces.next();
        only.filter(|_| pieces.next().is_none())
    }
}
