//! Submission and completion queues as the controller sees them.

use nvme::{CompletionEntry, QueueId, Ring, Status, SubmissionEntry};

/// A submission queue, consumed by the controller.
pub(super) struct SubmissionQueue {
    pub(super) base: u64,
    pub(super) ring: Ring,
    pub(super) completion_queue: QueueId,
}

/// A completion queue, filled by the controller.
pub(super) struct CompletionQueue {
    pub(super) base: u64,
    pub(super) ring: Ring,
    /// Submission queues that complete here.
    pub(super) users: u32,
}

/// All queues, by identifier; the admin queues are number 0.
#[derive(Default)]
pub(super) struct Queues {
    submission: Vec<Option<SubmissionQueue>>,
    completion: Vec<Option<CompletionQueue>>,
    /// Which submission queues have entries, a bit each.
    waiting: Vec<u64>,
    /// Where round-robin arbitration goes on.
    next: usize,
}

impl Queues {
    /// Room for the admin queues and `io_queues` others.
    pub(super) fn new(io_queues: u16) -> Queues {
        let slots = usize::from(io_queues) + 1;
        Queues {
            submission: (0..slots).map(|_| None).collect(),
            completion: (0..slots).map(|_| None).collect(),
            waiting: vec![0; slots.div_ceil(64)],
            next: 0,
        }
    }

    /// # Errors
    /// Invalid Queue Identifier if it is out of range or in use, Invalid Queue Size.
    pub(super) fn create_completion(
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
        *slot = Some(CompletionQueue {
            base,
            ring,
            users: 0,
        });
        Ok(())
    }

    /// # Errors
    /// As [`Queues::create_completion`]; Completion Queue Invalid if that does not exist.
    pub(super) fn create_submission(
        &mut self,
        queue: QueueId,
        base: u64,
        size: u32,
        completion_queue: QueueId,
    ) -> Result<(), Status> {
        let slot = self
            .submission
            .get_mut(usize::from(queue.get()))
            .ok_or(Status::INVALID_QUEUE_IDENTIFIER)?;
        if slot.is_some() {
            return Err(Status::INVALID_QUEUE_IDENTIFIER);
        }
        let ring = Ring::new(size).map_err(|_| Status::INVALID_QUEUE_SIZE)?;
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
        });
        Ok(())
    }

    /// # Errors
    /// Invalid Queue Identifier if there is no such I/O queue.
    pub(super) fn delete_submission(&mut self, queue: QueueId) -> Result<(), Status> {
        let slot = match queue.get() {
            0 => None,
            number => self.submission.get_mut(usize::from(number)),
        };
        let deleted = slot
            .and_then(Option::take)
            .ok_or(Status::INVALID_QUEUE_IDENTIFIER)?;
        if let Some(completion) = self.completion_mut(deleted.completion_queue) {
            completion.users -= 1;
        }
        Ok(())
    }

    /// # Errors
    /// Invalid Queue Identifier if there is no such I/O queue, Invalid Queue
    /// Deletion while a submission queue completes there.
    pub(super) fn delete_completion(&mut self, queue: QueueId) -> Result<(), Status> {
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
    pub(super) fn submission_mut(&mut self, queue: QueueId) -> Option<&mut SubmissionQueue> {
        self.submission.get_mut(usize::from(queue.get()))?.as_mut()
    }

    #[inline]
    pub(super) fn completion_mut(&mut self, queue: QueueId) -> Option<&mut CompletionQueue> {
        self.completion.get_mut(usize::from(queue.get()))?.as_mut()
    }

    /// The host moved a submission queue's tail; false if it cannot be there.
    #[inline]
    pub(super) fn move_tail(&mut self, queue: QueueId, tail: u16) -> bool {
        let moved = self
            .submission_mut(queue)
            .is_some_and(|queue| queue.ring.set_tail(tail).is_ok());
        if moved {
            let number = usize::from(queue.get());
            self.waiting[number / 64] |= 1 << (number % 64);
        }
        moved
    }

    /// Round-robin arbitration (NVMe Base 2.1, 3.4.4): the next queue that has an
    /// entry, and where that entry lies.
    #[inline]
    pub(super) fn arbitrate(&mut self) -> Option<(QueueId, u64)> {
        loop {
            let number = self.next_waiting()?;
            if let Some(queue) = &mut self.submission[number]
                && let Some(slot) = queue.ring.consume()
            {
                self.next = number + 1;
                let address = queue.base + u64::from(slot) * SubmissionEntry::BYTES as u64;
                return Some((QueueId::new(number as u16), address));
            }
            self.waiting[number / 64] &= !(1 << (number % 64));
        }
    }

    /// Whether some queue may have entries.
    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting.iter().any(|word| *word != 0)
    }

    /// The first queue from `next` on, round and round, that may have entries.
    #[inline]
    fn next_waiting(&self) -> Option<usize> {
        let words = self.waiting.len();
        let mut word = self.next / 64;
        let mut mask = u64::MAX << (self.next % 64);
        // One word more than there are, for the part of the first before `next`.
        for _ in 0..=words {
            if word >= words {
                (word, mask) = (0, u64::MAX);
            }
            let bits = self.waiting[word] & mask;
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
            (word, mask) = (word + 1, u64::MAX);
        }
        None
    }

    /// A slot for the completion of a command of `submission`: its address, its
    /// phase and the submission queue's head to report. `None` while the
    /// completion queue is full.
    #[inline]
    pub(super) fn completion_slot(&mut self, submission: QueueId) -> CompletionSlot {
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

/// Where a completion goes.
pub(super) enum CompletionSlot {
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
