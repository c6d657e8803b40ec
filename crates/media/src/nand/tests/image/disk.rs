//! A disk in memory that an image can be on: it gets full, breaks, and loses power.

use super::*;
use crate::nand::storage::Medium;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::rc::Rc;

/// The smallest part that a disk writes whole.
pub(super) const SECTOR: usize = 512;

/// Shared with the image that is on it. Cloned, it is the same disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Rc<RefCell<State>>);

#[derive(Debug, Default)]
struct State {
    /// What processes see.
    bytes: Vec<u8>,
    /// What survives the host losing power.
    durable: Vec<u8>,
    dirty: BTreeSet<usize>,
    /// Writes until the process is killed, one more than those that happen; `None` for never.
    left: Option<u64>,
    writes_fail: Option<io::ErrorKind>,
    reads_fail: bool,
    /// So many syncs fail, and what they should have written is taken for written.
    syncs_fail: u32,
    removed: bool,
    /// Writes that happened.
    writes: u64,
}

impl State {
    fn survives(&mut self) -> bool {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
            return *left > 0;
        }
        true
    }

    fn change(&mut self, at: u64, bytes: &[u8]) {
        let at = at as usize;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.dirty
            .extend(at / SECTOR..(at + bytes.len()).div_ceil(SECTOR));
        self.writes += 1;
    }
}

impl Disk {
    /// One with this content, all of it durable.
    pub(super) fn holding(bytes: Vec<u8>) -> Disk {
        let durable = bytes.clone();
        Disk(Rc::new(RefCell::new(State {
            bytes,
            durable,
            ..State::default()
        })))
    }

    pub(super) fn create(&self, config: &NandConfig) -> Driver {
        let medium = Box::new(self.clone());
        let image = Image::create_on(medium, Path::new("x.img"), &config.geometry, CONTENT, TEXT);
        Driver::new(config, Storage::Image(image.expect("a blank disk")))
    }

    pub(super) fn image(&self) -> Result<Image, StorageError> {
        Image::open_on(Box::new(self.clone()), Path::new("x.img"), CONTENT, false)
    }

    pub(super) fn image_read_only(&self) -> Result<Image, StorageError> {
        Image::open_on(Box::new(self.clone()), Path::new("x.img"), CONTENT, true)
    }

    pub(super) fn open(&self, config: &NandConfig) -> Result<Driver, MediaError> {
        driver(config, self.image()?)
    }

    pub(super) fn open_on_another_host(&self, config: &NandConfig) -> Result<Driver, MediaError> {
        driver(config, self.image()?.on_another_host())
    }

    /// What processes see.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.borrow().bytes.clone()
    }

    pub(super) fn writes(&self) -> u64 {
        self.0.borrow().writes
    }

    pub(super) fn kill_after(&self, writes: u64) {
        self.0.borrow_mut().left = Some(writes);
    }

    pub(super) fn is_killed(&self) -> bool {
        self.0.borrow().left == Some(0)
    }

    pub(super) fn restart(&self) {
        self.0.borrow_mut().left = None;
    }

    /// The disk after the host lost power: of the sectors that were not synced, some were written, as
    /// `draw` says.
    pub(super) fn after_power_loss(&self, draw: &mut impl FnMut() -> u64) -> Disk {
        let state = self.0.borrow();
        let mut bytes = state.durable.clone();
        let share = draw() % 5;
        for sector in &state.dirty {
            if draw() % 4 < share {
                let range = sector * SECTOR..(sector + 1) * SECTOR;
                bytes[range.clone()].copy_from_slice(&state.bytes[range]);
            }
        }
        Disk::holding(bytes)
    }

    pub(super) fn fail_writes(&self, with: Option<io::ErrorKind>) {
        self.0.borrow_mut().writes_fail = with;
    }

    pub(super) fn fail_reads(&self, fail: bool) {
        self.0.borrow_mut().reads_fail = fail;
    }

    pub(super) fn fail_syncs(&self, count: u32) {
        self.0.borrow_mut().syncs_fail = count;
    }

    pub(super) fn remove(&self) {
        self.0.borrow_mut().removed = true;
    }
}

fn driver(config: &NandConfig, image: Image) -> Result<Driver, MediaError> {
    Ok(Driver {
        nand: Nand::open(config, Storage::Image(image))?,
        now: Time::ZERO,
    })
}

impl Medium for Disk {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.borrow().bytes.len() as u64)
    }

    fn set_length(&mut self, bytes: u64) -> io::Result<()> {
        let state = &mut *self.0.borrow_mut();
        state.bytes.resize(bytes as usize, 0);
        state.durable.resize(bytes as usize, 0);
        Ok(())
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let state = self.0.borrow();
        if state.reads_fail {
            return Err(io::Error::other("the disk is broken"));
        }
        let end = at as usize + bytes.len();
        let Some(from) = state.bytes.get(at as usize..end) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        bytes.copy_from_slice(from);
        Ok(())
    }

    fn write_at(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        let state = &mut *self.0.borrow_mut();
        if let Some(kind) = state.writes_fail {
            // Half of it, as a full disk does.
            state.change(at, &bytes[..bytes.len() / 2]);
            return Err(kind.into());
        }
        if state.survives() {
            state.change(at, bytes);
        }
        Ok(())
    }

    fn punch(&mut self, at: u64, bytes: u64) -> io::Result<()> {
        let state = &mut *self.0.borrow_mut();
        if state.survives() {
            state.change(at, &vec![0; bytes as usize]);
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let state = &mut *self.0.borrow_mut();
        if state.syncs_fail > 0 {
            state.syncs_fail -= 1;
            state.dirty.clear();
            return Err(io::Error::other("the disk is broken"));
        }
        for sector in std::mem::take(&mut state.dirty) {
            let range = sector * SECTOR..((sector + 1) * SECTOR).min(state.bytes.len());
            state.durable[range.clone()].copy_from_slice(&state.bytes[range]);
        }
        Ok(())
    }

    fn is_removed(&self) -> io::Result<bool> {
        Ok(self.0.borrow().removed)
    }
}
