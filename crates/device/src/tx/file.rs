//! Files as the drive knows them: logical pages in their order, and how many bytes of these are the file's.

use std::ops::Range;

/// Logical pages that follow one another in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first.
    pub first: u32,
    /// How many.
    pub pages: u32,
}

/// A file of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    extents: Vec<Extent>,
    /// The number in the file of the first page of each extent.
    starts: Vec<u32>,
    bytes: u64,
    writable: bool,
}

/// Extents that make no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// More bytes than its pages have.
    #[error("a file of {bytes} bytes does not fit into its {pages} logical pages")]
    TooShort {
        /// Bytes of the file.
        bytes: u64,
        /// Its pages.
        pages: u64,
    },
    /// Pages that the drive does not have.
    #[error("extent {} to {} of a file goes beyond the drive's {last} logical pages", .extent.first, u64::from(.extent.first) + u64::from(.extent.pages))]
    Beyond {
        /// The extent.
        extent: Extent,
        /// Logical pages of the drive.
        last: u32,
    },
    /// A page twice.
    #[error("logical page {0} is in two places of a file")]
    Twice(u32),
}

impl File {
    /// A file of so many bytes, in these extents of logical pages of `page_bytes` each, on a drive of `logical_pages`.
    ///
    /// # Errors
    /// Pages that are not there, too few of them, or one twice.
    pub fn new(
        extents: Vec<Extent>,
        bytes: u64,
        writable: bool,
        (page_bytes, logical_pages): (u32, u32),
    ) -> Result<File, FileError> {
        let mut starts = Vec::with_capacity(extents.len());
        let mut pages = 0u64;
        for extent in &extents {
            let end = u64::from(extent.first) + u64::from(extent.pages);
            if end > u64::from(logical_pages) {
                return Err(FileError::Beyond {
                    extent: *extent,
                    last: logical_pages,
                });
            }
            starts.push(pages as u32);
            pages += u64::from(extent.pages);
        }
        if pages.saturating_mul(page_bytes.into()) < bytes {
            return Err(FileError::TooShort { bytes, pages });
        }
        let file = File {
            extents,
            starts,
            bytes,
            writable,
        };
        let mut ranges: Vec<Range<u32>> = file.ranges().collect();
        ranges.sort_unstable_by_key(|range| range.start);
        match ranges.windows(2).find(|pair| pair[0].end > pair[1].start) {
            Some(pair) => Err(FileError::Twice(pair[1].start)),
            None => Ok(file),
        }
    }

    /// Bytes of it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it may be written.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Its logical pages, extent by extent.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        let extents = self.extents.iter().filter(|extent| extent.pages > 0);
        extents.map(|extent| extent.first..extent.first + extent.pages)
    }

    /// The logical pages of its first `pages` pages, extent by extent.
    pub(super) fn first_ranges(&self, pages: u32) -> impl Iterator<Item = Range<u32>> + '_ {
        let extents = self.extents.iter().zip(&self.starts);
        extents.filter_map(move |(extent, start)| {
            let pages = extent.pages.min(pages.saturating_sub(*start));
            (pages > 0).then_some(extent.first..extent.first + pages)
        })
    }

    /// The logical page that its first `pages` pages begin with, if they follow one another.
    pub(super) fn in_one_piece(&self, pages: u32) -> Option<u32> {
        let mut ranges = self.first_ranges(pages);
        let first = ranges.next()?;
        let end = ranges.try_fold(first.end, |end, next| {
            (next.start == end).then_some(next.end)
        });
        end.map(|_| first.start)
    }

    /// The logical page that is page `number` of the file.
    pub(super) fn page(&self, number: u32) -> u32 {
        let extent = self.starts.partition_point(|start| *start <= number) - 1;
        self.extents[extent].first + (number - self.starts[extent])
    }

    /// Which page of the file a logical page is, if it is one.
    pub(super) fn number(&self, page: u32) -> Option<u32> {
        let extents = self.extents.iter().zip(&self.starts);
        let mut within = extents.filter_map(|(extent, start)| {
            let number = page.checked_sub(extent.first)?;
            (number < extent.pages).then_some(start + number)
        });
        within.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(first: u32, pages: u32) -> Extent {
        Extent { first, pages }
    }

    #[test]
    fn pages_follow_the_extents() {
        let extents = vec![extent(10, 2), extent(3, 1), extent(20, 0), extent(40, 2)];
        let file = File::new(extents, 17, true, (4, 50)).expect("a file");
        let pages: Vec<u32> = (0..5).map(|number| file.page(number)).collect();
        assert_eq!(pages, [10, 11, 3, 40, 41]);
        let numbers: Vec<_> = pages.iter().map(|page| file.number(*page)).collect();
        assert_eq!(numbers, (0..5).map(Some).collect::<Vec<_>>());
        assert_eq!(file.number(12), None);
        assert_eq!(file.ranges().collect::<Vec<_>>(), [10..12, 3..4, 40..42]);
        let first = |pages| file.first_ranges(pages).collect::<Vec<_>>();
        assert_eq!(first(3), [10..12, 3..4]);
        assert_eq!(first(4), [10..12, 3..4, 40..41]);
        assert_eq!(
            [1, 2, 3].map(|pages| file.in_one_piece(pages)),
            [Some(10), Some(10), None]
        );
        let file = File::new(vec![extent(5, 2), extent(7, 3)], 20, true, (4, 50)).expect("a file");
        assert_eq!(file.in_one_piece(5), Some(5));
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let file = |extents, bytes| {
            File::new(extents, bytes, false, (4, 50)).map_err(|error| error.to_string())
        };
        let told = file(vec![extent(10, 2)], 9).expect_err("too short");
        assert_eq!(
            told,
            "a file of 9 bytes does not fit into its 2 logical pages"
        );
        let told = file(vec![extent(49, 2)], 4).expect_err("beyond");
        assert_eq!(
            told,
            "extent 49 to 51 of a file goes beyond the drive's 50 logical pages"
        );
        assert!(file(vec![extent(u32::MAX, u32::MAX)], 4).is_err());
        let told = file(vec![extent(7, 3), extent(1, 2), extent(9, 1)], 4).expect_err("twice");
        assert_eq!(told, "logical page 9 is in two places of a file");
    }
}
