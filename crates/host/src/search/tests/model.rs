//! Search regions in a few lines: entries in a list, compared one after another.

use std::collections::BTreeMap;

use nvme::command::{Append, RegionAllocate, RegionRecord, Returned};
use nvme::query::{Part, Pattern, Query, Term};
use nvme::{DataPointer, HostMemory, RegionId, SearchCommand, Status};
use zerocopy::IntoBytes;

use crate::search::NameKind;

/// Bytes of a logical page of values.
const PAGE_BYTES: usize = 512;
/// Cursors that the drive remembers.
const CURSORS: usize = 2;

#[derive(Clone, Default)]
struct Entry {
    names: BTreeMap<u16, Pattern>,
    value: Vec<u8>,
}

#[derive(Clone, Default)]
struct Table {
    names: BTreeMap<u16, NameKind>,
    value_bytes: usize,
    capacity: usize,
    /// By number; deleted ones are none.
    entries: Vec<Option<Entry>>,
}

/// The search regions of a drive. A command happens at once and is durable.
#[derive(Clone, Default)]
pub(crate) struct Model {
    tables: BTreeMap<u64, Table>,
    /// By cursor, the search region of a lookup and the records that it has still to give.
    cursors: BTreeMap<u32, (RegionId, Vec<Vec<u8>>)>,
    last_cursor: u32,
    /// Search regions that there may be; 0 for any number.
    pub(crate) regions_max: usize,
}

type Completed = Result<(u32, u32), Status>;

impl Model {
    /// The numbers of its search regions with the first block of the data region of each.
    pub(crate) fn regions(&self) -> Vec<(u16, u64)> {
        let of_table = |(start, table): (&u64, &Table)| {
            let numbers = table.names.keys().copied();
            numbers.map(|number| (number, *start)).collect::<Vec<_>>()
        };
        self.tables.iter().flat_map(of_table).collect()
    }

    /// Forgets all cursors.
    pub(crate) fn forget_lookups(&mut self) {
        self.cursors.clear();
    }

    /// Carries out a command; gives DW0 and DW1.
    pub(crate) fn carry_out(
        &mut self,
        command: SearchCommand,
        memory: &mut HostMemory,
    ) -> Completed {
        match command {
            SearchCommand::Allocate(allocate) => self.allocate(&allocate),
            SearchCommand::Deallocate(command) => {
                let table = self.table(command.region)?;
                table.names.remove(&command.region.get());
                self.tables.retain(|_, table| !table.names.is_empty());
                Ok((0, 0))
            }
            SearchCommand::Append(append) => {
                let records = self.records(&append, memory)?;
                Ok((self.append(append.region, records)?, 0))
            }
            SearchCommand::Update(update) => {
                let region = update.append.region;
                let records = self.records(&update.append, memory)?;
                let query = match update.query_bytes {
                    0 => None,
                    bytes => Some(query_at(update.query_address, bytes, memory)?),
                };
                let is_same = |entry: &Entry| {
                    let name = &entry.names[&region.get()];
                    records.iter().any(|new| new.names[&region.get()] == *name)
                };
                let table = self.table(region)?;
                let found: Vec<usize> = match &query {
                    Some(query) => table.find(query),
                    None => table.matching(is_same),
                };
                found.iter().for_each(|index| table.entries[*index] = None);
                Ok((self.append(region, records)?, found.len() as u32))
            }
            SearchCommand::SimpleLookup(lookup) => {
                let name = Pattern::new(127, &lookup.name, &lookup.mask)?;
                let query = Query::of(lookup.region, name);
                let buffer = (lookup.data, lookup.buffer_bytes);
                self.look_up(lookup.region, &query, lookup.returned, buffer, memory)
            }
            SearchCommand::Lookup(lookup) => {
                let query = query_at(lookup.query_address, lookup.query_bytes, memory)?;
                let buffer = (lookup.data, lookup.buffer_bytes);
                self.look_up(lookup.region, &query, lookup.returned, buffer, memory)
            }
            SearchCommand::LookupContinue(lookup) => {
                let (region, records) = self
                    .cursors
                    .remove(&lookup.cursor)
                    .ok_or(Status::CURSOR_EXPIRED)?;
                if region != lookup.region {
                    return Err(Status::INVALID_REGION);
                }
                self.give(region, records, (lookup.data, lookup.buffer_bytes), memory)
            }
            SearchCommand::Delete(delete) => {
                let bytes = delete.query_bytes;
                let query = query_at(address(delete.data, bytes)?, bytes, memory)?;
                let table = self.table(delete.region)?;
                let found = table.find(&query);
                found.iter().for_each(|index| table.entries[*index] = None);
                Ok((found.len() as u32, 0))
            }
            SearchCommand::Report(report) => {
                let records = self.report();
                let room = (report.records as usize).min(records.len());
                let bytes = records[..room].as_bytes();
                let at = address(report.data, report.records * RegionRecord::BYTES as u32)?;
                put(at, bytes, memory);
                Ok((records.len() as u32, 0))
            }
        }
    }

