//! Values: reading them for records, and writing those that are appended.

use media::dram::ScatteredAccess;
use nvme::query::Part;
use sim::join_all;

use super::table::Table;
use super::{Search, SearchError};
use crate::cache::{Lookup, ReadStamp, Rest};
use crate::ftl::{Lpn, PageSlice};
use crate::memory::{Buffer, BufferId};
use crate::schedule::{Notify, Origin};

/// Reads begin and end with sectors.
const SECTOR_BYTES: u32 = 512;
/// Pages that a command reads or writes at a time, at most.
const PAGES_AT_ONCE: u32 = 512;

/// Logical pages that values of entries one after another fill in part, at most: the first and the last. What the data cache
/// has of one that is read takes a buffer of its own beside that of their flash page: three in all, which are always there
/// ([`crate::memory::MemoryConfig::page_buffers_min`]).
const PARTLY_FILLED_MAX: u32 = 2;

/// What a record has of an entry.
pub(super) struct Shape<'a> {
    /// The entry's number first.
    pub(super) numbers: bool,
    /// The logical page of its value.
    pub(super) pages: bool,
    /// These parts of the value; all of it if there are none.
    pub(super) parts: &'a [Part],
}

impl Shape<'_> {
    /// Bytes of a record.
    pub(super) fn bytes(&self, table: &Table) -> u64 {
        let content = match (self.pages, self.parts) {
            (true, _) => u64::from(table.values.page_bytes()),
            (false, []) => u64::from(table.values.value_bytes),
            (false, parts) => parts.iter().map(|part| u64::from(part.bytes)).sum(),
        };
        content + if self.numbers { 8 } else { 0 }
    }
}

/// A stretch of a logical page that is read.
pub(super) struct Wanted {
    lpn: Lpn,
    begin: u32,
    end: u32,
    /// Which of the copies are out of it.
    copies: std::ops::Range<usize>,
}

impl Wanted {
    /// The sectors of it, read to a buffer.
    pub(super) fn slice(&self, table: &Table, into: BufferId) -> PageSlice {
        let column = self.begin / SECTOR_BYTES * SECTOR_BYTES;
        let end = self.end.next_multiple_of(SECTOR_BYTES);
        let end = end.min(table.values.page_bytes());
        PageSlice::new(self.lpn, column, end - column, into)
    }
}

/// What becomes of bytes that are read: where they begin in their page, how many, and where they go in the records.
pub(super) struct Copied {
    column: u32,
    bytes: u32,
    to: usize,
}

impl Search {
    /// The records of entries, which are in ascending order.
    pub(super) async fn read_records(
        &self,
        table: &Table,
        entries: &[u32],
        shape: &Shape<'_>,
        origin: Origin,
    ) -> Result<Vec<u8>, SearchError> {
        let record_bytes = shape.bytes(table) as usize;
        let mut records = vec![0; record_bytes * entries.len()];
        if shape.numbers {
            let numbered = records.chunks_exact_mut(record_bytes).zip(entries);
            numbered.for_each(|(record, entry)| {
                record[..8].copy_from_slice(&u64::from(*entry).to_le_bytes());
            });
        }
        let (wanted, copies) = self.wanted(table, entries, shape);
        let (most, each) = self.pages_at_once();
        for wanted in wanted.chunks(most) {
            let _room = self.buffers.rooms(wanted.len() as u32 * each).await;
            let pages: Vec<Buffer<'_>> = wanted.iter().map(|_| self.buffers.take()).collect();
            let slices = wanted.iter().zip(&pages);
            let slices = slices.map(|(wanted, page)| PageSlice {
                origin,
                ..wanted.slice(table, page.id())
            });
            self.fetch(&slices.collect::<Vec<_>>()).await?;
            for (wanted, page) in wanted.iter().zip(&pages) {
                self.buffers.with(page.id(), |page| {
                    for copied in &copies[wanted.copies.clone()] {
                        let from = copied.column as usize..(copied.column + copied.bytes) as usize;
                        records[copied.to..][..from.len()].copy_from_slice(&page[from]);
                    }
                });
            }
            self.count(|counts| counts.value_pages_read += wanted.len() as u64);
        }
        Ok(records)
    }

