//! Sequences of sensing commands, and what they leave in the latches.
//!
//! A sequence is carried out in pieces. A piece ends at the first border of its steps after which the
//! next step would end later than `piece_max_us` after the piece began, if something waits that the
//! policy has go first. What the rest of the sequence needs of the latches stays there under a lease
//! (`lease`). The outputs follow the last step, unless they have to wait for room: then they stay in
//! their latches, and the die does other work, but for computations and erases.

use media::nand::{BlockId, Command, DieId, NandError, PageAddress};
use sim::Time;

use super::Unit;
use super::lease::is_lost;
use super::trace::{Moved, Purpose};
use crate::schedule::computation::Computation;
use crate::schedule::fault::Fault;
use crate::schedule::key::{Choice, Kind, QueueKey};
use crate::schedule::operation::{Counted, Outputs};
use crate::schedule::origin::Origin;
use crate::schedule::queue::Waiting;
use crate::schedule::turns::{Turn, Visit};

impl Unit {
    pub(super) async fn compute(&self, choice: Choice, turn: Option<Turn<'_>>) {
        let key = choice.key;
        let taken = self.queue().borrow_mut().take_compute(choice);
        self.schedule.trace_queue(self.number);
        let Some(mut waiting) = taken else { return };
        let begin = self.sim.now();
        let steps = waiting.operation.compute.steps.clone();
        let die = self.die_of_steps(&steps);
        let (mut first, delivered) = self.take_up(die, &mut waiting.operation, turn).await;
        let requesters = [waiting.operation.compute.origin.requester()];
        let mut stepped = false;
        while waiting.operation.fault.is_none()
            && let Some(command) = steps.get(waiting.operation.done)
        {
            if stepped && self.ends_piece(begin, command) {
                match self.stand_back(die, waiting, key) {
                    None => return,
                    Some(back) => waiting = back,
                }
            }
            let turn = match first.take() {
                None => self.turn(Visit::Continuation).await,
                turn => turn,
            };
            let cleared = waiting.operation.takes_clear_c(command);
            let command = cleared.as_ref().unwrap_or(command);
            let span = self.span_of(command);
            let executed = self.send_and_execute(die, command, span, turn, &requesters);
            if let Err(error) = executed.await {
                waiting.operation.fault = Some(refusal(&error, &steps));
            }
            waiting.operation.done += 1;
            stepped = true;
        }
        drop(first);
        if !self.take_room(&mut waiting.operation) {
            return self.park(die, waiting, key);
        }
        let computation = &mut waiting.operation;
        if computation.fault.is_none() && !delivered {
            let compute = &computation.compute;
            computation.fault = self
                .latches_out(&compute.outputs, compute.counted.as_ref(), compute.origin)
                .await;
        }
        let Computation { compute, fault, .. } = waiting.operation;
        self.schedule
            .note_served(Kind::Compute, compute.origin, waiting.since);
        self.schedule.settle(waiting.notify, fault);
    }

    /// Whether a piece that began at `begin` is too long with `next`, and something waits.
    fn ends_piece(&self, begin: Time, next: &Command) -> bool {
        if self.queue().borrow().is_empty() {
            return false;
        }
        let array = self.schedule.nand.borrow().array_span(next);
        self.sim.now() + self.span_of(next) + array > begin + self.piece_max
    }

    /// Puts a computation back for others to go first; gives it back if none would.
    fn stand_back(
        &self,
        die: DieId,
        waiting: Waiting<Computation>,
        key: QueueKey,
    ) -> Option<Waiting<Computation>> {
        let queue = &mut *self.queue().borrow_mut();
        let arrival = waiting.arrival;
        queue.put_back(waiting, key);
        let urgent = self.schedule.is_unit_urgent(self.number);
        let chooser = self.chooser.borrow();
        let wanted = chooser.would_interrupt(queue, urgent, (key, arrival));
        let own = queue.choice_of(arrival, key)?;
        let mut waiting = queue.take_compute(own)?;
        if !wanted {
            return Some(waiting);
        }
        self.lease_latches(die, &mut waiting.operation);
        queue.put_back(waiting, key);
        self.schedule
            .count(|counts| counts.computations_interrupted += 1);
        None
    }

    /// Takes room for the outputs of a computation, if there is some; whether it has it.
    fn take_room(&self, computation: &mut Computation) -> bool {
        if let Some(room) = &computation.compute.room
            && !computation.has_room
            && let Some(permit) = room.try_acquire(computation.compute.outputs.len() as u64)
        {
            permit.keep();
            computation.has_room = true;
        }
        computation.has_room
    }

    /// Has a computation whose steps are done wait for room; its outputs stay in the latches.
    fn park(&self, die: DieId, mut waiting: Waiting<Computation>, key: QueueKey) {
        let computation = &mut waiting.operation;
        let Some(room) = computation.compute.room.clone() else {
            return;
        };
        if computation.fault.is_none() {
            self.lease_latches(die, computation);
        }
        self.queue().borrow_mut().bar_computations(true);
        let parked = &self.schedule.parked;
        parked.set(parked.get() + 1);
        let taken = room.reserve(computation.compute.outputs.len() as u64);
        let (schedule, number) = (self.schedule.clone(), self.number);
        self.sim.spawn_detached(async move {
            taken.await;
            waiting.operation.has_room = true;
            schedule.unpark(number, waiting, key);
        });
    }

    /// The die that a sequence is for: latch commands name none.
    fn die_of_steps(&self, steps: &[Command]) -> DieId {
        block_of(steps).map_or(self.first_die, |block| {
            self.schedule.geometry.die_of_block(block)
        })
    }

    /// Moves whole C-latches over the channel, to their buffers or only to be counted.
    pub(super) async fn latches_out(
        &self,
        outputs: &Outputs,
        counted: Option<&Counted>,
        origin: Origin,
    ) -> Option<Fault> {
        let geometry = &self.schedule.geometry;
        let mut fault = None;
        for (index, (plane, into)) in outputs.iter().enumerate() {
            let turn = match &self.turns {
                Some(turns) => Some(turns.visit(self.chip, Visit::UserData, index > 0).await),
                None => None,
            };
            let bytes = u64::from(geometry.page_bytes);
            self.move_data(Moved {
                requester: origin.requester(),
                purpose: Purpose::Result,
                plane: *plane,
                setup: self.data_out_setup,
                bytes,
            })
            .await;
            drop(turn);
            let status = match counted {
                Some(counted) => self.count_latch(*plane, counted.bits[index], &counted.ones),
                None => self.latch_out(*plane, 0, *into, 0..geometry.page_bytes as usize),
            };
            if is_lost(status) {
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
