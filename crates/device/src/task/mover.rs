//! Bytes on their way between page buffers and the memories of tasks, both of which are in the drive's DRAM.

use std::rc::Rc;

use media::dram::{Dram, ScatteredAccess, Toward};
use sim::Sim;

use super::files::{Data, FileError, Files};
use crate::memory::{DramMap, Partition};
use crate::schedule::Origin;

/// What moves bytes into and out of tasks.
#[derive(Clone)]
pub(super) struct Mover {
    sim: Sim,
    dram: Rc<Dram>,
    buffers: Partition,
    tasks: Partition,
}

impl Mover {
    /// Between the page buffers and the tasks of a DRAM.
    pub(super) fn new(sim: &Sim, dram: &Rc<Dram>, map: &DramMap) -> Mover {
        Mover {
            sim: sim.clone(),
            dram: dram.clone(),
            buffers: map.buffers,
            tasks: map.tasks,
        }
    }

    /// Moves bytes from one part to the other, for whom they are.
    async fn copy(&self, origin: Origin, bytes: u32, (from, to): (Partition, Partition)) {
        let (requester, bytes) = (origin.requester(), u64::from(bytes));
        let mut access = ScatteredAccess::default();
        from.add(&self.dram, &mut access, requester, bytes, Toward::Reader);
        to.add(&self.dram, &mut access, requester, bytes, Toward::Cells);
        if let Some(over) = self.dram.post_scattered(access) {
            self.sim.sleep_until(over).await;
        }
    }

    /// Reads bytes of a file into a task.
    pub(super) async fn read(
        &self,
        files: &dyn Files,
        origin: Origin,
        (file, offset, bytes): (u32, u64, u32),
    ) -> Result<Data, FileError> {
        if bytes == 0 {
            return Ok(Data::Untold(0));
        }
        let data = files.read(file, offset, bytes).await?;
        self.copy(origin, data.bytes(), (self.buffers, self.tasks))
            .await;
        Ok(data)
    }

    /// Looks a name up, and brings its value into a task.
    pub(super) async fn look_up(
        &self,
        files: &dyn Files,
        origin: Origin,
        (store, name): (u32, Vec<u8>),
    ) -> Result<Option<Vec<u8>>, FileError> {
        let found = files.look_up(store, name).await?;
        if let Some(value) = &found {
            let bytes = value.len() as u32;
            self.copy(origin, bytes, (self.buffers, self.tasks)).await;
        }
        Ok(found)
    }

    /// Writes what a task had to a file; gives how many bytes.
    pub(super) async fn write(
        &self,
        files: &dyn Files,
        origin: Origin,
        (file, offset, data): (u32, u64, Data),
    ) -> Result<u32, FileError> {
        let bytes = data.bytes();
        if bytes > 0 {
            self.copy(origin, bytes, (self.tasks, self.buffers)).await;
            files.write(file, offset, data).await?;
        }
        Ok(bytes)
    }
}