    fn allocate(&mut self, allocate: &RegionAllocate) -> Completed {
        let taken = self.regions();
        if self.regions_max > 0 && taken.len() >= self.regions_max {
            return Err(Status::REGION_LIMIT_EXCEEDED);
        }
        let is_free = |number: &u16| taken.iter().all(|(taken, _)| taken != number);
        let number = (1..).find(is_free).ok_or(Status::REGION_LIMIT_EXCEEDED)?;
        let start = allocate.start.get();
        match self.tables.get(&start) {
            Some(_) if !allocate.linked => return Err(Status::REGION_OVERLAP),
            None if allocate.linked => return Err(Status::INVALID_REGION),
            _ => {}
        }
        let table = self.tables.entry(start).or_default();
        let kind = NameKind {
            bits: allocate.name_bits,
            ternary: allocate.ternary,
        };
        table.names.insert(number, kind);
        table.value_bytes = allocate.value_bytes as usize;
        table.capacity = allocate.entries as usize;
        Ok((number.into(), 0))
    }

    fn table(&mut self, region: RegionId) -> Result<&mut Table, Status> {
        let mut tables = self.tables.values_mut();
        let table = tables.find(|table| table.names.contains_key(&region.get()));
        table.ok_or(Status::INVALID_REGION)
    }

    fn records(&mut self, append: &Append, memory: &HostMemory) -> Result<Vec<Entry>, Status> {
        let table = self.table(append.region)?;
        let names = table.names.values().map(|kind| kind.record_bytes());
        let record = names.sum::<usize>() + table.value_bytes;
        let bytes = record * append.records as usize;
        let at = address(append.data, bytes as u32)?;
        let bytes = memory.slice(at, bytes as u64).expect("a buffer");
        bytes
            .chunks(record)
            .map(|record| table.parse(record))
            .collect()
    }

    fn append(&mut self, region: RegionId, records: Vec<Entry>) -> Result<u32, Status> {
        let table = self.table(region)?;
        let first = table.entries.len();
        if first + records.len() > table.capacity {
            return Err(Status::REGION_FULL);
        }
        table.entries.extend(records.into_iter().map(Some));
        Ok(first as u32)
    }

    fn look_up(
        &mut self,
        region: RegionId,
        query: &Query,
        returned: Returned,
        buffer: (DataPointer, u32),
        memory: &mut HostMemory,
    ) -> Completed {
        let table = self.table(region)?;
        let found = table.find(query);
        if returned.count_only {
            return Ok((found.len() as u32, 0));
        }
        let records = table.given(&found, query.parts(), returned);
        self.give(region, records, buffer, memory)
    }

    fn give(
        &mut self,
        region: RegionId,
        mut records: Vec<Vec<u8>>,
        (data, buffer_bytes): (DataPointer, u32),
        memory: &mut HostMemory,
    ) -> Completed {
        let Some(first) = records.first() else {
            return Ok((0, 0));
        };
        let fits = (buffer_bytes as usize / first.len()).min(records.len());
        if fits == 0 {
            return Err(Status::INVALID_FIELD);
        }
        let rest = records.split_off(fits);
        put(address(data, buffer_bytes)?, &records.concat(), memory);
        if rest.is_empty() {
            return Ok((fits as u32, 0));
        }
        self.last_cursor += 1;
        self.cursors.insert(self.last_cursor, (region, rest));
        if self.cursors.len() > CURSORS {
            self.cursors.pop_first();
        }
        Ok((fits as u32, self.last_cursor))
    }

