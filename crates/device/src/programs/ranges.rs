//! Ranges of memory as the files that a task sees.

use std::ops::Range;
use std::rc::Rc;

use crate::local_memory::{LocalMemory, RangeSet};
use crate::memory::Partition;
use crate::task::{Data, FileError, Files, LocalBoxFuture};

/// What a run over memory is asked to do.
pub struct MemoryRun {
    /// The ranges that it sees as files, in order; it may write all of them.
    pub ranges: Rc<RangeSet>,
    /// Its arguments.
    pub arguments: Vec<u8>,
    /// Two numbers for it.
    pub parameters: [u64; 2],
}

/// The ranges of a run.
pub(super) struct Ranges {
    memory: Rc<LocalMemory>,
    set: Rc<RangeSet>,
    parameters: [u64; 2],
}

impl Ranges {
    pub(super) fn new(memory: &Rc<LocalMemory>, asked: &MemoryRun) -> Ranges {
        Ranges {
            memory: memory.clone(),
            set: asked.ranges.clone(),
            parameters: asked.parameters,
        }
    }

    fn range(&self, file: u32) -> Option<&Range<u64>> {
        self.set.ranges().get(file as usize)
    }

    /// Where in the memory bytes of a file begin.
    fn start(&self, file: u32, offset: u64) -> Result<u64, FileError> {
        let range = self.range(file).ok_or(FileError::NOT_OFFERED)?;
        Ok(range.start + offset)
    }
}

impl Files for Ranges {
    fn count(&self) -> u32 {
        self.set.ranges().len() as u32
    }

    fn bytes(&self, file: u32) -> Option<u64> {
        self.range(file).map(|range| range.end - range.start)
    }

    fn writable(&self, file: u32) -> bool {
        self.range(file).is_some()
    }

    fn lie_in(&self) -> Option<Partition> {
        Some(self.memory.part())
    }

    fn parameters(&self) -> [u64; 2] {
        self.parameters
    }

    fn has_data(&self) -> bool {
        self.memory.has_data()
    }

    /// At once: the way between here and the task is charged with the copy to it.
    fn read<'a>(
        &'a self,
        file: u32,
        offset: u64,
        bytes: u32,
    ) -> LocalBoxFuture<'a, Result<Data, FileError>> {
        Box::pin(async move {
            let start = self.start(file, offset)?;
            Ok(match self.memory.has_data() {
                true => {
                    let range = start..start + u64::from(bytes);
                    Data::Bytes(self.memory.at_once(&range))
                }
                false => Data::Untold(bytes),
            })
        })
    }

    fn write<'a>(
        &'a self,
        file: u32,
        offset: u64,
        data: Data,
    ) -> LocalBoxFuture<'a, Result<(), FileError>> {
        Box::pin(async move {
            let start = self.start(file, offset)?;
            if let Some(bytes) = data.known() {
                self.memory.put_at_once(start, bytes);
            }
            Ok(())
        })
    }
}
