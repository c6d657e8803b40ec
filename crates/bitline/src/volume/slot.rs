//! The volume of a drive, which everything in one process shares: opened when it is first asked for, lent to one user at
//! a time.

use std::cell::RefCell;

use host::block::BlockDevice;
use host::volume::{Volume, VolumeError, VolumeOptions};
use sim::Sim;
use sim::resource::Semaphore;

use crate::driver::Queue;

/// Of so many parts of the namespace, the last one is the volume's.
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
}

/// Whether a volume is made where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    Create,
    Leave,
}

impl Slot {
    /// A slot with the volume that `before` the power went had.
    pub(crate) fn new(sim: &Sim, before: Option<Box<Volume<Queue>>>) -> Slot {
        Slot {
            state: RefCell::new(before.map_or(State::Closed, State::Before)),
            turn: Semaphore::new(sim, 1),
        }
    }

    /// Forgets the volume: a format has erased it, or will.
    pub(crate) fn forget(&self) {
        self.state.replace(State::Closed);
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
        block: &BlockDevice<Queue>,
        absent: Absent,
        work: impl AsyncFnOnce(&mut Volume<Queue>) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        let _turn = self.turn.acquire(1).await;
        let Some(volume) = self.open(block, absent).await? else {
            return Ok(None);
        };
        let mut loan = Loan {
            slot: self,
            volume: Some(volume),
        };
        let volume = loan.volume.as_mut().expect("it was just put there");
        work(volume).await.map(Some)
    }

    async fn open(
        &self,
        block: &BlockDevice<Queue>,
        absent: Absent,
    ) -> Result<Option<Box<Volume<Queue>>>, VolumeError> {
        let options = default_options(block);
        let opened = match self.state.replace(State::Closed) {
            State::Open(volume) => return Ok(Some(volume)),
            State::Before(volume) => volume.reopen(block.clone()).await,
            State::Closed => Volume::open(block.clone(), options.first).await,
        };
        match opened {
            Err(VolumeError::NoVolume { .. }) if absent == Absent::Leave => Ok(None),
            Err(VolumeError::NoVolume { .. }) => {
                let created = Volume::create(block.clone(), options).await?;
                Ok(Some(Box::new(created)))
            }
            opened => Ok(Some(Box::new(opened?))),
        }
    }
}

/// Where a drive's volume lies unless one is created elsewhere: the last part of the namespace.
pub(crate) fn default_options(block: &BlockDevice<Queue>) -> VolumeOptions {
    let page = u64::from(block.page_blocks());
    let pages = block.blocks() / page;
    let first = pages - pages / PARTS;
    VolumeOptions::new(first * page, (pages - first) * page)
}

/// The volume while somebody works with it. It comes back however the work ends, unless it must be opened again.
struct Loan<'a> {
    slot: &'a Slot,
    volume: Option<Box<Volume<Queue>>>,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let volume = self.volume.take();
        // A drive without data cannot be asked again.
        let usable = volume.filter(|volume| volume.is_sure() || !volume.keeps_data());
        self.slot
            .state
            .replace(usable.map_or(State::Closed, State::Open));
    }
}
