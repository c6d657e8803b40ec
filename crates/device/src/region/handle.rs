//! Placement handles: which logical pages are to be sensed together.

use std::ops::Range;

use media::nand::Geometry;
use nvme::command::Home;

use super::layout::Layout;
use super::{COLUMN_MAX, Spot};

/// What a host says of a handle, in logical pages, which come in whole chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The first page of row 0.
    pub anchor: u32,
    /// Pages from row to row, at least a chunk.
    pub pitch: u32,
    /// The dies over which a row is spread.
    pub home: Home,
    /// The pages that may be written with it: those of a namespace.
    pub scope: Range<u32>,
}

impl Shape {
    /// Pages of a row: none is longer than the namespace, whatever its pitch.
    fn row_pages(&self) -> u32 {
        self.pitch.min(self.scope.end - self.scope.start)
    }
}

/// Why a handle cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// The drive has no such dies.
    #[error(
        "a home from die {} on, over {} dies, is none: the drive has dies 0 to {}",
        .home.first, .home.dies, .dies - 1
    )]
    NoSuchHome {
        /// The home asked for.
        home: Home,
        /// Dies of the drive.
        dies: u32,
    },
    /// Rows of no pages, or of more than columns can be counted for.
    #[error("rows of {0} pages cannot be")]
    Pitch(u32),
    /// Rows that begin within a chunk.
    #[error(
        "the anchor, page {anchor}, and the pitch, {pitch}, must be multiples of {units}, the logical pages of a flash page"
    )]
    Chunks {
        /// The page.
        anchor: u32,
        /// Pages from row to row.
        pitch: u32,
        /// Logical pages of a chunk.
        units: u32,
    },
    /// It begins outside of its namespace.
    #[error("the anchor is page {anchor}, outside of the namespace's {}..{}", .scope.0, .scope.1)]
    Anchor {
        /// The page.
        anchor: u32,
        /// The namespace's first page and the one after its last.
        scope: (u32, u32),
    },
}

/// An open handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle {
    number: u16,
    shape: Shape,
    layout: Layout,
    /// Logical pages of a chunk.
    units: u32,
}

impl Handle {
    pub(super) fn new(
        number: u16,
        shape: Shape,
        whole: &Layout,
        units: u32,
    ) -> Result<Handle, HandleError> {
        let home = shape.home;
        let dies = whole.geometry().dies();
        let layout = whole
            .at(home)
            .ok_or(HandleError::NoSuchHome { home, dies })?;
        let scope = shape.scope.clone();
        let (anchor, pitch) = (shape.anchor, shape.pitch);
        if !anchor.is_multiple_of(units) || !pitch.is_multiple_of(units) {
            return Err(HandleError::Chunks {
                anchor,
                pitch,
                units,
            });
        }
        let chunks = u64::from(shape.row_pages() / units);
        if chunks == 0 || layout.block_index(chunks - 1) as u64 > u64::from(COLUMN_MAX) {
            return Err(HandleError::Pitch(shape.pitch));
        }
        if !scope.contains(&shape.anchor) {
            return Err(HandleError::Anchor {
                anchor: shape.anchor,
                scope: (scope.start, scope.end),
            });
        }
        Ok(Handle {
            number,
            shape,
            layout,
            units,
        })
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// What the host said.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How chunks are spread.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    fn geometry(&self) -> &Geometry {
        self.layout.geometry()
    }

    /// Whether a range of logical pages is one of whole chunks.
    pub fn is_whole(&self, lpns: &Range<u32>) -> bool {
        let from_anchor = |lpn: u32| lpn.abs_diff(self.shape.anchor);
        [lpns.start, lpns.end]
            .into_iter()
            .all(|lpn| from_anchor(lpn).is_multiple_of(self.units))
    }

    /// The chunk of a logical page.
    pub fn chunk(&self, lpn: u32) -> u64 {
        let from_anchor = i64::from(lpn) - i64::from(self.shape.anchor);
        let of_row = from_anchor.rem_euclid(i64::from(self.shape.row_pages()));
        of_row as u64 / u64::from(self.units)
    }

    /// Whole chunks of logical pages divided at the ends of rows: the chunks of each piece and its first page.
    pub fn rows(&self, lpns: Range<u32>) -> Vec<(Range<u64>, u32)> {
        debug_assert!(self.is_whole(&lpns), "{lpns:?} are whole chunks");
        let mut rows = Vec::new();
        let mut lpn = lpns.start;
        while lpn < lpns.end {
            let chunk = self.chunk(lpn);
            let left = u64::from(self.shape.row_pages() / self.units) - chunk;
            let chunks = left.min(u64::from((lpns.end - lpn) / self.units));
            rows.push((chunk..chunk + chunks, lpn));
            lpn += chunks as u32 * self.units;
        }
        rows
    }

    /// Where pages of a chunk go.
    pub fn spot(&self, chunk: u64) -> Spot {
        debug_assert!(self.geometry().strings_per_block > 0);
        Spot {
            handle: self.number,
            column: self.layout.block_index(chunk) as u32,
            plane: self.layout.plane(chunk),
            string: self.layout.string(chunk),
        }
    }
}