    /// How many stretches of pages are read at a time, at most, and the page buffers for each: what the data cache has of one
    /// takes another.
    pub(super) fn pages_at_once(&self) -> (usize, u32) {
        let each = 1 + u32::from(self.cache.is_on());
        let most = (self.buffers.most_at_once() / each).clamp(1, PAGES_AT_ONCE);
        (most as usize, each)
    }

    /// The stretches of pages that the records of entries are made of, and what goes where from these.
    pub(super) fn wanted(
        &self,
        table: &Table,
        entries: &[u32],
        shape: &Shape<'_>,
    ) -> (Vec<Wanted>, Vec<Copied>) {
        let each = shape.bytes(table) as usize;
        let (mut wanted, mut copies) = (Vec::<Wanted>::new(), Vec::new());
        for (at, &entry) in entries.iter().enumerate() {
            let mut to = at * each + if shape.numbers { 8 } else { 0 };
            let own = wanted.len();
            let mut want = |(lpn, column, bytes): (Lpn, u32, u32)| {
                copies.push(Copied { column, bytes, to });
                to += bytes as usize;
                let end = column + bytes;
                let shares = wanted.len() > own || self.config.duplicate_suppression;
                match wanted.last_mut().filter(|last| last.lpn == lpn && shares) {
                    Some(last) => {
                        (last.begin, last.end) = (last.begin.min(column), last.end.max(end));
                        last.copies.end = copies.len();
                    }
                    None => wanted.push(Wanted {
                        lpn,
                        begin: column,
                        end,
                        copies: copies.len() - 1..copies.len(),
                    }),
                }
            };
            let whole = 0..table.values.value_bytes;
            match (shape.pages, shape.parts) {
                (true, _) => want((table.values.value(entry).lpn, 0, table.values.page_bytes())),
                (false, []) => table.values.pieces(entry, whole).for_each(want),
                (false, parts) => parts.iter().for_each(|part| {
                    let bytes = part.first..part.first + part.bytes;
                    table.values.pieces(entry, bytes).for_each(&mut want);
                }),
            }
        }
        (wanted, copies)
    }

