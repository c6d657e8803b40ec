//! Rebuilding the tables from the media, and from nothing else.
//!
//! Every programmed page is read, all dies at once, and its spare bytes say what it holds. Of
//! several versions of a logical page the highest counts; of a page and its copy the copy
//! counts, so that collection goes on where it was. If there is a checkpoint, far fewer pages
//! are read (`root`, `rebuild`).

mod journal;
mod rebuild;
mod root;
mod scan;
mod transactions;

use std::collections::BTreeMap;
use std::rc::Rc;

use media::nand::{
    BlockCondition, BlockId, BlockState, Geometry, PageAddress, PageState, ProgramMode,
};
use sim::Time;

use super::blocks::{Blocks, Stream, Use};
use super::config::Capacity;
use super::lpn::Lpn;
use super::mapping::Mapping;
use super::spare::{Content, Record};
use super::{Beneath, Ftl, FtlConfig, MappingUnit, UnitAddress};
use crate::planted::{Bug, is_planted};
use crate::region::Found;
use root::FoundRoot;
use scan::Scanner;

/// What recovery took.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Pages read.
    pub pages_read: u64,
    /// Of these, pages that were programmed completely and whose record is damaged: what they held, nobody knows.
    pub damaged_records: u64,
    /// When recovery was over.
    pub finished_at: Time,
}

impl Ftl {
    /// The translation layer of a drive whose media holds what an earlier life left.
    pub(super) async fn recover(
        beneath: Beneath,
        config: &FtlConfig,
        capacity: Capacity,
    ) -> (Rc<Ftl>, Recovered) {
        let scanner = Scanner::new(&beneath, capacity.unit);
        let ftl = Ftl::new(beneath, config, capacity);
        scanner.read_first_pages().await;
        let root = match ftl.with_pages(|pages| pages.count()) {
            Some(pages) => scanner.find_root(pages).await,
            None => None,
        };
        let scanned = scanner.blocks_to_scan(root.as_ref());
        scanner.read_blocks(&scanned).await;
        scanner.sort();
        let compute = scanner
            .scan
            .borrow()
            .compute_blocks(&ftl.geometry, ftl.unit);
        ftl.rebuild_region(compute);
        match &root {
            Some(found) => ftl.rebuild_from_root(&scanner, found).await,
            None => {
                let facts = scanner.scan.borrow().facts();
                ftl.rebuild_journal(&scanner, facts).await;
                ftl.judge_transactions(&scanner);
                let records = scanner.scan.borrow().records.clone();
                ftl.rebuild_mapping(&records);
                ftl.rebuild_mapping_pages(&records);
                ftl.with_pages(|pages| pages.change_all());
                let facts = ftl.facts.borrow();
                let mut blocks = ftl.blocks.borrow_mut();
                facts.pages().for_each(|page| blocks.validate_page(page));
            }
        }
        let mut scan = scanner.scan.borrow_mut();
        let mut recovered = std::mem::take(&mut scan.recovered);
        // Any of them may have been needed.
        ftl.count(|counts| counts.pages_lost += recovered.damaged_records);

        let root_number = root.as_ref().map_or(0, |found| found.root.next_sequence);
        let root_version = root.as_ref().map_or(0, |found| found.root.next_version);
        let next_version = scan.next_version.max(root_version + 1);
        ftl.next_version
            .set(next_version.max(ftl.next_transaction()));
        ftl.next_sequence.set(scan.next_sequence.max(root_number));
        drop(scan);
        recovered.finished_at = ftl.schedule.sim().now();
        ftl.rebuild_blocks(&scanned, root.as_ref());
        (Rc::new(ftl), recovered)
    }

    fn rebuild_mapping(&self, records: &[(UnitAddress, Record)]) {
        let best = self.map_best_versions(records);
        if !is_planted(Bug::RecoveryIgnoresTombstones) {
            self.map_tombstones(records, best);
        }
        self.validate_mapped(records);
    }

    /// Maps each logical page to the best of what was found of it; gives the (version, sequence) of that, zero where
    /// nothing was found.
    fn map_best_versions(&self, records: &[(UnitAddress, Record)]) -> Vec<(u64, u64)> {
        let mut mapping = self.mapping.borrow_mut();
        let logical_pages = mapping.len();
        // Zero pages cost no memory.
        let mut best = vec![(0u64, 0u64); logical_pages as usize];
        let moves = Moves::of(&self.geometry, self.unit, records);
        for (at, record) in records {
            let found = (record.version, record.sequence);
            if let Some(lpn) = record.content.lpn()
                && lpn.0 < logical_pages
                && (is_better(best[lpn.0 as usize], found)
                    || best[lpn.0 as usize] == found && moves.prefers(*at, mapping.get(lpn)))
            {
                best[lpn.0 as usize] = found;
                mapping.set(lpn, Mapping::Data(*at));
            }
        }
        best
    }

