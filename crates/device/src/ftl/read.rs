//! Reading logical pages: neighbours that lie side by side on flash in one sense.

use std::ops::Range;

use media::nand::{BlockId, DieId, ProgramMode};

use super::lpn::Lpn;
use super::mapping::Mapping;
use super::{Ftl, MappingUnit, UnitAddress};
use crate::memory::BufferId;
use crate::schedule::{Notify, Origin, Read};

/// A slice of one logical page that is read or written, and the buffer in which it lies at that
/// place. The rest of the buffer is anybody's. Where it is said, a slice may go on in the logical pages that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSlice {
    /// The page.
    pub lpn: Lpn,
    /// Its first byte.
    pub column: u32,
    /// Bytes.
    pub bytes: u32,
    /// Where they lie.
    pub buffer: BufferId,
    /// Where in the buffer the page begins: that of a physical page has room for several logical ones.
    pub base: u32,
    /// For whom.
    pub origin: Origin,
}

impl PageSlice {
    /// A slice that is the drive's own, of no stated priority; its page begins with the buffer.
    pub fn new(lpn: Lpn, column: u32, bytes: u32, buffer: BufferId) -> PageSlice {
        PageSlice {
            lpn,
            column,
            bytes,
            buffer,
            base: 0,
            origin: Origin::default(),
        }
    }

    /// Slices cut into those that lie in one buffer: these go to flash in one program.
    #[inline]
    pub fn by_buffer(slices: &[PageSlice]) -> impl Iterator<Item = &[PageSlice]> {
        slices.chunk_by(|_, next| next.base > 0)
    }

    /// Where it lies in the buffer.
    #[inline]
    pub fn place(&self) -> Range<usize> {
        let begin = (self.base + self.column) as usize;
        begin..begin + self.bytes as usize
    }

    /// The slices of single logical pages that it is made of.
    pub fn units(self, unit: MappingUnit) -> impl Iterator<Item = PageSlice> + Clone {
        let count = (self.column + self.bytes).div_ceil(unit.bytes());
        (0..count).map(move |number| {
            let begin = number * unit.bytes();
            let column = self.column.saturating_sub(begin);
            let end = (self.column + self.bytes - begin).min(unit.bytes());
            PageSlice {
                lpn: Lpn(self.lpn.0 + number),
                column,
                bytes: end - column,
                base: self.base + begin,
                ..self
            }
        })
    }
}

