//! Commits: the records of a change are written to the log of the catalogue, and what it freed is deallocated.

use std::collections::BTreeMap;

use nvme::command::MAX_DATASET_RANGES;

use super::error::VolumeError;
use super::extent::Extent;
use super::object::{Entry, ObjectId};
use super::page::{self, Stamp};
use super::record;
use super::{Log, Volume};
use crate::transport::Transport;

/// What a commit took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Pages of the catalogue that were written.
    pub pages: u32,
    /// Whether they hold all objects and begin the other area, as this one was full.
    pub is_compacted: bool,
    /// Logical blocks that are free again.
    pub freed_blocks: u64,
}

impl<T: Transport> Volume<T> {
    /// Whether the last commit is still on the drive and nothing newer behind it.
    pub(super) async fn check_unchanged(&mut self) -> Result<(), VolumeError> {
        let page_blocks = u64::from(self.layout.page_blocks);
        let last = self.layout.area(self.log.area) + u64::from(self.log.page - 1) * page_blocks;
        let pages = if self.log.page < self.layout.catalogue_pages {
            2
        } else {
            1
        };
        let bytes = self.device.read(last, pages * page_blocks).await?;
        let (last_bytes, next_bytes) = bytes.split_at(self.layout.page_bytes());
        let is_last = page::decode(last_bytes, last)
            .is_some_and(|page| page.stamp == self.log.stamp && page.part + 1 == page.parts);
        let is_newer = page::decode(next_bytes, last + page_blocks)
            .is_some_and(|page| page.stamp.sequence > self.log.seen.sequence);
        if self.keeps_data && (!is_last || is_newer) {
            self.is_unsure = true;
            return Err(VolumeError::Stale);
        }
        Ok(())
    }

    /// Writes the records of the objects in `touched` as they are now; all objects to the other area if they do not
    /// fit into this one.
    pub(super) async fn write_commit(
        &mut self,
        touched: &BTreeMap<ObjectId, Option<Entry>>,
    ) -> Result<Committed, VolumeError> {
        let mut records = Vec::new();
        for id in touched.keys() {
            record::encode(*id, self.catalogue.get(*id), &mut records);
        }
        let area_pages = u64::from(self.layout.catalogue_pages);
        let mut log = self.log;
        log.seen.sequence += 1;
        let mut pages = page::pages_for(records.len(), self.layout.page_bytes());
        let is_compacted = u64::from(log.page) + pages > area_pages;
        if is_compacted {
            records.clear();
            for (id, entry) in self.catalogue.iter() {
                record::encode(id, Some(entry), &mut records);
            }
            pages = page::pages_for(records.len(), self.layout.page_bytes());
            if pages > area_pages {
                let needed = pages;
                return Err(VolumeError::CatalogueFull {
                    needed,
                    pages: area_pages,
                });
            }
            log.seen.generation += 1;
            (log.area, log.page) = (1 - log.area, 0);
            log.stamp.generation = log.seen.generation;
        }
        log.stamp.sequence = log.seen.sequence;
        // Until it is known to be there, nobody knows.
        self.is_unsure = true;
        self.write_pages(log.area, log.page, log.stamp, &records)
            .await?;
        self.is_unsure = false;
        log.page += pages as u32;
        let old = std::mem::replace(&mut self.log, log);
        if is_compacted {
            self.old_area = Some(self.area_extent(old));
        }
        Ok(Committed {
            pages: pages as u32,
            is_compacted,
            freed_blocks: 0,
        })
    }

    /// Deallocates what earlier commits have freed; gives the blocks that are free then. Until it succeeds, nobody
    /// else may have them.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn deallocate_freed(&mut self) -> Result<u64, VolumeError> {
        let mut runs = self.freed.clone();
        runs.sort_unstable();
        let mut extents: Vec<Extent> = self.old_area.into_iter().collect();
        for extent in runs.iter().map(|run| self.layout.extent(*run)) {
            match extents.last_mut() {
                Some(last) if last.first + last.blocks == extent.first => {
                    last.blocks += extent.blocks
                }
                _ => extents.push(extent),
            }
        }
        let ranges: Vec<(u64, u32)> = extents.iter().flat_map(|extent| ranges(*extent)).collect();
        for ranges in ranges.chunks(MAX_DATASET_RANGES) {
            self.device.deallocate_ranges(ranges).await?;
        }
        self.freed.clear();
        self.old_area = None;
        let pages = runs.iter().map(|run| u64::from(run.pages)).sum::<u64>();
        runs.into_iter().for_each(|run| self.space.release(run));
        Ok(pages * u64::from(self.layout.page_blocks))
    }

    /// The pages of the area that a log has filled.
    fn area_extent(&self, log: Log) -> Extent {
        let page_blocks = u64::from(self.layout.page_blocks);
        Extent {
            first: self.layout.area(log.area),
            blocks: u64::from(log.page) * page_blocks,
        }
    }

    /// Writes a commit from page `page` of an area on, durably.
    pub(super) async fn write_pages(
        &self,
        area: usize,
        page: u32,
        stamp: Stamp,
        records: &[u8],
    ) -> Result<(), VolumeError> {
        let page_blocks = u64::from(self.layout.page_blocks);
        let lba = self.layout.area(area) + u64::from(page) * page_blocks;
        let bytes = page::encode(stamp, records, lba, self.layout.page_bytes(), page_blocks);
        Ok(self.device.write_durably(lba, &bytes).await?)
    }
}

/// An extent as ranges of Dataset Management, whose lengths have 32 bits.
fn ranges(extent: Extent) -> impl Iterator<Item = (u64, u32)> {
    let most = u64::from(u32::MAX);
    (0..extent.blocks.div_ceil(most)).map(move |part| {
        let done = part * most;
        (extent.first + done, (extent.blocks - done).min(most) as u32)
    })
}
