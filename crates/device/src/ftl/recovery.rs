//! Rebuilding the tables from the media, and from nothing else.
//!
//! Every programmed page is read, one die after the other in parallel, and its
//! spare bytes say what it holds. Of several versions of a logical page the
//! highest counts; of a page and its copy the copy counts, so that collection
//! goes on where it was.

use std::cell::RefCell;
use std::rc::Rc;

use media::nand::{BlockCondition, BlockId, DieId, PageAddress, PageState, Ppa, ProgramMode};
use sim::{Sim, Time};

use super::blocks::{Stream, Use};
use super::config::Capacity;
use super::mapping::{Lpn, Mapping};
use super::spare::{Content, Record};
use super::{Ftl, FtlConfig};
use crate::buffer::Buffers;
use crate::planted::{Bug, is_planted};
use crate::schedule::{Origin, Read, Schedule, SpareBytes};

/// What recovery found besides the translation layer's own pages.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Readable pages that hold something else, with their spare bytes.
    pub foreign: Vec<(PageAddress, SpareBytes)>,
    /// Blocks in which such pages are.
    pub foreign_blocks: Vec<BlockId>,
    /// Pages read.
    pub pages_read: u64,
    /// When recovery was over.
    pub finished_at: Time,
}

struct Scan {
    records: Vec<(Ppa, Record)>,
    recovered: Recovered,
    next_sequence: u64,
    next_version: u64,
}

impl Ftl {
    /// The translation layer of a drive whose media holds what an earlier life left.
    pub async fn recover(
        sim: &Sim,
        config: &FtlConfig,
        capacity: Capacity,
        schedule: Rc<Schedule>,
        buffers: Rc<Buffers>,
    ) -> (Rc<Ftl>, Recovered) {
        let scan = Rc::new(RefCell::new(Scan::default()));
        let readers: Vec<_> = (0..schedule.geometry().dies())
            .map(|die| {
                sim.spawn(scan_die(
                    schedule.clone(),
                    buffers.clone(),
                    DieId(die),
                    scan.clone(),
                ))
            })
            .collect();
        for reader in readers {
            reader.await;
        }
        let Scan {
            mut records,
            mut recovered,
            next_sequence,
            next_version,
        } = scan.take();
        records.sort_unstable_by_key(|(page, _)| *page);
        recovered.foreign.sort_unstable_by_key(|(page, _)| *page);
        recovered.finished_at = sim.now();
        let ftl = Ftl::new(sim, config, capacity, schedule, buffers);
        ftl.next_version.set(next_version);
        ftl.next_sequence.set(next_sequence);
        ftl.rebuild_mapping(&records);
        ftl.rebuild_blocks(&mut recovered);
        (ftl.start(), recovered)
    }

    fn rebuild_mapping(&self, records: &[(Ppa, Record)]) {
        let mut mapping = self.mapping.borrow_mut();
        let logical_pages = mapping.len();
        // (version, sequence) of the best page found; zero pages cost no memory.
        let mut best = vec![(0u64, 0u64); logical_pages as usize];
        for (page, record) in records {
            let found = (record.version, record.sequence);
            if let Content::Data(lpn) = record.content
                && lpn.0 < logical_pages
                && is_better(best[lpn.0 as usize], found)
            {
                best[lpn.0 as usize] = found;
                mapping.set(lpn, Mapping::Data(*page));
            }
        }
        for (page, record) in records {
            if is_planted(Bug::RecoveryIgnoresTombstones) {
                break;
            }
            if let Content::Tombstone { start, count } = record.content {
                let version = record.version;
                let end = start.0.saturating_add(count).min(logical_pages);
                for lpn in start.0.min(end)..end {
                    // A page of which nothing older is left needs no tombstone. A copy
                    // of a tombstone has its version: of the two, the later in the media.
                    let best = &mut best[lpn as usize];
                    if best.0 != 0 && best.0 <= version {
                        *best = (version, 0);
                        mapping.set(Lpn(lpn), Mapping::Tombstone(*page));
                    }
                }
            }
        }
        let mut blocks = self.blocks.borrow_mut();
        let mut tombstones = self.tombstones.borrow_mut();
        let mut notes = self.notes.borrow_mut();
        for (page, record) in records {
            match record.content {
                Content::Data(lpn) if lpn.0 < logical_pages => {
                    if mapping.get(lpn) == Mapping::Data(*page) {
                        blocks.validate(*page);
                    }
                }
                Content::Data(_) => {}
                Content::Note { key, value } => {
                    notes.take(key, value, record.version, *page);
                }
                Content::Tombstone { start, count } => {
                    let end = start.0.saturating_add(count).min(logical_pages);
                    let live = (start.0.min(end)..end)
                        .filter(|lpn| mapping.get(Lpn(*lpn)) == Mapping::Tombstone(*page))
                        .count() as u32;
                    if live > 0 {
                        tombstones.insert(*page, live);
                        blocks.validate(*page);
                    }
                }
            }
        }
        notes.pages().for_each(|page| blocks.validate(page));
    }

