//! Fetching entries of the mapping table when they are needed.
//!
//! Whatever needs an entry that is not at hand waits in a list of its mapping page; one
//! read serves all of them. Nothing here is a task: the schedule calls when the page
//! has been read.

use std::rc::Rc;

use media::core::Work;

use super::cache::{Presence, Room};
use super::pages::Waiter;
use crate::ftl::lpn::Lpn;
use crate::ftl::{Ftl, FtlError, PageSlice};
use crate::memory::BufferId;
use crate::schedule::{Fault, Notify, Origin, Read};
use crate::tenants;

/// What an entry is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Read,
    Write,
}

impl Ftl {
    /// Has the schedule tell when mapping pages have been read.
    pub(in crate::ftl) fn start_fetching(self: &Rc<Ftl>) {
        let weak = Rc::downgrade(self);
        self.schedule.set_mapper(Box::new(move |number, fault| {
            if let Some(ftl) = weak.upgrade() {
                ftl.mapping_page_read(number, fault);
            }
        }));
    }

    /// Whether a read can go on at once; if not, it will when its entry has been fetched.
    #[inline]
    pub(in crate::ftl) fn entry_for_read(&self, slice: PageSlice, notify: Notify) -> bool {
        let waiter = Waiter::Read { slice, notify };
        self.demand(slice.lpn, Purpose::Read, waiter, notify)
    }

    /// The same of a slice of several logical pages, which have at most two mapping pages.
    pub(in crate::ftl) fn entries_for_read(&self, slice: PageSlice, notify: Notify) -> bool {
        let mut waits = false;
        for unit in slice.units(self.unit) {
            let waiter = match waits {
                false => Waiter::Read { slice, notify },
                // Who waits for the first that is missing looks at the others then.
                true => Waiter::Nobody { lpn: unit.lpn },
            };
            waits |= !self.demand(unit.lpn, Purpose::Read, waiter, notify);
        }
        !waits
    }

    /// Waits until the entry of a page that is to be written is at hand.
    pub(in crate::ftl) async fn entry_for_write(&self, lpn: Lpn) -> Result<(), FtlError> {
        let ticket = self.schedule.ticket();
        let notify = ticket.id().into();
        let waiter = Waiter::Entry { lpn, notify };
        if self.demand(lpn, Purpose::Write, waiter, notify) {
            return Ok(());
        }
        Ok(ticket.await?)
    }

    /// The same of several pages, fetched at once.
    pub(in crate::ftl) async fn entries_for_writes(&self, lpns: &[u32]) -> Result<(), FtlError> {
        let lpns = lpns.iter().copied().map(Lpn);
        self.entries_at_once(lpns, Purpose::Write).await
    }

    /// The same of those whose places are asked for.
    pub(in crate::ftl) async fn entries_for_lookup(
        &self,
        lpns: impl Iterator<Item = Lpn>,
    ) -> Result<(), FtlError> {
        self.entries_at_once(lpns, Purpose::Read).await
    }

    async fn entries_at_once(
        &self,
        lpns: impl Iterator<Item = Lpn>,
        purpose: Purpose,
    ) -> Result<(), FtlError> {
        let ticket = self.schedule.ticket();
        let notify = ticket.id().into();
        let mut missing = false;
        for lpn in lpns {
            let waiter = Waiter::Entry { lpn, notify };
            missing |= !self.demand(lpn, purpose, waiter, notify);
        }
        if missing {
            ticket.await?;
        }
        Ok(())
    }

    /// Whether the entry of `lpn` is at hand; if not, it is fetched and `waiter` waits.
    #[inline]
    fn demand(&self, lpn: Lpn, purpose: Purpose, waiter: Waiter, notify: Notify) -> bool {
        let mut table = self.mapping.borrow_mut();
        let table = &mut *table;
        let (Some(cache), Some(pages)) = (&mut table.cache, &mut table.pages) else {
            return true;
        };
        let presence = cache.touch(lpn.0);
        let hit = presence == Presence::Cached;
        self.count(|counts| match (purpose, hit) {
            (Purpose::Read, true) => counts.cmt_read_hits += 1,
            (Purpose::Read, false) => counts.cmt_read_misses += 1,
            (Purpose::Write, true) => counts.cmt_write_hits += 1,
            (Purpose::Write, false) => counts.cmt_write_misses += 1,
        });
        if hit {
            return true;
        }
        if presence == Presence::Absent
            && let Room::Displaced(victim) = cache.reserve(lpn.0)
        {
            self.write_backs.request(pages, pages.of(Lpn(victim)).0);
        }
        let (number, place) = pages.of(lpn);
        let page = pages.page_mut(number);
        let at_hand = !page.reading && (page.at.is_none() || page.writing);
        if at_hand {
            cache.arrive(lpn.0);
            return true;
        }
        if !matches!(waiter, Waiter::Nobody { .. }) {
            self.schedule.expect(notify);
        }
        if !std::mem::replace(&mut page.reading, true)
            && let Some(at) = page.at
        {
            self.fetch(number, at, place);
        }
        pages.wait(number, waiter);
        false
    }

