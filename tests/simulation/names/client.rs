//! A client that keeps names: one random command of lookup after another.

use std::cell::RefCell;
use std::rc::Rc;

use bitline::inside::Queue;
use host::search::{DataRegion, NameKind, SearchDevice, SearchError};
use nvme::Status;
use nvme::query::{Pattern, Query};
use sim::{Random, Span};

use super::lookups::{everything, numbers_of};
use super::shelf::{Change, Entry, Shelf};
use super::slots::{Content, Slot};
use crate::clients::{Client, is_want_of_space};

/// Bits of the longest name, and of most.
const BITS_MAX: u64 = 20;
/// Bytes of the longest value.
const VALUE_BYTES_MAX: u64 = 16;

/// One client.
pub(super) struct NameClient {
    pub(super) client: Client,
    pub(super) slots: Vec<Rc<Slot>>,
    pub(super) counts: Rc<RefCell<super::Counts>>,
    /// Nothing is found by mistake.
    pub(super) exact: bool,
}

pub(super) type Device = SearchDevice<Queue>;

/// Whether a command failed since the drive has no room, which it may.
pub(super) fn wants_space(error: &SearchError) -> bool {
    let device = matches!(error, SearchError::Device(error) if is_want_of_space(error));
    device || is_full(error)
}

/// Whether there is no room for entries, or, where names wait, none for more until a row is full.
fn is_full(error: &SearchError) -> bool {
    let full = [
        Status::REGION_FULL,
        Status::REGION_LIMIT_EXCEEDED,
        Status::NAMES_EXCEED_BUFFER,
        Status::LINK_TABLE_FULL,
    ];
    full.iter().any(|full| error.is_status(*full))
}

impl NameClient {
    pub(super) fn random(&mut self) -> &mut Random {
        &mut self.client.random
    }

    pub(super) fn complain(&self, what: String) {
        self.client.shared.complain(what);
    }

    /// Works for ever.
    pub(super) async fn run(mut self) {
        let queue = self.random().below(3) as usize;
        loop {
            let pause = Span::from_us(1 + self.random().below(50));
            self.client.shared.sim().sleep(pause).await;
            if self.client.shared.is_sanitizing() {
                continue;
            }
            let slots = self.slots.len() as u64;
            let slot = self.slots[self.client.random.below(slots) as usize].clone();
            // Nobody formats a namespace while a slot of it is claimed.
            let claim = slot.read();
            let Ok(block) = self.client.device(queue, 0).await else {
                continue;
            };
            drop(claim);
            if slot.going.get() || self.client.shared.is_sanitizing() {
                continue;
            }
            self.work(&slot, SearchDevice::new(block)).await;
        }
    }

    async fn work(&mut self, slot: &Rc<Slot>, device: Device) {
        let is_empty = matches!(&*slot.content.borrow(), Content::Empty);
        if is_empty {
            return self.allocate(slot, &device).await;
        }
        let Some(spoiled) = slot.with(|shelf| shelf.spoiled) else {
            return;
        };
        if spoiled {
            return self.deallocate(slot, &device).await;
        }
        match self.random().below(100) {
            0..30 => self.append(slot, &device).await,
            30..38 => self.update(slot, &device).await,
            38..46 => self.delete(slot, &device).await,
            46..72 => self.look_up(slot, &device).await,
            72..78 => self.count(slot, &device).await,
            78..82 => self.look_up_pages(slot, &device).await,
            82..90 => self.write_values(slot, &device).await,
            90..94 => self.read_values(slot, &device).await,
            94 => self.flush(slot, &device).await,
            95 | 96 => self.link(slot, &device).await,
            97 => self.unlink(slot, &device).await,
            98 => self.report(slot, &device).await,
            _ => self.deallocate(slot, &device).await,
        }
    }

    async fn allocate(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write() else {
            return;
        };
        let block_bytes = u64::from(device.block().block_bytes());
        let row_names = 8 * device.block().preferred_write_blocks() * device.block().block_bytes();
        let value_bytes = 1 + self.random().below(VALUE_BYTES_MAX) as u32;
        let rows = 1 + self.random().below(3) as u32;
        let blocks = device.data_blocks(rows * row_names, value_bytes);
        if blocks.is_ok_and(|blocks| blocks * block_bytes > slot.bytes) {
            return;
        }
        let names = 1 + self.random().below(8).saturating_sub(4) as usize / 2;
        let kinds: Vec<NameKind> = (0..names).map(|_| self.kind()).collect();
        slot.put(Content::Coming(kinds.clone()));
        let entries = rows * row_names - self.random().below(row_names.into()) as u32;
        let start = slot.first / block_bytes;
        let allocated = device.allocate(start, entries, value_bytes, &kinds).await;
        match allocated {
            Ok(region) => {
                slot.put(Content::There(Shelf::new(region, row_names, self.exact)));
            }
            // What had been allocated was given back, if there was room for that.
            Err(error) if wants_space(&error) => self.clear(slot, device).await,
            Err(error) => self.complain(format!("allocate: {error}")),
        }
    }