    /// Maps what was deallocated after the `best` version of it to its tombstone.
    fn map_tombstones(&self, records: &[(UnitAddress, Record)], mut best: Vec<(u64, u64)>) {
        let mut mapping = self.mapping.borrow_mut();
        let logical_pages = mapping.len();
        for (at, record) in records {
            let page = self.unit.page(*at);
            if let Content::Tombstone { start, count } = record.content {
                let version = record.version;
                let end = start.0.saturating_add(count).min(logical_pages);
                for lpn in start.0.min(end)..end {
                    // A page of which nothing older is left needs no tombstone. Only a copy of a
                    // tombstone has the same version: of the two, the later in the media, though
                    // either would do, as they say the same and the other one is garbage then.
                    let best = &mut best[lpn as usize];
                    if best.0 != 0 && best.0 <= version {
                        *best = (version, 0);
                        mapping.set(Lpn(lpn), Mapping::Tombstone(page));
                    }
                }
            }
        }
    }

    /// Marks as needed what the table names.
    fn validate_mapped(&self, records: &[(UnitAddress, Record)]) {
        let mapping = self.mapping.borrow();
        let logical_pages = mapping.len();
        let mut blocks = self.blocks.borrow_mut();
        let mut tombstones = self.tombstones.borrow_mut();
        for (at, record) in records {
            let page = self.unit.page(*at);
            match record.content {
                Content::Data(lpn) | Content::Placed { lpn, .. } if lpn.0 < logical_pages => {
                    if mapping.get(lpn) == Mapping::Data(*at) {
                        blocks.validate_unit(*at);
                    }
                    if let Content::Placed { placement, .. } = record.content {
                        blocks.set_inverse(page, placement.inverse);
                    }
                }
                // Mapping pages and the journal are looked at for themselves.
                Content::Data(_)
                | Content::Placed { .. }
                | Content::Temporary
                | Content::Search { .. }
                | Content::Mapping { .. }
                | Content::Journal { .. }
                | Content::Root { .. } => {}
                Content::Tombstone { start, count } => {
                    let end = start.0.saturating_add(count).min(logical_pages);
                    let live = (start.0.min(end)..end)
                        .filter(|lpn| mapping.get(Lpn(*lpn)) == Mapping::Tombstone(page))
                        .count() as u32;
                    if live > 0 {
                        tombstones.insert(page, live);
                        blocks.validate_page(page);
                    }
                }
            }
        }
    }

    /// Finds the mapping pages that are current.
    fn rebuild_mapping_pages(&self, records: &[(UnitAddress, Record)]) {
        let mut blocks = self.blocks.borrow_mut();
        self.with_pages(|pages| {
            let mut best = vec![None; pages.count() as usize];
            for (at, record) in records {
                let found = Some((record.version, record.sequence));
                if let Content::Mapping { number, .. } = record.content
                    && let Some(best) = best.get_mut(number as usize)
                    && *best < found
                {
                    *best = found;
                    pages.put(number, self.unit.page(*at));
                }
            }
            let current = (0..pages.count()).filter_map(|number| pages.at(number));
            current.for_each(|page| blocks.validate_page(page));
        });
    }

    /// Gives the region the blocks that recovery found to be its own.
    fn rebuild_region(&self, mut found: Vec<Found>) {
        let nand = self.schedule.nand();
        found.retain(|found| nand.block_state(found.block).condition == BlockCondition::Good);
        for found in &mut found {
            found.next_page = nand.block_state(found.block).next_page;
            found.failed = self.has_failed_page(found.block, found.next_page);
        }
        let mut blocks = self.blocks.borrow_mut();
        found
            .iter()
            .for_each(|found| blocks.found_compute(found.block));
        self.region.borrow_mut().rebuild(found);
    }

