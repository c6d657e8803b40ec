//! What a lookup has the parts of a drive do, for the cost model: the waves of senses, the match vectors and the reads by which
//! it is carried out, without their data. What matches is not known before: whoever asks says how much that will be.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use media::core::Work;
use media::dram::Toward;
use media::nand::{BlockId, MwsPlane, MwsSlot};
use nvme::command::Returned;
use nvme::query::Query;
use nvme::{NamespaceId, RegionId, Status};

use super::Search;
use super::find::Question;
use super::lookup::{records_at_once, shape_of};
use super::table::{Row, Table};
use super::values::{Shape, Wanted};
use super::vectors::looks;
use super::waves::{Pace, Sealed, flagged};
use crate::cache::Lookup;
use crate::cost::{
    AskedOfDies, BatchDemand, Command, CostModel, Demand, Destination, DieDemand, Fetch, Op,
    PageRead, StageDemand,
};
use crate::memory::BufferId;

/// How much a lookup is expected to find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpectedMatches {
    /// Entries that match. They are taken to lie evenly among all that there are.
    pub matches: u64,
    /// Logical pages that the values of these lie in, where that is known: those of a page lie side by side then.
    pub pages: Option<u64>,
}

impl From<u64> for ExpectedMatches {
    fn from(matches: u64) -> ExpectedMatches {
        ExpectedMatches {
            matches,
            pages: None,
        }
    }
}

/// A lookup that may be asked for.
pub struct LookupAhead<'a, B> {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The search region addressed.
    pub region: RegionId,
    /// What would be looked for.
    pub query: &'a Query,
    /// Bytes of that which are fetched from host memory; none where the command has it.
    pub query_bytes: u64,
    /// What would be returned.
    pub returned: Returned,
    /// Bytes of the host's buffers, for one command after the other.
    pub buffers: B,
    /// What it is expected to find.
    pub expected: ExpectedMatches,
}

/// What one command of a lookup gives.
struct Share<'e> {
    /// Entries before this one were given.
    from: u32,
    /// Those whose records it gives.
    entries: &'e [u32],
    /// The first one that there is no room for.
    more: Option<u32>,
}

/// What all commands of a lookup have in common.
struct Planned<'a, 'q> {
    table: &'a Table,
    question: &'a Question<'q>,
    shape: &'a Shape<'a>,
    /// By row: the numbers in it of the entries that match.
    matching: BTreeMap<u32, Vec<u32>>,
    model: &'a CostModel,
}

impl Search {
    /// What a lookup has the drive do, as things are now: command after command, each of which the host sends when it has
    /// the answer of the one before.
    ///
    /// # Errors
    /// Invalid Search Region; Invalid Field for parts outside of a value, or pages of values that take several or are wanted in
    /// parts.
    pub fn demands(
        &self,
        mut ahead: LookupAhead<'_, impl Iterator<Item = u64>>,
        model: &CostModel,
    ) -> Result<Vec<Demand>, Status> {
        let (table, _) = self.table_of(ahead.namespace, ahead.region)?;
        let shape = shape_of(&table, ahead.query, ahead.returned)?;
        let mut entries = expected_entries(&table, ahead.expected);
        let question = self.question(&table, ahead.query)?;
        let planned = Planned {
            table: &table,
            question: &question,
            shape: &shape,
            matching: by_row(&table, &entries),
            model,
        };
        if ahead.returned.count_only {
            entries.clear();
        }
        if ahead.returned.pages && self.config.duplicate_suppression {
            entries.dedup_by_key(|entry| table.values.value(*entry).lpn);
        }
        let mut demands = Vec::new();
        let (mut from, mut left) = (0, &entries[..]);
        loop {
            let room = ahead.buffers.next().unwrap_or(0) / shape.bytes(&table);
            let (given, later) = left.split_at(left.len().min(room.max(1) as usize));
            let more = later.first().copied();
            let share = Share {
                from,
                entries: given,
                more,
            };
            let query_bytes = if demands.is_empty() {
                ahead.query_bytes
            } else {
                0
            };
            demands.push(self.demand(&planned, &share, query_bytes));
            match more {
                Some(entry) => (from, left) = (entry, later),
                None => return Ok(demands),
            }
        }
    }

