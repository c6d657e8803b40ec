//! Pages of a file in the host's memory: which are there, and which the drive does not have yet.

use std::ops::Range;

/// A page of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    /// Not in memory.
    Absent,
    /// On its way from the drive.
    Coming,
    /// As the drive has it, or is about to.
    Clean,
    /// Written to since.
    Dirty,
}

/// Pages of a file in memory.
pub(super) struct PageCache {
    page_bytes: u64,
    file_bytes: u64,
    pages: Vec<Page>,
    /// What the file holds where pages are there; nothing if the drive keeps only time.
    data: Vec<u8>,
    /// Where the last read ended.
    read_to: u64,
    /// The page up to which was read ahead.
    ahead_to: u64,
}

impl PageCache {
    /// Nothing of a file of so many bytes is in memory.
    pub(super) fn new(file_bytes: u64, page_bytes: u32, has_data: bool) -> PageCache {
        let page_bytes = u64::from(page_bytes);
        PageCache {
            page_bytes,
            file_bytes,
            pages: vec![Page::Absent; file_bytes.div_ceil(page_bytes) as usize],
            data: sim::memory::zeroed(if has_data { file_bytes as usize } else { 0 }),
            read_to: 0,
            ahead_to: 0,
        }
    }

    /// Length of the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The pages that have some of these bytes.
    pub(super) fn touched(&self, bytes: Range<u64>) -> Range<u64> {
        bytes.start / self.page_bytes..bytes.end.div_ceil(self.page_bytes)
    }

    /// The bytes of these pages.
    pub(super) fn bytes_of(&self, pages: Range<u64>) -> Range<u64> {
        let end = (pages.end * self.page_bytes).min(self.file_bytes);
        pages.start * self.page_bytes..end
    }

    /// The pages that a read of these bytes wants in memory: its own, and a window of so many pages behind them if it goes on
    /// where the last one ended and most of the window before is used up.
    pub(super) fn wanted(&mut self, bytes: Range<u64>, window: u64) -> Range<u64> {
        let mut pages = self.touched(bytes.clone());
        let goes_on = bytes.start.abs_diff(self.read_to) < self.page_bytes;
        self.read_to = bytes.end;
        if !goes_on {
            self.ahead_to = pages.end;
        } else if self.ahead_to < pages.end + window {
            self.ahead_to = self.ahead_to.max(pages.end) + window;
            pages.end = self.ahead_to.min(self.pages.len() as u64);
        }
        pages
    }

    /// The pages of a write that have bytes besides those written, at its ends.
    pub(super) fn partly_written(&self, bytes: Range<u64>) -> [Range<u64>; 2] {
        let pages = self.touched(bytes.clone());
        let (first, last) = (pages.start, pages.end - 1);
        let whole = self.bytes_of(pages);
        let part = |page: u64, is_part: bool| page..page + u64::from(is_part);
        [
            part(first, whole.start < bytes.start),
            part(last, bytes.end < whole.end),
        ]
    }

    /// The runs of pages, of at most so many each, that are not in memory; they are on their way from now on.
    pub(super) fn fetch(&mut self, pages: Range<u64>, most: u64) -> Vec<Range<u64>> {
        let runs = self.runs(pages, most, Page::Absent);
        self.set_all(&runs, Page::Coming);
        runs
    }

    /// Whether some of these pages are on their way.
    pub(super) fn awaits(&self, pages: Range<u64>) -> bool {
        self.of(pages).contains(&Page::Coming)
    }

    /// Pages have come, with this data; what was written to meanwhile stays as it is.
    pub(super) fn came(&mut self, pages: Range<u64>, data: &[u8]) {
        let begin = self.bytes_of(pages.clone()).start;
        for page in self.runs(pages, 1, Page::Coming) {
            let bytes = self.bytes_of(page.clone());
            let from = (bytes.start - begin) as usize..(bytes.end - begin) as usize;
            if !self.data.is_empty() {
                self.data[bytes.start as usize..bytes.end as usize].copy_from_slice(&data[from]);
            }
            self.set(page, Page::Clean);
        }
    }

    /// Pages that were on their way will not come.
    pub(super) fn lost(&mut self, pages: Range<u64>) {
        let runs = self.runs(pages, u64::MAX, Page::Coming);
        self.set_all(&runs, Page::Absent);
    }

    /// Bytes of pages that are in memory; nothing if the drive keeps only time.
    pub(super) fn look(&self, bytes: Range<u64>) -> Option<&[u8]> {
        (!self.data.is_empty()).then(|| &self.data[bytes.start as usize..bytes.end as usize])
    }

    /// Bytes are written, with this data if the drive keeps any.
    pub(super) fn write(&mut self, bytes: Range<u64>, data: Option<&[u8]>) {
        if let Some(data) = data {
            self.data[bytes.start as usize..bytes.end as usize].copy_from_slice(data);
        }
        self.set(self.touched(bytes), Page::Dirty);
    }

