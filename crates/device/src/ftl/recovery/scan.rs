//! Reading spare bytes and firmware pages from the media, all dies at once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;

use media::nand::{BlockCondition, BlockId, DieId, Geometry, PageAddress, Ppa, ProgramMode};
use sim::Sim;

use super::Recovered;
use crate::ftl::spare::{Content, Record};
use crate::ftl::versions::TENTATIVE;
use crate::ftl::{Beneath, MappingUnit, UnitAddress};
use crate::memory::{Buffers, Purpose};
use crate::planted::{Bug, is_planted};
use crate::region::{Found, LENT, Owner};
use crate::schedule::{Origin, Read, Schedule};
use crate::tenants;

/// What the first readable page of a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// There is none.
    None,
    /// It has spare bytes that nobody knows.
    Foreign,
    /// It has an owner.
    Record(Record),
}

/// What has been read so far.
pub(super) struct Scan {
    /// The records of slots that hold something: of what takes a page as a whole, at its first.
    pub(super) records: Vec<(UnitAddress, Record)>,
    pub(super) recovered: Recovered,
    pub(super) next_sequence: u64,
    pub(super) next_version: u64,
    /// For each block its first readable page, and how many pages have been read.
    pub(super) blocks: Vec<(First, u32)>,
}

/// Reads the media.
pub(super) struct Scanner {
    pub(super) unit: MappingUnit,
    sim: Sim,
    schedule: Rc<Schedule>,
    buffers: Rc<Buffers>,
    pub(super) geometry: Geometry,
    pub(super) scan: RefCell<Scan>,
}

impl Scanner {
    pub(super) fn new(beneath: &Beneath, unit: MappingUnit) -> Rc<Scanner> {
        let geometry = beneath.schedule.geometry().clone();
        Rc::new(Scanner {
            unit,
            sim: beneath.sim.clone(),
            schedule: beneath.schedule.clone(),
            buffers: beneath.buffers.clone(),
            scan: RefCell::new(Scan {
                records: Vec::new(),
                recovered: Recovered::default(),
                next_sequence: 1,
                next_version: 1,
                blocks: vec![(First::None, 0); geometry.blocks() as usize],
            }),
            geometry,
        })
    }

