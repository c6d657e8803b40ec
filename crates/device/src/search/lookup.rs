//! Lookups: what matches, as records in host memory; and where to go on if the host's buffer was too small.

use std::collections::BTreeMap;

use nvme::command::{Lookup, LookupContinue, Returned, SimpleLookup};
use nvme::query::{Pattern, Query};
use nvme::{DataPointer, NamespaceId, RegionId, SegmentList, Status};

use super::find::Question;
use super::index::Nearness;
use super::table::{Snapshot, Table};
use super::values::Shape;
use super::{Search, SearchError};
use crate::schedule::Origin;
use media::link::Carries;

/// Lookups that can be gone on with.
const CURSORS_MAX: usize = 16;
/// Values that are read at once at most, in bytes of records.
const RECORDS_AT_ONCE: u64 = 1 << 20;

/// Records of so many bytes whose values are read at once.
pub(super) fn records_at_once(record_bytes: u64) -> usize {
    (RECORDS_AT_ONCE / record_bytes).max(1) as usize
}

/// A lookup as a command asks for it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The search region addressed.
    pub region: RegionId,
    /// What is looked for.
    query: Query,
    /// What is returned.
    returned: Returned,
    /// Where it goes on; from the first entry on if it begins.
    from: Option<Place>,
}

/// Where a lookup goes on.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Entries before this one were returned.
    entry: u32,
    /// What its table had counted of deletions and updates when it began. Once that is past there is no going on: an update
    /// may have moved a name to a number before `entry`, or past it.
    deletions: u64,
}

/// What one command of a lookup has found.
#[derive(Default)]
struct Matches {
    /// Numbers of the entries whose records there was room for.
    entries: Vec<u32>,
    /// The first one that there was no room for.
    more: Option<u32>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// DW0 of the completion.
    pub dw0: u32,
    /// DW1.
    pub dw1: u32,
    /// Bytes of records, which are in host memory and have yet to cross the link.
    pub data_bytes: u64,
}

/// Where lookups can be gone on with.
#[derive(Default)]
pub(super) struct Cursors {
    last: u32,
    open: BTreeMap<u32, Asked>,
}

impl Cursors {
    /// Keeps a lookup; gives its cursor.
    fn keep(&mut self, asked: Asked) -> u32 {
        self.last = self.last.checked_add(1).unwrap_or(1);
        self.keep_as(self.last, asked);
        self.last
    }

    /// Keeps it under a cursor that it had.
    fn keep_as(&mut self, cursor: u32, asked: Asked) {
        self.open.insert(cursor, asked);
        if self.open.len() > CURSORS_MAX {
            self.open.pop_first();
        }
    }

    /// Forgets the lookups in a region.
    pub(super) fn forget(&mut self, region: u16) {
        let named = |asked: &Asked| {
            let mut terms = asked.query.terms();
            asked.region.get() == region || terms.any(|term| term.region.get() == region)
        };
        self.open.retain(|_, asked| !named(asked));
    }
}

impl Search {
    /// Looks up one name of up to 127 bits.
    ///
    /// # Errors
    /// Those of [`Search::look_up`].
    pub async fn look_up_simply(
        &self,
        lookup: &SimpleLookup,
        origin: Origin,
    ) -> Result<Done, SearchError> {
        self.prefetch(lookup.region, &lookup.name, Nearness::Next);
        let name = Pattern::new(nvme::command::SIMPLE_NAME_BITS, &lookup.name, &lookup.mask)?;
        let asked = Asked {
            namespace: lookup.namespace,
            region: lookup.region,
            query: Query::of(lookup.region, name),
            returned: lookup.returned,
            from: None,
        };
        self.carry_out(&asked, (lookup.data, lookup.buffer_bytes), origin)
            .await
    }