    /// Decides what each block is to be used for.
    fn rebuild_blocks(&self, recovered: &mut Recovered) {
        let mut blocks = self.blocks.borrow_mut();
        let nand = self.schedule.nand().borrow();
        let levels = self.config.wear_levelling.static_threshold > 0;
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let state = nand.block_state(block);
            blocks.set_erases(block, state.erase_count);
            match state.condition {
                BlockCondition::Bad if is_planted(Bug::BadBlocksAreForgotten) => {
                    blocks.add_free(block, state.erase_count);
                }
                BlockCondition::Bad => blocks.set_use(block, Use::Bad),
                BlockCondition::NeedsErase => blocks.close(block),
                BlockCondition::Good if state.mode.is_none() => {
                    blocks.add_free(block, state.erase_count);
                }
                BlockCondition::Good if recovered.foreign_blocks.binary_search(&block).is_ok() => {
                    blocks.found_compute(block);
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
                            || levels && blocks.resume(block, state.next_page, Stream::Cold));
                    if !resumed {
                        blocks.close(block);
                    }
                }
            }
        }
    }
}

impl Ftl {
    /// Whether a program failed in `block`, so that it must be emptied and retired.
    pub(super) fn has_failed_page(&self, block: BlockId, next_page: u32) -> bool {
        let nand = self.schedule.nand().borrow();
        (0..next_page).any(|page| {
            let page = self.geometry.ppa(PageAddress { block, page });
            nand.page_state(page) == PageState::Failed
        })
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

impl Default for Scan {
    fn default() -> Scan {
        Scan {
            records: Vec::new(),
            recovered: Recovered::default(),
            next_sequence: 1,
            next_version: 1,
        }
    }
}

impl Scan {
    fn found(&mut self, address: PageAddress, page: Ppa, spare: Option<&[u8]>) {
        self.recovered.pages_read += 1;
        let Some(spare) = spare else {
            return;
        };
        match Record::decode(spare) {
            Some(record) => {
                self.next_version = self.next_version.max(record.version + 1);
                self.next_sequence = self.next_sequence.max(record.sequence + 1);
                self.records.push((page, record));
            }
            None => {
                self.recovered
                    .foreign
                    .push((address, spare.iter().copied().take(32).collect()));
            }
        }
    }
}

/// Reads the spare bytes of every page of a die that may hold something.
async fn scan_die(
    schedule: Rc<Schedule>,
    buffers: Rc<Buffers>,
    die: DieId,
    scan: Rc<RefCell<Scan>>,
) {
    let geometry = schedule.geometry().clone();
    let first = die.0 * geometry.blocks_per_die();
    for block in (first..first + geometry.blocks_per_die()).map(BlockId) {
        let state = schedule.nand().borrow().block_state(block);
        if state.condition == BlockCondition::Bad {
            continue;
        }
        // The firmware cannot see the write frontier; it reads until it meets an
        // erased page. That costs one read more than there are pages.
        let pages = geometry.pages_per_block(state.mode.unwrap_or(ProgramMode::Slc));
        let until = (state.next_page + 1).min(pages);
        for page in 0..until {
            let address = PageAddress { block, page };
            let buffer = buffers.take();
            let read = Read {
                page: address,
                column: 0,
                bytes: 0,
                into: buffer.id(),
                origin: Origin::Mapping,
            };
            // A page that cannot be read holds nothing that was acknowledged.
            let outcome = schedule.perform(die, read).await;
            if outcome.is_ok() {
                let nand = schedule.nand().borrow();
                let page = geometry.ppa(address);
                scan.borrow_mut().found(address, page, nand.spare(page));
            }
        }
        let holds_foreign = |scan: &Scan| {
            scan.recovered
                .foreign
                .iter()
                .any(|(page, _)| page.block == block)
        };
        if holds_foreign(&scan.borrow()) {
            let blocks = &mut scan.borrow_mut().recovered.foreign_blocks;
            let place = blocks.binary_search(&block).unwrap_or_else(|place| place);
            blocks.insert(place, block);
        }
    }
}
