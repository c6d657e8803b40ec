//! A submission and a completion queue in host memory, and what is known of the commands in them.

use std::cell::RefCell;

use host::{Buffer, Error, Memory};
use nvme::{CompletionEntry, Cursor, QueueId, Ring, SubmissionEntry};
use sim::resource::Semaphore;
use sim::{Counter, Name, Sim, TaskId, Time, Track};

use crate::traced::Traced;

/// A command slot of a queue pair, named by its command identifier.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    pub(super) waiter: TaskId,
    pub(super) completion: Option<Arrival>,
    /// Nobody awaits it any more: its identifier goes back when it completes.
    pub(super) abandoned: bool,
    /// An Abort of it is under way, which must not meet another command of its identifier.
    pub(super) is_aborted: bool,
    /// It is abandoned and the drive may still write to its data, so freed memory is held.
    pub(super) holds_memory: bool,
}

/// A completion on its way over the link, or arrived.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) entry: CompletionEntry,
    pub(super) at: Time,
    /// The completion queue's head once this entry is consumed.
    pub(super) head: u16,
    /// Rises with each completion that arrives.
    pub(super) order: u64,
}

pub(super) struct State {
    submission: Ring,
    pub(super) completion: Cursor,
    pub(super) pending: Vec<Pending>,
    pub(super) free: Vec<u16>,
    /// The order of the last completion that arrived.
    pub(super) arrived: u64,
    /// The order of the newest that was consumed: what older ones say of heads is out of date.
    consumed: u64,
}

/// A submission and a completion queue of the same number.
pub(super) struct QueuePair {
    pub(super) id: QueueId,
    pub(super) submission_memory: Buffer,
    pub(super) completion_memory: Buffer,
    pub(super) state: RefCell<State>,
    /// Identifiers that are free and promised to nobody. Who finds none waits in line.
    pub(super) room: Semaphore,
    /// Where a trace shows its commands, and how many are outstanding.
    lines: (Track, Counter),
}

impl QueuePair {
    pub(super) fn new(
        sim: &Sim,
        memory: &Memory,
        id: QueueId,
        entries: u32,
    ) -> Result<QueuePair, Error> {
        let wrong_size = |_| {
            Error::Usage(format!(
                "a queue of {entries} entries: it must be 2 to 65536"
            ))
        };
        let submission = Ring::new(entries).map_err(wrong_size)?;
        let zeroed = vec![0; entries as usize * CompletionEntry::BYTES];
        Ok(QueuePair {
            id,
            submission_memory: Buffer::new(
                memory,
                u64::from(entries) * SubmissionEntry::BYTES as u64,
            )?,
            // Zeroed, so that no entry has the phase of a new one (Base 4.2.4).
            completion_memory: Buffer::holding(memory, &zeroed)?,
            state: RefCell::new(State {
                submission,
                completion: Cursor::new(entries).map_err(wrong_size)?,
                pending: vec![
                    Pending {
                        waiter: TaskId::NONE,
                        completion: None,
                        abandoned: false,
                        is_aborted: false,
                        holds_memory: false,
                    };
                    entries as usize - 1
                ],
                free: (0..(entries - 1) as u16).rev().collect(),
                arrived: 0,
                consumed: 0,
            }),
            room: Semaphore::new(sim, u64::from(entries) - 1),
            lines: {
                let (name, trace) = (Name::numbered("queue pair", id.get().into()), sim.trace());
                let outstanding = trace.counter("queues", name.followed_by("outstanding"));
                (trace.overlapping_track("host", name), outstanding)
            },
        })
    }

    /// Notes in the trace how many commands are outstanding.
    #[inline]
    pub(super) fn trace_outstanding(&self, sim: &Sim) {
        if sim.trace().enabled() {
            let state = self.state.borrow();
            let outstanding = state.pending.len() - state.free.len();
            sim.trace().count(self.lines.1, sim.now(), outstanding);
        }
    }

    /// Notes in the trace a command that was sent at `begin` and is complete.
    #[cold]
    pub(super) fn trace_command(&self, sim: &Sim, traced: &Traced<'_>, begin: Time) {
        let (trace, track) = (sim.trace(), self.lines.0);
        trace.slice_with(track, traced.name(), begin, sim.now(), |args| {
            traced.tell(args);
        });
        self.trace_outstanding(sim);
    }

    /// A free command identifier, the slot of its entry and the tail after it.
    #[inline]
    pub(super) fn claim(&self) -> Option<(u16, u16, u16)> {
        let state = &mut *self.state.borrow_mut();
        if state.submission.is_full() {
            return None;
        }
        let id = state.free.pop()?;
        let (slot, _) = state.submission.produce()?;
        Some((id, slot, state.submission.tail()))
    }

    /// The host has taken a completion: its identifier and the entries that the
    /// drive has fetched are free again. Says whether none that came later was taken before.
    #[inline]
    pub(super) fn consume(&self, state: &mut State, id: u16, arrival: &Arrival) -> bool {
        let is_newest = arrival.order > state.consumed;
        if is_newest {
            state.consumed = arrival.order;
            // A head that makes no sense is not believed; the ring stays as it was.
            let moved = state.submission.set_head(arrival.entry.queue_head.get());
            debug_assert!(moved.is_ok(), "the drive reports a head beyond the tail");
        }
        let pending = &mut state.pending[usize::from(id)];
        pending.completion = None;
        pending.abandoned = false;
        state.free.push(id);
        self.room.release(1);
        is_newest
    }
}
