//! Copies where a page has several units: what is needed of several pages of data is gathered into one, so that no slot
//! is programmed for what nobody needs.
//!
//! Pages of which all is needed go first, one by one: such a page can be copied inside its die. When they are over, the
//! units of the other pages follow, as many together as a page has slots.

use media::core::Work;
use media::nand::{PageAddress, Ppa};

use super::{Copy, Pass};
use crate::ftl::holds::encode_into;
use crate::ftl::spare::{Content, Record};
use crate::ftl::unit::Slots;
use crate::ftl::{Ftl, Lpn, UnitAddress};
use crate::memory::{self, Held};
use crate::planted::{Bug, is_planted};
use crate::schedule::{Copyback, Fault, Notify, Program, Read, Spare};

/// A unit on its way.
#[derive(Clone, Copy)]
pub(super) struct Gathered {
    from: UnitAddress,
    lpn: Lpn,
    version: u64,
    /// It could not be read, or is not needed any more.
    dropped: bool,
}

/// No unit.
const NONE: Gathered = Gathered {
    from: UnitAddress(0),
    lpn: Lpn(0),
    version: 0,
    dropped: true,
};

/// What a job copies next.
enum Next {
    /// A page as a whole.
    Page(PageAddress),
    /// These units.
    Units { first: PageAddress, count: u32 },
}

impl Ftl {
    /// As [`Ftl::feed`], where a page has several units.
    pub(super) fn feed_units(&self, number: u32) {
        loop {
            // Its units are gathered into the place of the copy.
            let copy = self.collections.copies.borrow_mut().insert(Copy {
                job: number,
                from: self.first_page_of(number),
                units: 0,
                reads: 0,
                record: None,
                buffer: None,
                room: None,
                into: None,
            });
            match self.next_to_gather(number, copy) {
                None => {
                    self.release_copy(copy);
                    break;
                }
                Some(Next::Page(from)) => {
                    self.collections.copies.borrow_mut()[copy].from = from;
                    self.start_copy(copy, from);
                }
                Some(Next::Units { first, count }) => {
                    {
                        let copy = &mut self.collections.copies.borrow_mut()[copy];
                        (copy.from, copy.units) = (first, count);
                    }
                    self.start_gathering(copy);
                }
            }
        }
        let job = self.collections.jobs.borrow()[number];
        if job.copies_in_flight == 0 {
            self.finish(number, &job);
        }
    }

    fn first_page_of(&self, job: u32) -> PageAddress {
        let block = self.collections.jobs.borrow()[job].victim;
        PageAddress { block, page: 0 }
    }

    /// What a job copies next, if one more copy may be under way: a page, or units, which are put down for `copy`.
    fn next_to_gather(&self, number: u32, copy: u32) -> Option<Next> {
        let mut jobs = self.collections.jobs.borrow_mut();
        let job = &mut jobs[number];
        if !self.may_copy(job) {
            return None;
        }
        let blocks = self.blocks.borrow();
        let of_region = job.purpose.is_of_region();
        while job.pass == Pass::Whole {
            let Some(page) = blocks.next_valid(job.victim, job.next_page) else {
                job.pass = Pass::Between;
                break;
            };
            job.next_page = page.page + 1;
            let ppa = self.geometry.ppa(page);
            let whole = blocks.valid_slots(ppa) == self.unit.all();
            if of_region || whole && !self.is_data_page(ppa) {
                job.copies_in_flight += 1;
                return Some(Next::Page(page));
            }
            if whole {
                job.copies_in_flight += 1;
                let count = self.put_down(copy, 0, ppa, self.unit.all());
                return Some(Next::Units { first: page, count });
            }
        }
        // Pages of the region go as they are, however much of them is needed.
        if job.pass == Pass::Between && job.copies_in_flight == 0 && !of_region {
            (job.pass, job.next_page) = (Pass::Rest, 0);
        }
        if job.pass != Pass::Rest {
            return None;
        }
        let (mut first, mut count) = (None, 0);
        while count < self.unit.per_page()
            && let Some(page) = blocks.next_valid(job.victim, job.next_page)
        {
            if page.page > job.next_page {
                (job.next_page, job.next_slot) = (page.page, 0);
            }
            let ppa = self.geometry.ppa(page);
            let needed = blocks.valid_slots(ppa);
            // A whole one could not be read, and stays where it is.
            let left = match needed == self.unit.all() {
                true => Slots::NONE,
                false => needed.from(job.next_slot),
            };
            let room = self.unit.per_page() - count;
            let taken = left.lowest(room);
            count += self.put_down(copy, count, ppa, taken);
            first = first.or((!taken.is_empty()).then_some(page));
            match left.without(taken).iter().next() {
                Some(slot) => job.next_slot = slot,
                None => (job.next_page, job.next_slot) = (page.page + 1, 0),
            }
        }
        let first = first?;
        job.copies_in_flight += 1;
        Some(Next::Units { first, count })
    }