    /// Decides what each block is to be used for.
    fn rebuild_blocks(&self, scanned: &[BlockId], root: Option<&FoundRoot>) {
        let mut blocks = self.blocks.borrow_mut();
        let nand = self.schedule.nand();
        let levels = self.config.wear_levelling.static_threshold > 0;
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let state = nand.block_state(block);
            blocks.set_erases(block, state.erase_count);
            match state.condition {
                BlockCondition::Bad if is_planted(Bug::BadBlocksAreForgotten) => {
                    blocks.add_free(block, state.erase_count);
                }
                BlockCondition::Bad => blocks.retire(block),
                BlockCondition::NeedsErase => blocks.close(block),
                BlockCondition::Good if state.mode.is_none() => {
                    blocks.add_free(block, state.erase_count);
                }
                BlockCondition::Good if blocks.is_compute(block) => {}
                BlockCondition::Good if root.is_some_and(|found| found.block == block) => {
                    let failed = self.has_failed_page(block, state.next_page);
                    self.checkpoints.found(block, failed);
                    blocks.set_use(block, Use::Root);
                }
                BlockCondition::Good
                    if self.config.slc_cache.blocks_per_plane > 0
                        && state.mode == Some(ProgramMode::Slc) =>
                {
                    let scanned = scanned.binary_search(&block).is_ok();
                    self.rebuild_cached_block(&mut blocks, block, &state, scanned);
                }
                // Nothing was open there when the checkpoint began, nor since.
                BlockCondition::Good if scanned.binary_search(&block).is_err() => {
                    blocks.close(block);
                }
                BlockCondition::Good if self.has_failed_page(block, state.next_page) => {
                    blocks.fail(block);
                }
                BlockCondition::Good => {
                    let room = state.next_page < self.geometry.pages_per_block(self.config.mode);
                    let resumed = room
                        && state.mode == Some(self.config.mode)
                        && (blocks.resume(block, state.next_page, Stream::Collection)
                            || blocks.resume(block, state.next_page, Stream::Host)
                            || levels && blocks.resume(block, state.next_page, Stream::Cold)
                            || self.keeps_mapping_pages()
                                && blocks.resume(block, state.next_page, Stream::Mapping));
                    if !resumed {
                        blocks.close(block);
                    }
                }
            }
        }
    }
}

impl Ftl {
    /// Decides what a block of the SLC cache is to be used for. One that was not scanned must stay
    /// closed: with the same root, the next recovery would not look there.
    fn rebuild_cached_block(
        &self,
        blocks: &mut Blocks,
        block: BlockId,
        state: &BlockState,
        scanned: bool,
    ) {
        blocks.found_in_slc_cache(block);
        let room = scanned && state.next_page < self.geometry.pages_per_block(ProgramMode::Slc);
        if self.has_failed_page(block, state.next_page) {
            blocks.fail(block);
        } else if !room || !blocks.resume(block, state.next_page, Stream::SlcCache) {
            blocks.close(block);
        }
    }

    /// Whether a program failed in `block`, so that it must be emptied and retired.
    pub(super) fn has_failed_page(&self, block: BlockId, next_page: u32) -> bool {
        let nand = self.schedule.nand();
        (0..next_page).any(|page| {
            let page = self.geometry.ppa(PageAddress { block, page });
            nand.page_state(page) == PageState::Failed
        })
    }
}

/// Blocks of the region that were moved as a whole when the power went: a page and its copy have the same numbers then.
struct Moves {
    geometry: Geometry,
    unit: MappingUnit,
    /// Placed units of each block that has some.
    units: BTreeMap<BlockId, u32>,
}

impl Moves {
    fn of(geometry: &Geometry, unit: MappingUnit, records: &[(UnitAddress, Record)]) -> Moves {
        let mut units = BTreeMap::new();
        for (at, record) in records {
            if let Content::Placed { .. } = record.content {
                let block = geometry.page_address(unit.page(*at)).block;
                *units.entry(block).or_default() += 1;
            }
        }
        Moves {
            geometry: geometry.clone(),
            unit,
            units,
        }
    }

    /// Whether a unit is to be preferred to another with the same numbers: the one whose block has more, which is the one that
    /// was moved unless all of it was; so that pages stay together.
    fn prefers(&self, at: UnitAddress, other: Mapping) -> bool {
        let Mapping::Data(other) = other else {
            return false;
        };
        let rank = |at| {
            let block = self.geometry.page_address(self.unit.page(at)).block;
            (self.units.get(&block).copied().unwrap_or(0), block)
        };
        rank(at) > rank(other)
    }
}

/// Whether a page of (version, sequence) `found` is to be preferred to the `best` so
/// far; (0, 0) is none.
fn is_better(best: (u64, u64), found: (u64, u64)) -> bool {
    if is_planted(Bug::RecoveryTakesOldestVersion) {
        return best == (0, 0) || found < best;
    }
    best < found
}