impl Ftl {
    /// Has the processor fetch the entry of a page that a command under way names.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.mapping.borrow().prefetch(lpn);
    }

    /// Starts reading a slice of a logical page; `notify` is told when it is over. A page
    /// without data reads as zeroes, at once and without telling: false.
    #[inline]
    pub fn read(&self, slice: PageSlice, notify: Notify) -> bool {
        debug_assert!(slice.column + slice.bytes <= self.unit.bytes());
        self.count(|counts| counts.host_page_reads += 1);
        if self.is_cached && !self.entry_for_read(slice, notify) {
            return true;
        }
        let Some((die, read)) = self.page_to_read(slice) else {
            return false;
        };
        self.schedule.push(die, read, notify);
        true
    }

    /// As [`Ftl::read`], of what the page is at this instant: its entry counts as being at hand (see `entries_for`), even if
    /// others have taken its place meanwhile.
    pub fn read_now(&self, slice: PageSlice, notify: Notify) {
        self.count(|counts| counts.host_page_reads += 1);
        if let Some((die, read)) = self.page_to_read(slice) {
            self.schedule.push(die, read, notify);
        }
    }

    /// The same of a slice that may go on in the logical pages that follow, for a ticket: what lies side by side on flash
    /// is one sense.
    pub fn read_run(&self, slice: PageSlice, ticket: Notify) {
        if slice.column + slice.bytes <= self.unit.bytes() {
            self.read(slice, ticket);
            return;
        }
        let count = slice.units(self.unit).count() as u64;
        self.count(|counts| counts.host_page_reads += count);
        if !self.is_cached || self.entries_for_read(slice, ticket) {
            self.runs_to_read(slice, |die, read| self.schedule.push(die, read, ticket));
        }
    }

    /// Reads pages whose entries had to be fetched.
    pub(super) fn read_expected(&self, slice: PageSlice, notify: Notify) {
        if slice.column + slice.bytes <= self.unit.bytes() {
            return match self.page_to_read(slice) {
                Some((die, read)) => self.schedule.push_expected(die, read, notify),
                None => self.schedule.settle(notify, None),
            };
        }
        self.runs_to_read(slice, |die, read| self.schedule.push(die, read, notify));
        // What was expected of the entries.
        self.schedule.settle(notify, None);
    }

    /// What reading a slice, which may go on in the logical pages that follow, asks of flash: each transaction, and how
    /// its page is programmed. Nothing is read.
    pub fn each_read(&self, slice: PageSlice, mut told: impl FnMut(Read, ProgramMode)) {
        let run = |at, run| {
            let (_, read) = self.read_of(at, run);
            let mode = self.mode_of(read.page.block);
            told(read, mode);
        };
        self.each_run(slice, run, |_| {});
    }

    /// How what a block holds of data is programmed.
    fn mode_of(&self, block: BlockId) -> ProgramMode {
        let blocks = self.blocks.borrow();
        if blocks.is_compute(block) {
            ProgramMode::Esp
        } else if blocks.is_in_slc_cache(block) {
            ProgramMode::Slc
        } else {
            self.config.mode
        }
    }

    /// The transactions that read a slice of several logical pages, as few as that takes.
    fn runs_to_read(&self, slice: PageSlice, mut push: impl FnMut(DieId, Read)) {
        let run = |at, run| {
            let (die, read) = self.read_of(at, run);
            push(die, read);
        };
        self.each_run(slice, run, |slice| self.zeroes(slice));
    }

    /// The runs of a slice of several logical pages that lie side by side on flash, each with where it begins; and the
    /// logical pages without data.
    fn each_run(
        &self,
        slice: PageSlice,
        mut found: impl FnMut(UnitAddress, PageSlice),
        without_data: impl Fn(PageSlice),
    ) {
        let mut run: Option<(UnitAddress, PageSlice)> = None;
        for next in slice.units(self.unit) {
            let at = match self.lookup(next.lpn) {
                Mapping::Data(at) => Some(at),
                _ => None,
            };
            if let (Some((first, run)), Some(at)) = (&mut run, at)
                && self.follows(*first, run, at)
            {
                run.bytes += next.bytes;
                continue;
            }
            if let Some((at, run)) = run.take() {
                found(at, run);
            }
            match at {
                Some(at) => run = Some((at, next)),
                None => without_data(next),
            }
        }
        if let Some((at, run)) = run {
            found(at, run);
        }
    }

    /// Whether a unit lies right behind a run that begins at `first`, in the same page.
    fn follows(&self, first: UnitAddress, run: &PageSlice, at: UnitAddress) -> bool {
        let units = (run.column + run.bytes).div_ceil(self.unit.bytes());
        self.unit.page(first) == self.unit.page(at) && first.0 + units == at.0
    }

    /// The transaction that reads a page; `None`, and zeroes, if it has no data.
    #[inline]
    fn page_to_read(&self, slice: PageSlice) -> Option<(DieId, Read)> {
        let Mapping::Data(at) = self.lookup(slice.lpn) else {
            self.zeroes(slice);
            return None;
        };
        let (die, read) = self.read_of(at, slice);
        self.schedule.nand().prefetch_block(read.page.block);
        Some((die, read))
    }

    /// A page without data is read.
    #[inline]
    fn zeroes(&self, slice: PageSlice) {
        self.count(|counts| counts.unmapped_page_reads += 1);
        self.buffers
            .with_mut(slice.buffer, |page| page[slice.place()].fill(0));
    }

    /// The transaction that reads a slice, whose first page is at `at`.
    #[inline]
    pub(super) fn read_of(&self, at: UnitAddress, slice: PageSlice) -> (DieId, Read) {
        let ppa = self.unit.page(at);
        let inverse = self.blocks.borrow().is_inverse(ppa);
        let page = self.geometry.page_address(ppa);
        let read = Read {
            page,
            column: self.unit.column(at) + slice.column,
            bytes: slice.bytes,
            into: slice.buffer,
            at: slice.base + slice.column,
            inverse,
            origin: slice.origin,
        };
        (self.geometry.die_of_block(page.block), read)
    }
}
