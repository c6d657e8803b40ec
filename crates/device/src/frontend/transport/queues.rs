//! Submission and completion queues as the controller sees them.

use nvme::{AsyncEvent, CompletionEntry, QueueId, QueuePriority, Ring, Status, SubmissionEntry};

use super::arbitration::Arbiter;

/// A submission queue, consumed by the controller.
pub(in crate::frontend) struct SubmissionQueue {
    pub(in crate::frontend) base: u64,
    pub(in crate::frontend) ring: Ring,
    pub(in crate::frontend) completion_queue: QueueId,
    pub(in crate::frontend) priority: QueuePriority,
    /// Commands fetched and not completed.
    in_flight: u32,
    /// Has entries that are not fetched because so many are in flight.
    held_back: bool,
}

/// A completion queue, filled by the controller.
pub(in crate::frontend) struct CompletionQueue {
    pub(in crate::frontend) base: u64,
    pub(in crate::frontend) ring: Ring,
    /// Submission queues that complete here.
    pub(in crate::frontend) users: u32,
}

/// All queues, by identifier; the admin queues are number 0.
pub(in crate::frontend) struct Queues {
    submission: Vec<Option<SubmissionQueue>>,
    completion: Vec<Option<CompletionQueue>>,
    arbiter: Arbiter,
    /// Commands of one I/O queue that may be in flight.
    fetch_limit: u32,
    /// Entries, by queue and slot, that were aborted before they were fetched.
    skipped: Vec<(QueueId, u16)>,
}

impl Queues {
    /// Room for the admin queues and as many I/O queues as `arbiter` was made for.
    pub(in crate::frontend) fn new(io_queues: u16, fetch_limit: u32, arbiter: Arbiter) -> Queues {
        let slots = usize::from(io_queues) + 1;
        Queues {
            submission: (0..slots).map(|_| None).collect(),
            completion: (0..slots).map(|_| None).collect(),
            arbiter,
            fetch_limit,
            skipped: Vec::new(),
        }
    }

    /// # Errors
    /// Invalid Queue Identifier if it is out of range or in use, Invalid Queue Size, Invalid Field if
    /// it would end beyond the last address.
    pub(in crate::frontend) fn create_completion(
        &mut self,
        queue: QueueId,
        base: u64,
        size: u32,
    ) -> Result<(), Status> {
        let slot = self
            .completion
            .get_mut(usize::from(queue.get()))
            .ok_or(Status::INVALID_QUEUE_IDENTIFIER)?;
        if slot.is_some() {
            return Err(Status::INVALID_QUEUE_IDENTIFIER);
        }
        let ring = Ring::new(size).map_err(|_| Status::INVALID_QUEUE_SIZE)?;
        check_base(base, size, CompletionEntry::BYTES)?;
        *slot = Some(CompletionQueue {
            base,
            ring,
            users: 0,
        });
        Ok(())
    }

    /// # Errors
    /// As [`Queues::create_completion`]; Completion Queue Invalid if that does not exist.
    pub(in crate::frontend) fn create_submission(
        &mut self,
        queue: QueueId,
        base: u64,
        size: u32,
        completion_queue: QueueId,
        priority: QueuePriority,
    ) -> Result<(), Status> {
        let slot = self
            .submission
            .get_mut(usize::from(queue.get()))
            .ok_or(Status::INVALID_QUEUE_IDENTIFIER)?;
        if slot.is_some() {
            return Err(Status::INVALID_QUEUE_IDENTIFIER);
        }
        let ring = Ring::new(size).map_err(|_| Status::INVALID_QUEUE_SIZE)?;
        check_base(base, size, SubmissionEntry::BYTES)?;
        let completion = self
            .completion
            .get_mut(usize::from(completion_queue.get()))
            .and_then(Option::as_mut)
            .ok_or(Status::INVALID_COMPLETION_QUEUE)?;
        completion.users += 1;
        *slot = Some(SubmissionQueue {
            base,
            ring,
            completion_queue,
            priority,
            in_flight: 0,
            held_back: false,
        });
        Ok(())
    }

