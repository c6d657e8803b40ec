//! Pages of the volume that are being written and that no object has yet. They belong to calls under way, whatever
//! becomes of the volume meanwhile, and come back when a call fails or breaks off.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use host::volume::{Extent, Group, Reservation};
use sim::Sim;
use sim::resource::Broadcast;

use super::DriveVolume;
use crate::error::Error;

/// What calls under way have reserved.
pub(crate) struct Reserved {
    held: RefCell<BTreeMap<u64, Vec<Option<Reservation>>>>,
    /// What nobody will name any more. Commands may still write to it.
    abandoned: RefCell<Vec<Reservation>>,
    next: Cell<u64>,
    /// The groups that are written, by handle, with how many calls write each; some are not there yet.
    groups: RefCell<BTreeMap<u16, Written>>,
    ended: Broadcast,
}

struct Written {
    name: String,
    group: Group,
    writers: u32,
}

/// What a call has reserved; dropping it gives that back.
#[must_use = "pages are reserved as long as this is held"]
pub(crate) struct HeldPages<'a> {
    reserved: &'a Reserved,
    number: u64,
    extents: Vec<Vec<Extent>>,
}

/// A group that a call writes. Its handle is nobody else's until this is dropped.
#[must_use = "a group is written as long as this is held"]
pub(crate) struct Writing<'a> {
    reserved: &'a Reserved,
    handle: u16,
}

impl Reserved {
    pub(crate) fn new(sim: &Sim) -> Reserved {
        Reserved {
            held: RefCell::default(),
            abandoned: RefCell::default(),
            next: Cell::new(0),
            groups: RefCell::default(),
            ended: Broadcast::new(sim),
        }
    }

    /// Keeps what a call has reserved.
    pub(crate) fn hold(&self, reservations: Vec<Reservation>) -> HeldPages<'_> {
        let number = self.next.replace(self.next.get() + 1);
        let extents = reservations.iter().map(|reservation| reservation.extents());
        let extents = extents.map(<[Extent]>::to_vec).collect();
        let reservations = reservations.into_iter().map(Some).collect();
        self.held.borrow_mut().insert(number, reservations);
        HeldPages {
            reserved: self,
            number,
            extents,
        }
    }

    /// Enters a group that is written.
    pub(crate) fn write_group(&self, name: &str, group: Group) -> Writing<'_> {
        let mut groups = self.groups.borrow_mut();
        let written = groups.entry(group.handle).or_insert_with(|| Written {
            name: name.to_owned(),
            group,
            writers: 0,
        });
        written.writers += 1;
        Writing {
            reserved: self,
            handle: group.handle,
        }
    }

    /// The group of this name that is written and may not be there yet.
    pub(crate) fn written_group(&self, name: &str) -> Option<Group> {
        let groups = self.groups.borrow();
        let found = groups.values().find(|written| written.name == name);
        found.map(|written| written.group)
    }

    /// Whether a group that is written has the handle.
    pub(crate) fn has_handle(&self, handle: u16) -> bool {
        self.groups.borrow().contains_key(&handle)
    }

    /// Takes what calls have reserved in a volume that was opened again. What is not free there any more is lost to them.
    pub(crate) fn keep_in(&self, volume: &mut DriveVolume) {
        let mut held = self.held.borrow_mut();
        held.retain(|_, reservations| {
            let kept = |reservation: &Reservation| volume.keep(reservation);
            reservations.iter().flatten().all(kept)
        });
        let mut abandoned = self.abandoned.borrow_mut();
        abandoned.retain(|reservation| volume.keep(reservation));
    }

    /// Whether something is to be given back.
    pub(crate) fn has_abandoned(&self) -> bool {
        !self.abandoned.borrow().is_empty()
    }

    /// Gives back what nobody will name any more: no command may be left that writes to it, or the power is off.
    pub(crate) fn give_back(&self, volume: &mut DriveVolume) {
        let abandoned = self.abandoned.take();
        abandoned
            .into_iter()
            .for_each(|each| volume.give_back(each));
    }

    /// Where what is to be given back lies.
    pub(crate) fn abandoned_extents(&self) -> Vec<Extent> {
        let abandoned = self.abandoned.borrow();
        let extents = abandoned.iter().flat_map(Reservation::extents);
        extents.copied().collect()
    }

    /// Forgets what is to be given back: everything was erased.
    pub(crate) fn forget(&self) {
        self.abandoned.take();
    }

    /// Whether no call has reserved anything.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.borrow().is_empty()
    }

    /// Waits until a call gives up what it had reserved, or has named it.
    pub(crate) async fn changed(&self) {
        self.ended.next().await;
    }
}

impl HeldPages<'_> {
    /// How many reservations there were.
    pub(crate) fn len(&self) -> usize {
        self.extents.len()
    }

    /// Where the pages of reservation `index` are.
    pub(crate) fn extents(&self, index: usize) -> &[Extent] {
        &self.extents[index]
    }

    /// Reservation `index`, for a change that names it. The others stay.
    ///
    /// # Errors
    /// If everything was erased since it was made.
    pub(crate) fn redeem(&self, index: usize) -> Result<Reservation, Error> {
        let mut held = self.reserved.held.borrow_mut();
        let mine = held.get_mut(&self.number);
        let reservation = mine.and_then(|mine| mine.get_mut(index)?.take());
        reservation.ok_or_else(erased)
    }
}

/// There is no volume any more.
pub(crate) fn erased() -> Error {
    let gone = "the volume was erased while this was written to it: write it again";
    host::Error::Usage(gone.into()).into()
}

impl Drop for HeldPages<'_> {
    fn drop(&mut self) {
        let held = self.reserved.held.borrow_mut().remove(&self.number);
        if let Some(held) = held {
            self.reserved
                .abandoned
                .borrow_mut()
                .extend(held.into_iter().flatten());
            self.reserved.ended.announce();
        }
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let mut groups = self.reserved.groups.borrow_mut();
        if let Some(written) = groups.get_mut(&self.handle) {
            written.writers -= 1;
            if written.writers == 0 {
                groups.remove(&self.handle);
            }
        }
    }
}
