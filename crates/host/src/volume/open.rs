//! Creating a volume, and finding one again: its superblock, and what the areas of its catalogue say.

use super::catalogue::Catalogue;
use super::error::VolumeError;
use super::extent::Space;
use super::page::{self, Page, Stamp};
use super::record;
use super::replay::{Replay, replay};
use super::superblock::{COPIES, Layout};
use super::{Log, Volume, VolumeOptions};
use crate::block::BlockDevice;
use crate::transport::Transport;

/// Pages of a catalogue that are read at once.
const PAGES_A_READ: u32 = 64;
/// A catalogue area has a page for so many pages of the volume, within [`CATALOGUE_PAGES_DEFAULT`].
const PAGES_A_CATALOGUE_PAGE: u64 = 128;
const CATALOGUE_PAGES_DEFAULT: (u64, u64) = (16, 256);

impl<T: Transport> Volume<T> {
    /// Makes an empty volume. Whatever the blocks held is deallocated.
    ///
    /// # Errors
    /// [`VolumeError::Exists`] unless `replace_existing`; [`VolumeError::Range`] for blocks that can hold none.
    pub async fn create(
        device: BlockDevice<T>,
        options: VolumeOptions,
    ) -> Result<Volume<T>, VolumeError> {
        let layout = new_layout(&device, options)?;
        let first = layout.first;
        match read_layout(&device, first).await {
            Err(VolumeError::NoVolume { .. }) => {}
            Ok(_) if !options.replace_existing => return Err(VolumeError::Exists { first }),
            Err(error) if !options.replace_existing => return Err(error),
            Ok(_) | Err(_) => erase_superblocks(&device, &layout).await?,
        }
        device.deallocate(first, layout.blocks).await?;
        device.flush().await?;
        // What is left of an older catalogue, on a drive that does not erase what is deallocated, stays older.
        let old = [
            scan(&device, &layout, 0).await?,
            scan(&device, &layout, 1).await?,
        ];
        let seen = seen(&old);
        let stamp = Stamp {
            generation: seen.generation + 1,
            sequence: seen.sequence + 1,
        };
        let volume = Volume {
            catalogue: Catalogue::default(),
            space: Space::new(layout.data_pages()),
            log: Log {
                area: 0,
                page: 1,
                stamp,
                seen: stamp,
            },
            freed: Vec::new(),
            old_area: None,
            is_unsure: false,
            keeps_data: options.keeps_data,
            device,
            layout,
        };
        volume.write_pages(0, 0, stamp, &[]).await?;
        for copy in (0..COPIES).rev() {
            let superblock = layout.encode();
            let lba = layout.superblock(copy);
            volume.device.write_durably(lba, &superblock).await?;
        }
        Ok(volume)
    }

    /// Opens the volume that begins at logical block `first`. What a power cut tore is left out.
    ///
    /// # Errors
    /// [`VolumeError::NoVolume`]; [`VolumeError::Damaged`] if it is not as this library leaves it.
    pub async fn open(device: BlockDevice<T>, first: u64) -> Result<Volume<T>, VolumeError> {
        // What is read here may be in a volatile cache; what builds on it must not be durable before it.
        device.flush().await?;
        let layout = read_layout(&device, first).await?;
        let areas = [
            scan(&device, &layout, 0).await?,
            scan(&device, &layout, 1).await?,
        ];
        let (area, found) = newest(&areas, &layout)?;
        let damaged = |reason| VolumeError::Damaged {
            lba: layout.area(area),
            reason,
        };
        let mut catalogue = Catalogue::default();
        for commit in &found.commits {
            let records = record::decode_all(commit).map_err(damaged)?;
            catalogue.apply(records).map_err(damaged)?;
        }
        Ok(Volume {
            space: catalogue.space(&layout).map_err(damaged)?,
            catalogue,
            log: Log {
                area,
                page: found.pages,
                stamp: found.stamp(),
                seen: seen(&areas),
            },
            freed: Vec::new(),
            old_area: None,
            is_unsure: false,
            keeps_data: true,
            device,
            layout,
        })
    }