    /// # Errors
    /// Invalid Queue Identifier if there is no such I/O queue.
    pub(in crate::frontend) fn delete_submission(&mut self, queue: QueueId) -> Result<(), Status> {
        let slot = match queue.get() {
            0 => None,
            number => self.submission.get_mut(usize::from(number)),
        };
        let deleted = slot
            .and_then(Option::take)
            .ok_or(Status::INVALID_QUEUE_IDENTIFIER)?;
        self.arbiter
            .rest(usize::from(queue.get()), deleted.priority);
        self.skipped.retain(|(of, _)| *of != queue);
        if let Some(completion) = self.completion_mut(deleted.completion_queue) {
            completion.users -= 1;
        }
        Ok(())
    }

    /// # Errors
    /// Invalid Queue Identifier if there is no such I/O queue, Invalid Queue
    /// Deletion while a submission queue completes there.
    pub(in crate::frontend) fn delete_completion(&mut self, queue: QueueId) -> Result<(), Status> {
        let slot = match queue.get() {
            0 => None,
            number => self.completion.get_mut(usize::from(number)),
        };
        let slot = slot
            .filter(|slot| slot.is_some())
            .ok_or(Status::INVALID_QUEUE_IDENTIFIER)?;
        if slot.as_ref().is_some_and(|queue| queue.users > 0) {
            return Err(Status::INVALID_QUEUE_DELETION);
        }
        *slot = None;
        Ok(())
    }

    #[inline]
    pub(in crate::frontend) fn submission_mut(
        &mut self,
        queue: QueueId,
    ) -> Option<&mut SubmissionQueue> {
        self.submission.get_mut(usize::from(queue.get()))?.as_mut()
    }

    #[inline]
    pub(in crate::frontend) fn completion_mut(
        &mut self,
        queue: QueueId,
    ) -> Option<&mut CompletionQueue> {
        self.completion.get_mut(usize::from(queue.get()))?.as_mut()
    }

    /// Whether an I/O queue was created.
    pub(in crate::frontend) fn any_io(&self) -> bool {
        self.completion.iter().skip(1).any(Option::is_some)
    }

    /// How queues share the drive from now on.
    pub(in crate::frontend) fn arbiter_mut(&mut self) -> &mut Arbiter {
        &mut self.arbiter
    }

    /// The host moved a submission queue's tail.
    ///
    /// # Errors
    /// The event that tells the host why it cannot be there.
    #[inline]
    pub(in crate::frontend) fn move_tail(
        &mut self,
        queue: QueueId,
        tail: u16,
    ) -> Result<(), AsyncEvent> {
        let number = usize::from(queue.get());
        let Some(Some(entries)) = self.submission.get_mut(number) else {
            return Err(AsyncEvent::INVALID_DOORBELL);
        };
        if entries.ring.set_tail(tail).is_err() {
            return Err(AsyncEvent::INVALID_DOORBELL_VALUE);
        }
        if !entries.held_back {
            self.arbiter.wait(number, entries.priority);
        }
        Ok(())
    }

    /// Arbitration: the next queue that has an entry, its priority, and where that entry lies.
    #[inline]
    pub(in crate::frontend) fn arbitrate(&mut self) -> Option<(QueueId, QueuePriority, u64)> {
        loop {
            let number = self.arbiter.turn()?;
            let queue = QueueId::new(number as u16);
            let Some(entries) = &mut self.submission[number] else {
                unreachable!("a queue that is deleted rests");
            };
            if is_at_limit(queue, entries, self.fetch_limit) {
                entries.held_back = true;
                self.arbiter.rest(number, entries.priority);
                continue;
            }
            let Some(slot) = entries.ring.consume() else {
                self.arbiter.rest(number, entries.priority);
                continue;
            };
            if !self.skipped.is_empty() {
                let aborted = self.skipped.iter().position(|skip| *skip == (queue, slot));
                if let Some(place) = aborted {
                    self.skipped.swap_remove(place);
                    continue;
                }
            }
            entries.in_flight += 1;
            self.arbiter.fetched(number, entries.priority);
            let address = entries.base + u64::from(slot) * SubmissionEntry::BYTES as u64;
            return Some((queue, entries.priority, address));
        }
    }

