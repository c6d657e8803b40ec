//! Bytes on their way from one part of the DRAM to another.

use std::rc::Rc;

use media::dram::{Dram, ScatteredAccess, Toward};
use sim::{Requester, Sim};

use super::Partition;

/// What copies within a DRAM.
#[derive(Clone)]
pub(crate) struct Copier {
    sim: Sim,
    dram: Rc<Dram>,
}

impl Copier {
    pub(crate) fn new(sim: &Sim, dram: &Rc<Dram>) -> Copier {
        Copier {
            sim: sim.clone(),
            dram: dram.clone(),
        }
    }

    /// Reads bytes of a part, and waits for that.
    pub(crate) async fn read(&self, requester: Requester, bytes: u64, from: Partition) {
        if let Some(over) = from.post(&self.dram, requester, bytes, Toward::Reader) {
            self.sim.sleep_until(over).await;
        }
    }

    /// Writes bytes to a part, and waits for that.
    pub(crate) async fn write(&self, requester: Requester, bytes: u64, to: Partition) {
        if let Some(over) = to.post(&self.dram, requester, bytes, Toward::Cells) {
            self.sim.sleep_until(over).await;
        }
    }

    /// Moves bytes out of one part and into the other, for whom they are, and waits for that.
    pub(crate) async fn copy(
        &self,
        requester: Requester,
        bytes: u32,
        (from, to): (Partition, Partition),
    ) {
        let bytes = u64::from(bytes);
        let mut access = ScatteredAccess::default();
        from.add(&self.dram, &mut access, requester, bytes, Toward::Reader);
        to.add(&self.dram, &mut access, requester, bytes, Toward::Cells);
        if let Some(over) = self.dram.post_scattered(access) {
            self.sim.sleep_until(over).await;
        }
    }
}
