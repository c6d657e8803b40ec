//! The pages of a block that is being emptied: each is copied within its plane, or read and programmed elsewhere; then
//! the mapping follows it.

use media::core::Work;
use media::nand::{PageAddress, PlaneId, Ppa, ProgramMode};

use super::{Copy, Job, Purpose};
use crate::ftl::blocks::Stream;
use crate::ftl::mapping::Mapping;
use crate::ftl::spare::{Content, Record};
use crate::ftl::unit::Slots;
use crate::ftl::{Ftl, Lpn, UnitAddress};
use crate::memory::{self, Held};
use crate::planted::{Bug, is_planted};
use crate::schedule::{Copyback, Notify, Program, Read};

impl Ftl {
    /// Starts as many copies of a job as may be under way; ends it when there are none left.
    pub(super) fn feed(&self, number: u32) {
        if !self.unit.is_page() {
            return self.feed_units(number);
        }
        while let Some(from) = self.next_to_copy(number) {
            self.begin_copy(number, from);
        }
        let job = self.collections.jobs.borrow()[number];
        if job.copies_in_flight == 0 {
            self.finish(number, &job);
        }
    }

    /// Begins to copy a page as a whole.
    #[inline]
    pub(super) fn begin_copy(&self, job: u32, from: PageAddress) {
        let copy = self.collections.copies.borrow_mut().insert(Copy {
            job,
            from,
            units: 0,
            reads: 0,
            record: None,
            buffer: None,
            room: None,
            into: None,
        });
        self.start_copy(copy, from);
    }

    /// Whether one more copy of a job may be under way.
    #[inline]
    pub(super) fn may_copy(&self, job: &Job) -> bool {
        // What is to take no more layers elsewhere goes there in its order.
        let most = match job.purpose.is_of_region() {
            true => 1,
            false => self.config.gc.concurrent_copies,
        };
        !job.stuck && job.copies_in_flight < most
    }

    /// The next page of a job, if one more may be under way.
    fn next_to_copy(&self, number: u32) -> Option<PageAddress> {
        let mut jobs = self.collections.jobs.borrow_mut();
        let job = &mut jobs[number];
        if !self.may_copy(job) {
            return None;
        }
        let blocks = self.blocks.borrow();
        let from = blocks.next_valid(job.victim, job.next_page)?;
        job.next_page = from.page + 1;
        job.copies_in_flight += 1;
        Some(from)
    }

    /// Has a page copied when the firmware has come to it.
    #[inline]
    pub(super) fn start_copy(&self, number: u32, from: PageAddress) {
        if self.cores.takes_time() {
            self.copy_after_work(number, from);
        } else {
            self.copy_page(number, from);
        }
    }

    #[cold]
    fn copy_after_work(&self, number: u32, from: PageAddress) {
        let origin = self.origin_of(self.collections.copies.borrow()[number].job);
        let begins = self.cores.charge(origin, Work::CollectPage);
        if begins <= self.cores.now() {
            return self.copy_page(number, from);
        }
        let ftl = self.myself();
        self.cores.at(begins, move || ftl.copy_page(number, from));
    }

    /// Has a page copied by its die, or read, to be programmed from the controller's memory.
    fn copy_page(&self, number: u32, from: PageAddress) {
        let job = self.collections.copies.borrow()[number].job;
        let of_region = self.collections.jobs.borrow()[job].purpose.is_of_region();
        // Facts pass through the controller, which looks at their checksum.
        let inside = self.config.gc.copyback && !of_region && !self.is_journal_page(from);
        if inside && self.start_copyback(number, from) {
            return;
        }
        self.start_buffered_copy(number, from);
    }

    /// Has the controller read a page, to program it elsewhere, as soon as there is room for it.
    pub(super) fn start_buffered_copy(&self, number: u32, from: PageAddress) {
        let held = self.collections.copies.borrow()[number].room;
        if let Some(held) = held {
            return self.read_copy(number, from, held);
        }
        if let Some(room) = self.buffers.try_room(memory::Purpose::Copy) {
            return self.read_copy(number, from, room.keep());
        }
        let ftl = self.myself();
        self.cores.sim().spawn_detached(async move {
            let room = ftl.buffers.room(memory::Purpose::Copy).await.keep();
            ftl.read_copy(number, from, room);
        });
    }

    #[inline]
    fn read_copy(&self, number: u32, from: PageAddress, room: Held) {
        let buffer = if self.is_firmware_page(from) {
            self.buffers.take_firmware()
        } else {
            self.buffers.take()
        };
        let buffer = buffer.keep();
        let job = {
            let copy = &mut self.collections.copies.borrow_mut()[number];
            (copy.buffer, copy.room) = (Some(buffer), Some(room));
            copy.job
        };
        let origin = self.origin_of(job);
        self.schedule.nand().prefetch(from);
        let read = Read {
            page: from,
            column: 0,
            bytes: self.geometry.page_bytes,
            into: buffer,
            at: 0,
            inverse: false,
            origin,
        };
        let die = self.geometry.die_of_block(from.block);
        self.schedule.push(die, read, Notify::Collector(number));
    }

