//! What objects hold, as a whole and in parts: bytes of extents, which the drive knows by whole blocks.

use super::Object;
use super::error::VolumeError;
use super::extent::Extent;
use super::object::{Content, ObjectId};
use crate::block::BlockDevice;
use crate::transport::Transport;

/// Some bytes of an extent.
struct Share {
    /// The first block that has some of them.
    first: u64,
    /// How many blocks do.
    blocks: u64,
    /// Where they begin in the first one.
    offset: usize,
    /// How many.
    bytes: usize,
}

impl Object {
    /// A file that no volume has, of so many bytes in these blocks: of a file system on the drive, which says where it lies. Its
    /// number is 0, which no object of a volume has.
    pub fn placed(name: impl Into<String>, bytes: u64, extents: Vec<Extent>) -> Object {
        Object {
            id: ObjectId::ROOT,
            name: name.into(),
            content: Content::File { bytes },
            extents,
        }
    }

    /// Whether it is one that no volume has.
    pub fn is_placed(&self) -> bool {
        self.id == ObjectId::ROOT
    }

    /// All of its bytes.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn read_whole<T: Transport>(
        &self,
        device: &BlockDevice<T>,
    ) -> Result<Vec<u8>, VolumeError> {
        let mut bytes = Vec::new();
        for extent in &self.extents {
            bytes.append(&mut device.read(extent.first, extent.blocks).await?);
        }
        bytes.truncate(usize::try_from(self.content.bytes()).unwrap_or(usize::MAX));
        Ok(bytes)
    }

    /// Its bytes from `offset` on: only the blocks that hold them are read.
    ///
    /// # Errors
    /// [`VolumeError::Beyond`]; what the drive reports.
    pub async fn read<T: Transport>(
        &self,
        device: &BlockDevice<T>,
        offset: u64,
        bytes: u64,
    ) -> Result<Vec<u8>, VolumeError> {
        self.check_within(offset, bytes)?;
        let mut found = Vec::new();
        for share in shares(&self.extents, device.block_bytes(), offset, bytes) {
            let mut data = device.read(share.first, share.blocks).await?;
            data.truncate(share.offset + share.bytes);
            data.drain(..share.offset);
            match found.is_empty() {
                true => found = data,
                false => found.append(&mut data),
            }
        }
        Ok(found)
    }

    /// Writes bytes in place from `offset` on, as ordinary writes: each block has its old bytes or its new ones after a
    /// power cut. Where a block gets only some, it is read before: nobody else may write that meanwhile.
    ///
    /// # Errors
    /// [`VolumeError::Beyond`]; what the drive reports.
    pub async fn write<T: Transport>(
        &self,
        device: &BlockDevice<T>,
        offset: u64,
        data: &[u8],
    ) -> Result<(), VolumeError> {
        self.check_within(offset, data.len() as u64)?;
        write_within(device, &self.extents, offset, data).await
    }

    /// Writes the beginning of `data` behind its end, as far as its last page has room; gives how many bytes. They are
    /// its own when a change says that it is so much longer ([`super::Change::grow`]).
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn fill_up<T: Transport>(
        &self,
        device: &BlockDevice<T>,
        data: &[u8],
    ) -> Result<usize, VolumeError> {
        let bytes = self.content.bytes();
        let room = self.room(device.block_bytes());
        let fits = data.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        write_within(device, &self.extents, bytes, &data[..fits]).await?;
        Ok(fits)
    }

    /// Writes zeroes behind its end, as far as its last page goes.
    ///
    /// # Errors
    /// What the drive reports.
    pub(super) async fn clear_end<T: Transport>(
        &self,
        device: &BlockDevice<T>,
    ) -> Result<(), VolumeError> {
        let zeroes = vec![0; self.room(device.block_bytes()) as usize];
        write_within(device, &self.extents, self.content.bytes(), &zeroes).await
    }

    /// The blocks, in runs, that have the bytes from `offset` on.
    pub fn blocks_of(&self, block_bytes: u32, offset: u64, bytes: u64) -> Vec<Extent> {
        let shares = shares(&self.extents, block_bytes, offset, bytes);
        let extents = shares.map(|share| Extent {
            first: share.first,
            blocks: share.blocks,
        });
        extents.collect()
    }

    /// Bytes behind its end in its last page.
    pub fn room(&self, block_bytes: u32) -> u64 {
        let blocks: u64 = self.extents.iter().map(|extent| extent.blocks).sum();
        blocks * u64::from(block_bytes) - self.content.bytes()
    }

    /// Whether it has `bytes` bytes from `offset` on.
    ///
    /// # Errors
    /// [`VolumeError::Beyond`].
    pub fn check_within(&self, offset: u64, bytes: u64) -> Result<(), VolumeError> {
        let has = self.content.bytes();
        if offset.checked_add(bytes).is_some_and(|end| end <= has) {
            return Ok(());
        }
        Err(VolumeError::Beyond {
            name: self.name.clone(),
            offset,
            bytes,
            has,
        })
    }
}

/// Bytes from `offset` on of what lies in extents, extent by extent.
fn shares(
    extents: &[Extent],
    block_bytes: u32,
    offset: u64,
    bytes: u64,
) -> impl Iterator<Item = Share> {
    let block = u64::from(block_bytes);
    let end = offset + bytes;
    let mut before = 0;
    let share = move |extent: &Extent| {
        let (begin, length) = (before, extent.blocks * block);
        before += length;
        let (from, to) = (offset.max(begin), end.min(begin + length));
        (from < to).then(|| {
            let (from, to) = (from - begin, to - begin);
            Share {
                first: extent.first + from / block,
                blocks: to.div_ceil(block) - from / block,
                offset: (from % block) as usize,
                bytes: (to - from) as usize,
            }
        })
    };
    extents.iter().filter_map(share)
}

async fn write_within<T: Transport>(
    device: &BlockDevice<T>,
    extents: &[Extent],
    offset: u64,
    data: &[u8],
) -> Result<(), VolumeError> {
    let block = device.block_bytes() as usize;
    let mut rest = data;
    for share in shares(extents, device.block_bytes(), offset, data.len() as u64) {
        let (part, after) = rest.split_at(share.bytes);
        rest = after;
        let end = share.offset + share.bytes;
        let whole = share.blocks as usize * block;
        if share.offset == 0 && end == whole {
            device.write(share.first, part).await?;
            continue;
        }
        let mut blocks = vec![0; whole];
        if share.offset > 0 {
            let first = device.read(share.first, 1).await?;
            blocks[..block].copy_from_slice(&first);
        }
        // The last block, unless it is the one that was read, or all of it is written.
        if end < whole && (share.offset == 0 || share.blocks > 1) {
            let last = device.read(share.first + share.blocks - 1, 1).await?;
            blocks[whole - block..].copy_from_slice(&last);
        }
        blocks[share.offset..end].copy_from_slice(part);
        device.write(share.first, &blocks).await?;
    }
    Ok(())
}

/// Writes bytes to the beginning of extents, the last of which is filled up with zeroes.
pub(super) async fn write_padded<T: Transport>(
    device: &BlockDevice<T>,
    extents: &[Extent],
    data: &[u8],
) -> Result<(), VolumeError> {
    let mut rest = data;
    for extent in extents {
        let bytes = extent.blocks as usize * device.block_bytes() as usize;
        let (share, after) = rest.split_at(bytes.min(rest.len()));
        rest = after;
        if share.len() == bytes {
            device.write(extent.first, share).await?;
        } else {
            let mut padded = share.to_vec();
            padded.resize(bytes, 0);
            device.write(extent.first, &padded).await?;
        }
    }
    Ok(())
}