    /// What one command has the drive do: names that wait are compared, then rows are sensed, then values read.
    fn demand(&self, planned: &Planned<'_, '_>, share: &Share<'_>, query_bytes: u64) -> Demand {
        let table = planned.table;
        let rows = table.rows_from(share.from / table.values.row_names);
        let waiting = rows.iter().filter(|row| !row.is_sealed());
        let waiting = waiting.map(|row| u64::from(row.entries.get())).sum::<u64>();
        let sealed: Vec<Sealed> = rows
            .iter()
            .filter_map(|row| Some((row.clone(), row.blocks.borrow().clone()?)))
            .collect();
        let names = waiting * table.asked_bytes(&planned.question.groups);
        let mut stages = vec![self.examining(names)];
        if !sealed.is_empty() {
            stages.push(self.sensing(planned, &sealed, share.more));
        }
        let each = planned.shape.bytes(table);
        for entries in share.entries.chunks(records_at_once(each)) {
            stages.push(self.reading(table, entries, planned.shape));
        }
        Demand {
            fetched_bytes: query_bytes,
            firmware: vec![Work::Fetch, Work::Plan],
            dies: vec![DieDemand { stages }],
            answer_bytes: share.entries.len() as u64 * each,
        }
    }

    /// Names that wait, looked through by a core.
    fn examining(&self, bytes: u64) -> (Rc<StageDemand>, Vec<BatchDemand>) {
        let ops = vec![
            Op::Dram(self.partition, Toward::Reader),
            Op::Work(Work::Examine),
        ];
        let batch = BatchDemand {
            bytes,
            works: looks(bytes),
            ..nothing_asked()
        };
        (Rc::new(stage(Vec::new(), ops, (1, 0))), vec![batch])
    }

    /// Rows that are sensed wave after wave, and what of their match vectors is kept; until the wave that has the first match
    /// that there is no room for.
    fn sensing(
        &self,
        planned: &Planned<'_, '_>,
        sealed: &[Sealed],
        more: Option<u32>,
    ) -> (Rc<StageDemand>, Vec<BatchDemand>) {
        let Pace {
            at_once,
            room,
            buffers,
        } = self.pace(sealed.len());
        let ahead = match room == sealed.len() {
            true => room.div_ceil(at_once),
            false => (room / at_once).max(1),
        };
        let last = more.and_then(|entry| {
            let row = entry / planned.table.values.row_names;
            // If its names wait, what comes after it in flash is not asked for either.
            let found = sealed.binary_search_by_key(&row, |(row, _)| row.number);
            let place = found.unwrap_or_else(|next| next);
            (place < sealed.len()).then_some(place / at_once)
        });
        let waves = sealed.chunks(at_once).enumerate();
        let begun = waves.take(last.map_or(usize::MAX, |last| last + ahead));
        let batches = begun.map(|(number, rows)| {
            let is_seen = last.is_none_or(|last| number <= last);
            let rows_kept = rows.iter().filter(|_| is_seen);
            let bytes = rows_kept.map(|(row, _)| self.kept(planned, row)).sum();
            let dies = self.batches(rows).into_iter();
            let dies = dies.map(|(die, places)| (die.0, places.len() as u32));
            BatchDemand {
                bytes,
                works: looks(bytes),
                asked: vec![AskedOfDies::Commands(dies.collect())],
                ..nothing_asked()
            }
        });
        let ops = vec![
            Op::Fetched { operand: false },
            Op::Dram(self.partition, Toward::Cells),
            Op::Dram(self.partition, Toward::Reader),
            Op::Work(Work::Examine),
        ];
        let fetches = vec![self.comparing(planned)];
        let stage = stage(fetches, ops, (ahead, buffers));
        (Rc::new(stage), batches.collect())
    }

    /// Bytes that are kept of the match vector of a row.
    fn kept(&self, planned: &Planned<'_, '_>, row: &Row) -> u64 {
        let matching = planned.matching.get(&row.number);
        self.kept_of(matching.into_iter().flatten().copied())
    }

    /// The senses of a row, wherever its blocks are.
    fn comparing(&self, planned: &Planned<'_, '_>) -> Fetch {
        let senses = self.senses(planned.table, planned.question);
        let of = |planes| -> Vec<Command> {
            let commands = flagged(&senses).map(|(&(_, _, wordlines), iscm)| {
                let slot = MwsSlot {
                    block: BlockId(0),
                    string: 0,
                    wordlines,
                };
                let slots = [slot].into_iter().collect();
                planned.model.sense(iscm, &MwsPlane { slots }, planes)
            });
            commands.collect()
        };
        Fetch {
            commands: (1..=self.geometry.planes_per_die).map(of).collect(),
        }
    }

    /// Values that are read for records.
    fn reading(
        &self,
        table: &Table,
        entries: &[u32],
        shape: &Shape<'_>,
    ) -> (Rc<StageDemand>, Vec<BatchDemand>) {
        let (wanted, _) = self.wanted(table, entries, shape);
        let (most, each) = self.pages_at_once();
        let batches = wanted.chunks(most).map(|wanted| BatchDemand {
            asked: vec![self.parts(table, wanted)],
            ..nothing_asked()
        });
        let ops = vec![Op::Fetched { operand: false }];
        let fetches = vec![Fetch {
            commands: Vec::new(),
        }];
        let buffers = wanted.len().min(most) as u32 * each;
        (
            Rc::new(stage(fetches, ops, (1, buffers))),
            batches.collect(),
        )
    }