    /// Looks up what a query in host memory finds.
    ///
    /// # Errors
    /// No query, a search region of another data region, a part outside of a value, host memory that is not there, or flash
    /// that lost data.
    pub async fn look_up(&self, lookup: &Lookup, origin: Origin) -> Result<Done, SearchError> {
        let query = self
            .fetch_query(lookup.query_address, lookup.query_bytes, origin)
            .await?;
        let asked = Asked {
            namespace: lookup.namespace,
            region: lookup.region,
            query,
            returned: lookup.returned,
            from: None,
        };
        self.carry_out(&asked, (lookup.data, lookup.buffer_bytes), origin)
            .await
    }

    /// Goes on with a lookup: what all of its commands give is of the moment at which the first one looked, and of entries
    /// that were appended since.
    ///
    /// # Errors
    /// Lookup Cursor Expired, also since something was deleted or updated; those of [`Search::look_up`].
    pub async fn look_up_more(
        &self,
        lookup: &LookupContinue,
        origin: Origin,
    ) -> Result<Done, SearchError> {
        let asked = {
            let mut cursors = self.cursors.borrow_mut();
            let known = cursors.open.get(&lookup.cursor);
            let known = known.filter(|asked| asked.namespace == lookup.namespace);
            if known.ok_or(Status::CURSOR_EXPIRED)?.region != lookup.region {
                return Err(Status::INVALID_REGION.into());
            }
            cursors.open.remove(&lookup.cursor)
        };
        let asked = asked.ok_or(Status::CURSOR_EXPIRED)?;
        let done = self
            .carry_out(&asked, (lookup.data, lookup.buffer_bytes), origin)
            .await;
        let over = SearchError::Refused(Status::CURSOR_EXPIRED);
        if done.as_ref().is_err_and(|error| *error != over) {
            // The host can ask again, with a larger buffer.
            self.cursors.borrow_mut().keep_as(lookup.cursor, asked);
        }
        done
    }

    /// The query that lies in host memory.
    ///
    /// # Errors
    /// There is none.
    pub async fn fetch_query(
        &self,
        address: u64,
        bytes: u32,
        origin: Origin,
    ) -> Result<Query, SearchError> {
        let parameters = self
            .port
            .fetch_bytes(origin, Carries::Parameters, bytes.into());
        parameters.await;
        let mut query = vec![0; bytes as usize];
        self.port.read(address, &mut query)?;
        Ok(Query::decode(&query)?)
    }

    async fn carry_out(
        &self,
        asked: &Asked,
        (data, buffer_bytes): (DataPointer, u32),
        origin: Origin,
    ) -> Result<Done, SearchError> {
        let (table, _) = self.table_of(asked.namespace, asked.region)?;
        // What search regions there are stays as it is until all is found.
        let _gate = table.gate.acquire(1).await;
        // Whoever fetches commands sees whether there are others: what happens alone is simulated in less time.
        self.sim.yield_now().await;
        table.column_still(asked.region)?;
        let shape = shape_of(&table, &asked.query, asked.returned)?;
        let question = self.question(&table, &asked.query)?;
        self.count(|counts| counts.lookups += 1);
        if asked.returned.count_only {
            return self.count_matches(&table, &question, origin).await;
        }
        let of: (&Table, _, _) = (&table, asked, &question);
        Box::pin(self.give_records(of, &shape, (data, buffer_bytes), origin)).await
    }

