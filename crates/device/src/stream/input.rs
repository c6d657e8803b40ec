//! What comes into a stream: pieces in order, few enough to fit into its share of the buffers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use sim::Sim;
use sim::resource::Broadcast;

use super::notes::Notes;
use crate::task::Data;

/// A piece of the input.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    /// Its number.
    pub(super) index: u64,
    /// Where it lies in the input.
    pub(super) offset: u64,
    pub(super) data: Data,
}

/// Pieces on their way to the elements.
pub(super) struct Input {
    /// Bytes that they may have together.
    most: u64,
    used: Cell<u64>,
    /// Those that are here and not taken.
    here: RefCell<BTreeMap<u64, (u64, Data)>>,
    /// The number of the next that is to be taken.
    next: Cell<u64>,
    /// How many there are in all, once that is known.
    count: Cell<Option<u64>>,
    /// Announced when any of this changes.
    changed: Broadcast,
    notes: Rc<Notes>,
}

impl Input {
    pub(super) fn new(sim: &Sim, notes: &Rc<Notes>, most: u64) -> Input {
        Input {
            most,
            used: Cell::new(0),
            here: RefCell::default(),
            next: Cell::new(0),
            count: Cell::new(None),
            changed: Broadcast::new(sim),
            notes: notes.clone(),
        }
    }

    /// Waits until there is room for a piece. One asks at a time, in the order of the pieces.
    pub(super) async fn reserve(&self, bytes: u64) {
        while self.used.get() + bytes > self.most {
            self.changed.next().await;
        }
        self.used.set(self.used.get() + bytes);
        self.notes.input(bytes.cast_signed());
    }

    /// Gives room back: a piece is in the memory of its element.
    pub(super) fn release(&self, bytes: u64) {
        self.used.set(self.used.get() - bytes);
        self.notes.input(-bytes.cast_signed());
        self.changed.announce();
    }

    /// A piece is here, for which there was room.
    pub(super) fn put(&self, index: u64, offset: u64, data: Data) {
        self.here.borrow_mut().insert(index, (offset, data));
        self.changed.announce();
    }

    /// There are no more than so many pieces.
    pub(super) fn end(&self, count: u64) {
        self.count.set(Some(count));
        self.changed.announce();
    }

    /// Whether it is known how many pieces there are.
    pub(super) fn has_end(&self) -> bool {
        self.count.get().is_some()
    }

    /// Pieces that were taken, or are being waited for by who takes them.
    pub(super) fn begun(&self) -> u64 {
        let next = self.next.get();
        self.count.get().map_or(next, |count| count.min(next))
    }

    /// Takes the next piece as soon as it is here; nothing at the end.
    pub(super) async fn take(&self) -> Option<Taken> {
        let index = self.next.get();
        self.next.set(index + 1);
        loop {
            if let Some((offset, data)) = self.here.borrow_mut().remove(&index) {
                self.notes.taken(data.bytes());
                return Some(Taken {
                    index,
                    offset,
                    data,
                });
            }
            if self.count.get().is_some_and(|count| index >= count) {
                return None;
            }
            self.changed.next().await;
        }
    }
}

impl Drop for Input {
    /// What is left of a stream that was stopped takes no room any more.
    fn drop(&mut self) {
        self.notes.input(-self.used.get().cast_signed());
    }
}
