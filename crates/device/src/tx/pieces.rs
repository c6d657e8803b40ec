//! Bytes of a file, cut at logical pages.

use std::ops::Range;

use super::file::File;
use crate::ftl::{Lpn, MappingUnit};

/// Bytes of one logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) lpn: Lpn,
    /// Where in the page they begin.
    pub(super) column: u32,
    pub(super) bytes: u32,
    /// Where in what is read or written they begin.
    pub(super) at: usize,
}

impl Piece {
    /// Where in what is read or written they lie.
    pub(super) fn place(&self) -> Range<usize> {
        self.at..self.at + self.bytes as usize
    }

    /// Where in their page they lie.
    pub(super) fn within(&self) -> Range<usize> {
        self.column as usize..(self.column + self.bytes) as usize
    }

    /// Whether they are all of their page.
    pub(super) fn is_whole(&self, unit: MappingUnit) -> bool {
        self.bytes == unit.bytes()
    }
}

/// The pieces of a range of a file's bytes, which has them.
pub(super) fn pieces(file: &File, range: Range<u64>, unit: MappingUnit) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut next = range.start;
    while next < range.end {
        let (page, column) = unit.locate(next);
        let bytes = u64::from(unit.bytes() - column).min(range.end - next);
        pieces.push(Piece {
            lpn: Lpn(file.page(page)),
            column,
            bytes: bytes as u32,
            at: (next - range.start) as usize,
        });
        next += bytes;
    }
    pieces
}
