//! When blocks are emptied, and which.

use media::nand::{BlockId, PlaneId};

use super::{Job, Pass, Purpose};
use crate::ftl::Ftl;
use crate::ftl::blocks::{Blocks, Use};
use crate::ftl::gc::GcPace;

impl Ftl {
    /// Collection that may not be preempted, or for which the host waits, goes first.
    pub(super) fn note_urgency(&self, plane: PlaneId) {
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

    /// Something other than a write found no room in `plane`: a block is emptied for it, even if that was in vain before.
    pub(in crate::ftl) fn win_room(&self, plane: PlaneId) {
        self.collections.try_again();
        self.make_room(plane);
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
    pub(super) fn note_exhaustion(&self, plane: PlaneId) {
        let state = &self.planes[plane.0 as usize];
        let jobs = self.collections.planes[plane.0 as usize].get();
        let exhausted = jobs.running == 0 && !jobs.levelling && self.is_short(plane);
        state.exhausted.set(exhausted);
        if exhausted {
            state.space.announce();
        }
    }

    /// Begins to empty one more block of `plane`; false if there is none, or no room for it.
    pub(super) fn begin_one(&self, plane: PlaneId) -> bool {
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
        let worthless = worthless.filter(|block| blocks.valid_units(*block) == 0);
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
        let valid = self.to_copy(&blocks, victim);
        if jobs.running > 0 && jobs.outstanding + valid > blocks.room_for_copies(plane) {
            return false;
        }
        drop((blocks, chooser));
        self.begin(victim, purpose);
        true
    }

    /// Units that emptying a block takes elsewhere, in whole pages.
    fn to_copy(&self, blocks: &Blocks, block: BlockId) -> u32 {
        let valid = blocks.valid_units(block);
        valid.next_multiple_of(self.unit.per_page())
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
            self.to_copy(&blocks, victim)
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
            next_slot: 0,
            pass: Pass::Whole,
            copies_in_flight: 0,
            purpose,
            outstanding: valid,
            lost: false,
            stuck: false,
            worn,
        });
        self.feed(job);
    }
}
