//! Emptying blocks: copy what is needed, then erase.
//!
//! There is no task here: the schedule calls [`Ftl::collection_step`] when a read,
//! program or erase of a collection is over, and that starts what comes next. The
//! copies of a block are under way side by side.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use media::core::Work;
use media::nand::{BlockId, PageAddress, PlaneId, Ppa, ProgramMode};
use sim::Random;

use super::{Chooser, GcConfig, GcPace};
use crate::ftl::blocks::{Stream, Use};
use crate::ftl::mapping::Mapping;
use crate::ftl::spare::{Content, Record};
use crate::ftl::{Ftl, Lpn};
use crate::memory::{self, BufferId, Held};
use crate::planted::{Bug, is_planted};
use crate::schedule::{Copyback, Erase, Fault, Notify, Origin, Program, Read};
use crate::slab::Slab;
use crate::tenants;

/// What a block is emptied for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Its space.
    Space,
    /// Wear levelling.
    Levelling,
    /// Room in the SLC cache.
    Folding,
    /// A block of the region: what is needed goes to the frontiers of its columns.
    Region,
    /// A block of the region: its pages go to the same places of this one.
    RegionLevelling(BlockId),
}

impl Purpose {
    fn is_levelling(self) -> bool {
        matches!(self, Purpose::Levelling | Purpose::RegionLevelling(_))
    }

    fn is_of_region(self) -> bool {
        matches!(self, Purpose::Region | Purpose::RegionLevelling(_))
    }

    fn origin(self) -> Origin {
        Origin::own(match self {
            Purpose::Space | Purpose::Folding | Purpose::Region => tenants::COLLECTION,
            Purpose::Levelling | Purpose::RegionLevelling(_) => tenants::WEAR_LEVELLING,
        })
    }
}

/// A block that is being emptied.
#[derive(Clone, Copy)]
struct Job {
    victim: BlockId,
    /// Where to look for the next needed page.
    next_page: u32,
    copies_in_flight: u32,
    purpose: Purpose,
    /// Pages that were needed when it began and are not copied yet, at most.
    outstanding: u32,
    /// A needed page could not be read: the block is set aside as it is.
    lost: bool,
    /// There was no page for a copy.
    stuck: bool,
    /// The block is not to be used again when it is erased.
    worn: bool,
}

/// A page on its way.
#[derive(Clone, Copy)]
struct Copy {
    job: u32,
    from: PageAddress,
    /// Where the page is read to; a copyback needs none.
    buffer: Option<BufferId>,
    /// The room for that.
    room: Option<Held>,
    /// Where to and what, once it is being programmed.
    into: Option<(PageAddress, Record)>,
}

/// The state of a plane's collection.
#[derive(Clone, Copy, Default)]
struct PlaneJobs {
    running: u32,
    /// One more block is being emptied for wear levelling.
    levelling: bool,
    /// Copies that running jobs may still have to make.
    outstanding: u32,
    /// The last job found no page for a copy: nothing is tried again until there may be one.
    stuck: bool,
    /// The same of its blocks for computing.
    region_stuck: bool,
}

/// All collections of a drive.
pub(in crate::ftl) struct Collections {
    jobs: RefCell<Slab<Job>>,
    copies: RefCell<Slab<Copy>>,
    planes: Vec<Cell<PlaneJobs>>,
    /// Whether any of them is stuck.
    any_stuck: Cell<bool>,
    /// None begins.
    held: Cell<bool>,
    chooser: RefCell<Chooser>,
    /// Jobs that are to erase a block of the region, once no evaluation senses its pages.
    parked: RefCell<BTreeMap<BlockId, u32>>,
}

/// Marks the number of a job, whose erase is over, among those of copies.
const IS_JOB: u32 = 1 << 31;

impl Collections {
    pub(in crate::ftl) fn new(
        config: &GcConfig,
        planes: u32,
        blocks_per_plane: u32,
        random: Random,
    ) -> Collections {
        Collections {
            jobs: RefCell::default(),
            copies: RefCell::default(),
            planes: (0..planes).map(|_| Cell::default()).collect(),
            any_stuck: Cell::new(false),
            held: Cell::new(false),
            chooser: RefCell::new(Chooser::new(config, blocks_per_plane, random)),
            parked: RefCell::default(),
        }
    }