    /// Reads slices of logical pages to their buffers, from the cache where it has them; there is room for another buffer for
    /// each if there is a cache.
    async fn fetch(&self, slices: &[PageSlice]) -> Result<(), SearchError> {
        let lpns = slices.iter().map(|slice| slice.lpn);
        self.ftl.entries_for(lpns).await?;
        let ticket = self.ftl.ticket();
        let to: Notify = ticket.id().into();
        let mut cached = ScatteredAccess::default();
        let mut rests: Vec<(Rest, Buffer<'_>, BufferId)> = Vec::new();
        let mut kept: Vec<(PageSlice, ReadStamp)> = Vec::new();
        for slice in slices {
            let stamp = self.cache.read_stamp(slice.lpn);
            let requester = slice.origin.requester();
            match self.cache.lookup(slice) {
                Lookup::Hit(found) => self.cache.add_hit(&mut cached, requester, found),
                Lookup::Miss => {
                    self.ftl.read(*slice, to);
                    kept.push((*slice, stamp));
                }
                Lookup::PartialHit(rest) => {
                    self.cache.add_hit(&mut cached, requester, rest.found);
                    let other = self.buffers.take();
                    let missing = PageSlice {
                        buffer: other.id(),
                        ..rest.of(*slice)
                    };
                    self.ftl.read(missing, to);
                    rests.push((rest, other, slice.buffer));
                }
            }
        }
        let cached = self.cache.post_hits(cached);
        ticket.await?;
        if let Some(arrives) = cached {
            self.sim.sleep_until(arrives).await;
        }
        for (rest, from, into) in &rests {
            self.cache.merge(rest, from.id(), *into);
        }
        for (slice, stamp) in kept {
            self.cache.keep(slice, stamp);
        }
        Ok(())
    }

    /// Writes the values of entries that follow one another in a row, from the first on, durably. `value` gives each.
    pub(super) async fn write_values<'v>(
        &self,
        table: &Table,
        (first, count): (u32, u32),
        value: impl Fn(u32) -> &'v [u8],
        origin: Origin,
    ) -> Result<(), SearchError> {
        let layout = &table.values;
        let begin = layout.value(first);
        let last = layout.pieces(first + count - 1, 0..layout.value_bytes);
        let end = last.last().map_or(begin.lpn.0, |(lpn, ..)| lpn.0) + 1;
        // Logical pages that can be programmed together.
        let per_page = self.ftl.unit().per_page();
        let groups = (begin.lpn.0..end).step_by(per_page as usize);
        let groups: Vec<_> = groups.map(|lpn| lpn..(lpn + per_page).min(end)).collect();
        let partly_filled = match self.cache.is_on() {
            true => per_page.min(PARTLY_FILLED_MAX),
            false => 0,
        };
        let each = 1 + partly_filled;
        let most = (self.buffers.most_at_once() / each).clamp(1, PAGES_AT_ONCE);
        for groups in groups.chunks(most as usize) {
            let _room = self.buffers.rooms(groups.len() as u32 * each).await;
            let written = groups.iter().map(|pages| {
                self.write_pages(table, pages.clone(), (first, count), &value, origin)
            });
            let written = join_all(written).await;
            written.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    /// Writes the logical pages of values that go to one flash page. What else is in them stays.
    async fn write_pages<'v>(
        &self,
        table: &Table,
        pages: std::ops::Range<u32>,
        (first, count): (u32, u32),
        value: &impl Fn(u32) -> &'v [u8],
        origin: Origin,
    ) -> Result<(), SearchError> {
        let (layout, unit) = (&table.values, table.values.page_bytes());
        let buffer = self.buffers.take();
        let mut admission = self.cache.admission();
        let lock = admission.aside(self.ftl.lock(pages.clone())).await;
        let slices: Vec<PageSlice> = (0..)
            .zip(pages.clone())
            .map(|(place, lpn)| PageSlice {
                base: place * unit,
                origin,
                ..PageSlice::new(Lpn(lpn), 0, unit, buffer.id())
            })
            .collect();
        let row = first / layout.row_names;
        let row_first = layout.first.0 + row * layout.row_pages() as u32;
        // The entries of a page, and whether all that it has room for are written.
        let entries = |lpn: u32| match layout.per_page() {
            0 => {
                let each = layout.value_bytes.div_ceil(unit);
                let index = (lpn - row_first) / each;
                (row * layout.row_names + index, 1, true)
            }
            per_page => {
                let begin = row * layout.row_names + (lpn - row_first) * per_page;
                let from = begin.max(first);
                let until = (begin + per_page).min(first + count);
                (from, until - from, until - from == per_page)
            }
        };
        let partial: Vec<PageSlice> = slices
            .iter()
            .filter(|slice| !entries(slice.lpn.0).2)
            .copied()
            .collect();
        self.buffers.with_mut(buffer.id(), |page| page.fill(0));
        if !partial.is_empty() {
            admission.aside(self.fetch(&partial)).await?;
        }
        for slice in &slices {
            let (from, count, _) = entries(slice.lpn.0);
            self.buffers.with_mut(buffer.id(), |page| {
                for entry in from..from + count {
                    let value = value(entry);
                    let mut done = 0;
                    for (lpn, column, bytes) in layout.pieces(entry, 0..layout.value_bytes) {
                        let bytes = bytes as usize;
                        if lpn == slice.lpn {
                            let to = (slice.base + column) as usize;
                            page[to..to + bytes].copy_from_slice(&value[done..done + bytes]);
                        }
                        done += bytes;
                    }
                }
            });
        }
        admission.write(&lock, &slices, true).await?;
        let arrival = admission.arrival();
        drop(lock);
        self.sim.sleep_until(arrival).await;
        Ok(())
    }
}
