//! Emptying blocks: copy what is needed, then erase.
//!
//! There is no task here: the schedule calls [`Ftl::collection_step`] when a read,
//! program or erase of a collection is over, and that starts what comes next. The
//! copies of a block are under way side by side.
//!
//! Here is what is known of blocks that are being emptied, and the step. [`begin`] says when that begins and with which
//! block, [`copies`] copies its pages, [`gather`] units of several pages to one, [`end`] erases it.

mod begin;
mod copies;
mod end;
mod gather;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use media::nand::{BlockId, PageAddress, PlaneId};
use sim::Random;

use super::{Chooser, GcConfig};
use crate::ftl::spare::Record;
use crate::ftl::unit::Slots;
use crate::ftl::{Ftl, UnitAddress};
use crate::memory::{BufferId, Held};
use crate::schedule::{Fault, Origin};
use crate::slab::Slab;
use crate::tenants;
use gather::Gathered;

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
    /// Where to look for the next needed page, or unit of it.
    next_page: u32,
    next_slot: u32,
    pass: Pass,
    copies_in_flight: u32,
    purpose: Purpose,
    /// Units, in whole pages, that were needed when it began and are not copied yet, at most.
    outstanding: u32,
    /// A needed page could not be read: the block is set aside as it is.
    lost: bool,
    /// There was no page for a copy.
    stuck: bool,
    /// The block is not to be used again when it is erased.
    worn: bool,
}

/// What of a block is copied now, where a page has several units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Pages of which all is needed, one by one.
    Whole,
    /// Nothing more until they are copied: what is still needed then is in other pages.
    Between,
    /// Units of the other pages, as many together as a page has.
    Rest,
}

/// A page on its way.
#[derive(Clone, Copy)]
struct Copy {
    job: u32,
    /// What is copied; of several pages the first.
    from: PageAddress,
    /// Units of data that are gathered, if it is no page as a whole.
    units: u32,
    /// Reads of them that are under way.
    reads: u32,
    /// Where their record is while they are programmed.
    record: Option<BufferId>,
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
    /// Units that running jobs may still have to copy.
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
    /// The units of each copy, as many as a page has.
    gathered: RefCell<Vec<Gathered>>,
    planes: Vec<Cell<PlaneJobs>>,
    /// Whether any of them is stuck.
    any_stuck: Cell<bool>,
    /// None begins.
    held: Cell<bool>,
    chooser: RefCell<Chooser>,
    /// Jobs that are to erase a block of the region, once no evaluation senses its pages.
    parked: RefCell<BTreeMap<BlockId, u32>>,
}

/// The job of a copy that is over.
const OVER: u32 = u32::MAX;

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
            gathered: RefCell::default(),
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

    fn origin_of(&self, job: u32) -> Origin {
        self.collections.jobs.borrow()[job].purpose.origin()
    }

    /// A read, program or erase of a collection is over.
    fn collection_step(&self, number: u32, fault: Option<Fault>) {
        if number & IS_JOB != 0 {
            return self.erased(number & !IS_JOB, fault);
        }
        let copy = self.collections.copies.borrow()[number];
        if copy.units > 0 {
            return self.gather_step(number, &copy, fault);
        }
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
                self.settle(into, Slots::NONE);
                self.collections.copies.borrow_mut()[number].into = None;
                self.start_buffered_copy(number, copy.from);
            }
            (Some((into, _)), Some(Fault::Uncorrectable(_))) => {
                self.settle(into, Slots::NONE);
                self.page_lost(number, &copy);
            }
            (Some((into, _)), Some(_)) => {
                self.settle(into, Slots::NONE);
                self.change_job(copy.job, |job| job.stuck = true);
                self.copy_done(number, &copy);
            }
        }
    }

    /// Whether a unit is on its way: a copy of it may still come to be on flash, though it is not needed any more.
    pub(in crate::ftl) fn is_being_copied(&self, at: UnitAddress) -> bool {
        let copies = self.collections.copies.borrow();
        let mut under_way = copies.iter().filter(|(_, copy)| copy.job != OVER);
        under_way.any(|(number, copy)| match copy.units {
            0 => self.geometry.ppa(copy.from) == self.unit.page(at),
            _ => self.gathers(number, copy, at),
        })
    }

    /// The number of a copy may be given to another.
    fn release_copy(&self, number: u32) {
        let mut copies = self.collections.copies.borrow_mut();
        copies[number].job = OVER;
        copies.release(number);
    }

    fn change_job(&self, number: u32, change: impl FnOnce(&mut Job)) {
        change(&mut self.collections.jobs.borrow_mut()[number]);
    }
}
