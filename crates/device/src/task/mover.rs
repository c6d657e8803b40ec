//! Bytes on their way between page buffers, or files in memory, and the memories of tasks, all of which are in the drive's DRAM;
//! elsewhere, files themselves say what that takes.

use std::rc::Rc;

use media::dram::Dram;
use sim::Sim;

use super::files::{Data, FileError, Files};
use crate::memory::{Copier, DramMap, Partition};
use crate::schedule::Origin;

/// What moves bytes into and out of tasks.
#[derive(Clone)]
pub(super) struct Mover(Option<Ways>);

/// From where to where.
#[derive(Clone)]
struct Ways {
    copier: Copier,
    buffers: Partition,
    tasks: Partition,
}

impl Mover {
    /// Between the page buffers and the tasks of a DRAM; with none, nothing is charged here.
    pub(super) fn new(sim: &Sim, memory: Option<(&Rc<Dram>, &DramMap)>) -> Mover {
        Mover(memory.map(|(dram, map)| Ways {
            copier: Copier::new(sim, dram),
            buffers: map.buffers,
            tasks: map.tasks,
        }))
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
        self.bring(origin, data.bytes(), files.lie_in()).await;
        Ok(data)
    }

    /// Looks a name up, and brings what a task takes of its value there: `capacity` bytes at most.
    pub(super) async fn look_up(
        &self,
        files: &dyn Files,
        origin: Origin,
        (store, name): (u32, Vec<u8>),
        capacity: u32,
    ) -> Result<Option<Vec<u8>>, FileError> {
        let found = files.look_up(store, name).await?;
        if let Some(value) = &found {
            let taken = capacity.min(value.len() as u32);
            self.bring(origin, taken, None).await;
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
            if let Some(ways) = &self.0 {
                let parts = (ways.tasks, files.lie_in().unwrap_or(ways.buffers));
                ways.copier.copy(origin.requester(), bytes, parts).await;
            }
            files.write(file, offset, data).await?;
        }
        Ok(bytes)
    }

    /// Copies bytes from page buffers, or from where they lie, into a task.
    async fn bring(&self, origin: Origin, bytes: u32, from: Option<Partition>) {
        if let Some(ways) = &self.0 {
            let parts = (from.unwrap_or(ways.buffers), ways.tasks);
            ways.copier.copy(origin.requester(), bytes, parts).await;
        }
    }
}
