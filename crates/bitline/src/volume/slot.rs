//! The drive's volume, opened when it is first needed, and where its vectors are.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use host::volume::{Content, Group, Object, ObjectId, Volume, VolumeError, VolumeOptions};
use nvme::{Status, VectorId};
use sim::Sim;
use sim::resource::{Permit, Semaphore};

use crate::drive::Host;
use crate::driver::Queue;
use crate::error::Error;

/// The volume of a drive.
pub(crate) type DriveVolume = Volume<Queue>;

/// Evaluations that may use vectors at the same time: more than memory holds.
const READERS: u64 = u32::MAX as u64;
/// Bytes that a vector takes in the catalogue, about.
const ENTRY_BYTES: u64 = 40;
/// Pages of a catalogue area, at least and at most.
const CATALOGUE_PAGES: (u64, u64) = (4, 256);
/// Of so many parts of the namespace the last one is the volume's, on a drive that has no addresses for computing.
const SHARE: u64 = 8;

/// What is known of the volume.
enum State {
    /// Nothing: it is on the drive, or not.
    Closed,
    /// As it was before the power was cut.
    Before(Box<DriveVolume>),
    Open(Box<DriveVolume>),
}

/// Where a vector is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// What people call it: `group:vector`.
    pub(crate) label: Rc<str>,
    /// Its first logical block.
    pub(crate) first: u64,
    /// How many it has.
    pub(crate) blocks: u64,
    /// Its length, bits.
    pub(crate) bits: u64,
}