    fn report(&self) -> Vec<RegionRecord> {
        let mut records = Vec::new();
        for (start, table) in &self.tables {
            let live = table.entries.iter().flatten().count() as u32;
            records.extend(table.names.iter().map(|(number, kind)| RegionRecord {
                region: (*number).into(),
                name_bits: (kind.bits as u16).into(),
                ternary: u32::from(kind.ternary).into(),
                start: (*start).into(),
                capacity: (table.capacity as u32).into(),
                entries: (table.entries.len() as u32).into(),
                live: live.into(),
                value_bytes: (table.value_bytes as u32).into(),
                ..RegionRecord::default()
            }));
        }
        records.sort_by_key(|record| record.region.get());
        records
    }
}

impl Table {
    fn parse(&self, mut record: &[u8]) -> Result<Entry, Status> {
        let mut take = |bytes| {
            let (taken, rest) = record.split_at(bytes);
            record = rest;
            taken
        };
        let mut names = BTreeMap::new();
        for (number, kind) in &self.names {
            let name = take(kind.name_bytes());
            let name = match kind.ternary {
                true => Pattern::new(kind.bits, name, take(kind.name_bytes()))?,
                false => Pattern::exact(kind.bits, name)?,
            };
            names.insert(*number, name);
        }
        let value = take(self.value_bytes).to_vec();
        Ok(Entry { names, value })
    }

    fn find(&self, query: &Query) -> Vec<usize> {
        let is_met =
            |entry: &Entry, term: &Term| term.pattern.matches(&entry.names[&term.region.get()]);
        self.matching(|entry| {
            let mut groups = query.groups().iter();
            groups.any(|terms| terms.iter().all(|term| is_met(entry, term)))
        })
    }

    fn matching(&self, is_wanted: impl Fn(&Entry) -> bool) -> Vec<usize> {
        let entries = self.entries.iter().enumerate();
        let found = entries.filter(|(_, entry)| entry.as_ref().is_some_and(&is_wanted));
        found.map(|(index, _)| index).collect()
    }

    fn given(&self, found: &[usize], parts: &[Part], returned: Returned) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        let mut last_page = None;
        for index in found {
            let entry = self.entries[*index].as_ref().expect("it was found");
            let page = index / (PAGE_BYTES / self.value_bytes).max(1);
            if returned.pages && last_page.replace(page) == Some(page) {
                continue;
            }
            let mut record = Vec::new();
            if returned.numbers {
                record.extend((*index as u64).to_le_bytes());
            }
            match (returned.pages, parts) {
                (true, _) => record.extend(self.page(page)),
                (false, []) => record.extend(&entry.value),
                (false, parts) => {
                    let part = |part: &Part| {
                        let first = part.first as usize;
                        &entry.value[first..first + part.bytes as usize]
                    };
                    record.extend(parts.iter().flat_map(part));
                }
            }
            records.push(record);
        }
        records
    }

    /// A logical page, of which deleted values are zero.
    fn page(&self, page: usize) -> Vec<u8> {
        let per_page = PAGE_BYTES / self.value_bytes;
        let none = vec![0; self.value_bytes];
        let entries = self.entries.iter().skip(page * per_page).take(per_page);
        let values = entries.map(|entry| entry.as_ref().map_or(&none, |entry| &entry.value));
        let mut bytes: Vec<u8> = values.flatten().copied().collect();
        bytes.resize(PAGE_BYTES, 0);
        bytes
    }
}

/// Where a transfer of `bytes` lies.
fn address(data: DataPointer, bytes: u32) -> Result<u64, Status> {
    match data {
        DataPointer::Sgl { length, .. } if length < bytes => Err(Status::DATA_SGL_LENGTH_INVALID),
        DataPointer::Sgl { address, .. } => Ok(address),
        DataPointer::Prp { .. } => panic!("the library sends SGLs where it transfers"),
    }
}

fn put(at: u64, bytes: &[u8], memory: &mut HostMemory) {
    let into = memory.slice_mut(at, bytes.len() as u64).expect("a buffer");
    into.copy_from_slice(bytes);
}

fn query_at(at: u64, bytes: u32, memory: &HostMemory) -> Result<Query, Status> {
    let bytes = memory.slice(at, u64::from(bytes)).expect("a buffer");
    Ok(Query::decode(bytes)?)
}
