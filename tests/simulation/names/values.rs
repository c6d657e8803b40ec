//! The values of a data region are logical blocks as others: reads and writes of them. And search regions that come and go.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use nvme::command::RegionAllocate;
use nvme::{CommandId, IoCommand, Lba, RegionId, SearchCommand, Status};
use sim::Span;

use super::client::{Device, NameClient, wants_space};
use super::shelf::{Entries, Entry, Shelf};
use super::slots::{Content, Reshaping, Slot};

/// Where values lie in their data region.
struct Places {
    unit: u64,
    value_bytes: u64,
    row_names: u64,
}

impl Places {
    fn of(shelf: &Shelf, device: &Device) -> Places {
        let block = device.block();
        Places {
            unit: u64::from(block.unit_blocks()) * u64::from(block.block_bytes()),
            value_bytes: shelf.region.value_bytes.into(),
            row_names: shelf.row_names.into(),
        }
    }

    /// The bytes of an entry's value: several lie in a page, none across pages, and rows begin pages.
    fn bytes(&self, number: u32) -> Range<u64> {
        let (row, index) = (
            u64::from(number) / self.row_names,
            u64::from(number) % self.row_names,
        );
        let per_page = self.unit / self.value_bytes;
        let page = row * self.row_names.div_ceil(per_page) + index / per_page;
        let first = page * self.unit + index % per_page * self.value_bytes;
        first..first + self.value_bytes
    }
}

impl NameClient {
    /// Some blocks of a slot: the first, and how many bytes of the slot they are.
    fn blocks(&mut self, slot: &Slot, device: &Device) -> (u64, Range<u64>) {
        let block_bytes = u64::from(device.block().block_bytes());
        let blocks = slot.bytes / block_bytes;
        let random = &mut self.client.random;
        let first = random.below(blocks) / (1 + random.below(4));
        let count = 1 + random.below((blocks - first).min(8));
        let bytes = first * block_bytes..(first + count) * block_bytes;
        (slot.first / block_bytes + first, bytes)
    }

    /// Writes over values past the interface of lookup.
    pub(super) async fn write_values(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write_alone() else {
            return;
        };
        let (lba, bytes) = self.blocks(slot, device);
        let random = &mut self.client.random;
        let mut data = vec![0; (bytes.end - bytes.start) as usize];
        let zeroes = random.chance(0.2);
        if !zeroes {
            random.fill(&mut data);
        }
        let durable = random.chance(0.5);
        let mut shelf = match slot.put(Content::Empty) {
            Content::There(shelf) => shelf,
            other => {
                slot.put(other);
                return;
            }
        };
        let written = written(&shelf, device, &bytes, &data);
        shelf.written = written.clone();
        // Nobody looks up until it is over.
        slot.put(Content::Written(shelf));
        let block = device.block();
        let count = data.len() as u64 / u64::from(block.block_bytes());
        let outcome = match (zeroes, durable) {
            (true, _) => block.write_zeroes(lba, count).await,
            (false, true) => block.write_durably(lba, &data).await,
            (false, false) => block.write(lba, &data).await,
        };
        self.client.expect_success(&outcome);
        let Some(mut shelf) = slot.take_shelf() else {
            return;
        };
        let there = Rc::make_mut(&mut shelf.entries);
        for (number, mut entry) in written {
            let before = there.get(&number).cloned();
            let earlier = before.into_iter().flat_map(|before| {
                let mut earlier = before.earlier.clone();
                earlier.push(before.value.clone());
                earlier
            });
            // What failed may have happened.
            let keeps = outcome.is_err() || zeroes || !durable;
            let now = Rc::make_mut(&mut entry);
            now.earlier = earlier.filter(|_| keeps).collect();
            if outcome.is_err() {
                shelf.spoiled = true;
            }
            there.insert(number, entry);
        }
        shelf.written.clear();
        slot.put(Content::There(shelf));
    }

    /// Reads values past the interface of lookup.
    pub(super) async fn read_values(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write() else {
            return;
        };
        let (lba, bytes) = self.blocks(slot, device);
        let count = (bytes.end - bytes.start) / u64::from(device.block().block_bytes());
        let seen = match device.block().read(lba, count).await {
            Ok(seen) => seen,
            Err(error) => return self.client.shared.complain(format!("values: {error}")),
        };
        let wrong = slot.with(|shelf| {
            let places = Places::of(shelf, device);
            let is_wrong = |(number, entry): (&u32, &Rc<Entry>)| {
                let at = places.bytes(*number);
                let inside = bytes.start <= at.start && at.end <= bytes.end;
                let seen = |at: Range<u64>| {
                    &seen[(at.start - bytes.start) as usize..(at.end - bytes.start) as usize]
                };
                (inside && *seen(at) != entry.value[..]).then_some(*number)
            };
            shelf.entries.iter().find_map(is_wrong)
        });
        if let Some(Some(number)) = wrong {
            self.client.shared.complain(format!(
                "the blocks from {lba} on do not hold the value of {number}"
            ));
        }
    }