    fn is_data_page(&self, page: Ppa) -> bool {
        let nand = self.schedule.nand();
        nand.spare(page).is_some_and(Record::is_of_data)
    }

    /// Puts down units of a page as those of a copy, from place `from` on; gives how many they are.
    fn put_down(&self, copy: u32, from: u32, page: Ppa, slots: Slots) -> u32 {
        let per_page = self.unit.per_page();
        let mut gathered = self.collections.gathered.borrow_mut();
        let begin = (copy * per_page) as usize;
        if gathered.len() < begin + per_page as usize {
            gathered.resize(begin + per_page as usize, NONE);
        }
        let nand = self.schedule.nand();
        let spare = nand.spare(page).unwrap_or_default();
        let mut records = Record::decode_slots(spare, self.unit);
        let mut place = begin + from as usize;
        for slot in slots.iter() {
            let (_, record) = records
                .find(|(listed, _)| *listed == slot)
                .expect("only slots of a record become needed");
            let lpn = record.content.lpn();
            gathered[place] = Gathered {
                from: self.unit.at(page, slot),
                lpn: lpn.expect("needed in part is only data"),
                version: record.version,
                dropped: false,
            };
            place += 1;
        }
        (place - begin) as u32 - from
    }

    /// Shows the units of a copy to `look`.
    fn with_units<R>(
        &self,
        number: u32,
        copy: &Copy,
        look: impl FnOnce(&mut [Gathered]) -> R,
    ) -> R {
        let begin = (number * self.unit.per_page()) as usize;
        let mut gathered = self.collections.gathered.borrow_mut();
        look(&mut gathered[begin..begin + copy.units as usize])
    }

    /// Whether a unit is among those of a copy.
    pub(super) fn gathers(&self, number: u32, copy: &Copy, at: UnitAddress) -> bool {
        self.with_units(number, copy, |units| {
            units.iter().any(|unit| unit.from == at)
        })
    }

    /// Has units copied when the firmware has come to it.
    fn start_gathering(&self, number: u32) {
        if !self.cores.takes_time() {
            return self.gather(number);
        }
        let origin = self.origin_of(self.collections.copies.borrow()[number].job);
        let begins = self.cores.charge(origin, Work::CollectPage);
        if begins <= self.cores.now() {
            return self.gather(number);
        }
        let ftl = self.myself();
        self.cores.at(begins, move || ftl.gather(number));
    }

    /// Has units copied by their die, if they are all of a page, or read, to be programmed from the controller's memory.
    fn gather(&self, number: u32) {
        let copy = self.collections.copies.borrow()[number];
        let first = self.unit.at(self.geometry.ppa(copy.from), 0);
        let in_order = |units: &mut [Gathered]| {
            let mut addresses = (first.0..).zip(&*units);
            addresses.all(|(address, unit)| unit.from.0 == address)
        };
        let whole = copy.units == self.unit.per_page() && self.with_units(number, &copy, in_order);
        if self.config.gc.copyback && whole && self.start_units_copyback(number, &copy) {
            return;
        }
        self.start_reading_units(number);
    }