    /// A command of `queue` is not in flight any more; says whether the queue was held back and
    /// may be fetched from again.
    #[inline]
    pub(in crate::frontend) fn leave(&mut self, queue: QueueId) -> bool {
        let number = usize::from(queue.get());
        let Some(Some(entries)) = self.submission.get_mut(number) else {
            return false;
        };
        // Commands of a deleted queue of the same number may end, too.
        entries.in_flight = entries.in_flight.saturating_sub(1);
        if std::mem::take(&mut entries.held_back) {
            self.arbiter.wait(number, entries.priority);
            return true;
        }
        false
    }

    /// Where the entry before the tail of `queue` lies.
    pub(in crate::frontend) fn entry_before(&self, queue: QueueId, tail: u16) -> Option<u64> {
        let entries = self.submission.get(usize::from(queue.get()))?.as_ref()?;
        let size = entries.ring.size();
        let slot = (u32::from(tail) + size - 1) % size;
        Some(entries.base + u64::from(slot) * SubmissionEntry::BYTES as u64)
    }

    /// Whether the next entry of `queue` must wait until another command completes.
    #[inline]
    pub(in crate::frontend) fn is_held_back(&self, queue: QueueId) -> bool {
        let entries = self.submission.get(usize::from(queue.get()));
        let entries = entries.and_then(Option::as_ref);
        entries.is_some_and(|entries| {
            entries.held_back || is_at_limit(queue, entries, self.fetch_limit)
        })
    }

    /// The entries of `queue` that were not fetched: slot and address.
    pub(in crate::frontend) fn waiting_entries(
        &self,
        queue: QueueId,
    ) -> impl Iterator<Item = (u16, u64)> + '_ {
        let entries = self.submission.get(usize::from(queue.get()));
        let entries = entries.and_then(Option::as_ref).into_iter();
        entries
            .flat_map(|entries| {
                let ring = &entries.ring;
                (0..ring.len()).map(move |step| {
                    let slot = ((u32::from(ring.head()) + step) % ring.size()) as u16;
                    let address = entries.base + u64::from(slot) * SubmissionEntry::BYTES as u64;
                    (slot, address)
                })
            })
            .filter(move |(slot, _)| !self.skipped.contains(&(queue, *slot)))
    }

    /// The entry in `slot`, which was not fetched, is not to be carried out.
    pub(in crate::frontend) fn skip(&mut self, queue: QueueId, slot: u16) {
        self.skipped.push((queue, slot));
    }

    /// Whether some queue may have entries.
    #[inline]
    pub(in crate::frontend) fn has_waiting(&self) -> bool {
        self.arbiter.has_waiting()
    }

    /// A slot for the completion of a command of `submission`: its address, its
    /// phase and the submission queue's head to report. `None` while the
    /// completion queue is full.
    #[inline]
    pub(in crate::frontend) fn completion_slot(&mut self, submission: QueueId) -> CompletionSlot {
        let Some(queue) = self.submission_mut(submission) else {
            return CompletionSlot::Gone;
        };
        let (head, completion_queue) = (queue.ring.head(), queue.completion_queue);
        let Some(completion) = self.completion_mut(completion_queue) else {
            return CompletionSlot::Gone;
        };
        match completion.ring.produce() {
            None => CompletionSlot::Full,
            Some((slot, phase)) => CompletionSlot::Free {
                address: completion.base + u64::from(slot) * CompletionEntry::BYTES as u64,
                phase,
                head,
                completion_queue,
            },
        }
    }
}

/// Whether so many commands of a queue are in flight as may be. Admin commands, some of which wait for events, have no limit.
#[inline]
fn is_at_limit(queue: QueueId, entries: &SubmissionQueue, limit: u32) -> bool {
    queue.get() > 0 && entries.in_flight >= limit
}

/// Every entry of a queue must have an address.
fn check_base(base: u64, entries: u32, entry_bytes: usize) -> Result<(), Status> {
    let end = base.checked_add(u64::from(entries) * entry_bytes as u64);
    end.map(drop).ok_or(Status::INVALID_FIELD)
}

/// Where a completion goes.
pub(in crate::frontend) enum CompletionSlot {
    /// Here.
    Free {
        address: u64,
        phase: bool,
        head: u16,
        completion_queue: QueueId,
    },
    /// Nowhere until the host has taken some.
    Full,
    /// Nowhere: the queue was deleted while the command ran.
    Gone,
}
