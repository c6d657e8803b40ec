//! Where clients keep names: the last logical blocks of the first namespace, in a few slots of one data region each.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use host::search::NameKind;
use nvme::query::Pattern;

use super::shelf::Shelf;

/// What is in a slot.
#[derive(Debug, Default)]
pub(super) enum Content {
    #[default]
    Empty,
    /// A data region is being allocated.
    Coming(Vec<NameKind>),
    There(Shelf),
    /// Its values are being written over.
    Written(Shelf),
    /// It is being deallocated.
    Leaving(Shelf),
}

/// What becomes of the search regions of a data region.
#[derive(Debug)]
pub(super) enum Reshaping {
    /// This one goes.
    Without(usize),
    /// One more comes, with a name for each entry that was appended.
    With(NameKind, std::collections::BTreeMap<u32, Pattern>),
}

/// A stretch of logical blocks for a data region.
#[derive(Debug)]
pub(super) struct Slot {
    /// Its first byte in the namespace, and how many it has.
    pub(super) first: u64,
    pub(super) bytes: u64,
    pub(super) content: RefCell<Content>,
    pub(super) reshaping: RefCell<Option<Reshaping>>,
    /// Who changes something; lookups may be under way meanwhile.
    writing: Cell<bool>,
    reading: Cell<u32>,
    /// Rises when a data region comes, goes or changes its search regions.
    pub(super) generation: Cell<u64>,
    /// Everything in it may be gone after a power cut: it is being formatted.
    pub(super) going: Cell<bool>,
}

/// Somebody works on a slot.
pub(super) struct Claim {
    slot: Rc<Slot>,
    writes: bool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        match self.writes {
            true => self.slot.writing.set(false),
            false => self.slot.reading.set(self.slot.reading.get() - 1),
        }
        if let Content::There(shelf) = &mut *self.slot.content.borrow_mut()
            && self.slot.reading.get() == 0
        {
            shelf.changes.retain(|change| !change.done.get());
        }
    }
}

impl Slot {
    fn new(first: u64, bytes: u64) -> Slot {
        Slot {
            first,
            bytes,
            content: RefCell::default(),
            reshaping: RefCell::default(),
            writing: Cell::new(false),
            reading: Cell::new(0),
            generation: Cell::new(0),
            going: Cell::new(false),
        }
    }

    /// To look up, unless it is being emptied.
    pub(super) fn read(self: &Rc<Slot>) -> Claim {
        self.reading.set(self.reading.get() + 1);
        Claim {
            slot: self.clone(),
            writes: false,
        }
    }

    /// To change something, if nobody else does.
    pub(super) fn write(self: &Rc<Slot>) -> Option<Claim> {
        let taken = self.writing.replace(true);
        (!taken).then(|| Claim {
            slot: self.clone(),
            writes: true,
        })
    }

    /// To change what lookups see in a way that they would not expect, if nobody else works.
    pub(super) fn write_alone(self: &Rc<Slot>) -> Option<Claim> {
        (self.reading.get() == 0).then(|| self.write()).flatten()
    }

    /// Whether a data region came or went, or its search regions, or may have.
    pub(super) fn has_changed_since(&self, generation: u64) -> bool {
        generation != self.generation.get() || self.reshaping.borrow().is_some()
    }

    /// What is there, with what is there of it.
    pub(super) fn with<R>(&self, look: impl FnOnce(&mut Shelf) -> R) -> Option<R> {
        match &mut *self.content.borrow_mut() {
            Content::There(shelf) => Some(look(shelf)),
            _ => None,
        }
    }

    pub(super) fn put(&self, content: Content) -> Content {
        self.generation.set(self.generation.get() + 1);
        self.content.replace(content)
    }

    /// Takes what is being deallocated, or is there.
    pub(super) fn take_shelf(&self) -> Option<Shelf> {
        match self.put(Content::Empty) {
            Content::There(shelf) | Content::Written(shelf) | Content::Leaving(shelf) => {
                Some(shelf)
            }
            Content::Empty | Content::Coming(_) => None,
        }
    }
}

/// The slots of a drive; none where no names are kept.
#[derive(Debug, Default)]
pub struct Slots(Vec<Rc<Slot>>);

impl Slots {
    /// So many, in bytes of a namespace from `first` on.
    pub(super) fn new(first: u64, bytes: u64, count: u64) -> Slots {
        let each = bytes / count;
        let slots = (0..count).map(|slot| Rc::new(Slot::new(first + slot * each, each)));
        Slots(slots.collect())
    }

    pub(super) fn all(&self) -> &[Rc<Slot>] {
        &self.0
    }

    /// Takes all slots for an erasure of their namespace; false, and none is taken, if somebody works on one.
    pub fn close(&self) -> bool {
        let busy = |slot: &&Rc<Slot>| slot.writing.get() || slot.reading.get() > 0;
        if self.0.iter().any(|slot| busy(&slot)) {
            return false;
        }
        for slot in &self.0 {
            slot.writing.set(true);
        }
        true
    }

    /// An erasure of what is in them begins.
    pub fn begin_erasure(&self) {
        self.0.iter().for_each(|slot| slot.going.set(true));
    }

    /// The erasure has happened.
    pub fn erased(&self) {
        for slot in &self.0 {
            slot.put(Content::Empty);
            slot.going.set(false);
        }
    }

    /// Whoever closed them is done.
    pub fn open(&self) {
        self.0.iter().for_each(|slot| slot.writing.set(false));
    }

    /// After a power cut nobody works on any.
    pub(super) fn release_all(&self) {
        for slot in &self.0 {
            slot.writing.set(false);
            slot.reading.set(0);
        }
    }
}
