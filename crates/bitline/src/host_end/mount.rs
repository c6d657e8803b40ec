//! The volume of a drive that has power: opened when it is first needed, and changed by one at a time.

use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use host::volume::{Group, Volume, VolumeError};
use nvme::Status;
use nvme::log::critical_warning;
use sim::Sim;
use sim::resource::{Permit, RangeLock, Semaphore};

use super::DriveVolume;
use super::Host;
use super::area::{check_empty, open_on_drive, options};
use super::index::Index;
use super::reserved::Reserved;
use super::uses::{Closing, Uses};
use crate::error::Error;

/// Plain writes to blocks of the volume at the same time: more than memory holds.
const PLAIN_WRITES: u64 = u32::MAX as u64;
/// What is known of the volume.
enum State {
    /// Nothing: it is on the drive, or not.
    Closed,
    /// As it was before the power was cut.
    Before(Box<DriveVolume>),
    Open(Box<DriveVolume>),
}

/// The volume of a drive that has power, shared by all who use it. One changes its catalogue at a time; what objects
/// hold is written meanwhile.
pub(crate) struct Mount {
    state: RefCell<State>,
    turn: Semaphore,
    /// Who uses which objects.
    pub(crate) uses: Rc<Uses>,
    /// What is written and not named yet.
    pub(crate) reserved: Reserved,
    /// Objects, by number, whose length changes.
    pub(crate) resizing: RangeLock,
    /// Blocks of objects that are written in place.
    pub(crate) in_place: RangeLock,
    /// Plain writes to its blocks under way, which hold one each. Whoever makes the volume, or frees blocks, takes all.
    plain: Semaphore,
    /// The vectors that there are.
    index: RefCell<Index>,
    /// Whether there may be a volume that nobody has opened since power-up.
    may_exist: Cell<bool>,
    /// Blocks that no object has may hold what was written for objects that never were: the power went, or a call was
    /// broken off.
    may_have_leftovers: Cell<bool>,
    /// The highest number that an object had; later ones get others.
    last: Cell<u32>,
    /// The logical blocks of the volume before its objects.
    catalogue: RefCell<Range<u64>>,
    /// The groups whose placement handles were opened since power-up.
    pub(crate) open_handles: RefCell<BTreeMap<u16, Group>>,
}

/// What outlives a power cut.
#[derive(Default)]
pub(crate) struct Kept {
    /// The volume of a drive that keeps only time: nothing else knows of its objects.
    volume: Option<Box<DriveVolume>>,
    last: u32,
}

/// Whether a volume is made where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// It is: something is to be written.
    Create,
    /// It is not.
    Leave,
}

impl Mount {
    /// On media that were used, there may be a volume.
    pub(crate) fn new(sim: &Sim, is_used: bool) -> Mount {
        Mount {
            state: RefCell::new(State::Closed),
            turn: Semaphore::new(sim, 1),
            uses: Rc::new(Uses::new(sim)),
            reserved: Reserved::new(sim),
            resizing: RangeLock::new(sim),
            in_place: RangeLock::new(sim),
            plain: Semaphore::new(sim, PLAIN_WRITES),
            index: RefCell::default(),
            may_exist: Cell::new(is_used),
            may_have_leftovers: Cell::new(false),
            last: Cell::new(0),
            catalogue: RefCell::new(0..0),
            open_handles: RefCell::default(),
        }
    }

    /// Takes what outlived a power cut.
    pub(crate) fn take_up(&self, kept: Kept) {
        let state = kept.volume.map_or(State::Closed, State::Before);
        self.state.replace(state);
        self.last.set(kept.last);
    }

    /// Does `erase`, which erases the volume unless the drive refuses; nobody else works with it, or writes what it is to
    /// hold, meanwhile. If it breaks off, the volume is looked for again.
    ///
    /// # Errors
    /// What `erase` reports.
    pub(crate) async fn erased_by<T>(
        &self,
        erase: impl Future<Output = Result<T, host::Error>>,
    ) -> Result<T, host::Error> {
        let _turn = loop {
            let turn = self.turn.acquire(1).await;
            if self.reserved.is_idle() {
                break turn;
            }
            // Who writes needs the turn to end.
            drop(turn);
            self.reserved.changed().await;
        };
        let before = self.state.replace(State::Closed);
        let (index, catalogue) = (self.index.take(), self.catalogue.replace(0..0));
        let may_exist = self.may_exist.replace(true);
        self.open_handles.borrow_mut().clear();
        let erased = erase.await;
        match &erased {
            Ok(_) => {
                self.may_exist.set(false);
                self.reserved.forget();
            }
            Err(host::Error::Status(error)) if error.status.is(Status::SANITIZE_FAILED) => {}
            // It was refused, or not even sent.
            Err(host::Error::Status(_) | host::Error::Usage(_)) => {
                self.state.replace(before);
                self.index.replace(index);
                self.catalogue.replace(catalogue);
                self.may_exist.set(may_exist);
            }
            Err(_) => {}
        }
        erased
    }

