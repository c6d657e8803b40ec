//! A computation on its way through the schedule: how far it is, and what it needs of the latches.

use std::cell::RefCell;
use std::rc::Rc;

use media::nand::{Command, Latches, PageStatus, PlaneId};

use super::fault::Fault;
use super::operation::Compute;
use crate::memory::BufferId;

/// A computation on its way through the schedule.
#[derive(Clone, Debug)]
pub struct Computation {
    pub(super) compute: Compute,
    /// Steps that are done.
    pub(super) done: usize,
    /// What stopped it.
    pub(super) fault: Option<Fault>,
    /// Room for its outputs is taken, or not needed.
    pub(super) has_room: bool,
    /// The C-latch may hold anything, and is to be clear for the next step, a sense that can clear it.
    pub(super) clears_c: bool,
    /// What it left in the latches when it stood back; nothing while it is at work, and before.
    pub(super) left: Option<Rc<RefCell<Left>>>,
}

/// What a computation that stands back left in the latches, and where that is now.
#[derive(Clone, Debug)]
pub(super) enum Left {
    /// In the latches, under a lease.
    Leased,
    /// In page buffers.
    Saved(Vec<SavedPage>),
    /// They were outputs, and are where they are to go, well or not.
    Delivered(Option<Fault>),
}

/// The content of a latch, read out.
#[derive(Clone, Debug)]
pub(super) struct SavedPage {
    pub(super) plane: PlaneId,
    /// Of the S-latch, else of the C-latch.
    pub(super) sensing: bool,
    pub(super) buffer: BufferId,
    /// The buffer is that of an output, into which nothing goes before the end.
    pub(super) in_output: bool,
    /// What is known of it.
    pub(super) status: PageStatus,
}

impl From<Compute> for Computation {
    fn from(compute: Compute) -> Computation {
        Computation {
            has_room: compute.room.is_none(),
            done: 0,
            fault: None,
            clears_c: false,
            left: None,
            compute,
        }
    }
}

impl Computation {
    /// The next step with the C-latch cleared first, if it has to be.
    pub(super) fn takes_clear_c(&mut self, step: &Command) -> Option<Command> {
        if !std::mem::take(&mut self.clears_c) {
            return None;
        }
        let mut step = step.clone();
        if let Command::Mws(mws) = &mut step {
            mws.iscm.init_c = true;
        }
        Some(step)
    }

    /// Whether the C-latch holds nothing but zeroes, and the next step can be made to clear it.
    fn can_clear_c(&self) -> bool {
        let mut before = self.compute.steps[..self.done].iter().rev();
        let touches = |step: &&Command| match step {
            Command::Mws(mws) => mws.iscm.init_c || mws.iscm.transfer,
            _ => true,
        };
        let clear = match before.find(touches) {
            Some(Command::Mws(mws)) => mws.iscm.init_c && !mws.iscm.transfer,
            _ => false,
        };
        clear && matches!(self.compute.steps.get(self.done), Some(Command::Mws(_)))
    }

    /// The latches whose content is to be kept while others are at work: what the steps that are left,
    /// or the outputs, need of it.
    pub(super) fn keep(&mut self) -> Latches {
        let mut keep = self.needs();
        self.clears_c |= keep.c && self.can_clear_c();
        keep.c &= !self.clears_c;
        keep
    }

    /// The latches whose content the steps that are left, or the outputs, need.
    fn needs(&self) -> Latches {
        let mut needs = Latches::NONE;
        let mut set = Latches::NONE;
        for step in &self.compute.steps[self.done..] {
            let (reads, sets) = uses(step);
            needs.s |= reads.s && !set.s;
            needs.c |= reads.c && !set.c;
            set.s |= sets.s;
            set.c |= sets.c;
        }
        needs.c |= !self.compute.outputs.is_empty() && !set.c;
        needs
    }
}

/// The latches whose content a step combines with, and those to which it gives a value whatever they
/// hold.
fn uses(step: &Command) -> (Latches, Latches) {
    let latches = |s, c| Latches { s, c };
    match step {
        Command::Mws(mws) => {
            let iscm = mws.iscm;
            (
                latches(!iscm.init_s, iscm.transfer && !iscm.init_c),
                latches(iscm.init_s, iscm.init_c),
            )
        }
        Command::Xor { .. } | Command::LatchTransfer { .. } => (latches(true, true), Latches::NONE),
        Command::CacheReadEnd { .. } => (latches(true, false), latches(false, true)),
        Command::LatchLoad { .. } => (latches(false, true), latches(true, false)),
        Command::Read { .. } => (Latches::NONE, latches(true, true)),
        // Not steps of a computation: as if they needed everything.
        _ => (latches(true, true), Latches::NONE),
    }
}