    pub(super) async fn flush(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write() else {
            return;
        };
        let outcome = device.block().flush().await;
        self.client.expect_success(&outcome);
        if outcome.is_err() {
            return;
        }
        slot.with(|shelf| {
            for entry in Rc::make_mut(&mut shelf.entries).values_mut() {
                if !entry.earlier.is_empty() {
                    Rc::make_mut(entry).earlier.clear();
                }
            }
        });
    }

    /// Adds a search region, with a name for each entry that was appended.
    pub(super) async fn link(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write_alone() else {
            return;
        };
        let start = slot.first / u64::from(device.block().block_bytes());
        let Ok(told) = device.report().await else {
            return;
        };
        let told = told.iter().find(|record| record.start.get() == start);
        let Some((numbers, region)) = slot.with(|shelf| (shelf.given(), shelf.region.clone()))
        else {
            return;
        };
        // Numbers that a command had taken which failed nobody knows.
        let all = told.is_some_and(|told| told.entries.get() as usize == numbers.len());
        if !all || region.names.len() > 2 {
            return;
        }
        let kind = self.kind();
        let names: BTreeMap<_, _> = numbers
            .iter()
            .map(|number| (*number, self.name(kind)))
            .collect();
        let mut records = Vec::new();
        for name in names.values() {
            records.extend(name.name());
            if kind.ternary {
                records.extend(name.mask());
            }
        }
        if records.len() as u64 > device.block().bytes_per_command() {
            return;
        }
        let memory = host::Transport::memory(device.block().transport());
        let buffer = host::Buffer::holding(memory, &[&records[..], &[0]].concat());
        let buffer = buffer.expect("host memory has room");
        let command = SearchCommand::Allocate(RegionAllocate {
            namespace: device.block().namespace(),
            start: Lba::new(start),
            entries: region.entries,
            name_bits: kind.bits,
            ternary: kind.ternary,
            linked: true,
            value_bytes: region.value_bytes,
            records: names.len() as u32,
            data: buffer.pointer(buffer.bytes() as u32),
        });
        slot.generation.set(slot.generation.get() + 1);
        slot.reshaping.replace(Some(Reshaping::With(kind, names)));
        let entry = IoCommand::Search(command).encode(CommandId::new(0));
        let completion = host::Transport::io(device.block().transport(), &entry).await;
        let completion = match completion {
            Ok(completion) => completion,
            Err(error) => return self.client.shared.complain(format!("link: {error}")),
        };
        let reshaping = slot.reshaping.take();
        let status = completion.status();
        if status.is(Status::SUCCESS) {
            let number = RegionId::new(completion.dw0.get() as u16);
            slot.with(|shelf| shelf.reshape(reshaping, Some(number)));
            self.counts.borrow_mut().linked += 1;
        } else if ![
            Status::CAPACITY_EXCEEDED,
            Status::GROUP_FULL,
            Status::WRITE_FAULT,
            // Memory has no room for more of the names that wait.
            Status::REGION_LIMIT_EXCEEDED,
            Status::NAMES_EXCEED_BUFFER,
            Status::LINK_TABLE_FULL,
            // A row was freed meanwhile.
            Status::INVALID_FIELD,
        ]
        .iter()
        .any(|wants| status.is(*wants))
        {
            self.client.shared.complain(format!("link: {status}"));
        }
        slot.generation.set(slot.generation.get() + 1);
    }

    /// Deallocates one search region of several.
    pub(super) async fn unlink(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write() else {
            return;
        };
        let names = slot
            .with(|shelf| shelf.region.names.clone())
            .unwrap_or_default();
        if names.len() < 2 {
            return;
        }
        let at = self.client.random.below(names.len() as u64) as usize;
        slot.generation.set(slot.generation.get() + 1);
        slot.reshaping.replace(Some(Reshaping::Without(at)));
        loop {
            match device.deallocate_one(names[at].region).await {
                Ok(()) => break,
                Err(error) if wants_space(&error) => {
                    self.client.shared.sim().sleep(Span::from_us(500)).await;
                }
                Err(error) => return self.client.shared.complain(format!("unlink: {error}")),
            }
        }
        let reshaping = slot.reshaping.take();
        slot.with(|shelf| shelf.reshape(reshaping, None));
        self.counts.borrow_mut().unlinked += 1;
        slot.generation.set(slot.generation.get() + 1);
    }
}

/// What a write makes of the entries whose values it touches.
fn written(shelf: &Shelf, device: &Device, bytes: &Range<u64>, data: &[u8]) -> Entries {
    let places = Places::of(shelf, device);
    let touched = shelf.entries.iter().filter_map(|(number, entry)| {
        let at = places.bytes(*number);
        let both = at.start.max(bytes.start)..at.end.min(bytes.end);
        if both.is_empty() {
            return None;
        }
        let mut entry = Entry::clone(entry);
        let from = &data[(both.start - bytes.start) as usize..(both.end - bytes.start) as usize];
        entry.value[(both.start - at.start) as usize..(both.end - at.start) as usize]
            .copy_from_slice(from);
        Some((*number, Rc::new(entry)))
    });
    touched.collect()
}
