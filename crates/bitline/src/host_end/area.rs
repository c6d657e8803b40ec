//! Which logical blocks of a drive its volume has, and what may be there before it is made.

use host::volume::{Volume, VolumeError, VolumeOptions};

use super::DriveVolume;
use super::Host;
use crate::error::Error;

/// Bytes that a vector takes in the catalogue, about.
const ENTRY_BYTES: u64 = 40;
/// Pages of a catalogue area, at least and at most.
const CATALOGUE_PAGES: (u64, u64) = (4, 256);
/// Of so many parts of the namespace the last one is the volume's, on a drive that has no addresses for computing.
const SHARE: u64 = 8;

/// The volume that a drive has: the addresses that are for computing, of which it takes some for its catalogue.
pub(crate) fn options(host: &Host) -> VolumeOptions {
    let (block, area) = (&host.block, host.area());
    let page = u64::from(block.preferred_write_blocks());
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
pub(crate) async fn open_on_drive(host: &Host, first: u64) -> Result<DriveVolume, VolumeError> {
    let opened = Volume::open(host.block.clone(), first).await;
    match opened {
        Ok(_) | Err(VolumeError::Damaged { .. }) if !host.stores_data => {
            Err(VolumeError::NoVolume { first })
        }
        opened => opened,
    }
}

/// A volume is only made where nothing is but what a creation that broke off has left.
pub(crate) async fn check_empty(host: &Host, options: &VolumeOptions) -> Result<(), Error> {
    if !host.stores_data {
        return Ok(());
    }
    let (first, end) = (options.first, options.first + options.blocks);
    let page = u64::from(host.block.preferred_write_blocks());
    let catalogue = u64::from(options.catalogue_pages.unwrap_or(0));
    let objects = (first + 2 * (1 + catalogue) * page).min(end);
    let mut is_empty = !host.holds_data(objects..end).await?;
    for lba in (first..objects).step_by(page as usize) {
        if is_empty && host.holds_data(lba..lba + page).await? {
            is_empty = Volume::is_of_catalogue(&host.block, lba).await?;
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