    /// Starts reading the slice of a mapping page that has the entry at `place`.
    #[inline]
    fn fetch(&self, number: u32, at: media::nand::Ppa, place: u32) {
        let config = &self.config.mapping;
        let begin = place * config.entry_bytes;
        let column = begin - begin % config.fetch_bytes;
        let bytes = config.fetch_bytes.min(self.geometry.page_bytes - column);
        self.read_mapping_page(number, at, column, bytes);
    }

    /// Starts reading a slice of a mapping page. The entries themselves are in the table, so
    /// only the time of their transfer is of interest.
    pub(super) fn read_mapping_page(
        &self,
        number: u32,
        at: media::nand::Ppa,
        column: u32,
        bytes: u32,
    ) {
        self.count(|counts| counts.mapping_page_reads += 1);
        let origin = Origin::own(tenants::MAPPING);
        let asked = self.cores.charge(origin, Work::MappingMiss);
        if asked <= self.cores.now() {
            return self.push_mapping_read(number, at, column, bytes);
        }
        let ftl = self.myself();
        self.cores.at(asked, move || {
            // Collection may have moved the page meanwhile.
            let moved = ftl.with_pages(|pages| pages.page_mut(number).at).flatten();
            ftl.push_mapping_read(number, moved.unwrap_or(at), column, bytes);
        });
    }

    #[inline]
    fn push_mapping_read(&self, number: u32, at: media::nand::Ppa, column: u32, bytes: u32) {
        let page = self.geometry.page_address(at);
        let read = Read {
            page,
            column,
            bytes,
            into: BufferId::NONE,
            at: 0,
            inverse: false,
            origin: Origin::own(tenants::MAPPING),
        };
        let die = self.geometry.die_of_block(page.block);
        self.schedule.push(die, read, Notify::Mapper(number));
    }

    /// A mapping page has been read: whoever waits goes on.
    fn mapping_page_read(&self, number: u32, fault: Option<Fault>) {
        let waiting = self.with_pages(|pages| {
            pages.page_mut(number).reading = false;
            pages.take_waiters(number)
        });
        let Some(mut waiting) = waiting else { return };
        while let Some(waiter) = self
            .with_pages(|pages| pages.next_waiter(&mut waiting))
            .flatten()
        {
            self.go_on(number, waiter, fault);
        }
    }

    #[inline]
    fn go_on(&self, number: u32, waiter: Waiter, fault: Option<Fault>) {
        match waiter {
            Waiter::Page { notify } => self.schedule.settle(notify, fault),
            Waiter::Nobody { lpn } => self.entry_arrives(lpn, fault),
            Waiter::Entry { lpn, notify } => {
                self.entry_arrives(lpn, fault);
                self.schedule.settle(notify, fault);
            }
            Waiter::Read { slice, notify } => {
                let other = self.run_arrives(number, slice, fault);
                if fault.is_some() {
                    self.schedule.settle(notify, fault);
                } else if let Some(other) = other {
                    self.with_pages(|pages| pages.wait(other, waiter));
                } else {
                    self.read_expected(slice, notify);
                }
            }
        }
    }

    /// The entries of a slice that mapping page `number` has arrive; gives another one of which some are awaited.
    #[inline]
    fn run_arrives(&self, number: u32, slice: PageSlice, fault: Option<Fault>) -> Option<u32> {
        if slice.column + slice.bytes <= self.unit.bytes() {
            self.entry_arrives(slice.lpn, fault);
            return None;
        }
        let mut other = None;
        for unit in slice.units(self.unit) {
            let of = self.with_pages(|pages| pages.number_of(unit.lpn));
            if of == Some(number) {
                self.entry_arrives(unit.lpn, fault);
            } else if self.mapping.borrow().is_awaited(unit.lpn) {
                other = of;
            }
        }
        other
    }

    #[inline]
    fn entry_arrives(&self, lpn: Lpn, fault: Option<Fault>) {
        if let Some(cache) = &mut self.mapping.borrow_mut().cache {
            match fault {
                None => cache.arrive(lpn.0),
                Some(_) => cache.give_up(lpn.0),
            }
        }
    }

    /// A page was written, so its new entry is known; it is kept at hand.
    #[inline]
    pub(in crate::ftl) fn keep_entry(&self, lpn: Lpn) {
        let mut table = self.mapping.borrow_mut();
        let table = &mut *table;
        let (Some(cache), Some(pages)) = (&mut table.cache, &mut table.pages) else {
            return;
        };
        if cache.contains(lpn.0) {
            return;
        }
        match cache.reserve(lpn.0) {
            Room::Made => {}
            Room::Displaced(victim) => self.write_backs.request(pages, pages.of(Lpn(victim)).0),
            // It is written through.
            Room::None => return self.write_backs.request(pages, pages.of(lpn).0),
        }
        cache.arrive(lpn.0);
        cache.change(lpn.0);
    }

    pub(in crate::ftl) fn with_pages<R>(
        &self,
        change: impl FnOnce(&mut super::MappingPages) -> R,
    ) -> Option<R> {
        self.mapping.borrow_mut().pages.as_mut().map(change)
    }
}
