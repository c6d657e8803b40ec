//! Execute Program of the compute namespace: a program is run over ranges of memory.

use std::ops::Range;
use std::rc::Rc;

use media::core::Work;
use media::link::Carries;
use nvme::Status;
use nvme::command::{ComputeCommand, ExecuteOverMemory, MemoryRange};
use nvme::task::{Ended, Outcome};

use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::local::Local;
use crate::frontend::transport::FetchedCommand;
use crate::local_memory::RangeSet;
use crate::programs::{MemoryRun, ProgramId};

impl Controller {
    pub(super) async fn serve_compute(
        &self,
        command: &ComputeCommand,
        fetched: &FetchedCommand,
    ) -> Result<Answer, Status> {
        let local = self.local()?;
        self.check_local(&local.compute)?;
        // What erases either waits for those that came before it.
        let _admitted = (local.compute.admit(), local.memory.admit());
        let ComputeCommand::Execute(execute) = command;
        self.execute_over_memory(local, execute, fetched).await
    }

    async fn execute_over_memory(
        &self,
        local: &Local,
        execute: &ExecuteOverMemory,
        fetched: &FetchedCommand,
    ) -> Result<Answer, Status> {
        let origin = fetched.origin;
        self.charge(origin, Work::Plan).await;
        if u32::from(execute.program) >= self.programs.quota().0 {
            return Err(Status::INVALID_PROGRAM_INDEX);
        }
        if execute.ranges > local.bytes.limits().1.into() {
            return Err(Status::MAXIMUM_MEMORY_RANGES_EXCEEDED);
        }
        self.check_local(&local.memory)?;
        let most = execute.range_bytes() + u64::from(self.programs.arguments_bytes());
        let bytes = u64::from(execute.data_bytes);
        if bytes > most {
            return Err(Status::INVALID_FIELD);
        }
        self.check_transfer(bytes)?;
        let mut data = self
            .fetch_parameters(&execute.data, bytes, Carries::Parameters, origin)
            .await?;
        // The ranges fit into the data: that was looked at when the command was decoded.
        let arguments = data.split_off(execute.range_bytes() as usize);
        let asked = MemoryRun {
            ranges: match execute.set {
                0 => {
                    let ranges = ranges_of(local, MemoryRange::parse(&data))?;
                    Rc::new(RangeSet::new(ranges, local.bytes.bytes())?)
                }
                set => local.bytes.set(set)?,
            },
            arguments,
            parameters: execute.parameters,
        };
        let id = ProgramId {
            namespace: local.compute.id,
            index: execute.program,
        };
        let run = self
            .executing
            .run_until_aborted(fetched.source(), async |halt| {
                self.programs
                    .run_over_memory(id, &asked, halt, origin)
                    .await
            });
        Ok(answer_of(&run.await?))
    }
}

/// The bytes of memory that ranges name.
///
/// # Errors
/// Invalid Memory Namespace for one that is none.
pub(in crate::frontend) fn ranges_of(
    local: &Local,
    ranges: &[MemoryRange],
) -> Result<Vec<Range<u64>>, Status> {
    let of = |range: &MemoryRange| {
        if range.namespace() != local.memory.id {
            return Err(Status::INVALID_MEMORY_NAMESPACE);
        }
        let end = range.start().checked_add(range.bytes().into());
        let end = end.ok_or(Status::INVALID_MEMORY_RANGE_SET)?;
        Ok(range.start()..end)
    };
    ranges.iter().map(of).collect()
}

/// The first 8 bytes that a run returned, or how it failed.
fn answer_of(outcome: &Outcome) -> Answer {
    if outcome.ended != Ended::Committed {
        let failure = match outcome.ended {
            Ended::Failed(code) => code,
            _ => 0,
        };
        return Answer {
            dw0: outcome.ended.code().into(),
            dw1: failure.cast_unsigned(),
            ..Status::PROGRAM_FAILED.into()
        };
    }
    let mut value = [0; 8];
    for (into, byte) in value.iter_mut().zip(&outcome.value) {
        *into = *byte;
    }
    let value = u64::from_le_bytes(value);
    Answer {
        dw0: value as u32,
        dw1: (value >> 32) as u32,
        ..Answer::DONE
    }
}