    /// What is to outlive a power cut.
    pub(crate) fn take_kept(&self) -> Kept {
        let volume = match self.state.replace(State::Closed) {
            State::Open(mut volume) | State::Before(mut volume) if !volume.keeps_data() => {
                self.reserved.give_back(&mut volume);
                Some(volume)
            }
            _ => None,
        };
        Kept {
            volume,
            last: self.last.get(),
        }
    }

    /// Does `work` with the volume when it is this one's turn; `None` if there is no volume and none was to be made.
    ///
    /// # Errors
    /// What opening, creating or the work reports.
    pub(crate) async fn with<R>(
        &self,
        host: &Host,
        absent: Absent,
        work: impl AsyncFnOnce(&mut DriveVolume) -> Result<R, Error>,
    ) -> Result<Option<R>, Error> {
        let _turn = self.turn.acquire(1).await;
        let Some(volume) = self.open(host, absent).await? else {
            return Ok(None);
        };
        let mut loan = Loan {
            mount: self,
            volume: Some(volume),
            is_done: false,
        };
        let volume = loan.volume.as_mut().expect("it was just put there");
        if self.reserved.has_abandoned() {
            host.nothing_left().await;
            self.reserved.give_back(volume);
            // What cannot be deallocated now is so with a later change.
            let _ = volume.deallocate_freed().await;
        }
        if absent == Absent::Create && self.may_have_leftovers.get() {
            volume.trim().await?;
            self.may_have_leftovers.set(false);
        }
        let done = work(volume).await;
        loan.is_done = true;
        if done.is_err() {
            // What was written for a change that was not made.
            self.may_have_leftovers.set(true);
        }
        done.map(Some)
    }

    /// Does `work`, which changes where the objects of these numbers are, when it is this one's turn and nobody uses
    /// them: `find` tells which they are. Nobody waits for the turn while objects are used.
    ///
    /// # Errors
    /// [`Error::Held`]; what opening, `find` or the work reports.
    pub(crate) async fn alone_with<R>(
        &self,
        host: &Host,
        find: impl Fn(&DriveVolume) -> Result<Vec<u32>, Error>,
        work: impl AsyncFnOnce(&mut DriveVolume) -> Result<R, Error>,
    ) -> Result<Option<R>, Error> {
        let mut work = Some(work);
        // Closed until others are: whoever comes later waits.
        let mut closing: Option<Closing<'_>> = None;
        loop {
            let attempt = async |volume: &mut DriveVolume| {
                let closing = self.uses.close(find(volume)?);
                for object in closing
                    .numbers()
                    .iter()
                    .filter_map(|number| volume.find(*number))
                {
                    self.uses.check(&object, |_| true)?;
                }
                if !closing.is_unused() {
                    return Ok(Err(closing));
                }
                let _plain = self.plain.acquire(PLAIN_WRITES).await;
                let work = work.take().expect("it is done once");
                work(volume).await.map(Ok)
            };
            match self.with(host, Absent::Leave, attempt).await? {
                None => return Ok(None),
                Some(Ok(done)) => return Ok(Some(done)),
                Some(Err(used)) => closing.insert(used).unused().await,
            }
        }
    }

