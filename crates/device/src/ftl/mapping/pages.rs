//! Mapping pages: where each is on flash, what is going on with it, and who waits.

use media::nand::Ppa;

use crate::ftl::PageSlice;
use crate::ftl::lpn::Lpn;
use crate::schedule::Notify;

/// Who waits for a mapping page to be read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waiter {
    /// A read of a logical page.
    Read { slice: PageSlice, notify: Notify },
    /// Somebody who wants the entry of a page.
    Entry { lpn: Lpn, notify: Notify },
    /// Who wants the entry of a page waits for another one first.
    Nobody { lpn: Lpn },
    /// Somebody who wants the mapping page.
    Page { notify: Notify },
}

const NONE: u32 = u32::MAX;

/// A mapping page.
#[derive(Clone, Copy)]
pub(in crate::ftl) struct MappingPage {
    /// Where it is; `None` until it is first written.
    pub(in crate::ftl) at: Option<Ppa>,
    /// Entries differ from what is on flash, or on its way there.
    changed: bool,
    /// It is being read.
    pub(super) reading: bool,
    /// It is to be written, with what its entries are then.
    pub(super) queued: bool,
    /// It is being written: what is written is in the controller's memory.
    pub(super) writing: bool,
    first_waiter: u32,
    last_waiter: u32,
}

/// All mapping pages of a drive.
pub(in crate::ftl) struct MappingPages {
    entries_per_page: u32,
    entry_bytes: u32,
    pages: Vec<MappingPage>,
    waiters: Vec<(Waiter, u32)>,
    free: u32,
}

impl MappingPages {
    pub(super) fn new(logical_pages: u32, page_bytes: u32, entry_bytes: u32) -> MappingPages {
        let entries_per_page = page_bytes / entry_bytes;
        let page = MappingPage {
            at: None,
            changed: false,
            reading: false,
            queued: false,
            writing: false,
            first_waiter: NONE,
            last_waiter: NONE,
        };
        MappingPages {
            entries_per_page,
            entry_bytes,
            pages: vec![page; logical_pages.div_ceil(entries_per_page) as usize],
            waiters: Vec::new(),
            free: NONE,
        }
    }

    /// How many there are.
    pub(in crate::ftl) fn count(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Bytes of an entry.
    pub(super) fn entry_bytes(&self) -> u32 {
        self.entry_bytes
    }

    /// The number of the page that has the entry of `lpn`, and the entry's place in it.
    #[inline]
    pub(super) fn of(&self, lpn: Lpn) -> (u32, u32) {
        (lpn.0 / self.entries_per_page, lpn.0 % self.entries_per_page)
    }

    /// The logical pages whose entries page `number` has, of `logical_pages`.
    pub(super) fn range(&self, number: u32, logical_pages: u32) -> std::ops::Range<u32> {
        let start = number * self.entries_per_page;
        start..logical_pages.min(start.saturating_add(self.entries_per_page))
    }

    /// The number of the page that has the entry of `lpn`.
    #[inline]
    pub(in crate::ftl) fn number_of(&self, lpn: Lpn) -> u32 {
        lpn.0 / self.entries_per_page
    }

    /// The entry of `lpn` has changed.
    #[inline]
    pub(super) fn change(&mut self, lpn: Lpn) {
        let number = self.number_of(lpn);
        self.pages[number as usize].changed = true;
    }

    /// Nobody knows what is on flash.
    pub(in crate::ftl) fn change_all(&mut self) {
        self.pages.iter_mut().for_each(|page| page.changed = true);
    }

    /// Whether page `number` differs from what is on flash, or on its way there.
    pub(in crate::ftl) fn is_changed(&self, number: u32) -> bool {
        self.pages[number as usize].changed
    }

    /// Whether page `number` is being written or about to be.
    pub(in crate::ftl) fn is_busy(&self, number: u32) -> bool {
        let page = &self.pages[number as usize];
        page.queued || page.writing
    }

    /// The pages that are not on flash as they are now.
    pub(in crate::ftl) fn changed_or_busy(&self) -> Vec<u32> {
        let numbers = 0..self.count();
        numbers
            .filter(|number| self.is_changed(*number) || self.is_busy(*number))
            .collect()
    }

    /// Where each page is.
    pub(in crate::ftl) fn places(&self) -> Vec<Option<Ppa>> {
        self.pages.iter().map(|page| page.at).collect()
    }

    /// Page `number` is written from now on: later changes need another write.
    pub(super) fn begin_write(&mut self, number: u32) {
        let page = &mut self.pages[number as usize];
        page.queued = false;
        page.writing = true;
        page.changed = false;
    }

    /// It has been written, or could not be.
    pub(super) fn end_write(&mut self, number: u32, written: bool) {
        let page = &mut self.pages[number as usize];
        page.writing = false;
        page.changed |= !written;
    }

    #[inline]
    pub(super) fn page_mut(&mut self, number: u32) -> &mut MappingPage {
        &mut self.pages[number as usize]
    }

    /// Where page `number` is; `None` too if there is no such page.
    pub(in crate::ftl) fn at(&self, number: u32) -> Option<Ppa> {
        self.pages.get(number as usize)?.at
    }

    /// Page `number` is on flash at `at`; gives where it was before.
    pub(in crate::ftl) fn put(&mut self, number: u32, at: Ppa) -> Option<Ppa> {
        self.pages[number as usize].at.replace(at)
    }

    /// No page is on flash any more; none of them has an entry.
    pub(super) fn forget_places(&mut self) {
        for page in &mut self.pages {
            page.at = None;
            page.changed = false;
        }
    }

    /// Page `number` has been copied.
    pub(in crate::ftl) fn moved(&mut self, number: u32, from: Ppa, to: Ppa) {
        if let Some(page) = self.pages.get_mut(number as usize)
            && page.at == Some(from)
        {
            page.at = Some(to);
        }
    }

    /// Lets somebody wait until page `number` has been read.
    #[inline]
    pub(super) fn wait(&mut self, number: u32, waiter: Waiter) {
        let index = match self.free {
            NONE => {
                self.waiters.push((waiter, NONE));
                self.waiters.len() as u32 - 1
            }
            index => {
                self.free = self.waiters[index as usize].1;
                self.waiters[index as usize] = (waiter, NONE);
                index
            }
        };
        let page = &mut self.pages[number as usize];
        match page.last_waiter {
            NONE => page.first_waiter = index,
            last => self.waiters[last as usize].1 = index,
        }
        page.last_waiter = index;
    }

    /// Takes all who wait for page `number`, to be asked for one by one.
    #[inline]
    pub(super) fn take_waiters(&mut self, number: u32) -> Waiting {
        let page = &mut self.pages[number as usize];
        page.last_waiter = NONE;
        Waiting(std::mem::replace(&mut page.first_waiter, NONE))
    }

    /// The next of those taken, in the order of their coming.
    #[inline]
    pub(super) fn next_waiter(&mut self, waiting: &mut Waiting) -> Option<Waiter> {
        if waiting.0 == NONE {
            return None;
        }
        let index = waiting.0;
        let (waiter, next) = self.waiters[index as usize];
        self.waiters[index as usize].1 = self.free;
        self.free = index;
        waiting.0 = next;
        Some(waiter)
    }
}

/// Waiters taken from a page.
pub(super) struct Waiting(u32);