    /// Whether no copy of its superblock is on the drive any more.
    pub(super) async fn is_gone(&self) -> Result<bool, VolumeError> {
        match read_layout(&self.device, self.layout.first).await {
            Ok(_) => Ok(false),
            Err(VolumeError::NoVolume { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Whether the page at `lba` is one of a catalogue: what a creation that broke off leaves where there is no volume.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn is_of_catalogue(device: &BlockDevice<T>, lba: u64) -> Result<bool, VolumeError> {
        let bytes = device
            .read(lba, u64::from(device.preferred_write_blocks()))
            .await?;
        Ok(page::decode(&bytes, lba).is_some())
    }

    /// The same volume after a power cut, on the `device` that its drive is now. Takes the time that opening takes; but
    /// of a drive that keeps only time, nothing can be read, and the volume stays as it is.
    ///
    /// # Errors
    /// As [`Volume::open`]; it is then as it was before.
    pub async fn reopen(&mut self, device: BlockDevice<T>) -> Result<(), VolumeError> {
        if self.keeps_data {
            *self = Volume::open(device, self.layout.first).await?;
            return Ok(());
        }
        device.flush().await?;
        read_superblocks(&device, self.layout.first).await?;
        for area in 0..2 {
            scan(&device, &self.layout, area).await?;
        }
        self.device = device;
        self.is_unsure = false;
        Ok(())
    }
}

fn new_layout<T: Transport>(
    device: &BlockDevice<T>,
    options: VolumeOptions,
) -> Result<Layout, VolumeError> {
    let page_blocks = device.preferred_write_blocks();
    let (least, most) = CATALOGUE_PAGES_DEFAULT;
    let pages = options.blocks / u64::from(page_blocks) / PAGES_A_CATALOGUE_PAGE;
    let layout = Layout {
        first: options.first,
        blocks: options.blocks,
        block_bytes: device.block_bytes(),
        page_blocks,
        catalogue_pages: options
            .catalogue_pages
            .unwrap_or(pages.clamp(least, most) as u32),
    };
    let range = |reason| VolumeError::Range {
        first: options.first,
        end: options.first.saturating_add(options.blocks),
        reason,
    };
    layout.check(device.blocks()).map_err(range)
}

/// The layout in the first copy of the superblock that is whole.
async fn read_layout<T: Transport>(
    device: &BlockDevice<T>,
    first: u64,
) -> Result<Layout, VolumeError> {
    let page = device.preferred_write_blocks();
    let end = first.checked_add(COPIES * u64::from(page));
    if end.is_none_or(|end| end > device.blocks()) {
        return Err(VolumeError::NoVolume { first });
    }
    let copies = read_superblocks(device, first).await?;
    for copy in copies.chunks_exact(copies.len() / COPIES as usize) {
        let layout = Layout::decode(copy, first, device.block_bytes(), device.blocks())?;
        match layout {
            Some(layout) if layout.page_blocks == page => return Ok(layout),
            Some(Layout { page_blocks, .. }) => {
                let reason = format!("its pages are {page_blocks} blocks, the drive's are {page}");
                return Err(VolumeError::Damaged { lba: first, reason });
            }
            None => {}
        }
    }
    Err(VolumeError::NoVolume { first })
}

/// Reads both copies of the superblock; the drive reports an error only if neither can be read.
async fn read_superblocks<T: Transport>(
    device: &BlockDevice<T>,
    first: u64,
) -> Result<Vec<u8>, VolumeError> {
    let page = u64::from(device.preferred_write_blocks());
    let both = device.read(first, COPIES * page).await;
    if both.is_ok() {
        return Ok(both?);
    }
    match device.read(first, page).await {
        Ok(copy) => Ok(copy.repeat(COPIES as usize)),
        Err(_) => Ok(device
            .read(first + page, page)
            .await?
            .repeat(COPIES as usize)),
    }
}

async fn erase_superblocks<T: Transport>(
    device: &BlockDevice<T>,
    layout: &Layout,
) -> Result<(), VolumeError> {
    let blank = vec![0; layout.page_bytes()];
    for copy in 0..COPIES {
        device
            .write_durably(layout.superblock(copy), &blank)
            .await?;
    }
    Ok(())
}

/// Reads a catalogue area.
async fn scan<T: Transport>(
    device: &BlockDevice<T>,
    layout: &Layout,
    area: usize,
) -> Result<Replay, VolumeError> {
    let page_blocks = u64::from(layout.page_blocks);
    let mut pages: Vec<Option<Page>> = Vec::new();
    while pages.len() < layout.catalogue_pages as usize {
        let first = pages.len() as u32;
        let count = PAGES_A_READ.min(layout.catalogue_pages - first);
        let lba = layout.area(area) + u64::from(first) * page_blocks;
        let bytes = device.read(lba, u64::from(count) * page_blocks).await?;
        let of_area = bytes.chunks_exact(layout.page_bytes()).enumerate();
        pages.extend(
            of_area.map(|(index, bytes)| page::decode(bytes, lba + index as u64 * page_blocks)),
        );
    }
    Ok(replay(pages))
}

/// The highest numbers in both areas.
fn seen(areas: &[Replay; 2]) -> Stamp {
    let highest = |of: fn(&Replay) -> u64| areas.iter().map(of).max().unwrap_or(0);
    Stamp {
        generation: highest(|area| area.generation),
        sequence: highest(|area| area.sequence_seen),
    }
}

/// The area that was begun last and is there as a whole, by its beginning.
fn newest<'a>(areas: &'a [Replay; 2], layout: &Layout) -> Result<(usize, &'a Replay), VolumeError> {
    let mut order = [0, 1];
    order.sort_by_key(|area| std::cmp::Reverse(areas[*area].generation));
    for area in order {
        let found = &areas[area];
        if let Some(page) = found.damage {
            return Err(VolumeError::Damaged {
                lba: layout.area(area) + u64::from(page) * u64::from(layout.page_blocks),
                reason: "a page of its catalogue is lost, though later ones are there".into(),
            });
        }
        if !found.commits.is_empty() {
            return Ok((area, found));
        }
    }
    Err(VolumeError::Damaged {
        lba: layout.area(0),
        reason: "neither area of its catalogue is whole".into(),
    })
}
