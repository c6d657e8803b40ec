//! The volume of a drive, which everything in one process shares: opened when it is first asked for, lent to one user at
//! a time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use host::volume::{Volume, VolumeError, VolumeOptions};
use nvme::command::Home;
use sim::Sim;
use sim::resource::Semaphore;

use super::store;
use crate::drive::Host;
use crate::driver::Queue;

/// Of so many parts of the namespace, the last one is the volume's, on a drive that has no addresses for computing.
const PARTS: u64 = 8;

/// What is known of the volume.
enum State {
    /// Nothing: it is on the drive, or not.
    Closed,
    /// As it was before the power was cut.
    Before(Box<Volume<Queue>>),
    Open(Box<Volume<Queue>>),
}

pub(crate) struct Slot {
    state: RefCell<State>,
    turn: Semaphore,
    /// Whether there may be a volume that nobody has opened since power-up.
    may_exist: Cell<bool>,
    /// Placement handles that were opened since power-up: anchor, pitch and home of each.
    pub(super) open_handles: RefCell<BTreeMap<u16, (u64, u64, Home)>>,
}

/// Whether a volume is made where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    Create,
    Leave,
}

impl Slot {
    /// A slot with the volume that a drive without data had `before` the power went; on media that were used, there
    /// may be one.
    pub(crate) fn new(sim: &Sim, before: Option<Box<Volume<Queue>>>, is_used: bool) -> Slot {
        Slot {
            state: RefCell::new(before.map_or(State::Closed, State::Before)),
            turn: Semaphore::new(sim, 1),
            may_exist: Cell::new(is_used),
            open_handles: RefCell::default(),
        }
    }

    /// Forgets the volume: a format has erased it, or will.
    pub(crate) fn forget(&self) {
        self.state.replace(State::Closed);
        self.open_handles.borrow_mut().clear();
    }

    /// What outlives a power cut: on a drive that keeps only time, nothing else knows of the objects.
    pub(crate) fn take_kept(&self) -> Option<Box<Volume<Queue>>> {
        match self.state.replace(State::Closed) {
            State::Open(volume) | State::Before(volume) if !volume.keeps_data() => Some(volume),
            _ => None,
        }
    }

    /// Does `work` with the volume, when it is this one's turn; `None` if there is no volume and none was to be made.
    ///
    /// # Errors
    /// What opening, creating or the work reports.
    pub(crate) async fn with<R, E: From<VolumeError>>(
        &self,
        host: &Host,
        absent: Absent,
        work: impl AsyncFnOnce(&mut Volume<Queue>) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        let _turn = self.turn.acquire(1).await;
        let Some(volume) = self.open(host, absent).await? else {
            return Ok(None);
        };
        let mut loan = Loan {
            slot: self,
            host,
            volume: Some(volume),
        };
        let volume = loan.volume.as_mut().expect("it was just put there");
        work(volume).await.map(Some)
    }

    /// Opens the volume, if there is one that was not opened since power-up, so that its vectors can be named in
    /// expressions.
    ///
    /// # Errors
    /// What opening reports.
    pub(crate) async fn know(&self, host: &Host) -> Result<(), VolumeError> {
        if self.may_exist.get() {
            let nothing = async |_: &mut Volume<Queue>| Ok::<_, VolumeError>(());
            self.with(host, Absent::Leave, nothing).await?;
        }
        Ok(())
    }

    async fn open(
        &self,
        host: &Host,
        absent: Absent,
    ) -> Result<Option<Box<Volume<Queue>>>, VolumeError> {
        let (block, options) = (host.block(), default_options(host));
        let opened = match self.state.replace(State::Closed) {
            State::Open(volume) => return Ok(Some(volume)),
            State::Before(volume) => volume.reopen(block.clone()).await,
            State::Closed => Volume::open(block.clone(), options.first).await,
        };
        self.may_exist.set(false);
        match opened {
            Err(VolumeError::NoVolume { .. }) if absent == Absent::Leave => Ok(None),
            Err(VolumeError::NoVolume { .. }) => {
                store::check_free(host)?;
                let created = Volume::create(block.clone(), options).await?;
                Ok(Some(Box::new(created)))
            }
            opened => Ok(Some(Box::new(opened?))),
        }
    }
}

/// Where a drive's volume lies: the addresses that are for computing, which come after those for data.
pub(crate) fn default_options(host: &Host) -> VolumeOptions {
    let block = host.block();
    let area = host.bits().area();
    if area.end > area.start {
        return VolumeOptions::new(area.start, area.end - area.start);
    }
    let page = u64::from(block.blocks_per_page());
    let pages = block.blocks() / page;
    let first = pages - pages / PARTS;
    VolumeOptions::new(first * page, (pages - first) * page)
}

/// The volume while somebody works with it. It comes back however the work ends, unless it must be opened again.
struct Loan<'a> {
    slot: &'a Slot,
    host: &'a Host,
    volume: Option<Box<Volume<Queue>>>,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let volume = self.volume.take();
        // A drive without data cannot be asked again.
        let usable = volume.filter(|volume| volume.is_sure() || !volume.keeps_data());
        if let Some(volume) = &usable {
            store::tell(self.host, volume);
        }
        self.slot
            .state
            .replace(usable.map_or(State::Closed, State::Open));
    }
}