    /// Has the die copy a page within its plane; false if there is no page for it.
    fn start_copyback(&self, number: u32, from: PageAddress) -> bool {
        let plane = self.geometry.plane_of_block(from.block);
        let job = self.collections.copies.borrow()[number].job;
        let Some(to) = self.page_for_copy(plane, job) else {
            return false;
        };
        let record = self.place_copy(number, to, self.record_of(from));
        let origin = self.origin_of(job);
        let copyback = Copyback {
            from,
            to,
            mode: self.config.mode,
            spare: record.encode().into(),
            origin,
        };
        let die = self.geometry.die_of_block(from.block);
        self.schedule.push(die, copyback, Notify::Collector(number));
        true
    }

    /// A fresh page of `plane` for a copy of a job.
    pub(super) fn page_for_copy(&self, plane: PlaneId, job: u32) -> Option<PageAddress> {
        let levelling = self.collections.jobs.borrow()[job].purpose == Purpose::Levelling;
        let worn = levelling.then(|| self.try_allocate(plane, Stream::Cold));
        worn.flatten()
            .or_else(|| self.try_allocate(plane, Stream::Collection))
    }

    /// Settles where a copy goes; gives its record. In one block sequences rise from page to page.
    pub(super) fn place_copy(&self, number: u32, to: PageAddress, record: Record) -> Record {
        let job = self.collections.copies.borrow()[number].job;
        let purpose = self.collections.jobs.borrow()[job].purpose;
        // What moves as a block keeps its number until all of it is there: recovery then takes the whole one.
        let sequence = match purpose {
            Purpose::RegionLevelling(_) => record.sequence,
            _ => self.next_sequence(),
        };
        self.note_program(sequence);
        let record = Record {
            sequence,
            version: self.version_of_copy(record.version, to.block),
            ..record
        };
        self.collections.copies.borrow_mut()[number].into = Some((to, record));
        record
    }

    /// Whether a page is one of the journal.
    fn is_journal_page(&self, page: PageAddress) -> bool {
        let nand = self.schedule.nand();
        let spare = nand.spare(self.geometry.ppa(page));
        spare.is_some_and(Record::is_of_journal)
    }

    /// Whether what a page holds is the firmware's own, which is kept where data is not.
    #[inline]
    fn is_firmware_page(&self, page: PageAddress) -> bool {
        let nand = self.schedule.nand();
        let spare = nand.spare(self.geometry.ppa(page));
        spare.is_some_and(Record::is_of_firmware)
    }

    /// What a needed page holds.
    pub(super) fn record_of(&self, page: PageAddress) -> Record {
        let nand = self.schedule.nand();
        let spare = nand.spare(self.geometry.ppa(page));
        let record = spare.and_then(Record::decode);
        record.expect("only pages with a record become needed")
    }

    /// A page cannot be read. It cannot be saved, and erasing it would make its mapping point at
    /// somebody else's data.
    pub(super) fn page_lost(&self, number: u32, copy: &Copy) {
        self.count(|counts| counts.pages_lost += 1);
        self.change_job(copy.job, |job| job.lost = true);
        self.copy_done(number, copy);
    }

    /// A page has been read: program it elsewhere, unless the host has overtaken.
    pub(super) fn page_read(&self, number: u32, copy: &Copy) {
        let old = self.geometry.ppa(copy.from);
        if self.blocks.borrow().valid_slots(old).is_empty() {
            return self.copy_done(number, copy);
        }
        let record = self.record_of(copy.from);
        if is_planted(Bug::CollectionDropsTombstones)
            && matches!(record.content, Content::Tombstone { .. })
        {
            self.blocks.borrow_mut().invalidate_page(old);
            return self.copy_done(number, copy);
        }
        self.program_copy(number, copy, record);
    }

    /// Programs a copy to a page of its plane, or of another if that has none.
    pub(super) fn program_copy(&self, number: u32, copy: &Copy, record: Record) {
        let (page, mode, origin) = match record.content {
            Content::Placed { placement, .. } => {
                let purpose = self.collections.jobs.borrow()[copy.job].purpose;
                let (page, origin) = match purpose {
                    Purpose::RegionLevelling(target) => {
                        let page = self.same_place(copy.from, target);
                        (page, self.origin_of(copy.job))
                    }
                    // In turn with writes of the host, which go to the same blocks.
                    _ => {
                        let origin = self.origin_of(copy.job).with_host();
                        (self.copy_spot(copy.from, &placement), origin)
                    }
                };
                (page, ProgramMode::Esp, origin)
            }
            _ => {
                let page = self.any_page_for_copy(copy);
                (page, self.config.mode, self.origin_of(copy.job))
            }
        };
        let (Some(page), Some(from)) = (page, copy.buffer) else {
            self.change_job(copy.job, |job| job.stuck = true);
            return self.copy_done(number, copy);
        };
        let record = self.place_copy(number, page, record);
        let program = Program {
            page,
            mode,
            from,
            bytes: self.geometry.page_bytes,
            spare: record.encode().into(),
            origin,
        };
        let die = self.geometry.die_of_block(page.block);
        self.schedule.push(die, program, Notify::Collector(number));
    }