    /// Where stretches of pages are: on flash or in the data cache, or of both some.
    fn parts(&self, table: &Table, wanted: &[Wanted]) -> AskedOfDies {
        let (mut reads, mut cached) = (Vec::new(), Vec::new());
        for wanted in wanted {
            let slice = wanted.slice(table, BufferId::NONE);
            let (found, missing) = match self.cache.peek(&slice) {
                Lookup::Hit(found) => (Some(found), None),
                Lookup::Miss => (None, Some(slice)),
                Lookup::PartialHit(rest) => (Some(rest.found), Some(rest.of(slice))),
            };
            cached.extend(found.map(|found| found.in_dram()));
            if let Some(slice) = missing {
                self.ftl
                    .each_read(slice, |read, mode| reads.push(PageRead::of(&read, mode)));
            }
        }
        AskedOfDies::Reads { reads, cached }
    }
}

/// A batch of which nothing is asked.
fn nothing_asked() -> BatchDemand {
    BatchDemand {
        die: 0,
        pages: 0,
        bytes: 0,
        works: 0,
        asked: Vec::new(),
        programmed: Vec::new(),
    }
}

/// A stage whose batches stay in the controller, so many of them on their way in so many page buffers.
fn stage(fetches: Vec<Fetch>, ops: Vec<Op>, (ahead, buffers): (usize, u32)) -> StageDemand {
    StageDemand {
        fetches,
        ops,
        ahead,
        buffers,
        keeps: true,
        through_accelerator: false,
        destination: Destination::Nowhere,
    }
}

/// The numbers of entries, ascending, in which as many may match as are expected.
fn expected_entries(table: &Table, expected: ExpectedMatches) -> Vec<u32> {
    let rows: Vec<Range<u32>> = table
        .rows_from(0)
        .iter()
        .map(|row| {
            let first = row.number * table.values.row_names;
            first..first + row.entries.get()
        })
        .collect();
    let all: u64 = rows.iter().map(|row| row.len() as u64).sum();
    let matches = expected.matches.min(all);
    let entries = match expected.pages {
        None => apart(&rows, matches, all),
        Some(pages) => {
            let per_page = table.values.per_page().max(1);
            let in_pages = rows.iter().flat_map(|row| {
                let begins = row.clone().step_by(per_page as usize);
                begins.map(|begin| begin..row.end.min(begin + per_page))
            });
            side_by_side(&in_pages.collect::<Vec<_>>(), matches, pages)
        }
    };
    debug_assert!(entries.is_sorted_by(|one, next| one < next));
    entries
}

/// So many of `all` numbers, as far apart as they can be.
fn spread(count: u64, all: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |at| (u128::from(at) * u128::from(all) / u128::from(count)) as u64)
}

/// So many of all entries of rows, apart from one another.
fn apart(rows: &[Range<u32>], matches: u64, all: u64) -> Vec<u32> {
    let mut rows = rows.iter();
    let mut row = 0..0;
    let mut before = 0;
    let entries = spread(matches, all).map(|at| {
        while at - before >= row.len() as u64 {
            before += row.len() as u64;
            row = rows.next().expect("there are as many as in all").clone();
        }
        row.start + (at - before) as u32
    });
    entries.collect()
}

/// So many of the entries of pages, in so many of these if they have room for them: the pages apart, in each the first ones, and
/// as many as in the others if there are.
fn side_by_side(pages: &[Range<u32>], matches: u64, count: u64) -> Vec<u32> {
    let all = pages.len() as u64;
    let mut count = count.min(matches).min(all);
    let mut chosen: Vec<Range<u32>>;
    loop {
        chosen = spread(count, all)
            .map(|at| pages[at as usize].clone())
            .collect();
        let room: u64 = chosen.iter().map(|page| page.len() as u64).sum();
        if room >= matches {
            break;
        }
        // At once if all pages are full but those that rows end with.
        let most = pages[0].len() as u64;
        count = all.min(count + (matches - room).div_ceil(most));
    }
    let mut by_room: Vec<usize> = (0..chosen.len()).collect();
    by_room.sort_by_key(|at| chosen[*at].len());
    let mut left = matches;
    for (done, at) in by_room.into_iter().enumerate() {
        let page = &mut chosen[at];
        let share = (left / (count - done as u64)).min(page.len() as u64);
        page.end = page.start + share as u32;
        left -= share;
    }
    chosen.into_iter().flatten().collect()
}

fn by_row(table: &Table, entries: &[u32]) -> BTreeMap<u32, Vec<u32>> {
    let row_names = table.values.row_names;
    let mut rows: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in entries {
        let row = rows.entry(entry / row_names).or_default();
        row.push(entry % row_names);
    }
    rows
}
