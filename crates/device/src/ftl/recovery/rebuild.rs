//! The mapping from a checkpoint.
//!
//! The mapping pages give the table as it was at some time after the checkpoint began. What
//! changed later is in the blocks that were scanned. Where an entry and a scanned record
//! differ, the higher version counts; the version of an entry is that of the page it names,
//! whose spare bytes are read if nothing else decides.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use media::nand::Ppa;

use super::root::FoundRoot;
use super::scan::{First, Scanner};
use super::{Moves, is_better};
use crate::ftl::checkpoint::Root;
use crate::ftl::lpn::Lpn;
use crate::ftl::mapping::Mapping;
use crate::ftl::spare::{Content, Record};
use crate::ftl::{Ftl, UnitAddress};
use crate::planted::{Bug, is_planted};

/// What is known of a page that an entry names.
enum Named {
    /// It does not hold what the entry says any more.
    Gone,
    /// It does, and has this version and sequence number.
    Known((u64, u64)),
    /// It does, and its spare bytes have not been read.
    Unread,
}

/// What a mapping page on flash says of its entries.
#[derive(Clone, Copy, Default)]
struct Age {
    /// Changes of this version or a higher one are not in it.
    version: u64,
    /// Deallocations of a lower version are.
    deallocated_below: u64,
}

/// The work of recovering from a root.
struct Rebuild<'a> {
    ftl: &'a Ftl,
    scanner: &'a Rc<Scanner>,
    /// The blocks that were read wholly, by number.
    scanned: Vec<bool>,
    /// How old what is on flash of each mapping page is.
    ages: Vec<Age>,
    /// Versions of units in other blocks, as far as they had to be read; and the pages of these.
    read: BTreeMap<UnitAddress, Record>,
    read_pages: BTreeSet<Ppa>,
    /// Versions and sequence numbers of entries that scanned records decided.
    decided: BTreeMap<u32, (u64, u64)>,
}

impl Ftl {
    /// Rebuilds the mapping from a root and from what was scanned.
    pub(super) async fn rebuild_from_root(&self, scanner: &Rc<Scanner>, found: &FoundRoot) {
        let mut scanned = vec![false; self.geometry.blocks() as usize];
        for block in &*scanner.blocks_to_scan(Some(found)) {
            scanned[block.0 as usize] = true;
        }
        let mut rebuild = Rebuild {
            ftl: self,
            scanner,
            scanned,
            ages: vec![Age::default(); found.root.mapping_pages.len()],
            read: BTreeMap::new(),
            read_pages: BTreeSet::new(),
            decided: BTreeMap::new(),
        };
        let journal = rebuild.journal_pages(&found.root);
        self.rebuild_journal(scanner, journal).await;
        self.judge_transactions(scanner);
        rebuild.load_mapping_pages(&found.root).await;
        rebuild.apply_data().await;
        rebuild.apply_tombstones().await;
        rebuild.clear_gone();
        rebuild.validate();
        let interval = u64::from(self.config.checkpoint.interval_pages);
        self.checkpoints.set_due(found.root.begin + interval);
    }
}