    /// Deallocates what the drive says is in a slot.
    async fn clear(&self, slot: &Slot, device: &Device) {
        let start = slot.first / u64::from(device.block().block_bytes());
        loop {
            let mut there = match device.report().await {
                Ok(records) => records
                    .into_iter()
                    .filter(|region| region.start.get() == start),
                Err(error) => return self.complain(format!("report: {error}")),
            };
            let Some(last) = there.next_back() else {
                slot.put(Content::Empty);
                return;
            };
            let region = nvme::RegionId::new(last.region.get());
            match device.deallocate_one(region).await {
                Err(error) if wants_space(&error) => {
                    self.client.shared.sim().sleep(Span::from_us(500)).await;
                }
                Err(error) => return self.complain(format!("deallocate: {error}")),
                Ok(()) => {}
            }
        }
    }

    pub(super) fn kind(&mut self) -> NameKind {
        NameKind {
            bits: 1 + self.random().below(BITS_MAX) as u32,
            ternary: self.random().chance(0.3),
        }
    }

    async fn deallocate(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write() else {
            return;
        };
        let Some(shelf) = slot.take_shelf() else {
            return;
        };
        let region = shelf.region.clone();
        slot.put(Content::Leaving(shelf));
        loop {
            match device.deallocate(&region).await {
                Ok(()) => break,
                Err(error) if wants_space(&error) => {
                    self.client.shared.sim().sleep(Span::from_us(500)).await;
                }
                Err(error) => return self.complain(format!("deallocate: {error}")),
            }
        }
        slot.put(Content::Empty);
        self.counts.borrow_mut().deallocated += 1;
    }

    /// A name: of few that are often drawn, or any.
    pub(super) fn name(&mut self, kind: NameKind) -> Pattern {
        let random = self.random();
        let (mut name, mut mask) = (vec![0; kind.name_bytes()], vec![0; kind.name_bytes()]);
        match random.chance(0.5) {
            true => name[0] = random.below(8) as u8,
            false => random.fill(&mut name),
        }
        match kind.ternary && random.chance(0.7) {
            true => random.fill(&mut mask),
            false => mask.fill(u8::MAX),
        }
        Pattern::new(kind.bits, &name, &mask).expect("as many bytes as bits")
    }

    fn entries(&mut self, region: &DataRegion, count: u32) -> Vec<(Option<u32>, Rc<Entry>)> {
        let entry = |client: &mut NameClient| {
            let names = region.names.iter().map(|field| client.name(field.kind));
            let names = names.collect();
            let mut value = vec![0; region.value_bytes as usize];
            client.random().fill(&mut value);
            Rc::new(Entry {
                names,
                value,
                earlier: Vec::new(),
            })
        };
        (0..count).map(|_| (None, entry(self))).collect()
    }

    /// So many entries as one command appends.
    fn some(&mut self, row_names: u32) -> u32 {
        let random = self.random();
        let most = [20, 20, 700, 2000][random.below(4) as usize];
        1 + random.below(most.min(u64::from(row_names) / 2)) as u32
    }

    async fn append(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write() else {
            return;
        };
        let shape = slot.with(|shelf| (shelf.region.clone(), shelf.row_names));
        let Some((region, row_names)) = shape else {
            return;
        };
        let count = self.some(row_names);
        let appended = self.entries(&region, count);
        let records = encode(&region, &appended);
        let change = Change {
            appended: RefCell::new(appended),
            ..Change::default()
        };
        let Some(change) = slot.with(|shelf| shelf.begin(change)) else {
            return;
        };
        let outcome = device.append_at_once(&region, &records, count).await;
        let outcome = outcome.map(|appended| appended.first());
        self.settle(slot, device, &change, outcome).await;
    }

    /// A command that appends has ended: with the number of the first entry.
    async fn settle(
        &self,
        slot: &Slot,
        device: &Device,
        change: &Change,
        outcome: Result<u32, SearchError>,
    ) {
        let first = match outcome {
            Ok(first) => first,
            Err(error) => {
                let wants = wants_space(&error);
                if !wants {
                    self.complain(format!("append: {error}"));
                }
                slot.with(|shelf| {
                    shelf.failed(change);
                    // An update may have happened, though not durably.
                    shelf.spoiled |= change.atomic && !is_full(&error);
                });
                return;
            }
        };
        let count = change.appended.borrow().len() as u32;
        let row_names = slot.with(|shelf| shelf.row_names).unwrap_or(1);
        let room = row_names - first % row_names;
        let numbers = match count <= room {
            true => Ok((first..first + count).collect()),
            false => self.rest_of(slot, device, change, (first, room)).await,
        };
        let settled = numbers.and_then(|numbers| {
            let happened = slot.with(|shelf| shelf.happened(change, &numbers));
            happened.unwrap_or(Ok(()))
        });
        self.counts.borrow_mut().appended += u64::from(count);
        if let Err(wrong) = settled {
            self.complain(wrong);
        }
    }

