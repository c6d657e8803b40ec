//! Bytes of a file, cut at logical pages.

use std::ops::Range;

use smallvec::SmallVec;

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

    /// All of a page.
    pub(super) fn whole(lpn: Lpn, unit: MappingUnit) -> Piece {
        Piece {
            lpn,
            column: 0,
            bytes: unit.bytes(),
            at: 0,
        }
    }

    /// Whether they are all of their page.
    fn is_whole(&self, unit: MappingUnit) -> bool {
        self.bytes == unit.bytes()
    }
}

/// Pieces one after another; most reads and writes have one.
pub(super) type Pieces = SmallVec<[Piece; 2]>;

/// The pieces of a range of a file's bytes, which has them.
pub(super) fn pieces(file: &File, range: Range<u64>, unit: MappingUnit) -> Pieces {
    let mut pieces = Pieces::new();
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

/// Which of the pieces of a range are whole pages: only the first and the last may not be.
pub(super) fn whole(pieces: &[Piece], unit: MappingUnit) -> Range<usize> {
    let is_partial = |piece: Option<&Piece>| piece.is_some_and(|piece| !piece.is_whole(unit));
    let start = usize::from(is_partial(pieces.first()));
    let end = pieces.len() - usize::from(is_partial(pieces.last()));
    start.min(end)..end
}

/// The logical pages of pieces, those that follow one another as one range.
pub(super) fn ranges(pieces: &[Piece]) -> impl Iterator<Item = Range<u32>> + '_ {
    let follow = |piece: &Piece, next: &Piece| piece.lpn.0 + 1 == next.lpn.0;
    let runs = pieces.chunk_by(follow);
    runs.map(|run| run[0].lpn.0..run[run.len() - 1].lpn.0 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::tests::small;

    #[test]
    fn pages_are_whole_but_for_the_ends() {
        let unit = MappingUnit::of(&small(), 0);
        let all = unit.bytes();
        let of = |bytes: &[u32]| {
            let piece = |bytes: &u32| Piece {
                bytes: *bytes,
                ..Piece::whole(Lpn(7), unit)
            };
            let pieces: Vec<Piece> = bytes.iter().map(piece).collect();
            whole(&pieces, unit)
        };
        assert_eq!(of(&[]), 0..0);
        assert_eq!(of(&[all]), 0..1);
        assert_eq!(of(&[5]), 0..0);
        assert_eq!(of(&[5, 6]), 1..1);
        assert_eq!(of(&[all, 6]), 0..1);
        assert_eq!(of(&[5, all, all]), 1..3);
        assert_eq!(of(&[5, all, all, 6]), 1..3);
    }
}
