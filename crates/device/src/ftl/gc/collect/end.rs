//! What becomes of a block when nothing is left to copy: it is erased, set aside, or stays as it is.

use media::nand::{BlockId, PageAddress, PlaneId};

use super::{IS_JOB, Job, Purpose};
use crate::ftl::Ftl;
use crate::ftl::gc::GcPace;
use crate::schedule::{Erase, Fault, Notify};

impl Ftl {
    /// Nothing is left to copy: the block is erased, or set aside.
    pub(super) fn finish(&self, number: u32, job: &Job) {
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
        match self.has_unsaved_commits() {
            true => self.erase_once_saved(number),
            false => self.erase(number, job),
        }
    }

    fn erase(&self, number: u32, job: &Job) {
        let die = self.geometry.die_of_block(job.victim);
        let origin = job.purpose.origin();
        let erase = Erase {
            block: job.victim,
            origin,
        };
        self.schedule
            .push(die, erase, Notify::Collector(number | IS_JOB));
    }

    /// What a commit took the place of is erased when the flash says that it was committed: an image has one or the other
    /// even if the process is killed, where no capacitor saves anything.
    fn erase_once_saved(&self, number: u32) {
        let ftl = self.myself();
        self.cores.sim().spawn_detached(async move {
            // Where there is no space for it a capacitor has it still, as it was promised.
            let _ = ftl.save_commits().await;
            let job = ftl.collections.jobs.borrow()[number];
            ftl.erase(number, &job);
        });
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
            let old = self.geometry.ppa(page);
            let slots = self.blocks.borrow().valid_slots(old);
            self.blocks.borrow_mut().validate(copy, slots);
            self.moved(record, old, copy, slots);
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
    pub(super) fn erased(&self, number: u32, fault: Option<Fault>) {
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
        if fault.is_none() {
            self.versions_erased(victim);
        }
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
        self.announce_emptied();
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
