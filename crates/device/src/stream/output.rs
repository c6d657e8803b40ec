//! What goes out of a stream: what elements make of pieces, brought into the order of these, within the stream's share of the
//! buffers.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use sim::Sim;
use sim::resource::Broadcast;

use super::notes::Notes;
use crate::task::Data;

/// Numbers of what elements have to say when there are no more pieces begin here, one an element.
const LAST_WORDS: u64 = 1 << 62;

/// What an element made of a piece.
#[derive(Default)]
struct Made {
    parts: VecDeque<Data>,
    is_done: bool,
}

/// What was made and not taken.
#[derive(Default)]
struct State {
    /// By the number of the piece.
    made: BTreeMap<u64, Made>,
    /// The first piece of which more may come: all before it can be taken.
    front: u64,
    /// Bytes that can be taken.
    available: u64,
}

/// Bytes on their way from the elements.
pub(super) struct Output {
    /// Bytes that they may have together.
    most: u64,
    /// Those that were taken and are not released included.
    used: Cell<u64>,
    /// Whether it has the order of the pieces, or that in which elements emit.
    is_ordered: bool,
    elements: u64,
    /// Pieces in all, once that is known.
    count: Cell<Option<u64>>,
    state: RefCell<State>,
    /// No more will come.
    is_over: Cell<bool>,
    /// Announced when any of this changes.
    changed: Broadcast,
    notes: Rc<Notes>,
}

impl Output {
    pub(super) fn new(
        (sim, notes): (&Sim, &Rc<Notes>),
        most: u64,
        is_ordered: bool,
        elements: u32,
    ) -> Output {
        Output {
            most,
            used: Cell::new(0),
            is_ordered,
            elements: elements.into(),
            count: Cell::new(None),
            state: RefCell::default(),
            is_over: Cell::new(false),
            changed: Broadcast::new(sim),
            notes: notes.clone(),
        }
    }

    /// The most bytes that may be emitted at once, and that a taker may wait for.
    pub(super) fn at_once(&self) -> u64 {
        self.most / 4
    }

    /// The number under which an element emits once there are no more pieces.
    pub(super) fn last_words(element: u32) -> u64 {
        LAST_WORDS + u64::from(element)
    }

    /// Adds to what is made of a piece, as soon as there is room. The first piece that is not done has half of the room to
    /// itself: those behind it never keep it from going on.
    pub(super) async fn emit(&self, index: u64, data: Data) {
        let bytes = u64::from(data.bytes());
        debug_assert!(bytes <= self.at_once(), "an emission too long");
        loop {
            let may_fill = match self.is_front(index) {
                true => self.most,
                false => self.most / 2,
            };
            if self.used.get() + bytes <= may_fill {
                break;
            }
            self.changed.next().await;
        }
        self.used.set(self.used.get() + bytes);
        self.notes.output(bytes.cast_signed());
        self.notes.emitted(data.bytes());
        let mut state = self.state.borrow_mut();
        let number = if self.is_ordered { index } else { 0 };
        if !self.is_ordered || index == state.front {
            state.available += bytes;
        }
        state.made.entry(number).or_default().parts.push_back(data);
        drop(state);
        self.changed.announce();
    }

    fn is_front(&self, index: u64) -> bool {
        !self.is_ordered || self.state.borrow().front == index
    }

    /// Nothing more comes of a piece.
    pub(super) fn done(&self, index: u64) {
        if self.is_ordered {
            let mut state = self.state.borrow_mut();
            state.made.entry(index).or_default().is_done = true;
            self.advance(&mut state);
        }
        self.changed.announce();
    }

    /// There are no more than so many pieces; what elements emit under [`Output::last_words`] comes after them.
    pub(super) fn set_count(&self, count: u64) {
        self.count.set(Some(count));
        self.advance(&mut self.state.borrow_mut());
        self.changed.announce();
    }

    /// Moves the front behind what is done.
    fn advance(&self, state: &mut State) {
        loop {
            if self.count.get().is_some_and(|count| state.front == count) {
                state.front = LAST_WORDS;
                state.available += bytes_of(state.made.get(&LAST_WORDS));
            }
            let at_front = state.made.get(&state.front);
            if !at_front.is_some_and(|made| made.is_done) {
                return;
            }
            if at_front.is_some_and(|made| made.parts.is_empty()) {
                let front = state.front;
                state.made.remove(&front);
            }
            state.front += 1;
            if state.front == LAST_WORDS + self.elements {
                return;
            }
            state.available += bytes_of(state.made.get(&state.front));
        }
    }

    /// No element will emit any more.
    pub(super) fn end(&self) {
        self.is_over.set(true);
        self.changed.announce();
    }

    /// Takes what comes next, `most` bytes at most, as soon as there are `least` of them or no more will come; nothing then.
    /// Their room is to be released.
    pub(super) async fn take(&self, least: u64, most: u64) -> Option<Vec<Data>> {
        debug_assert!(least <= self.at_once(), "who waits for that waits for ever");
        while self.state.borrow().available < least && !self.is_over.get() {
            self.changed.next().await;
        }
        let mut state = self.state.borrow_mut();
        if state.available == 0 {
            return None;
        }
        let mut taken = Vec::new();
        let mut left = most.min(state.available);
        state.available -= left;
        while left > 0 {
            let mut first = state.made.first_entry()?;
            let made = first.get_mut();
            match made.parts.pop_front() {
                Some(part) if u64::from(part.bytes()) <= left => {
                    left -= u64::from(part.bytes());
                    taken.push(part);
                }
                Some(part) => {
                    let (part, rest) = part.split(left as u32);
                    made.parts.push_front(rest);
                    taken.push(part);
                    left = 0;
                }
                None => {
                    first.remove();
                }
            }
        }
        Some(taken)
    }

    /// Bytes that can be taken.
    pub(super) fn available(&self) -> u64 {
        self.state.borrow().available
    }

    /// Gives room back: so many bytes of what was taken have left.
    pub(super) fn release(&self, bytes: u64) {
        self.used.set(self.used.get() - bytes);
        self.notes.output(-bytes.cast_signed());
        self.changed.announce();
    }
}

impl Drop for Output {
    /// As that of the input.
    fn drop(&mut self) {
        self.notes.output(-self.used.get().cast_signed());
    }
}

fn bytes_of(made: Option<&Made>) -> u64 {
    let parts = made.into_iter().flat_map(|made| &made.parts);
    parts.map(|part| u64::from(part.bytes())).sum()
}