    /// The records of entries that match.
    async fn give_records(
        &self,
        (table, asked, question): (&Table, &Asked, &Question<'_>),
        shape: &Shape<'_>,
        (data, buffer_bytes): (DataPointer, u32),
        origin: Origin,
    ) -> Result<Done, SearchError> {
        let room = u64::from(buffer_bytes) / shape.bytes(table);
        let segments = match buffer_bytes {
            0 => SegmentList::default(),
            bytes => self.port.locate(origin, &data, bytes.into()).await?,
        };
        self.port.check(&segments)?;
        // Until the values are read, too, for others take the place of those of entries that are deleted.
        let snapshot = table.snapshot();
        let deletions = table.deletions.get();
        if asked.from.is_some_and(|from| from.deletions != deletions) {
            return Err(Status::CURSOR_EXPIRED.into());
        }
        let Matches { entries, more } = self
            .take_matches((table, &snapshot), (asked, question), room, origin)
            .await?;
        if entries.is_empty() && more.is_some() {
            return Err(Status::INVALID_FIELD.into());
        }
        self.count(|counts| counts.entries_found += entries.len() as u64);
        let data_bytes = self
            .send_records(table, &entries, shape, &segments, origin)
            .await?;
        drop(snapshot);
        let cursor = more.map_or(0, |entry| {
            let asked = Asked {
                from: Some(Place { entry, deletions }),
                ..asked.clone()
            };
            self.cursors.borrow_mut().keep(asked)
        });
        Ok(Done {
            dw0: entries.len() as u32,
            dw1: cursor,
            data_bytes,
        })
    }

    /// How many entries match, and nothing of them.
    async fn count_matches(
        &self,
        table: &Table,
        question: &Question<'_>,
        origin: Origin,
    ) -> Result<Done, SearchError> {
        let mut count = 0u64;
        let snapshot = table.snapshot();
        let counted = self.each_match((table, &snapshot), question, 0, origin, |_, found| {
            count += found.count() as u64;
            true
        });
        counted.await?;
        self.count(|counts| counts.entries_found += count);
        Ok(Done {
            dw0: u32::try_from(count).unwrap_or(u32::MAX),
            ..Done::default()
        })
    }

    /// The entries that match, as many as there is room for records.
    async fn take_matches(
        &self,
        (table, snapshot): (&Table, &Snapshot<'_>),
        (asked, question): (&Asked, &Question<'_>),
        room: u64,
        origin: Origin,
    ) -> Result<Matches, SearchError> {
        let from = asked.from.map_or(0, |from| from.entry);
        let row_names = table.values.row_names;
        let skips = asked.returned.pages && self.config.duplicate_suppression;
        let mut matches = Matches::default();
        let mut last_page = None;
        let of = (table, snapshot);
        let found = self.each_match(of, question, from, origin, |row, found| {
            for index in found {
                let entry = row.number * row_names + index;
                if skips {
                    let page = Some(table.values.value(entry).lpn);
                    if std::mem::replace(&mut last_page, page) == page {
                        continue;
                    }
                }
                if matches.entries.len() as u64 == room {
                    matches.more = Some(entry);
                    return false;
                }
                matches.entries.push(entry);
            }
            true
        });
        found.await?;
        Ok(matches)
    }

    /// Puts the records of entries into host memory; gives the bytes that have yet to cross the link.
    async fn send_records(
        &self,
        table: &Table,
        entries: &[u32],
        shape: &Shape<'_>,
        segments: &SegmentList,
        origin: Origin,
    ) -> Result<u64, SearchError> {
        let at_once = records_at_once(shape.bytes(table));
        let mut offset = 0;
        for entries in entries.chunks(at_once) {
            let records = self.read_records(table, entries, shape, origin).await?;
            self.port.write_at(segments, offset, &records)?;
            offset += records.len() as u64;
        }
        Ok(offset)
    }
}

/// What the records of a lookup have of entries.
///
/// # Errors
/// Invalid Field for parts outside of a value, or pages of values that take several or are wanted in parts.
pub(super) fn shape_of<'a>(
    table: &Table,
    query: &'a Query,
    returned: Returned,
) -> Result<Shape<'a>, Status> {
    let value_bytes = u64::from(table.values.value_bytes);
    let parts = query.parts();
    let outside =
        |part: &nvme::query::Part| u64::from(part.first) + u64::from(part.bytes) > value_bytes;
    let whole = table.values.per_page() > 0 && parts.is_empty();
    if parts.iter().any(outside) || (returned.pages && !whole) {
        return Err(Status::INVALID_FIELD);
    }
    Ok(Shape {
        numbers: returned.numbers,
        pages: returned.pages,
        parts,
    })
}
