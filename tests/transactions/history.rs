//! What happened, as those saw it who did it: who read and wrote which values, and when he asked and was answered.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A quarter of a logical page: page and quarter.
pub type Place = (u32, u32);
/// What a quarter holds: every write has a value of its own; 0 is what it held before anybody wrote.
pub type Value = u64;

/// Who changed or read something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A transaction.
    Transaction,
    /// A command of the host: one read or one write of one page.
    Host,
    /// A read of everything while nothing else happens.
    Everything,
}

/// How somebody's doing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Not at all: the power was cut.
    Unknown,
    Committed,
    RolledBack,
}

/// A transaction, or a command.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    pub outcome: Outcome,
    /// When it was asked for, and when its snapshot had been taken.
    pub began: (u64, u64),
    /// When its end was asked for, and when that was told; never is the end of time.
    pub ended: (u64, u64),
    /// What it saw of others.
    pub reads: BTreeMap<Place, Value>,
    /// What it wrote last.
    pub writes: BTreeMap<Place, Value>,
    /// What it wrote and overwrote itself.
    pub overwritten: BTreeSet<Value>,
}

/// Everything that happened between two instants at which nothing else did.
#[derive(Default)]
pub struct History {
    pub nodes: Vec<Node>,
    /// What there was before.
    pub before: BTreeMap<Place, Value>,
}

/// Who writes a history.
#[derive(Clone, Default)]
pub struct Log {
    history: Rc<RefCell<History>>,
    clock: Rc<Cell<u64>>,
    next_value: Rc<Cell<u64>>,
    /// What somebody saw that nobody could: of himself, or torn.
    wrong: Rc<RefCell<Option<String>>>,
}

impl Log {
    /// Values go on from those of an earlier one.
    pub fn following(next_value: u64, before: BTreeMap<Place, Value>) -> Log {
        let log = Log::default();
        log.next_value.set(next_value);
        log.history.borrow_mut().before = before;
        log
    }

    pub fn next_value(&self) -> u64 {
        self.next_value.replace(self.next_value.get() + 1)
    }

    pub fn tick(&self) -> u64 {
        self.clock.replace(self.clock.get() + 1)
    }

    /// Somebody asks to begin.
    pub fn begin(&self, kind: Kind) -> usize {
        let nodes = &mut self.history.borrow_mut().nodes;
        nodes.push(Node {
            kind,
            outcome: Outcome::Unknown,
            began: (self.tick(), u64::MAX),
            ended: (u64::MAX, u64::MAX),
            reads: BTreeMap::new(),
            writes: BTreeMap::new(),
            overwritten: BTreeSet::new(),
        });
        nodes.len() - 1
    }

    pub fn with<T>(&self, node: usize, change: impl FnOnce(&mut Node) -> T) -> T {
        change(&mut self.history.borrow_mut().nodes[node])
    }

    /// Somebody saw a value.
    pub fn saw(&self, node: usize, place: Place, value: Value) {
        let told = self.with(node, |node| {
            if let Some(own) = node.writes.get(&place) {
                return (*own != value)
                    .then(|| format!("{place:?} is {value} to who wrote {own} there"));
            }
            let before = *node.reads.entry(place).or_insert(value);
            (before != value)
                .then(|| format!("{place:?} was {before} and is {value} to the same transaction"))
        });
        told.into_iter().for_each(|told| self.tell(told));
    }

    /// Somebody is about to write a value.
    pub fn writes(&self, node: usize, place: Place, value: Value) {
        self.with(node, |node| {
            let overwritten = node.writes.insert(place, value);
            node.overwritten.extend(overwritten);
        });
    }

    pub fn tell(&self, wrong: String) {
        self.wrong.borrow_mut().get_or_insert(wrong);
    }

    pub fn wrong(&self) -> Option<String> {
        self.wrong.borrow().clone()
    }

    pub fn take(&self) -> History {
        self.history.take()
    }
}
