//! A volume on a drive of a few lines, which forgets and tears whatever a drive may.

mod cost;
mod crashes;
mod drive;
mod hostile;
mod objects;
mod oracle;
mod parts;
mod random;
mod space;
mod stores;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use drive::{BLOCKS, MemoryDrive};
use nvme::NamespaceId;

use super::{Change, Object, Volume, VolumeError, VolumeOptions};
use crate::block::BlockDevice;
use crate::error::Error;

type MemoryVolume = Volume<MemoryDrive>;

/// The first block of the volumes of these tests, which do not begin where the namespace does.
const FIRST: u64 = 6;

/// Runs what never waits.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the drive of these tests answers at once"),
    }
}

fn device(drive: &MemoryDrive) -> Result<BlockDevice<MemoryDrive>, Error> {
    now(BlockDevice::open(drive.clone(), NamespaceId::new(1)))
}

/// All blocks of the drive from [`FIRST`] on, with catalogue areas so small that they fill up now and then.
fn options() -> VolumeOptions {
    VolumeOptions {
        catalogue_pages: Some(10),
        ..VolumeOptions::new(FIRST, BLOCKS - FIRST)
    }
}

fn create(drive: &MemoryDrive) -> Result<MemoryVolume, VolumeError> {
    now(Volume::create(device(drive)?, options()))
}

fn open(drive: &MemoryDrive) -> Result<MemoryVolume, VolumeError> {
    now(Volume::open(device(drive)?, FIRST))
}

fn fresh() -> (MemoryDrive, MemoryVolume) {
    let drive = MemoryDrive::new();
    let volume = create(&drive).expect("a drive with room");
    (drive, volume)
}

/// Makes a change and commits it.
fn commit<R>(
    volume: &mut MemoryVolume,
    make: impl FnOnce(&mut Change<'_, MemoryDrive>) -> Result<R, VolumeError>,
) -> Result<R, VolumeError> {
    let mut change = volume.change()?;
    let made = make(&mut change)?;
    now(change.commit())?;
    Ok(made)
}

/// Creates a file with content.
fn file(volume: &mut MemoryVolume, name: &str, data: &[u8]) -> Result<(), VolumeError> {
    commit(volume, |change| {
        let id = change.create(name, content(data))?;
        now(change.write(id, data))
    })
}

fn content(data: &[u8]) -> super::Content {
    super::Content::File {
        bytes: data.len() as u64,
    }
}

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// All objects with their names and what they hold; and that they and the free space make the whole data area.
fn contents(volume: &MemoryVolume) -> Vec<(String, Object, Vec<u8>)> {
    let mut found = Vec::new();
    for root in volume.objects() {
        let vectors = volume.vectors(root.id).collect::<Vec<Object>>();
        let named = vectors
            .into_iter()
            .map(|vector| (format!("{}/{}", root.name, vector.name), vector));
        let mut all: Vec<_> = named.collect();
        all.push((root.name.clone(), root));
        for (name, object) in all {
            let data = now(volume.read(object.id)).expect("its blocks can be read");
            found.push((name, object, data));
        }
    }
    let used: u64 = found
        .iter()
        .flat_map(|(_, object, _)| &object.extents)
        .map(|extent| extent.blocks)
        .sum();
    let data = u64::from(volume.layout.data_pages()) * u64::from(volume.page_blocks());
    assert_eq!(
        used + volume.free_blocks(),
        data,
        "nothing is lost or counted twice"
    );
    found
}