    /// One of those who write plainly to blocks of the volume; `None` if somebody makes it, or frees blocks.
    pub(crate) fn begin_plain(&self) -> Option<Permit<'_>> {
        self.plain.try_acquire(1)
    }

    /// Waits until nobody makes the volume or frees blocks.
    pub(crate) async fn plain_may_begin(&self) {
        drop(self.plain.acquire(1).await);
    }

    /// Opens the volume if it may exist and was not opened since power-up, so that its vectors are known.
    ///
    /// # Errors
    /// What opening reports.
    pub(crate) async fn know(&self, host: &Host) -> Result<(), Error> {
        if self.may_exist.get() {
            self.with(host, Absent::Leave, async |_| Ok(())).await?;
        }
        Ok(())
    }

    /// Whether the vectors that there are are known.
    pub(crate) fn is_known(&self) -> bool {
        !self.may_exist.get()
    }

    /// Where vectors are.
    pub(crate) fn index(&self) -> Ref<'_, Index> {
        self.index.borrow()
    }

    /// Learns of a change of vectors or groups.
    pub(crate) fn learn(&self, change: impl FnOnce(&mut Index)) {
        change(&mut self.index.borrow_mut());
    }

    /// The logical blocks of the catalogue; none if there is no volume.
    pub(crate) fn catalogue(&self) -> Range<u64> {
        self.catalogue.borrow().clone()
    }

    /// The volume that is on the drive. If there is none any more, what calls wrote for it goes, too: no new one would
    /// be made beside it.
    async fn open_on_drive(&self, host: &Host, first: u64) -> Result<DriveVolume, VolumeError> {
        let opened = open_on_drive(host, first).await;
        if let Err(VolumeError::NoVolume { .. }) = &opened {
            for extent in self.reserved.abandoned_extents() {
                host.block.deallocate(extent.first, extent.blocks).await?;
            }
            self.reserved.forget();
        }
        opened
    }

    async fn open(&self, host: &Host, absent: Absent) -> Result<Option<Box<DriveVolume>>, Error> {
        let (block, options) = (host.block.clone(), options(host));
        let may_remove = async || {
            let admin = host::admin::Admin::new(host.block.transport().clone());
            let health = admin.health().await?;
            Ok(health.critical_warning & critical_warning::RELIABILITY == 0)
        };
        if !matches!(&*self.state.borrow(), State::Open(_)) {
            // Calls that were broken off may have left commands behind, which change what is read here.
            host.nothing_left().await;
        }
        let mut volume = match self.state.replace(State::Closed) {
            State::Open(volume) => return Ok(Some(volume)),
            State::Before(volume) => {
                let mut kept = Reopening {
                    mount: self,
                    volume: Some(volume),
                };
                let volume = kept.volume.as_mut().expect("it was just put there");
                volume.reopen(block).await?;
                volume.mend(may_remove).await?;
                kept.volume.take().expect("it is still there")
            }
            State::Closed => match self.open_on_drive(host, options.first).await {
                Err(VolumeError::NoVolume { .. }) if absent == Absent::Leave => {
                    self.may_exist.set(false);
                    return Ok(None);
                }
                Err(VolumeError::NoVolume { .. }) => {
                    let _plain = self.plain.acquire(PLAIN_WRITES).await;
                    check_empty(host, &options).await?;
                    let mut volume = Box::new(Volume::create(block, options).await?);
                    // An earlier volume may have gone without its search regions.
                    volume.mend(may_remove).await?;
                    volume
                }
                opened => {
                    self.may_have_leftovers.set(true);
                    let mut volume = Box::new(opened?);
                    // What a power cut left of stores that were made or removed.
                    volume.mend(may_remove).await?;
                    self.reserved.keep_in(&mut volume);
                    volume
                }
            },
        };
        self.may_exist.set(false);
        volume.number_above(self.last.get());
        let catalogue = volume.catalogue_extent();
        self.catalogue
            .replace(catalogue.first..catalogue.first + catalogue.blocks);
        self.index.replace(Index::of(&volume));
        Ok(Some(volume))
    }
}

/// The volume of a drive that keeps only time while it is opened again: whatever becomes of that, it is not lost.
struct Reopening<'a> {
    mount: &'a Mount,
    volume: Option<Box<DriveVolume>>,
}

impl Drop for Reopening<'_> {
    fn drop(&mut self) {
        if let Some(volume) = self.volume.take() {
            self.mount.state.replace(State::Before(volume));
            self.mount.may_exist.set(true);
        }
    }
}

/// The volume while somebody works with it. It comes back however the work ends, unless it must be opened again.
struct Loan<'a> {
    mount: &'a Mount,
    volume: Option<Box<DriveVolume>>,
    /// The work has ended; dropped before, it may have left commands behind.
    is_done: bool,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let Some(volume) = self.volume.take() else {
            return;
        };
        let mount = self.mount;
        mount.last.set(mount.last.get().max(volume.last_number()));
        let state = match volume.is_sure() && self.is_done {
            true => State::Open(volume),
            // A drive without data cannot be asked again.
            false if !volume.keeps_data() => State::Before(volume),
            false => State::Closed,
        };
        mount.may_exist.set(!matches!(state, State::Open(_)));
        mount.state.replace(state);
    }
}