    fn start_units_copyback(&self, number: u32, copy: &Copy) -> bool {
        let plane = self.geometry.plane_of_block(copy.from.block);
        let Some(to) = self.page_for_copy(plane, copy.job) else {
            return false;
        };
        let copyback = Copyback {
            from: copy.from,
            to,
            mode: self.config.mode,
            spare: self.place_units(number, copy, to),
            origin: self.origin_of(copy.job),
        };
        let die = self.geometry.die_of_block(to.block);
        self.schedule.push(die, copyback, Notify::Collector(number));
        true
    }

    /// Has the controller read units, as soon as there is room for them.
    fn start_reading_units(&self, number: u32) {
        let held = self.collections.copies.borrow()[number].room;
        if let Some(held) = held {
            return self.read_units(number, held);
        }
        if let Some(room) = self.buffers.try_room(memory::Purpose::Copy) {
            return self.read_units(number, room.keep());
        }
        let ftl = self.myself();
        self.cores.sim().spawn_detached(async move {
            let room = ftl.buffers.room(memory::Purpose::Copy).await.keep();
            ftl.read_units(number, room);
        });
    }

    /// Reads units, each to the slot that it is to have; what lies side by side in one sense.
    fn read_units(&self, number: u32, room: Held) {
        let buffer = self.buffers.take().keep();
        let copy = {
            let copy = &mut self.collections.copies.borrow_mut()[number];
            (copy.buffer, copy.room) = (Some(buffer), Some(room));
            *copy
        };
        let origin = self.origin_of(copy.job);
        let bytes = self.unit.bytes();
        let mut begin = 0;
        let mut reads = 0;
        while begin < copy.units {
            let run = self.with_units(number, &copy, |units| {
                let from = &units[begin as usize..];
                let follows = |pair: &&[Gathered]| {
                    let same = self.unit.page(pair[0].from) == self.unit.page(pair[1].from);
                    same && pair[0].from.0 + 1 == pair[1].from.0
                };
                let count = 1 + from.windows(2).take_while(follows).count() as u32;
                (from[0].from, count)
            });
            let (first, count) = run;
            let page = self.geometry.page_address(self.unit.page(first));
            let read = Read {
                page,
                column: self.unit.column(first),
                bytes: count * bytes,
                into: buffer,
                at: begin * bytes,
                inverse: false,
                origin,
            };
            // Before the next is asked for: none of them is over at once.
            self.collections.copies.borrow_mut()[number].reads += 1;
            let die = self.geometry.die_of_block(page.block);
            self.schedule.push(die, read, Notify::Collector(number));
            (begin, reads) = (begin + count, reads + 1);
        }
        debug_assert!(reads > 0, "there is something to gather");
    }

    /// A read or program of gathered units is over.
    pub(super) fn gather_step(&self, number: u32, copy: &Copy, fault: Option<Fault>) {
        match (copy.into, fault) {
            (None, fault) => {
                if let Some(fault) = fault {
                    self.units_lost(number, copy, fault);
                }
                let left = copy.reads - 1;
                self.collections.copies.borrow_mut()[number].reads = left;
                if left == 0 {
                    self.program_units(number, copy);
                }
            }
            (Some((into, _)), None) => {
                self.units_copied(number, copy, into);
                self.copy_done(number, copy);
            }
            (Some((into, _)), Some(Fault::ProgramFailed(_))) => {
                self.give_up(into);
                self.collections.copies.borrow_mut()[number].into = None;
                match copy.buffer {
                    Some(_) => self.program_units(number, copy),
                    None => self.start_gathering(number),
                }
            }
            (Some((into, _)), Some(Fault::NeedsCorrection(_))) => {
                self.settle(into, Slots::NONE);
                self.collections.copies.borrow_mut()[number].into = None;
                self.start_reading_units(number);
            }
            (Some((into, _)), Some(Fault::Uncorrectable(_))) => {
                self.settle(into, Slots::NONE);
                self.page_lost(number, copy);
            }
            (Some((into, _)), Some(_)) => {
                self.settle(into, Slots::NONE);
                self.change_job(copy.job, |job| job.stuck = true);
                self.copy_done(number, copy);
            }
        }
    }

