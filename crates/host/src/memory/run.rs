//! Programs that run over ranges of the memory.

use std::ops::Range;

use nvme::command::{ComputeCommand, ExecuteOverMemory, LogPageId, MemoryRange};
use nvme::task::Ended;
use nvme::{CommandId, CompletionEntry, DataPointer, Status};
use zerocopy::IntoBytes;

use super::MemoryDevice;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::tasks::TaskError;
use crate::transport::Transport;

/// Bytes of the words that say why a run failed, at most; a multiple of four.
const REASON_BYTES: u64 = 1024;

/// The ranges that a run sees as files, numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunRanges {
    /// Those of a set.
    Set(u16),
    /// These.
    These(Vec<Range<u64>>),
}

/// What a run over memory is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRun {
    /// The ranges that it sees, all of which it may write.
    pub ranges: RunRanges,
    /// Its arguments.
    pub arguments: Vec<u8>,
    /// Two numbers for it.
    pub parameters: [u64; 2],
}

impl MemoryRun {
    /// A run over these ranges, without arguments.
    pub fn over(ranges: RunRanges) -> MemoryRun {
        MemoryRun {
            ranges,
            arguments: Vec::new(),
            parameters: [0; 2],
        }
    }
}

impl<T: Transport> MemoryDevice<T> {
    /// Runs an active program of the compute namespace once, and gives the first 8 bytes of what it returned as a number. What it
    /// wrote stays, however it ends.
    ///
    /// # Errors
    /// [`TaskError::Failed`] with how the run ended, and why; [`TaskError::Usage`] for more than one command transfers; what the drive
    /// reports: No Program, Program Not Activated, Invalid Memory Range Set Identifier.
    pub async fn run(&self, program: u16, run: &MemoryRun) -> Result<u64, TaskError> {
        let (set, records) = match &run.ranges {
            RunRanges::Set(set) => (*set, Vec::new()),
            RunRanges::These(ranges) if ranges.is_empty() => (0, Vec::new()),
            RunRanges::These(ranges) => (0, self.records(ranges)?),
        };
        let mut data = records.as_bytes().to_vec();
        data.extend(&run.arguments);
        if data.len() as u64 > self.transfer_bytes {
            return Err(TaskError::Usage(format!(
                "{} bytes of arguments: one command transfers {}, {} for each range included",
                run.arguments.len(),
                self.transfer_bytes,
                MemoryRange::BYTES,
            )));
        }
        let buffer = match data.is_empty() {
            true => None,
            false => Some(Buffer::holding(self.transport.memory(), &data)?),
        };
        let pointer = |buffer: &Buffer| buffer.pointer(data.len() as u32);
        let command = ComputeCommand::Execute(ExecuteOverMemory {
            namespace: self.compute,
            program,
            set,
            ranges: records.len() as u32,
            data_bytes: data.len() as u32,
            parameters: run.parameters,
            data: buffer.as_ref().map_or(DataPointer::NONE, pointer),
        });
        let completion = self
            .transport
            .io(&command.encode(CommandId::new(0)))
            .await?;
        if completion.status().is(Status::PROGRAM_FAILED) {
            return Err(self.failure(program, &completion).await?);
        }
        Error::check("execute program", completion.status())?;
        Ok(u64::from(completion.dw1.get()) << 32 | u64::from(completion.dw0.get()))
    }

    /// How a run failed, and why.
    async fn failure(
        &self,
        program: u16,
        completion: &CompletionEntry,
    ) -> Result<TaskError, Error> {
        let words = (1, program.saturating_add(1));
        let page = self
            .log(LogPageId::PROGRAM_DETAILS, words, REASON_BYTES)
            .await?;
        let end = page.iter().position(|byte| *byte == 0);
        let reason = String::from_utf8_lossy(&page[..end.unwrap_or(page.len())]);
        let code = u8::try_from(completion.dw0.get()).ok();
        let ended =
            code.and_then(|code| Ended::from_code(code, completion.dw1.get().cast_signed()));
        let unknown = || Error::Protocol("a run that ended in no way that is known".into());
        Ok(TaskError::Failed {
            ended: ended.ok_or_else(unknown)?,
            reason: reason.into_owned(),
        })
    }
}