    /// Whether all these pages were written to since the drive had them.
    pub(super) fn is_dirty(&self, pages: Range<u64>) -> bool {
        self.of(pages).iter().all(|page| *page == Page::Dirty)
    }

    /// The runs of pages, of at most so many each, that the drive does not have; it is about to from now on.
    pub(super) fn clean(&mut self, pages: Range<u64>, most: u64) -> Vec<Range<u64>> {
        let runs = self.runs(pages, most, Page::Dirty);
        self.set_all(&runs, Page::Clean);
        runs
    }

    /// All pages.
    pub(super) fn all(&self) -> Range<u64> {
        0..self.pages.len() as u64
    }

    fn of(&self, pages: Range<u64>) -> &[Page] {
        &self.pages[pages.start as usize..pages.end as usize]
    }

    fn runs(&self, pages: Range<u64>, most: u64, wanted: Page) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for page in pages {
            if self.pages[page as usize] != wanted {
                continue;
            }
            match runs.last_mut() {
                Some(run) if run.end == page && page - run.start < most => run.end = page + 1,
                _ => runs.push(page..page + 1),
            }
        }
        runs
    }

    fn set_all(&mut self, runs: &[Range<u64>], to: Page) {
        for run in runs {
            self.set(run.clone(), to);
        }
    }

    fn set(&mut self, pages: Range<u64>, to: Page) {
        self.pages[pages.start as usize..pages.end as usize].fill(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten pages of 100 bytes, the last of which has 50.
    fn cache() -> PageCache {
        PageCache::new(950, 100, true)
    }

    fn one(run: Range<u64>) -> Vec<Range<u64>> {
        std::iter::once(run).collect()
    }

    #[test]
    fn reads_that_go_on_have_a_window_read_ahead_of_them() {
        let mut cache = cache();
        assert_eq!(cache.wanted(0..50, 3), 0..4);
        assert_eq!(cache.wanted(50..100, 3), 0..1);
        // One page of the window is used up: another window.
        assert_eq!(cache.wanted(100..150, 3), 1..7);
        // It ends with the file.
        assert_eq!(cache.wanted(150..450, 3), 1..10);
        // Elsewhere there is none.
        assert_eq!(cache.wanted(20..30, 3), 0..1);
        assert_eq!(cache.wanted(700..710, 3), 7..8);
        assert_eq!(cache.wanted(710..790, 3), 7..10);
    }

    #[test]
    fn pages_are_fetched_once_and_in_requests_of_a_length() {
        let mut cache = cache();
        assert_eq!(cache.fetch(1..6, 2), [1..3, 3..5, 5..6]);
        assert!(cache.awaits(0..2) && !cache.awaits(6..10));
        assert_eq!(cache.fetch(0..8, 8), [0..1, 6..8]);
        cache.came(0..1, &[7; 100]);
        cache.lost(1..3);
        assert!(!cache.awaits(0..3));
        assert_eq!(cache.look(90..100), Some(&[7; 10][..]));
        assert_eq!(cache.fetch(0..3, 8), one(1..3));
    }

    #[test]
    fn what_is_written_is_not_overtaken_by_what_comes() {
        let mut cache = cache();
        assert_eq!(cache.fetch(0..3, 8), one(0..3));
        cache.write(100..200, Some(&[2; 100]));
        cache.came(0..3, &[1; 300]);
        assert_eq!(
            cache.look(99..201),
            Some(&[&[1][..], &[2; 100], &[1]].concat()[..])
        );
        assert_eq!(cache.clean(cache.all(), 8), one(1..2));
    }

    #[test]
    fn a_write_needs_what_else_its_first_and_last_page_hold() {
        let cache = cache();
        assert_eq!(cache.partly_written(100..300), [1..1, 2..2]);
        assert_eq!(cache.partly_written(110..310), [1..2, 3..4]);
        assert_eq!(cache.partly_written(110..120), [1..2, 1..2]);
        // The file ends in the middle of its last page.
        assert_eq!(cache.partly_written(900..950), [9..9, 9..9]);
        assert_eq!(cache.bytes_of(8..10), 800..950);
    }

    #[test]
    fn what_was_written_leaves_once() {
        let mut cache = cache();
        cache.write(300..620, Some(&[1; 320]));
        assert!(cache.is_dirty(3..7) && !cache.is_dirty(2..7));
        assert_eq!(cache.clean(0..5, 10), one(3..5));
        assert_eq!(cache.clean(cache.all(), 1), [5..6, 6..7]);
        assert_eq!(cache.clean(cache.all(), 1), []);
        assert_eq!(cache.look(619..621), Some(&[1, 0][..]));
    }
}