    /// A page of which units were to be gathered cannot be read; the others can be.
    fn units_lost(&self, number: u32, copy: &Copy, fault: Fault) {
        self.count(|counts| counts.pages_lost += 1);
        self.change_job(copy.job, |job| job.lost = true);
        self.with_units(number, copy, |units| {
            for unit in units {
                let page = self.geometry.page_address(self.unit.page(unit.from));
                unit.dropped |= match fault {
                    Fault::Uncorrectable(lost) => lost == page,
                    _ => true,
                };
            }
        });
    }

    /// Units have been read: those that the host has not overtaken are programmed elsewhere.
    fn program_units(&self, number: u32, copy: &Copy) {
        let needed = self.with_units(number, copy, |units| {
            let blocks = self.blocks.borrow();
            let mut needed = false;
            for unit in units {
                unit.dropped |= !blocks.is_valid(unit.from);
                needed |= !unit.dropped;
            }
            needed
        });
        if !needed {
            return self.copy_done(number, copy);
        }
        let (Some(page), Some(from)) = (self.any_page_for_copy(copy), copy.buffer) else {
            self.change_job(copy.job, |job| job.stuck = true);
            return self.copy_done(number, copy);
        };
        let program = Program {
            page,
            mode: self.config.mode,
            from,
            bytes: self.geometry.page_bytes,
            spare: self.place_units(number, copy, page),
            origin: self.origin_of(copy.job),
        };
        let die = self.geometry.die_of_block(page.block);
        self.schedule.push(die, program, Notify::Collector(number));
    }

    /// Settles where units go; gives their record, which lists those that are not dropped.
    fn place_units(&self, number: u32, copy: &Copy, to: PageAddress) -> Spare {
        let buffer = self.collections.copies.borrow()[number].record;
        let buffer = buffer.unwrap_or_else(|| self.buffers.take_record());
        self.collections.copies.borrow_mut()[number].record = Some(buffer);
        let named = self.with_units(number, copy, |units| units[0]);
        let record = Record {
            content: Content::Data(named.lpn),
            version: named.version,
            sequence: 0,
        };
        let sequence = self.place_copy(number, to, record).sequence;
        self.with_units(number, copy, |units| {
            let kept = (0..).zip(&*units).filter(|(_, unit)| !unit.dropped);
            let mixed = is_planted(Bug::GatheringMixesVersions).then_some(record.version);
            let version = |unit: &Gathered| self.version_of_copy(unit.version, to.block);
            let listed = kept.map(|(slot, unit)| (slot, unit.lpn, mixed.unwrap_or(version(unit))));
            encode_into(&self.buffers, buffer, listed, sequence)
        })
    }

    /// Units are on flash again: each takes the place of its original, if that is still needed.
    fn units_copied(&self, number: u32, copy: &Copy, into: PageAddress) {
        let purpose = self.collections.jobs.borrow()[copy.job].purpose;
        self.count_copy(purpose);
        let slots = self.with_units(number, copy, |units| {
            let blocks = self.blocks.borrow();
            let overtakes = is_planted(Bug::CollectionIgnoresOvertaking);
            let mut slots = Slots::NONE;
            for (slot, unit) in (0..).zip(&*units) {
                if !unit.dropped && (overtakes || blocks.is_valid(unit.from)) {
                    slots = slots.and(slot);
                }
            }
            slots
        });
        self.settle(into, slots);
        let page = self.geometry.ppa(into);
        self.with_units(number, copy, |units| {
            for slot in slots.iter() {
                let unit = units[slot as usize];
                self.unit_moved(unit.lpn, unit.from, self.unit.at(page, slot));
                self.blocks.borrow_mut().invalidate(unit.from);
            }
        });
    }
}
