//! A stream that is open, as commands come to it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use nvme::task::{Ended, Outcome};
use sim::resource::{Broadcast, Semaphore};
use sim::{Either, select};

use super::pipeline::Pipeline;
use crate::memory::Partition;
use crate::port::Switch;
use crate::programs::InUse;
use crate::schedule::Origin;
use crate::task::Data;

/// A stream that is open.
pub(super) struct Open {
    pub(super) pipeline: Rc<Pipeline>,
    /// It is to stop.
    pub(super) halted: Cell<bool>,
    /// What became of it, once it is over.
    pub(super) outcome: RefCell<Option<Outcome>>,
    /// Announced when either changes.
    pub(super) changed: Broadcast,
    /// One command after another has what goes out, and another what comes in.
    pub(super) fetching: Semaphore,
    pub(super) sending: Semaphore,
    /// Bytes that the host has sent, and pieces of these.
    pub(super) sent: Cell<(u64, u64)>,
    /// What has come of a piece that a collector sends.
    pub(super) filling: RefCell<Vec<Data>>,
    /// The program, until the stream is over.
    pub(super) program: RefCell<Option<InUse>>,
}

impl Open {
    pub(super) fn halt(&self) {
        self.halted.set(true);
        self.changed.announce();
    }

    /// Does something unless the stream is to stop.
    pub(super) async fn unless_halted<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let halted = async {
            while !self.halted.get() {
                self.changed.next().await;
            }
        };
        match select(halted, work).await {
            Either::Left(()) => None,
            Either::Right(done) => Some(done),
        }
    }

    /// What became of it, once it is over.
    pub(super) async fn over(&self) -> Outcome {
        loop {
            if let Some(outcome) = &*self.outcome.borrow() {
                return outcome.clone();
            }
            self.changed.next().await;
        }
    }

    /// Whether it is over and has not ended well.
    pub(super) fn has_failed(&self) -> bool {
        let outcome = self.outcome.borrow();
        outcome
            .as_ref()
            .is_some_and(|outcome| outcome.ended != Ended::Committed)
    }

    pub(super) fn is_over(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    /// Puts a piece that the host has sent into the input; false if there is no room before the host has fetched output.
    pub(super) async fn put(&self, piece: Data, origin: Origin) -> bool {
        let bytes = u64::from(piece.bytes());
        let room = self.pipeline.input.reserve(bytes);
        let is_stuck = match self.pipeline.ends.output {
            // It goes on by itself.
            Some(_) => {
                room.await;
                false
            }
            None => matches!(
                select(room, self.pipeline.rest.quiet()).await,
                Either::Right(())
            ),
        };
        if is_stuck {
            return false;
        }
        let requester = origin.requester();
        self.pipeline.take_in(requester, piece.bytes()).await;
        let (offset, index) = self.sent.get();
        self.sent.set((offset + bytes, index + 1));
        self.pipeline.input.put(index, offset, piece);
        true
    }

    /// Adds to the piece that comes from a collector, and to those after it.
    pub(super) async fn fill(
        &self,
        data: Data,
        switch: &Switch,
        (streams, origin): (Partition, Origin),
    ) {
        let (pipeline, mut rest) = (&self.pipeline, data);
        while rest.bytes() > 0 {
            let filled = self.filled();
            if filled == 0 {
                pipeline.input.reserve(pipeline.piece_bytes.into()).await;
            }
            let (part, after) = rest.split(pipeline.piece_bytes - filled);
            rest = after;
            let bytes = part.bytes();
            switch.give_out(origin.requester(), bytes, streams).await;
            self.filling.borrow_mut().push(part);
            if self.filled() == pipeline.piece_bytes {
                self.put_filled();
            }
        }
    }

    /// A collector sends nothing more: what has come of a piece is the last one.
    pub(super) fn fill_end(&self) {
        let (pipeline, filled) = (&self.pipeline, self.filled());
        if filled > 0 {
            let left = pipeline.piece_bytes - filled;
            pipeline.input.release(left.into());
            self.put_filled();
        }
        pipeline.input.end(self.sent.get().1);
        pipeline.output.set_count(self.sent.get().1);
    }

    fn filled(&self) -> u32 {
        self.filling.borrow().iter().map(Data::bytes).sum()
    }

    fn put_filled(&self) {
        let piece = Data::joined(self.filling.take());
        let (offset, index) = self.sent.get();
        let bytes = u64::from(piece.bytes());
        self.sent.set((offset + bytes, index + 1));
        self.pipeline.input.put(index, offset, piece);
    }
}