    /// The numbers of appended entries that go on in another row, which only lookups tell.
    async fn rest_of(
        &self,
        slot: &Slot,
        device: &Device,
        change: &Change,
        (first, room): (u32, u32),
    ) -> Result<Vec<u32>, String> {
        let Some(region) = slot.with(|shelf| shelf.region.clone()) else {
            return Ok(Vec::new());
        };
        let found = numbers_of(device, &region, 0).await?;
        let known = slot.with(|shelf| shelf.entries.clone()).unwrap_or_default();
        let fresh: Vec<u32> = found
            .into_iter()
            .filter(|number| !known.contains_key(number))
            .collect();
        let count = change.appended.borrow().len();
        let numbers = slot
            .with(|shelf| shelf.in_order(fresh.clone()))
            .unwrap_or_default();
        let begins = numbers
            .iter()
            .copied()
            .take(room as usize)
            .eq(first..first + room);
        if numbers.len() != count || !begins {
            return Err(format!(
                "{count} entries appended from {first} on are {fresh:?}"
            ));
        }
        Ok(numbers)
    }

    async fn delete(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write() else {
            return;
        };
        let Some((region, Some(query))) = slot.with(|shelf| {
            let query = self.of_entries_to_go(shelf, 0.1);
            (shelf.region.clone(), query)
        }) else {
            return;
        };
        let Some((change, expected)) = slot.with(|shelf| {
            let deleted = shelf.find(&query);
            let count = deleted.len();
            let change = Change {
                deleted,
                ..Change::default()
            };
            (shelf.begin(change), count)
        }) else {
            return;
        };
        match device.delete(&region, &query).await {
            Ok(deleted) => {
                if deleted as usize != expected {
                    self.complain(format!("{query:?} deletes {deleted}, expected {expected}"));
                }
                let happened = slot.with(|shelf| shelf.happened(&change, &[]));
                if let Some(Err(wrong)) = happened {
                    self.complain(wrong);
                }
                self.counts.borrow_mut().deleted += u64::from(deleted);
            }
            Err(error) => self.spoil(slot, &change, &error),
        }
    }

    /// What is to be deleted: with so much chance all of it, else what some query finds. A deletion takes what it finds by
    /// mistake, too; where there are mistakes it is of everything, of which none are possible, and not often.
    fn of_entries_to_go(&mut self, shelf: &Shelf, all: f64) -> Option<Query> {
        let exact = self.exact;
        match self.random().chance(if exact { all } else { 0.1 }) {
            true => Some(everything(&shelf.region, 0)),
            false => exact.then(|| self.query(shelf, 2, false)),
        }
    }

    /// A deletion failed half-way.
    fn spoil(&self, slot: &Slot, change: &Change, error: &SearchError) {
        if !wants_space(error) {
            self.complain(format!("a legal command failed: {error}"));
        }
        slot.with(|shelf| {
            shelf.failed(change);
            shelf.spoiled = true;
        });
    }

    async fn update(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write() else {
            return;
        };
        let shape = slot.with(|shelf| (shelf.region.clone(), shelf.row_names));
        let Some((region, row_names)) = shape else {
            return;
        };
        let count = self.some(row_names).min(300);
        let appended = self.entries(&region, count);
        let records = encode(&region, &appended);
        let same = self.exact && self.random().chance(0.5);
        let goes = slot.with(|shelf| match same {
            true => {
                let is_same = |entry: &Entry| {
                    let mut appended = appended.iter();
                    appended.any(|(_, other)| other.names[0] == entry.names[0])
                };
                let entries = shelf.entries.iter().filter(|(_, entry)| is_same(entry));
                Some((None, entries.map(|(number, _)| *number).collect()))
            }
            false => {
                let query = self.of_entries_to_go(shelf, 0.0)?;
                let deleted = shelf.find(&query);
                Some((Some(query), deleted))
            }
        });
        let Some(Some((query, deleted))) = goes else {
            return;
        };
        let expected = deleted.len();
        let change = Change {
            appended: RefCell::new(appended),
            deleted,
            atomic: true,
            ..Change::default()
        };
        let Some(change) = slot.with(|shelf| shelf.begin(change)) else {
            return;
        };
        let outcome = device
            .update(&region, query.as_ref(), &records, count)
            .await;
        if let Ok(updated) = &outcome
            && updated.deleted as usize != expected
        {
            let deleted = updated.deleted;
            self.complain(format!(
                "an update by {query:?} deletes {deleted}, expected {expected}"
            ));
        }
        self.counts.borrow_mut().updates += u64::from(outcome.is_ok());
        let outcome = outcome.map(|updated| updated.first);
        self.settle(slot, device, &change, outcome).await;
    }
}

/// The records of entries.
fn encode(region: &DataRegion, entries: &[(Option<u32>, Rc<Entry>)]) -> Vec<u8> {
    let mut records = Vec::new();
    entries
        .iter()
        .for_each(|(_, entry)| entry.encode(region, &mut records));
    records
}
