//! The data switch: bytes of collectors on their way through the drive's DRAM to flash and to tasks (TH-iSSD 3.2, Figure 3).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use media::dram::{Dram, Toward};
use sim::{Counter, Requester, Sim, Track};

use crate::memory::{Copier, Partition};

/// The group of its lines in a trace.
const GROUP: &str = "collectors";

/// The switch's buffer, and what is in it.
pub struct Switch {
    sim: Sim,
    dram: Rc<Dram>,
    copier: Copier,
    part: Partition,
    held: Cell<u64>,
    held_most: Cell<u64>,
    /// Made with the first collector: most drives never have one.
    counter: Cell<Option<Counter>>,
    /// Of each port that was in use.
    tracks: RefCell<Vec<(u32, Track)>>,
}

impl Switch {
    /// An empty one, whose buffer is a part of the DRAM.
    pub(crate) fn new(sim: &Sim, dram: &Rc<Dram>, part: Partition) -> Switch {
        Switch {
            sim: sim.clone(),
            dram: dram.clone(),
            copier: Copier::new(sim, dram),
            part,
            held: Cell::new(0),
            held_most: Cell::new(0),
            counter: Cell::new(None),
            tracks: RefCell::default(),
        }
    }

    /// Bytes of the buffer.
    pub fn bytes(&self) -> u64 {
        self.part.bytes()
    }

    /// The most bytes that were in it at once.
    pub fn held_most(&self) -> u64 {
        self.held_most.get()
    }

    /// Where a trace has what comes over a port.
    pub(crate) fn track(&self, port: u32) -> Track {
        let trace = self.sim.trace();
        if self.counter.get().is_none() {
            self.counter.set(Some(trace.counter(GROUP, "switch, KiB")));
        }
        let mut tracks = self.tracks.borrow_mut();
        let found = tracks.iter().find(|(number, _)| *number == port);
        if let Some((_, track)) = found {
            return *track;
        }
        let track = trace.track(GROUP, sim::Name::numbered("port", port));
        tracks.push((port, track));
        track
    }

    /// Moves bytes into the buffer, for which there is room.
    pub(crate) async fn take_in(&self, requester: Requester, bytes: u32) {
        let posted = self
            .part
            .post(&self.dram, requester, bytes.into(), Toward::Cells);
        if let Some(over) = posted {
            self.sim.sleep_until(over).await;
        }
        self.hold(u64::from(bytes).cast_signed());
    }

    /// Moves bytes from the buffer to another part of the DRAM; they stay here until they are released.
    pub(crate) async fn give_out(&self, requester: Requester, bytes: u32, to: Partition) {
        self.copier.copy(requester, bytes, (self.part, to)).await;
    }

    /// Bytes are needed here no longer.
    pub(crate) fn release(&self, bytes: u64) {
        self.hold(-bytes.cast_signed());
    }

    fn hold(&self, change: i64) {
        let held = self.held.get().wrapping_add_signed(change);
        self.held.set(held);
        self.held_most.set(self.held_most.get().max(held));
        if let Some(counter) = self.counter.get() {
            let trace = self.sim.trace();
            trace.count(counter, self.sim.now(), (held >> 10) as usize);
        }
    }
}