    pub(in crate::ftl) fn is_levelling(&self, plane: PlaneId) -> bool {
        self.planes[plane.0 as usize].get().levelling
    }

    /// A block was won, or a page is not needed any more: copies may find room again.
    pub(in crate::ftl) fn try_again(&self) {
        if !self.any_stuck.replace(false) {
            return;
        }
        for plane in (0..self.planes.len() as u32).map(PlaneId) {
            self.change_plane(plane, |jobs| {
                (jobs.stuck, jobs.region_stuck) = (false, false);
            });
        }
    }

    fn change_plane(&self, plane: PlaneId, change: impl FnOnce(&mut PlaneJobs)) {
        let cell = &self.planes[plane.0 as usize];
        let mut jobs = cell.get();
        change(&mut jobs);
        cell.set(jobs);
    }
}

impl Ftl {
    /// Has the schedule tell what becomes of collections, and looks at every plane once.
    pub(in crate::ftl) fn start_collecting(self: &Rc<Ftl>) {
        let weak = Rc::downgrade(self);
        self.schedule.set_collector(Box::new(move |number, fault| {
            if let Some(ftl) = weak.upgrade() {
                ftl.collection_step(number, fault);
            }
        }));
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            self.collect(plane);
            self.note_urgency(plane);
        }
    }

    /// Collection that may not be preempted, or for which the host waits, goes first.
    fn note_urgency(&self, plane: PlaneId) {
        let gc = &self.config.gc;
        let free = self.blocks.borrow().free_blocks(plane);
        let urgent = !gc.preemptible || free < gc.urgent_threshold_blocks as usize;
        self.schedule.set_collection_urgent(plane, urgent);
    }

    /// Begins to empty blocks of `plane` as far as it is short of free ones.
    pub(in crate::ftl) fn collect(&self, plane: PlaneId) {
        while self.wants_collection(plane) && self.begin_one(plane) {}
        self.note_exhaustion(plane);
    }

    /// A block of `plane` was filled: the moment to look whether to collect.
    pub(in crate::ftl) fn block_filled(&self, plane: PlaneId) {
        self.note_urgency(plane);
        match self.config.gc.pace {
            GcPace::Refill => self.collect(plane),
            GcPace::PerBlock => {
                if self.is_short(plane) || self.blocks.borrow().wants_folding(plane) {
                    self.begin_one(plane);
                }
            }
        }
    }

    /// The host waits for a page of `plane`: something must be under way, or nothing can be.
    pub(in crate::ftl) fn make_room(&self, plane: PlaneId) {
        if self.collections.planes[plane.0 as usize].get().running == 0 {
            self.begin_one(plane);
        }
        self.note_exhaustion(plane);
    }

    fn is_short(&self, plane: PlaneId) -> bool {
        self.blocks.borrow().free_blocks(plane) < self.config.gc.threshold_blocks as usize
    }

    fn wants_collection(&self, plane: PlaneId) -> bool {
        let blocks = self.blocks.borrow();
        // A failing block is emptied at once, before more of it is lost.
        if blocks.failing(plane).is_some() || blocks.wants_folding(plane) {
            return true;
        }
        let free = blocks.free_blocks(plane);
        let running = self.collections.planes[plane.0 as usize].get().running;
        let until = match self.config.gc.pace {
            GcPace::Refill => self.config.gc.threshold_blocks,
            GcPace::PerBlock => self.config.gc.hard_threshold_blocks,
        };
        free + (running as usize) < until as usize
    }

    /// Tells waiting writers if nothing can be won in `plane` for now.
    fn note_exhaustion(&self, plane: PlaneId) {
        let state = &self.planes[plane.0 as usize];
        let jobs = self.collections.planes[plane.0 as usize].get();
        let exhausted = jobs.running == 0 && !jobs.levelling && self.is_short(plane);
        state.exhausted.set(exhausted);
        if exhausted {
            state.space.announce();
        }
    }

    /// Begins to empty one more block of `plane`; false if there is none, or no room for it.
    fn begin_one(&self, plane: PlaneId) -> bool {
        let jobs = self.collections.planes[plane.0 as usize].get();
        let held = self.collections.held.get();
        if held || jobs.stuck || jobs.running >= self.config.gc.concurrent_blocks {
            return false;
        }
        let blocks = self.blocks.borrow_mut();
        let mut chooser = self.collections.chooser.borrow_mut();
        let folded = |block| (block, Purpose::Folding);
        let collected = |block| (block, Purpose::Space);
        // A plane without a free block may have one that only has to be erased.
        let full = blocks.free_blocks(plane) == 0;
        let worthless = full.then(|| blocks.candidates(plane).emptiest()).flatten();
        let worthless = worthless.filter(|block| blocks.valid_pages(*block) == 0);
        let victim = worthless
            .or_else(|| blocks.failing(plane))
            .map(collected)
            .or_else(|| {
                let due = blocks.wants_folding(plane);
                due.then(|| blocks.foldable(plane)).flatten().map(folded)
            })
            .or_else(|| chooser.victim(blocks.candidates(plane)).map(collected))
            .or_else(|| blocks.foldable(plane).map(folded));
        let Some((victim, purpose)) = victim else {
            return false;
        };
        let valid = blocks.valid_pages(victim);
        if jobs.running > 0 && jobs.outstanding + valid > blocks.room_for_copies(plane) {
            return false;
        }
        drop((blocks, chooser));
        self.begin(victim, purpose);
        true
    }

    /// Begins to move the content of `block` to a worn one.
    pub(in crate::ftl) fn begin_levelling(&self, block: BlockId) {
        self.count(|counts| counts.wear_levelling_blocks += 1);
        self.begin(block, Purpose::Levelling);
    }

    /// Whether a block of `plane` is being emptied for its space.
    pub(in crate::ftl) fn is_collecting(&self, plane: PlaneId) -> bool {
        self.collections.planes[plane.0 as usize].get().running > 0
    }

    /// Whether collection is kept from beginning.
    pub(in crate::ftl) fn is_collection_held(&self) -> bool {
        self.collections.held.get()
    }

    /// Keeps collection from beginning; what has begun goes on.
    pub fn hold_collection(&self) {
        self.collections.held.set(true);
    }

    /// Lets collection begin again.
    pub fn release_collection(&self) {
        if !self.collections.held.replace(false) {
            return;
        }
        self.collections.try_again();
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            self.collect(plane);
        }
        self.look_at_region();
    }

    /// Whether a block is being emptied or erased anywhere.
    pub fn is_collecting_anywhere(&self) -> bool {
        let mut planes = (0..self.geometry.planes()).map(PlaneId);
        let region = self.region.borrow();
        planes.any(|plane| self.is_collecting(plane) || region.is_emptying(plane))
    }

    /// Begins to empty `block` of `plane`, whatever it holds.
    pub(in crate::ftl) fn begin_emptying(&self, block: BlockId) {
        self.begin(block, Purpose::Space);
    }

    /// Begins to empty and erase `block`, whoever it is of; one that is `worn` is out of use then.
    pub(in crate::ftl) fn begin_purging(&self, block: BlockId, worn: bool) {
        let purpose = match self.region.borrow().held(block) {
            Some(_) => Purpose::Region,
            None => Purpose::Space,
        };
        self.begin_job(block, purpose, worn);
    }

    /// Begins to empty a block of the region, whatever it holds.
    pub(in crate::ftl) fn begin_region(&self, block: BlockId) {
        self.begin(block, Purpose::Region);
    }

    /// Begins to move all pages of a block of the region to the same places of `target`.
    pub(in crate::ftl) fn begin_region_levelling(&self, block: BlockId, target: BlockId) {
        self.count(|counts| counts.wear_levelling_blocks += 1);
        self.region.borrow_mut().begin_move(block, target);
        self.begin(block, Purpose::RegionLevelling(target));
    }

    /// Whether emptying a block of the region of `plane` found no page for a copy, and nothing has changed since.
    pub(in crate::ftl) fn is_region_stuck(&self, plane: PlaneId) -> bool {
        self.collections.planes[plane.0 as usize].get().region_stuck
    }

    fn begin(&self, victim: BlockId, purpose: Purpose) {
        let failing = match self.region.borrow().held(victim) {
            Some(held) => held.failed,
            None => self.blocks.borrow().usage(victim) == Use::Failing,
        };
        self.begin_job(victim, purpose, failing);
    }

    fn begin_job(&self, victim: BlockId, purpose: Purpose, worn: bool) {
        let plane = self.geometry.plane_of_block(victim);
        let levelling = purpose.is_levelling();
        let valid = if purpose.is_of_region() {
            self.region.borrow_mut().set_busy(victim, true);
            0
        } else {
            let mut blocks = self.blocks.borrow_mut();
            blocks.begin_collection(victim);
            blocks.valid_pages(victim)
        };
        let counted = !levelling && !purpose.is_of_region();
        self.collections.change_plane(plane, |jobs| {
            jobs.running += u32::from(counted);
            jobs.levelling |= levelling;
            jobs.outstanding += valid;
        });
        let job = self.collections.jobs.borrow_mut().insert(Job {
            victim,
            next_page: 0,
            copies_in_flight: 0,
            purpose,
            outstanding: valid,
            lost: false,
            stuck: false,
            worn,
        });
        self.feed(job);
    }

    /// Starts as many copies of a job as may be under way; ends it when there are none left.
    fn feed(&self, number: u32) {
        while let Some(from) = self.next_to_copy(number) {
            let copy = self.collections.copies.borrow_mut().insert(Copy {
                job: number,
                from,
                buffer: None,
                room: None,
                into: None,
            });
            self.start_copy(copy, from);
        }
        let job = self.collections.jobs.borrow()[number];
        if job.copies_in_flight == 0 {
            self.finish(number, &job);
        }
    }

    /// The next page of a job, if one more may be under way.
    fn next_to_copy(&self, number: u32) -> Option<PageAddress> {
        let mut jobs = self.collections.jobs.borrow_mut();
        let job = &mut jobs[number];
        // What is to take no more layers elsewhere goes there in its order.
        let most = match job.purpose.is_of_region() {
            true => 1,
            false => self.config.gc.concurrent_copies,
        };
        if job.stuck || job.copies_in_flight >= most {
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
    fn start_copy(&self, number: u32, from: PageAddress) {
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
    fn start_buffered_copy(&self, number: u32, from: PageAddress) {
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
        let firmware = self.is_mapping_page(self.geometry.ppa(from)) || self.is_journal_page(from);
        let buffer = if firmware {
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
        self.schedule.nand().borrow().prefetch(from);
        let read = Read {
            page: from,
            column: 0,
            bytes: self.geometry.page_bytes,
            into: buffer,
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
            spare: record.encode(),
            origin,
        };
        let die = self.geometry.die_of_block(from.block);
        self.schedule.push(die, copyback, Notify::Collector(number));
        true
    }

    fn origin_of(&self, job: u32) -> Origin {
        self.collections.jobs.borrow()[job].purpose.origin()
    }

    /// A fresh page of `plane` for a copy of a job.
    fn page_for_copy(&self, plane: PlaneId, job: u32) -> Option<PageAddress> {
        let levelling = self.collections.jobs.borrow()[job].purpose == Purpose::Levelling;
        let worn = levelling.then(|| self.try_allocate(plane, Stream::Cold));
        worn.flatten()
            .or_else(|| self.try_allocate(plane, Stream::Collection))
    }

    /// Settles where a copy goes; gives its record. In one block sequences rise from page to page.
    fn place_copy(&self, number: u32, to: PageAddress, record: Record) -> Record {
        let job = self.collections.copies.borrow()[number].job;
        let purpose = self.collections.jobs.borrow()[job].purpose;
        // What moves as a block keeps its number until all of it is there: recovery then takes the whole one.
        let sequence = match purpose {
            Purpose::RegionLevelling(_) => record.sequence,
            _ => self.next_sequence(),
        };
        self.note_program(sequence);
        let record = Record { sequence, ..record };
        self.collections.copies.borrow_mut()[number].into = Some((to, record));
        record
    }

    /// Whether a page is one of the journal.
    fn is_journal_page(&self, page: PageAddress) -> bool {
        let nand = self.schedule.nand().borrow();
        let spare = nand.spare(self.geometry.ppa(page));
        spare.is_some_and(Record::is_of_journal)
    }

    /// What a needed page holds.
    fn record_of(&self, page: PageAddress) -> Record {
        let nand = self.schedule.nand().borrow();
        let spare = nand.spare(self.geometry.ppa(page));
        let record = spare.and_then(Record::decode);
        record.expect("only pages with a record become needed")
    }

    /// A read, program or erase of a collection is over.
    fn collection_step(&self, number: u32, fault: Option<Fault>) {
        if number & IS_JOB != 0 {
            return self.erased(number & !IS_JOB, fault);
        }
        let copy = self.collections.copies.borrow()[number];
        match (copy.into, fault) {
            (None, None) => self.page_read(number, &copy),
            (None, Some(_)) => self.page_lost(number, &copy),
            (Some((into, record)), None) => {
                self.page_copied(&copy, into, record);
                self.copy_done(number, &copy);
            }
            (Some((into, record)), Some(Fault::ProgramFailed(_))) => {
                self.give_up(into);
                if copy.buffer.is_some() {
                    return self.program_copy(number, &copy, record);
                }
                self.collections.copies.borrow_mut()[number].into = None;
                self.start_copy(number, copy.from);
            }
            (Some((into, _)), Some(Fault::NeedsCorrection(_))) => {
                self.settle(into, false);
                self.collections.copies.borrow_mut()[number].into = None;
                self.start_buffered_copy(number, copy.from);
            }
            (Some((into, _)), Some(Fault::Uncorrectable(_))) => {
                self.settle(into, false);
                self.page_lost(number, &copy);
            }
            (Some((into, _)), Some(_)) => {
                self.settle(into, false);
                self.change_job(copy.job, |job| job.stuck = true);
                self.copy_done(number, &copy);
            }
        }
    }

    /// A page cannot be read. It cannot be saved, and erasing it would make its mapping point at
    /// somebody else's data.
    fn page_lost(&self, number: u32, copy: &Copy) {
        self.count(|counts| counts.pages_lost += 1);
        self.change_job(copy.job, |job| job.lost = true);
        self.copy_done(number, copy);
    }

    /// A page has been read: program it elsewhere, unless the host has overtaken.
    fn page_read(&self, number: u32, copy: &Copy) {
        let old = self.geometry.ppa(copy.from);
        if !self.blocks.borrow().is_valid(old) {
            return self.copy_done(number, copy);
        }
        let record = self.record_of(copy.from);
        if is_planted(Bug::CollectionDropsTombstones)
            && matches!(record.content, Content::Tombstone { .. })
        {
            self.blocks.borrow_mut().invalidate(old);
            return self.copy_done(number, copy);
        }
        self.program_copy(number, copy, record);
    }

    /// Programs a copy to a page of its plane, or of another if that has none.
    fn program_copy(&self, number: u32, copy: &Copy, record: Record) {
        let (page, mode, origin) = match record.content {
            Content::Placed { placement, .. } => {
                let purpose = self.collections.jobs.borrow()[copy.job].purpose;
                let (page, origin) = match purpose {
                    Purpose::RegionLevelling(target) => {
                        let page = self.same_place(copy.from, target);
                        (page, self.origin_of(copy.job))
                    }
                    // In turn with writes of the host, which go to the same blocks.
                    _ => (self.copy_spot(copy.from, &placement), Origin::default()),
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
            spare: record.encode(),
            origin,
        };
        let die = self.geometry.die_of_block(page.block);
        self.schedule.push(die, program, Notify::Collector(number));
    }

    /// A page of the plane that a page is copied from, or of another if that has none.
    fn any_page_for_copy(&self, copy: &Copy) -> Option<PageAddress> {
        let home = self.geometry.plane_of_block(copy.from.block);
        let planes = self.geometry.planes();
        self.page_for_copy(home, copy.job).or_else(|| {
            (1..planes)
                .map(|step| PlaneId((home.0 + step) % planes))
                .find_map(|plane| self.try_allocate(plane, Stream::Collection))
        })
    }

    /// A copy is on flash: it takes the place of its original, if that is still needed.
    fn page_copied(&self, copy: &Copy, into: PageAddress, record: Record) {
        let old = self.geometry.ppa(copy.from);
        let purpose = self.collections.jobs.borrow()[copy.job].purpose;
        self.count(|counts| match purpose {
            Purpose::Space => counts.gc_page_copies += 1,
            Purpose::Levelling => counts.wear_levelling_page_copies += 1,
            Purpose::Folding => counts.slc_cache_page_folds += 1,
            Purpose::Region => counts.compute_page_copies += 1,
            Purpose::RegionLevelling(_) => counts.wear_levelling_page_copies += 1,
        });
        if let Purpose::RegionLevelling(_) = purpose {
            // The mapping follows when the whole block is there.
            return self.settle(into, false);
        }
        let still_needed =
            self.blocks.borrow().is_valid(old) || is_planted(Bug::CollectionIgnoresOvertaking);
        self.settle(into, still_needed);
        if still_needed {
            self.moved(record, old, self.geometry.ppa(into));
        }
    }

    /// The mapping follows the copy.
    fn moved(&self, record: Record, old: Ppa, new: Ppa) {
        let mut mapping = self.mapping.borrow_mut();
        match record.content {
            Content::Data(lpn) => mapping.set(lpn, Mapping::Data(new)),
            Content::Placed { lpn, placement } => {
                mapping.set(lpn, Mapping::Data(new));
                self.blocks.borrow_mut().set_inverse(new, placement.inverse);
            }
            Content::Temporary => unreachable!("nothing lent is needed"),
            Content::Mapping { number, .. } => {
                if let Some(pages) = &mut mapping.pages {
                    pages.moved(number, old, new);
                }
            }
            Content::Root { .. } => unreachable!("blocks of roots are not collected"),
            Content::Journal { .. } => self.facts.borrow_mut().moved(record.version, old, new),
            Content::Tombstone { start, count } => {
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
        drop(mapping);
        self.blocks.borrow_mut().invalidate(old);
    }

    fn change_job(&self, number: u32, change: impl FnOnce(&mut Job)) {
        change(&mut self.collections.jobs.borrow_mut()[number]);
    }

    /// A copy is over, one way or another.
    fn copy_done(&self, number: u32, copy: &Copy) {
        if let Some(buffer) = copy.buffer {
            self.buffers.give_back(buffer);
        }
        if let Some(room) = copy.room {
            self.buffers.release(room);
        }
        self.collections.copies.borrow_mut().release(number);
        let mut freed = 0;
        let mut victim = copy.from.block;
        self.change_job(copy.job, |job| {
            job.copies_in_flight -= 1;
            freed = job.outstanding.min(1);
            job.outstanding -= freed;
            victim = job.victim;
        });
        let plane = self.geometry.plane_of_block(victim);
        self.collections
            .change_plane(plane, |jobs| jobs.outstanding -= freed);
        self.feed(copy.job);
    }

    /// Nothing is left to copy: the block is erased, or set aside.
    fn finish(&self, number: u32, job: &Job) {
        if job.stuck && job.purpose.is_of_region() {
            return self.abandon_region_job(number, job);
        }
        if let Purpose::RegionLevelling(target) = job.purpose
            && !job.lost
        {
            self.switch_to(job.victim, target);
        }
        if job.purpose.is_of_region() && self.region.borrow().is_pinned(job.victim) {
            self.collections
                .parked
                .borrow_mut()
                .insert(job.victim, number);
            return;
        }
        if job.stuck {
            self.blocks.borrow_mut().abandon_collection(job.victim);
            self.end_job(number);
            // Without space to copy to, trying again at once would go on for ever.
            let plane = self.geometry.plane_of_block(job.victim);
            let stuck = self.collections.planes[plane.0 as usize].get().running == 0;
            self.collections
                .change_plane(plane, |jobs| jobs.stuck = stuck);
            self.collections.any_stuck.set(true);
            return self.note_exhaustion(plane);
        }
        if job.lost && matches!(job.purpose, Purpose::RegionLevelling(_)) {
            return self.abandon_region_job(number, job);
        }
        if job.lost {
            self.retire(job.victim);
            return self.job_done(number);
        }
        if job.worn && !self.is_bad(job.victim) {
            // Before its erase, so that no power cut brings it back into use.
            self.schedule.mark_bad(job.victim);
            self.count(|counts| counts.blocks_retired += 1);
        }
        let die = self.geometry.die_of_block(job.victim);
        let origin = job.purpose.origin();
        let erase = Erase {
            block: job.victim,
            origin,
        };
        self.schedule
            .push(die, erase, Notify::Collector(number | IS_JOB));
    }

    /// No evaluation senses pages of a block of the region any more: what waited for that goes on.
    pub(in crate::ftl) fn unparked(&self, block: BlockId) {
        let parked = self.collections.parked.borrow_mut().remove(&block);
        if let Some(number) = parked {
            let job = self.collections.jobs.borrow()[number];
            self.finish(number, &job);
        }
    }

    /// All of a block of the region is in another one: the mapping follows, where the host has not overtaken.
    fn switch_to(&self, from: BlockId, to: BlockId) {
        loop {
            let next = self.blocks.borrow().next_valid(from, 0);
            let Some(page) = next else { return };
            let record = self.record_of(page);
            let copy = self.geometry.ppa(PageAddress {
                block: to,
                page: page.page,
            });
            self.blocks.borrow_mut().validate(copy);
            self.moved(record, self.geometry.ppa(page), copy);
        }
    }

    /// A block of the region stays as it is, for want of space for copies.
    fn abandon_region_job(&self, number: u32, job: &Job) {
        self.region.borrow_mut().set_busy(job.victim, false);
        if let Purpose::RegionLevelling(target) = job.purpose {
            self.region.borrow_mut().set_busy(target, false);
            self.look_at_region_block(target);
        }
        let plane = self.end_job(number);
        self.collections
            .change_plane(plane, |jobs| jobs.region_stuck = true);
        self.collections.any_stuck.set(true);
        self.region_changed.announce();
    }

    /// The erase that ends a job is over.
    fn erased(&self, number: u32, fault: Option<Fault>) {
        let job = self.collections.jobs.borrow()[number];
        let victim = job.victim;
        self.count(|counts| match job.purpose {
            Purpose::Space => counts.gc_blocks += 1,
            // Counted when it began.
            Purpose::Levelling => {}
            Purpose::Region | Purpose::RegionLevelling(_) => counts.compute_blocks_erased += 1,
            Purpose::Folding => counts.slc_cache_blocks_folded += 1,
        });
        self.leave_region(victim);
        if job.worn {
            self.blocks.borrow_mut().retire(victim);
        } else if fault.is_none() {
            self.add_free(victim);
        } else {
            self.schedule.mark_bad(victim);
            self.retire(victim);
        }
        self.job_done(number);
    }

    /// Takes a block out of use.
    fn retire(&self, block: BlockId) {
        self.leave_region(block);
        self.blocks.borrow_mut().retire(block);
        self.count(|counts| counts.blocks_retired += 1);
    }

    fn job_done(&self, number: u32) {
        let purpose = self.collections.jobs.borrow()[number].purpose;
        if let Purpose::RegionLevelling(target) = purpose {
            self.region.borrow_mut().set_busy(target, false);
            self.look_at_region_block(target);
        }
        let plane = self.end_job(number);
        if purpose.is_of_region() {
            self.region_changed.announce();
        }
        self.note_urgency(plane);
        self.planes[plane.0 as usize].space.announce();
        self.level_wear(plane);
        let gc = &self.config.gc;
        let few = self.blocks.borrow().free_blocks(plane) < gc.hard_threshold_blocks as usize;
        if gc.pace == GcPace::PerBlock && few {
            self.begin_one(plane);
        }
        self.collect(plane);
    }

    fn end_job(&self, number: u32) -> PlaneId {
        let mut jobs = self.collections.jobs.borrow_mut();
        let job = jobs[number];
        jobs.release(number);
        let plane = self.geometry.plane_of_block(job.victim);
        let levelling = job.purpose.is_levelling();
        let counted = !levelling && !job.purpose.is_of_region();
        self.collections.change_plane(plane, |jobs| {
            jobs.running -= u32::from(counted);
            jobs.levelling &= !levelling;
            jobs.outstanding -= job.outstanding;
        });
        plane
    }
}
