//! The commands of a connection that have come and are not answered.

use nvme::{CommandSet, Status, SubmissionEntry, Transfers};
use slab::Slab;

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It waits for memory.
    WaitsForMemory,
    /// Its data arrives, by H2CData if it was asked for.
    Receiving {
        /// Bytes that have come.
        received: u32,
        /// By H2CData, not in the capsule.
        is_asked_for: bool,
    },
    /// All of it is there.
    Arrived,
    /// The drive is at it.
    AtDrive,
    /// An Asynchronous Event Request, which is held.
    Held,
}

/// A command.
pub(crate) struct Active {
    pub(crate) entry: SubmissionEntry,
    pub(crate) set: CommandSet,
    pub(crate) transfers: Transfers,
    pub(crate) progress: Progress,
    /// What is wrong with it already.
    pub(crate) refused: Option<Status>,
    pub(crate) data: Option<Box<[u8]>>,
}

/// All of them. The place of one is the tag of the R2T that asks for its data.
#[derive(Default)]
pub(super) struct Actives {
    slots: Slab<Active>,
    /// A bit for each identifier that is in use.
    identifiers: Vec<u64>,
}

impl Actives {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Takes one in, unless its identifier is in use.
    pub(super) fn insert(&mut self, active: Active) -> Result<u16, Active> {
        let id = usize::from(active.entry.command_id.get());
        let (word, bit) = (id / 64, 1 << (id % 64));
        if self.identifiers.len() <= word {
            self.identifiers.resize(word + 1, 0);
        }
        if self.identifiers[word] & bit != 0 {
            return Err(active);
        }
        self.identifiers[word] |= bit;
        Ok(self.slots.insert(active) as u16)
    }

    pub(super) fn get(&self, slot: u16) -> Option<&Active> {
        self.slots.get(slot.into())
    }

    pub(super) fn get_mut(&mut self, slot: u16) -> Option<&mut Active> {
        self.slots.get_mut(slot.into())
    }

    pub(super) fn remove(&mut self, slot: u16) -> Option<Active> {
        let active = self.slots.try_remove(slot.into())?;
        let id = usize::from(active.entry.command_id.get());
        self.identifiers[id / 64] &= !(1 << (id % 64));
        Some(active)
    }

    /// The command of an identifier.
    pub(super) fn find(&self, id: u16) -> Option<u16> {
        let mut all = self.slots.iter();
        let found = all.find(|(_, active)| active.entry.command_id.get() == id);
        found.map(|(slot, _)| slot as u16)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, &Active)> {
        self.slots
            .iter()
            .map(|(slot, active)| (slot as u16, active))
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Active> + '_ {
        self.identifiers.clear();
        self.slots.drain()
    }
}