impl Rebuild<'_> {
    /// The records of the blocks that were read wholly.
    fn records(&self) -> Vec<(UnitAddress, Record)> {
        let scan = self.scanner.scan.borrow();
        let of_scanned = |(at, _): &&(UnitAddress, Record)| {
            let block = self.scanner.block_of(self.scanner.unit.page(*at));
            self.scanned[block.0 as usize]
        };
        scan.records.iter().filter(of_scanned).copied().collect()
    }

    /// What is known of the page as a whole that an entry names.
    fn named_page(&self, page: Ppa, fits: impl Fn(Content) -> bool) -> Named {
        self.named(self.scanner.unit.at(page, 0), fits)
    }

    /// What is known of the slot that an entry names.
    fn named(&self, at: UnitAddress, fits: impl Fn(Content) -> bool) -> Named {
        let page = self.scanner.unit.page(at);
        let block = self.scanner.block_of(page);
        let scan = self.scanner.scan.borrow();
        let known = if self.scanned[block.0 as usize] {
            let place = scan.records.binary_search_by_key(&at, |(at, _)| *at);
            place.ok().map(|place| scan.records[place].1)
        } else if scan.blocks[block.0 as usize].0 == First::None {
            None
        } else if self.read_pages.contains(&page) {
            self.read.get(&at).copied()
        } else {
            return Named::Unread;
        };
        match known {
            Some(record) if fits(record.content) => Named::Known((record.version, record.sequence)),
            _ => Named::Gone,
        }
    }

    fn entry(&self, lpn: Lpn) -> Option<(Ppa, Named)> {
        match self.ftl.lookup(lpn) {
            Mapping::Unmapped => None,
            Mapping::Data(at) => {
                let named = self.named(at, |content| content.lpn() == Some(lpn));
                Some((self.scanner.unit.page(at), named))
            }
            Mapping::Tombstone(page) => Some((
                page,
                self.named_page(page, |content| {
                    matches!(content, Content::Tombstone { start, count }
                        if (start.0..start.0.saturating_add(count)).contains(&lpn.0))
                }),
            )),
        }
    }

    fn age(&self, lpn: Lpn) -> Age {
        let number = self.ftl.with_pages(|pages| pages.number_of(lpn));
        self.ages[number.unwrap_or(0) as usize]
    }

    /// Reads the best copy of each mapping page into the table.
    async fn load_mapping_pages(&mut self, root: &Root) {
        let mut wanted: Vec<(u32, Ppa)> = Vec::new();
        for (number, page) in (0..).zip(&root.mapping_pages) {
            let fits = |content| matches!(content, Content::Mapping { number: other, .. } if other == number);
            if let Some(page) = *page
                && matches!(self.named_page(page, fits), Named::Unread)
            {
                wanted.push((number, page));
            }
        }
        let mut best: BTreeMap<u32, (u64, u64, Ppa)> = BTreeMap::new();
        for (at, record) in self.records() {
            if let Content::Mapping { number, .. } = record.content
                && (number as usize) < self.ages.len()
            {
                let found = (record.version, record.sequence, self.scanner.unit.page(at));
                let kept = best.entry(number).or_insert(found);
                *kept = found.max(*kept);
            }
        }
        wanted.extend(best.iter().map(|(number, found)| (*number, found.2)));
        let pages: Vec<Ppa> = wanted.iter().map(|wanted| wanted.1).collect();
        let found = Rc::new(RefCell::new(BTreeMap::<u32, (Record, Ppa, Vec<u8>)>::new()));
        let into = found.clone();
        let read = move |index: usize, record: Record, content: &[u8]| {
            let (number, page) = wanted[index];
            if !matches!(record.content, Content::Mapping { number: other, .. } if other == number)
            {
                return;
            }
            let mut found = into.borrow_mut();
            let better = found.get(&number).is_none_or(|(kept, ..)| {
                (kept.version, kept.sequence) < (record.version, record.sequence)
            });
            if better {
                found.insert(number, (record, page, content.to_vec()));
            }
        };
        self.scanner.read_contents(pages, read).await;
        for (number, (record, page, content)) in found.take() {
            if let Content::Mapping {
                deallocated_below, ..
            } = record.content
            {
                self.ages[number as usize] = Age {
                    version: record.version,
                    deallocated_below,
                };
            }
            self.ftl.mapping.borrow_mut().decode(number, &content);
            self.ftl.with_pages(|pages| pages.put(number, page));
        }
    }

    /// Reads the spare bytes of pages that entries name.
    async fn read_named(&mut self, pages: BTreeSet<Ppa>) {
        let pages: Vec<Ppa> = pages.into_iter().collect();
        let found = Rc::new(RefCell::new(Vec::new()));
        let into = found.clone();
        let (names, unit) = (pages.clone(), self.scanner.unit);
        let take = move |index: usize, slot, record| {
            let at = unit.at(names[index], slot);
            into.borrow_mut().push((at, record));
        };
        self.scanner.read_spares(pages, take).await;
        let found: Vec<(UnitAddress, Record)> = found.take();
        let read = found.iter().map(|(at, _)| unit.page(*at));
        self.read_pages.extend(read);
        let counts = found.into_iter();
        self.read
            .extend(counts.filter_map(|found| self.ftl.judged(found)));
    }

    /// Data that scanned pages hold takes the place of what the entries say, where it is newer.
    async fn apply_data(&mut self) {
        let mut best: BTreeMap<u32, ((u64, u64), UnitAddress)> = BTreeMap::new();
        let records = self.records();
        let moves = Moves::of(&self.ftl.geometry, self.ftl.unit, &records);
        for (at, record) in records {
            let version = (record.version, record.sequence);
            if let Some(lpn) = record.content.lpn()
                && lpn.0 < self.ftl.logical_pages()
                && best.get(&lpn.0).is_none_or(|(kept, known)| {
                    is_better(*kept, version)
                        || *kept == version && moves.prefers(at, Mapping::Data(*known))
                })
            {
                best.insert(lpn.0, (version, at));
            }
        }
        let unread = best
            .iter()
            .filter_map(|(lpn, (version, _))| match self.entry(Lpn(*lpn)) {
                Some((page, Named::Unread)) if version.0 < self.age(Lpn(*lpn)).version => {
                    Some(page)
                }
                _ => None,
            })
            .collect();
        self.read_named(unread).await;
        for (lpn, (version, at)) in best {
            let current = match self.entry(Lpn(lpn)) {
                Some((_, Named::Known(current))) => current,
                // Older than the mapping page, and so than this record.
                Some((_, Named::Unread)) | Some((_, Named::Gone)) | None => (0, 0),
            };
            // With the same numbers it is the same page, or one of a block that moved.
            if version >= current && !is_planted(Bug::RecoveryTrustsCheckpoint) {
                self.ftl
                    .mapping
                    .borrow_mut()
                    .set(Lpn(lpn), Mapping::Data(at));
            }
            self.decided.insert(lpn, version.max(current));
        }
    }

    /// Scanned records of deallocation do the same.
    async fn apply_tombstones(&mut self) {
        let mut records: Vec<_> = self
            .records()
            .into_iter()
            .filter(|(_, record)| matches!(record.content, Content::Tombstone { .. }))
            .collect();
        records.sort_unstable_by_key(|(at, record)| (record.version, *at));
        let mut unread = BTreeSet::new();
        for (_, record) in &records {
            for lpn in self.range_of(record) {
                if self.decided.contains_key(&lpn) {
                    continue;
                }
                let age = self.age(Lpn(lpn));
                if (age.deallocated_below..age.version).contains(&record.version)
                    && let Some((page, Named::Unread)) = self.entry(Lpn(lpn))
                {
                    unread.insert(page);
                }
            }
        }
        self.read_named(unread).await;
        for (at, record) in records {
            let page = self.scanner.unit.page(at);
            for lpn in self.range_of(&record) {
                if self.deallocates(&record, lpn) {
                    self.decided.insert(lpn, (record.version, record.sequence));
                    let mut mapping = self.ftl.mapping.borrow_mut();
                    mapping.set(Lpn(lpn), Mapping::Tombstone(page));
                }
            }
        }
    }

    /// The logical pages that a record of deallocation names.
    fn range_of(&self, record: &Record) -> std::ops::Range<u32> {
        let Content::Tombstone { start, count } = record.content else {
            return 0..0;
        };
        let end = start.0.saturating_add(count).min(self.ftl.logical_pages());
        start.0.min(end)..end
    }

    /// Whether a scanned record of deallocation is newer than what the table says, or a copy of the record that it says:
    /// either of the two would do, as `rebuild_mapping` has it.
    fn deallocates(&self, record: &Record, lpn: u32) -> bool {
        if is_planted(Bug::RecoveryIgnoresTombstones) {
            return false;
        }
        if let Some(version) = self.decided.get(&lpn) {
            return version.0 <= record.version;
        }
        match self.entry(Lpn(lpn)) {
            None => false,
            Some((_, Named::Gone)) => true,
            Some((_, Named::Known(version))) => version.0 <= record.version,
            Some((_, Named::Unread)) => record.version >= self.age(Lpn(lpn)).version,
        }
    }

    /// Forgets entries that name pages which hold something else by now.
    fn clear_gone(&self) {
        for lpn in (0..self.ftl.logical_pages()).map(Lpn) {
            if let Some((_, Named::Gone)) = self.entry(lpn) {
                self.ftl.mapping.borrow_mut().set(lpn, Mapping::Unmapped);
            }
        }
    }

    /// Pages of the journal: those that the root names and that may still be there, and those that
    /// were scanned.
    fn journal_pages(&self, root: &Root) -> Vec<(UnitAddress, Record)> {
        let mut pages = Vec::new();
        let oldest = root.journal.first().map_or(0, |group| group.version);
        for group in &root.journal {
            let fits = |content| matches!(content, Content::Journal { .. });
            for (index, page) in (0..).zip(&group.pages) {
                if matches!(self.named_page(*page, fits), Named::Unread) {
                    let content = Content::Journal {
                        index,
                        count: group.pages.len() as u32,
                        oldest,
                    };
                    let record = Record {
                        content,
                        version: group.version,
                        sequence: 0,
                    };
                    pages.push((self.scanner.unit.at(*page, 0), record));
                }
            }
        }
        pages.extend(self.records());
        pages
    }

    /// Marks every page that the tables name as needed.
    fn validate(&self) {
        let mut blocks = self.ftl.blocks.borrow_mut();
        let mut tombstones = self.ftl.tombstones.borrow_mut();
        for lpn in (0..self.ftl.logical_pages()).map(Lpn) {
            match self.ftl.lookup(lpn) {
                Mapping::Unmapped => {}
                Mapping::Data(at) => blocks.validate_unit(at),
                Mapping::Tombstone(page) => *tombstones.entry(page).or_default() += 1,
            }
        }
        tombstones
            .keys()
            .for_each(|page| blocks.validate_page(*page));
        for (at, record) in &self.scanner.scan.borrow().records {
            if let Content::Placed { placement, .. } = record.content {
                blocks.set_inverse(self.ftl.unit.page(*at), placement.inverse);
            }
        }
        let facts = self.ftl.facts.borrow();
        facts.pages().for_each(|page| blocks.validate_page(page));
        let places = self.ftl.with_pages(|pages| pages.places());
        let places = places.unwrap_or_default();
        places
            .into_iter()
            .flatten()
            .for_each(|page| blocks.validate_page(page));
    }
}
