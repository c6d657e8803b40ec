//! Sequences of sensing commands, and what they leave in the latches.

use media::nand::{BlockId, Command, DieId, NandError, PageAddress, PageStatus};

use super::Unit;
use crate::schedule::fault::Fault;
use crate::schedule::operation::Outputs;
use crate::schedule::queue::Waiting;
use crate::schedule::turns::{Turn, Visit};

impl Unit {
    pub(super) async fn compute(&self, turn: Option<Turn<'_>>) {
        let taken = self.queue().borrow_mut().take_compute();
        self.schedule.trace_queue(self.number);
        let Some(Waiting {
            operation, notify, ..
        }) = taken
        else {
            return;
        };
        let die = self.die_of_steps(&operation.steps);
        let (mut fault, mut first) = (None, turn);
        for command in operation.steps.iter() {
            let turn = match (first.take(), &self.turns) {
                (None, Some(turns)) => {
                    Some(turns.visit(self.chip, Visit::Continuation, false).await)
                }
                (turn, _) => turn,
            };
            let span = self.span_of(command);
            if let Err(error) = self.send_and_execute(die, command, span, turn).await {
                fault = Some(refusal(&error, &operation.steps));
                break;
            }
        }
        if let Some(room) = &operation.room {
            // The pages stay in the latches until there is room for them.
            room.acquire(operation.outputs.len() as u64).await.keep();
        }
        if fault.is_none() {
            fault = self.latches_out(&operation.outputs).await;
        }
        self.schedule.settle(notify, fault);
    }

    /// The die that a sequence is for: latch commands name none.
    fn die_of_steps(&self, steps: &[Command]) -> DieId {
        block_of(steps).map_or(self.first_die, |block| {
            self.schedule.geometry.die_of_block(block)
        })
    }

    /// Moves whole C-latches over the channel.
    async fn latches_out(&self, outputs: &Outputs) -> Option<Fault> {
        let geometry = &self.schedule.geometry;
        let mut fault = None;
        for (index, (plane, into)) in outputs.iter().enumerate() {
            let turn = match &self.turns {
                Some(turns) => Some(turns.visit(self.chip, Visit::UserData, index > 0).await),
                None => None,
            };
            self.move_data(self.data_out_setup, u64::from(geometry.page_bytes))
                .await;
            drop(turn);
            let status = self.latch_out(*plane, 0, *into, 0..geometry.page_bytes as usize);
            if status != PageStatus::Ok {
                let block = geometry.block_of_plane(*plane, 0);
                fault = Some(Fault::Uncorrectable(PageAddress { block, page: 0 }));
            }
        }
        fault
    }
}

/// The first block that a sequence senses.
fn block_of(steps: &[Command]) -> Option<BlockId> {
    steps.iter().find_map(|step| match step {
        Command::Mws(mws) => Some(mws.planes.first()?.slots.first()?.block),
        Command::Read { pages, .. } => Some(pages.first()?.block),
        _ => None,
    })
}

/// The fault of a computation whose command was refused.
fn refusal(error: &NandError, steps: &[Command]) -> Fault {
    debug_assert!(
        matches!(error, NandError::Storage(_)),
        "the firmware sent an illegal command: {error}"
    );
    Fault::Refused(block_of(steps).unwrap_or(BlockId(0)))
}