/// The volume of a drive that has power, shared by all who use it. One changes it at a time.
pub(crate) struct Slot {
    state: RefCell<State>,
    turn: Semaphore,
    /// Evaluations under way, which hold one each. Whoever removes vectors takes all.
    readers: Semaphore,
    /// The vectors that there are, for whoever evaluates them meanwhile.
    places: RefCell<BTreeMap<VectorId, Place>>,
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
    pub(super) open_handles: RefCell<BTreeMap<u16, Group>>,
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

impl Slot {
    /// On media that were used, there may be a volume.
    pub(crate) fn new(sim: &Sim, is_used: bool) -> Slot {
        Slot {
            state: RefCell::new(State::Closed),
            turn: Semaphore::new(sim, 1),
            readers: Semaphore::new(sim, READERS),
            places: RefCell::default(),
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

    /// Does `erase`, which erases the volume unless the drive refuses; nobody else works with it meanwhile. If it breaks off,
    /// the volume is looked for again.
    ///
    /// # Errors
    /// What `erase` reports.
    pub(crate) async fn erased_by<T>(
        &self,
        erase: impl Future<Output = Result<T, host::Error>>,
    ) -> Result<T, host::Error> {
        let _turn = self.turn.acquire(1).await;
        let before = self.state.replace(State::Closed);
        let (places, catalogue) = (self.places.take(), self.catalogue.replace(0..0));
        let may_exist = self.may_exist.replace(true);
        self.open_handles.borrow_mut().clear();
        let erased = erase.await;
        match &erased {
            Ok(_) => self.may_exist.set(false),
            Err(host::Error::Status(error)) if error.status.is(Status::SANITIZE_FAILED) => {}
            // It was refused, or not even sent.
            Err(host::Error::Status(_) | host::Error::Usage(_)) => {
                self.state.replace(before);
                self.places.replace(places);
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
            State::Open(volume) | State::Before(volume) if !volume.keeps_data() => Some(volume),
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
            slot: self,
            volume: Some(volume),
            is_done: false,
        };
        let volume = loan.volume.as_mut().expect("it was just put there");
        if absent == Absent::Create && self.may_have_leftovers.get() {
            let _alone = self.alone().await;
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

    /// Waits for the evaluations under way; later ones wait until the result is dropped. For commits that remove or replace
    /// vectors.
    pub(super) async fn alone(&self) -> Permit<'_> {
        self.readers.acquire(READERS).await
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

    /// Waits to be one of those who use vectors, which are known then: none of them goes until the result is dropped.
    ///
    /// # Errors
    /// As [`Slot::know`].
    pub(crate) async fn reading(&self, host: &Host) -> Result<Permit<'_>, Error> {
        loop {
            self.know(host).await?;
            let reading = self.readers.acquire(1).await;
            // A change may have broken off meanwhile.
            if !self.may_exist.get() {
                return Ok(reading);
            }
        }
    }

    /// Where a vector is.
    pub(crate) fn place(&self, id: VectorId) -> Option<Place> {
        self.places.borrow().get(&id).cloned()
    }

    /// What people call a vector.
    pub(crate) fn label(&self, id: VectorId) -> Rc<str> {
        let known = self.place(id).map(|place| place.label);
        known.unwrap_or_else(|| id.to_string().into())
    }

    /// The vectors that there are.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.places.borrow().values().cloned().collect()
    }

    /// The logical blocks of the catalogue; none if there is no volume.
    pub(crate) fn catalogue(&self) -> Range<u64> {
        self.catalogue.borrow().clone()
    }

    /// Learns again where the vectors of a group are, after a change of them.
    pub(super) fn learn(&self, volume: &DriveVolume, group: ObjectId) {
        let mut places = self.places.borrow_mut();
        places.retain(|id, _| id.group != group.get());
        let Some(group) = volume.get(group) else {
            return;
        };
        let vectors = volume.vectors(group.id);
        places.extend(vectors.filter_map(|vector| place(&group.name, &vector)));
    }

    async fn open(&self, host: &Host, absent: Absent) -> Result<Option<Box<DriveVolume>>, Error> {
        let (block, options) = (host.block().clone(), options(host));
        if !matches!(&*self.state.borrow(), State::Open(_)) {
            // Calls that were broken off may have left commands behind, which change what is read here.
            host.nothing_left().await;
        }
        let mut volume = match self.state.replace(State::Closed) {
            State::Open(volume) => return Ok(Some(volume)),
            State::Before(volume) => {
                let mut kept = Reopening {
                    slot: self,
                    volume: Some(volume),
                };
                let volume = kept.volume.as_mut().expect("it was just put there");
                volume.reopen(block).await?;
                kept.volume.take().expect("it is still there")
            }
            State::Closed => match open_on_drive(host, options.first).await {
                Err(VolumeError::NoVolume { .. }) if absent == Absent::Leave => {
                    self.may_exist.set(false);
                    return Ok(None);
                }
                Err(VolumeError::NoVolume { .. }) => {
                    check_empty(host, &options).await?;
                    Box::new(Volume::create(block, options).await?)
                }
                opened => {
                    self.may_have_leftovers.set(true);
                    Box::new(opened?)
                }
            },
        };
        self.may_exist.set(false);
        volume.number_above(self.last.get());
        let catalogue = volume.catalogue_extent();
        self.catalogue
            .replace(catalogue.first..catalogue.first + catalogue.blocks);
        self.places.borrow_mut().clear();
        let groups: Vec<Object> = volume.objects().collect();
        groups
            .iter()
            .for_each(|group| self.learn(&volume, group.id));
        Ok(Some(volume))
    }
}

/// What a vector is called in expressions, and where it is.
fn place(group: &str, vector: &Object) -> Option<(VectorId, Place)> {
    let Content::Vector(content) = &vector.content else {
        return None;
    };
    let row = row(vector);
    let place = Place {
        label: format!("{group}:{}", vector.name).into(),
        first: row.start,
        blocks: row.end - row.start,
        bits: content.bits,
    };
    Some((id_of(vector.id, content.group), place))
}

/// What a vector is called in expressions: nothing that comes later is called the same.
pub(super) fn id_of(vector: ObjectId, group: ObjectId) -> VectorId {
    VectorId::new(group.get(), vector.get())
}

/// The logical blocks of a vector, which is one run of them.
fn row(vector: &Object) -> Range<u64> {
    let extents = &vector.extents;
    let first = extents.first().map_or(0, |extent| extent.first);
    first
        ..extents
            .last()
            .map_or(0, |extent| extent.first + extent.blocks)
}

/// The volume that a drive has: the addresses that are for computing, of which it takes some for its catalogue.
pub(super) fn options(host: &Host) -> VolumeOptions {
    let (block, area) = (host.block(), host.area());
    let page = u64::from(block.page_blocks());
    let (mut first, end) = (area.start / page, area.end / page);
    if first == end {
        first = end - end / SHARE;
    }
    let page_bytes = page * u64::from(block.block_bytes());
    let (least, most) = CATALOGUE_PAGES;
    let catalogue = ((end - first) * ENTRY_BYTES).div_ceil(page_bytes);
    VolumeOptions {
        catalogue_pages: Some(catalogue.clamp(least, most) as u32),
        keeps_data: host.stores_data,
        replace_existing: !host.stores_data,
        ..VolumeOptions::new(first * page, (end - first) * page)
    }
}

/// The volume that the drive says it has. What one that keeps only time says, from its cache, means nothing; but it is asked.
async fn open_on_drive(host: &Host, first: u64) -> Result<DriveVolume, VolumeError> {
    let opened = Volume::open(host.block().clone(), first).await;
    match opened {
        Ok(_) | Err(VolumeError::Damaged { .. }) if !host.stores_data => {
            Err(VolumeError::NoVolume { first })
        }
        opened => opened,
    }
}

/// A volume is only made where nothing is but what a creation that broke off has left.
async fn check_empty(host: &Host, options: &VolumeOptions) -> Result<(), Error> {
    if !host.stores_data {
        return Ok(());
    }
    let (first, end) = (options.first, options.first + options.blocks);
    let page = u64::from(host.block().page_blocks());
    let catalogue = u64::from(options.catalogue_pages.unwrap_or(0));
    let objects = (first + 2 * (1 + catalogue) * page).min(end);
    let mut is_empty = !host.holds_data(objects..end);
    for lba in (first..objects).step_by(page as usize) {
        if is_empty && host.holds_data(lba..lba + page) {
            is_empty = Volume::is_of_catalogue(host.block(), lba).await?;
        }
    }
    if is_empty {
        return Ok(());
    }
    let message = format!(
        "the drive's volume of names would take blocks {first} to {end}, some of which hold data: deallocate them first"
    );
    Err(host::Error::Usage(message).into())
}

/// The volume of a drive that keeps only time while it is opened again: whatever becomes of that, it is not lost.
struct Reopening<'a> {
    slot: &'a Slot,
    volume: Option<Box<DriveVolume>>,
}

impl Drop for Reopening<'_> {
    fn drop(&mut self) {
        if let Some(volume) = self.volume.take() {
            self.slot.state.replace(State::Before(volume));
            self.slot.may_exist.set(true);
        }
    }
}

/// The volume while somebody works with it. It comes back however the work ends, unless it must be opened again.
struct Loan<'a> {
    slot: &'a Slot,
    volume: Option<Box<DriveVolume>>,
    /// The work has ended; dropped before, it may have left commands behind.
    is_done: bool,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let Some(volume) = self.volume.take() else {
            return;
        };
        let slot = self.slot;
        slot.last.set(slot.last.get().max(volume.last_number()));
        let state = match volume.is_sure() && self.is_done {
            true => State::Open(volume),
            // A drive without data cannot be asked again.
            false if !volume.keeps_data() => State::Before(volume),
            false => State::Closed,
        };
        slot.may_exist.set(!matches!(state, State::Open(_)));
        slot.state.replace(state);
    }
}