    /// Lets a task for each die do its work, and waits for all.
    async fn on_every_die<F: Future<Output = ()> + 'static>(
        self: &Rc<Scanner>,
        work: impl Fn(Rc<Scanner>, DieId) -> F,
    ) {
        let dies = (0..self.geometry.dies()).map(DieId);
        let tasks: Vec<_> = dies
            .map(|die| self.sim.spawn(work(self.clone(), die)))
            .collect();
        for task in tasks {
            task.await;
        }
    }

    /// Reads the first readable page of every block.
    pub(super) async fn read_first_pages(self: &Rc<Scanner>) {
        self.on_every_die(|scanner, die| async move {
            for block in scanner.blocks_of(die) {
                scanner.read_block(die, block, true).await;
            }
        })
        .await;
    }

    /// Reads the pages of these blocks that have not been read.
    pub(super) async fn read_blocks(self: &Rc<Scanner>, blocks: &Rc<[BlockId]>) {
        self.on_every_die(|scanner, die| {
            let blocks = blocks.clone();
            async move {
                let of_die = |block: &&BlockId| scanner.geometry.die_of_block(**block) == die;
                for block in blocks.iter().filter(of_die) {
                    scanner.read_block(die, *block, false).await;
                }
            }
        })
        .await;
    }

    fn blocks_of(&self, die: DieId) -> impl Iterator<Item = BlockId> + use<> {
        let first = die.0 * self.geometry.blocks_per_die();
        (first..first + self.geometry.blocks_per_die()).map(BlockId)
    }

    /// Reads the spare bytes of every page of a block that may hold something, or only until
    /// the first that does.
    async fn read_block(&self, die: DieId, block: BlockId, only_first: bool) {
        let state = self.schedule.nand().block_state(block);
        if state.condition == BlockCondition::Bad {
            return;
        }
        // The firmware cannot see the write frontier; it reads until it meets an
        // erased page. That costs one read more than there are pages.
        let pages = self
            .geometry
            .pages_per_block(state.mode.unwrap_or(ProgramMode::Slc));
        let until = (state.next_page + 1).min(pages);
        let begin = self.scan.borrow().blocks[block.0 as usize].1;
        for page in begin..until {
            let address = PageAddress { block, page };
            let _room = self.buffers.room(Purpose::Record).await;
            let buffer = self.buffers.take();
            let read = Read {
                page: address,
                column: 0,
                bytes: 0,
                into: buffer.id(),
                at: 0,
                inverse: false,
                origin: Origin::own(tenants::RECOVERY),
            };
            // A page whose spare bytes cannot be read holds nothing that was acknowledged.
            let outcome = self.schedule.perform(die, read).await;
            let nand = self.schedule.nand();
            let spare = nand.spare(self.geometry.ppa(address));
            let mut scan = self.scan.borrow_mut();
            let first = scan.found(
                (self.geometry.ppa(address), self.unit),
                spare.filter(|_| outcome.is_ok()),
            );
            let entry = &mut scan.blocks[block.0 as usize];
            entry.1 = page + 1;
            if entry.0 == First::None {
                entry.0 = first;
            }
            if only_first && entry.0 != First::None {
                return;
            }
        }
    }

    /// Reads whole pages, each into what `take` is given: its number among `pages`, its record,
    /// which is that of a page as a whole, and its content.
    pub(super) async fn read_contents(
        self: &Rc<Scanner>,
        pages: Vec<Ppa>,
        take: impl Fn(usize, Record, &[u8]) + 'static,
    ) {
        self.read_pages(pages, true, move |index, slot, record, content| {
            if slot == 0 {
                take(index, record, content);
            }
        })
        .await;
    }

    /// Reads the spare bytes of single pages: `take` is given the number of the page among `pages`, and each slot with
    /// its record.
    pub(super) async fn read_spares(
        self: &Rc<Scanner>,
        pages: Vec<Ppa>,
        take: impl Fn(usize, u32, Record) + 'static,
    ) {
        self.read_pages(pages, false, move |index, slot, record, _| {
            take(index, slot, record)
        })
        .await;
    }

    async fn read_pages(
        self: &Rc<Scanner>,
        pages: Vec<Ppa>,
        whole: bool,
        take: impl Fn(usize, u32, Record, &[u8]) + 'static,
    ) {
        let (pages, take): (Rc<[Ppa]>, _) = (pages.into(), Rc::new(take));
        self.on_every_die(|scanner, die| {
            let (pages, take) = (pages.clone(), take.clone());
            async move {
                for (index, page) in pages.iter().enumerate() {
                    let address = scanner.geometry.page_address(*page);
                    if scanner.geometry.die_of_block(address.block) == die {
                        scanner
                            .read_page(die, address, whole, |slot, record, content| {
                                take(index, slot, record, content);
                            })
                            .await;
                    }
                }
            }
        })
        .await;
    }

    async fn read_page(
        &self,
        die: DieId,
        page: PageAddress,
        whole: bool,
        take: impl Fn(u32, Record, &[u8]),
    ) {
        let _room = self.buffers.room(Purpose::Record).await;
        let buffer = self.buffers.take_firmware();
        let read = Read {
            page,
            column: 0,
            bytes: if whole { self.geometry.page_bytes } else { 0 },
            into: buffer.id(),
            at: 0,
            inverse: false,
            origin: Origin::own(tenants::RECOVERY),
        };
        self.scan.borrow_mut().recovered.pages_read += 1;
        if self.schedule.perform(die, read).await.is_err() {
            return;
        }
        let nand = self.schedule.nand();
        let spare = nand.spare(self.geometry.ppa(page)).unwrap_or_default();
        for (slot, record) in Record::decode_slots(spare, self.unit) {
            self.buffers
                .with(buffer.id(), |content| take(slot, record, content));
        }
    }
}

impl Scan {
    /// The records of pages of the journal.
    pub(super) fn facts(&self) -> Vec<(UnitAddress, Record)> {
        let of_journal = |(_, record): &&(UnitAddress, Record)| {
            matches!(record.content, Content::Journal { .. })
        };
        self.records.iter().filter(of_journal).copied().collect()
    }

    /// The blocks that hold placed pages, or such that were lent.
    pub(super) fn compute_blocks(&self, geometry: &Geometry, unit: MappingUnit) -> Vec<Found> {
        let mut blocks: BTreeMap<BlockId, Found> = BTreeMap::new();
        for (at, record) in &self.records {
            let (owner, handle, column) = match record.content {
                Content::Placed { placement, .. } => {
                    (Owner::Compute, placement.handle, placement.column)
                }
                Content::Temporary => (Owner::Temporary, LENT, 0),
                Content::Search { .. } => (Owner::Search, LENT, 0),
                _ => continue,
            };
            let block = geometry.page_address(unit.page(*at)).block;
            let found = blocks.entry(block).or_insert(Found {
                block,
                owner,
                handle,
                column,
                next_page: 0,
                version: 0,
                failed: false,
            });
            found.version = found.version.max(record.version);
        }
        blocks.into_values().collect()
    }

    fn found(&mut self, (page, unit): (Ppa, MappingUnit), spare: Option<&[u8]>) -> First {
        self.recovered.pages_read += 1;
        let Some(spare) = spare else {
            return First::None;
        };
        let mut first = First::Foreign;
        for (slot, record) in Record::decode_slots(spare, unit) {
            let number = record.version & !TENTATIVE;
            self.next_version = self.next_version.max(number + 1);
            self.next_sequence = self.next_sequence.max(record.sequence + 1);
            let slot = match is_planted(Bug::RecoveryForgetsSlots) {
                true => 0,
                false => slot,
            };
            self.records.push((unit.at(page, slot), record));
            if first == First::Foreign {
                first = First::Record(record);
            }
        }
        if first == First::Foreign {
            self.recovered.damaged_records += u64::from(Record::is_damaged(spare));
        }
        first
    }
}