    /// A page of the plane that a page is copied from, or of another if that has none.
    pub(super) fn any_page_for_copy(&self, copy: &Copy) -> Option<PageAddress> {
        let home = self.geometry.plane_of_block(copy.from.block);
        let planes = self.geometry.planes();
        self.page_for_copy(home, copy.job).or_else(|| {
            (1..planes)
                .map(|step| PlaneId((home.0 + step) % planes))
                .find_map(|plane| self.try_allocate(plane, Stream::Collection))
        })
    }

    /// A copy is on flash: it takes the place of its original, if that is still needed.
    pub(super) fn page_copied(&self, copy: &Copy, into: PageAddress, record: Record) {
        let old = self.geometry.ppa(copy.from);
        let purpose = self.collections.jobs.borrow()[copy.job].purpose;
        self.count_copy(purpose);
        if let Purpose::RegionLevelling(_) = purpose {
            // The mapping follows when the whole block is there.
            return self.settle(into, Slots::NONE);
        }
        let still_needed = match is_planted(Bug::CollectionIgnoresOvertaking) {
            true => self.unit.all(),
            false => self.blocks.borrow().valid_slots(old),
        };
        self.settle(into, still_needed);
        if !still_needed.is_empty() {
            self.moved(record, old, self.geometry.ppa(into), still_needed);
        }
    }

    /// A page was copied.
    #[inline]
    pub(super) fn count_copy(&self, purpose: Purpose) {
        self.count(|counts| match purpose {
            Purpose::Space => counts.gc_page_copies += 1,
            Purpose::Levelling => counts.wear_levelling_page_copies += 1,
            Purpose::Folding => counts.slc_cache_page_folds += 1,
            Purpose::Region => counts.compute_page_copies += 1,
            Purpose::RegionLevelling(_) => counts.wear_levelling_page_copies += 1,
        });
    }

    /// The mapping follows the copy of a page, of which these slots are needed.
    pub(super) fn moved(&self, record: Record, old: Ppa, new: Ppa, slots: Slots) {
        match record.content {
            // The only unit of its page; several are gathered.
            Content::Data(lpn) => {
                let (from, to) = (self.unit.at(old, 0), self.unit.at(new, 0));
                self.unit_moved(lpn, from, to);
                return self.blocks.borrow_mut().invalidate(from);
            }
            Content::Placed { lpn, placement } => {
                for slot in slots.iter() {
                    let (from, to) = (self.unit.at(old, slot), self.unit.at(new, slot));
                    self.unit_moved(Lpn(lpn.0 + slot), from, to);
                }
                self.blocks.borrow_mut().set_inverse(new, placement.inverse);
            }
            Content::Temporary | Content::Search { .. } => {
                unreachable!("what is lent is not collected")
            }
            Content::Mapping { number, .. } => {
                self.with_pages(|pages| pages.moved(number, old, new));
            }
            Content::Root { .. } => unreachable!("blocks of roots are not collected"),
            Content::Journal { .. } => self.facts.borrow_mut().moved(record.version, old, new),
            Content::Tombstone { start, count } => {
                let mut mapping = self.mapping.borrow_mut();
                for lpn in (start.0..start.0 + count).map(Lpn) {
                    if mapping.get(lpn) == Mapping::Tombstone(old) {
                        mapping.set(lpn, Mapping::Tombstone(new));
                    }
                }
                let mut tombstones = self.tombstones.borrow_mut();
                if let Some(live) = tombstones.remove(&old) {
                    tombstones.insert(new, live);
                }
            }
        }
        self.blocks.borrow_mut().invalidate_page(old);
    }

    /// A unit has been copied, and is needed.
    #[inline]
    pub(super) fn unit_moved(&self, lpn: Lpn, from: UnitAddress, to: UnitAddress) {
        match self.is_watched(lpn) {
            true => self.version_moved(lpn, from, to),
            false => self.mapping.borrow_mut().set(lpn, Mapping::Data(to)),
        }
    }

    /// A copy is over, one way or another.
    pub(super) fn copy_done(&self, number: u32, copy: &Copy) {
        if let Some(buffer) = copy.buffer {
            self.buffers.give_back(buffer);
        }
        if let Some(room) = copy.room {
            self.buffers.release(room);
        }
        if let Some(record) = copy.record {
            self.buffers.give_back_record(record);
        }
        self.release_copy(number);
        self.announce_copied();
        let mut freed = 0;
        let mut victim = copy.from.block;
        self.change_job(copy.job, |job| {
            job.copies_in_flight -= 1;
            freed = job.outstanding.min(self.unit.per_page());
            job.outstanding -= freed;
            victim = job.victim;
        });
        let plane = self.geometry.plane_of_block(victim);
        self.collections
            .change_plane(plane, |jobs| jobs.outstanding -= freed);
        self.feed(copy.job);
    }
}
