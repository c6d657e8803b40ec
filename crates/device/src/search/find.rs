//! Searches: what a query asks of the flash, and the entries that match, row after row.
//!
//! A search is a multi-wordline sense (`media::nand`): of each pair of cells it selects the first for a bit of 1 and the second
//! for 0. Slices and terms are ANDed in the sensing latch, groups ORed in the other, so that one vector leaves each plane
//! whatever is asked for.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use media::nand::{BlockId, Command, MwsPlane, MwsSlot, WordlineBitmap};
use nvme::query::{Pattern, Query};
use sim::Span;
use smallvec::SmallVec;

use super::bits::{ones, words};
use super::index::Entries;
use super::names::Terms;
use super::table::{Column, Row, Snapshot, Table};
use super::waves::{Pace, Sealed, Senses, SliceSense, flagged};
use super::{Search, SearchError};
use crate::memory::Buffer;
use crate::schedule::{Compute, Origin, Ticket};

/// What is looked for: any of these groups, all patterns of it.
pub(super) struct Question<'a> {
    pub(super) groups: SmallVec<[Terms<'a>; 1]>,
}

/// When rows that were sensed at the same time were over, after the first began.
pub(super) struct Times {
    /// How many rows each.
    pub(super) at_once: usize,
    pub(super) ends: Vec<Span>,
    /// Computations that this took.
    pub(super) computations: u64,
}

impl Row {
    /// The entries that match, as far as they are in memory.
    pub(super) fn entries_matching(&self, question: &Question<'_>) -> Vec<u32> {
        let names = self.names.borrow();
        let found = names.as_ref().map(|names| names.matching(&question.groups));
        found.map_or(Vec::new(), |found| ones(found.iter().copied()).collect())
    }
}

/// A row as it was when a lookup began.
enum View {
    /// Its names were in memory: the entries that match.
    Known(Rc<Row>, Box<[u64]>),
    /// They are in these blocks.
    Sealed(Rc<Row>, Rc<[Vec<BlockId>]>),
}

impl View {
    /// The row whose names were in memory.
    fn known(&self) -> Option<&Rc<Row>> {
        match self {
            View::Known(row, _) => Some(row),
            View::Sealed(..) => None,
        }
    }
}

/// What the sense of a row gave.
enum Vector<'v, 'b> {
    /// It is in a page buffer.
    Read(&'v Buffer<'b>),
    /// A drive that keeps no data knows it from the names: the entries that match.
    Told(Vec<u32>),
}

/// What rows are sensed for.
struct Sensing<'q, 'a> {
    question: &'q Question<'a>,
    senses: Senses,
    /// Of a drive that keeps no data: the entries that match, if that is known of all rows.
    told: Option<Entries>,
    origin: Origin,
}

/// Rows that are sensed at the same time.
struct Wave<'a> {
    ticket: Ticket<'a>,
    vectors: Vec<Buffer<'a>>,
}

impl Search {
    /// What a query asks of a table.
    ///
    /// # Errors
    /// Invalid Search Region if it names one of another table.
    pub(super) fn question<'a>(
        &self,
        table: &Table,
        query: &'a Query,
    ) -> Result<Question<'a>, nvme::Status> {
        let term = |term: &'a nvme::query::Term| match table.column(term.region.get()) {
            Some(column) => Ok((column, &term.pattern)),
            None => Err(nvme::Status::INVALID_REGION),
        };
        let group = |terms: &'a nvme::query::Terms| {
            terms.iter().map(term).collect::<Result<Terms<'a>, _>>()
        };
        let groups = query.groups().iter().map(group);
        let groups = groups.collect::<Result<_, _>>()?;
        Ok(Question { groups })
    }

    /// What a question senses of each row.
    pub(super) fn senses(&self, table: &Table, question: &Question<'_>) -> Senses {
        let columns = table.columns.borrow();
        let groups = question.groups.iter();
        groups
            .map(|group| self.senses_of(&columns, group))
            .collect()
    }

    fn senses_of(&self, columns: &[Column], group: &[(usize, &Pattern)]) -> Vec<SliceSense> {
        let mut layers: BTreeMap<(usize, u32), WordlineBitmap> = BTreeMap::new();
        for (column, pattern) in group {
            let cares = pattern.cares();
            for (bit, value) in cares.take_while(|(bit, _)| *bit < columns[*column].bits) {
                let (slice, pair) = self.layout.pair_of(bit);
                let of_slice = layers
                    .entry((*column, slice))
                    .or_insert(WordlineBitmap::EMPTY);
                of_slice.insert(2 * pair + u32::from(!value));
            }
        }
        // Whether the entry is there costs no sense where a first slice is sensed anyway.
        let first = layers.keys().find(|(_, slice)| *slice == 0).copied();
        let first = first.unwrap_or((group[0].0, 0));
        let valid = layers.entry(first).or_insert(WordlineBitmap::EMPTY);
        valid.insert(self.layout.valid_layer());
        let senses = layers.into_iter();
        senses
            .map(|((column, slice), layers)| (column, slice, layers))
            .collect()
    }

    /// Gives `take` the entries that match, row after row from that of entry `from` on, as things are now, when `snapshot` was taken; until it says
    /// false. Entries before `from` are left out.
    pub(super) async fn each_match(
        &self,
        (table, _snapshot): (&Table, &Snapshot<'_>),
        question: &Question<'_>,
        from: u32,
        origin: Origin,
        take: impl FnMut(&Row, &mut dyn Iterator<Item = u32>) -> bool,
    ) -> Result<(), SearchError> {
        if from == 0
            && let Some(memo) = self.remembered(table, question, origin)
        {
            self.again(&memo, table, question, origin, take).await;
            return Ok(());
        }
        Box::pin(self.each_match_sensed(table, question, from, origin, take)).await
    }

    /// The same by the flash.
    async fn each_match_sensed(
        &self,
        table: &Table,
        question: &Question<'_>,
        from: u32,
        origin: Origin,
        mut take: impl FnMut(&Row, &mut dyn Iterator<Item = u32>) -> bool,
    ) -> Result<(), SearchError> {
        self.forget_reads(table);
        let begin = self.sim.now();
        let row_names = table.values.row_names;
        let asked_bytes = table.asked_bytes(&question.groups);
        let mut waiting = 0;
        let view = |row: Rc<Row>| match (&*row.blocks.borrow(), &*row.names.borrow()) {
            (Some(blocks), _) => View::Sealed(row.clone(), blocks.clone()),
            (None, Some(names)) => {
                waiting += u64::from(row.entries.get()) * asked_bytes;
                View::Known(row.clone(), names.matching(&question.groups))
            }
            (None, None) => View::Known(row.clone(), Box::default()),
        };
        let rows = table.rows_from(from / row_names);
        // As it is now: whatever is raised by the time that it is sensed.
        let sealed = rows.iter().filter(|row| row.is_sealed());
        let there = sealed.map(|row| (row.number, row.there.borrow().clone()));
        let there: BTreeMap<u32, Rc<[u64]>> = there.collect();
        let views: Vec<View> = rows.into_iter().map(view).collect();
        self.examine(origin, waiting).await;
        let sealed: Vec<Sealed> = views
            .iter()
            .filter_map(|view| match view {
                View::Sealed(row, blocks) => Some((row.clone(), blocks.clone())),
                View::Known(..) => None,
            })
            .collect();
        let mut give = |row: &Row, found: &mut dyn Iterator<Item = u32>| {
            let first = row.number * row_names;
            let there = there.get(&row.number);
            let is_there = |index: &u32| {
                there.is_none_or(|there| there[*index as usize / 64] >> (index % 64) & 1 != 0)
            };
            let mut found = found.filter(|index| first + index >= from && is_there(index));
            take(row, &mut found)
        };
        let unsealed: Vec<Rc<Row>> = views.iter().filter_map(View::known).cloned().collect();
        let mut views = views.into_iter().peekable();
        let mut known =
            |until: Option<u32>,
             give: &mut dyn FnMut(&Row, &mut dyn Iterator<Item = u32>) -> bool| {
                loop {
                    let is_due = |view: &View| match view {
                        View::Known(row, _) => until.is_none_or(|until| row.number < until),
                        View::Sealed(row, _) => until.is_none_or(|until| row.number <= until),
                    };
                    match views.next_if(is_due) {
                        Some(View::Known(row, vector)) => {
                            if !give(&row, &mut ones(vector.iter().copied())) {
                                return false;
                            }
                        }
                        Some(View::Sealed(..)) => {}
                        None => return true,
                    }
                }
            };
        if sealed.is_empty() {
            known(None, &mut give);
            return Ok(());
        }
        let sensing = Sensing {
            question,
            senses: self.senses(table, question),
            told: self.told(table, question),
            origin,
        };
        let lesson = (from == 0)
            .then(|| self.learn(table, begin, origin))
            .flatten();
        let mut stopped = false;
        let times = self
            .sense_rows(&sensing, &sealed, |row, found| {
                stopped = !known(Some(row.number), &mut give) || !give(row, found);
                !stopped
            })
            .await?;
        if let (Some(lesson), Some(times)) = (lesson, times) {
            self.remember(
                table,
                lesson,
                &sensing.senses,
                question,
                times,
                (sealed, unsealed, waiting),
            );
        }
        if !stopped {
            known(None, &mut give);
        }
        Ok(())
    }

    /// The entries that match among those in blocks, if that is known without flash.
    pub(super) fn told(&self, table: &Table, question: &Question<'_>) -> Option<Entries> {
        if self.buffers.stores_data() {
            return None;
        }
        match &question.groups[..] {
            [group] => match group[..] {
                [(column, pattern)] => self.entries_named(table, column, pattern),
                _ => None,
            },
            _ => None,
        }
    }

    /// Senses rows, as many at a time as there are planes, the next ones while those before are looked through. Gives when each
    /// of these times was over, if nothing but flash had a part in that.
    async fn sense_rows(
        &self,
        sensing: &Sensing<'_, '_>,
        rows: &[Sealed],
        mut take: impl FnMut(&Row, &mut dyn Iterator<Item = u32>) -> bool,
    ) -> Result<Option<Times>, SearchError> {
        let Pace {
            at_once,
            room,
            buffers,
        } = self.pace(rows.len());
        let _room = self.buffers.rooms(buffers).await;
        let ahead = room.div_ceil(at_once);
        let mut waves = rows.chunks(at_once);
        let mut flying: VecDeque<(&[Sealed], Wave<'_>)> = VecDeque::new();
        let begin = self.sim.now();
        let mut times = (waves.len() <= ahead).then(|| Times {
            at_once,
            ends: Vec::new(),
            computations: 0,
        });
        let mut outcome = Ok(());
        let mut goes_on = true;
        loop {
            while goes_on && outcome.is_ok() && flying.len() < ahead.max(1) {
                let used: usize = flying.iter().map(|(rows, _)| rows.len()).sum();
                let Some(rows) = waves
                    .clone()
                    .next()
                    .filter(|rows| used + rows.len() <= room)
                else {
                    break;
                };
                waves.next();
                let (wave, computations) = self.start_wave(sensing, rows);
                if let Some(times) = &mut times {
                    times.computations += computations;
                }
                flying.push_back((rows, wave));
            }
            let Some((rows, wave)) = flying.pop_front() else {
                return outcome.map(|()| times);
            };
            // All are waited for: their buffers are in use until then.
            let sensed = wave.ticket.await;
            if let Some(times) = &mut times {
                times.ends.push(self.sim.now().since(begin));
            }
            if outcome.is_ok() {
                outcome = sensed.map_err(SearchError::from);
            }
            if !goes_on || outcome.is_err() {
                continue;
            }
            let vectors = rows.iter().zip(&wave.vectors);
            let vectors: Vec<Vector<'_, '_>> = vectors
                .map(|((row, _), vector)| self.vector(sensing, row, vector))
                .collect();
            let bytes = vectors.iter().map(|vector| self.kept_bytes(vector)).sum();
            self.take_vectors(bytes, sensing.origin).await;
            if bytes > 0 && !flying.is_empty() {
                times = None;
            }
            for ((row, _), vector) in rows.iter().zip(&vectors) {
                if goes_on {
                    goes_on = self.with_vector(row, vector, &mut take);
                }
            }
        }
    }

    /// What a row's sense gave.
    fn vector<'v, 'b>(
        &self,
        sensing: &Sensing<'_, '_>,
        row: &Row,
        buffer: &'v Buffer<'b>,
    ) -> Vector<'v, 'b> {
        if self.buffers.with(buffer.id(), |_| ()).is_some() {
            return Vector::Read(buffer);
        }
        if let Some(told) = &sensing.told {
            let row_names = self.row_names();
            let mut rows = told.chunk_by(|one, other| one / row_names == other / row_names);
            let of_row = rows.find(|entries| entries[0] / row_names == row.number);
            let of_row = of_row.unwrap_or_default().iter();
            return Vector::Told(of_row.map(|entry| entry % row_names).collect());
        }
        Vector::Told(row.entries_matching(sensing.question))
    }

    /// Shows it.
    fn with_vector(
        &self,
        row: &Row,
        vector: &Vector<'_, '_>,
        take: &mut impl FnMut(&Row, &mut dyn Iterator<Item = u32>) -> bool,
    ) -> bool {
        match vector {
            Vector::Read(buffer) => {
                let taken = self
                    .buffers
                    .with(buffer.id(), |page| take(row, &mut ones(words(page))));
                taken.expect("it was there before")
            }
            Vector::Told(found) => take(row, &mut found.iter().copied()),
        }
    }

    /// Bytes of a match vector that go to the drive's DRAM.
    fn kept_bytes(&self, vector: &Vector<'_, '_>) -> u64 {
        match vector {
            Vector::Read(buffer) => {
                let found = self
                    .buffers
                    .with(buffer.id(), |page| self.kept_of(ones(words(page))));
                found.expect("it was there before")
            }
            Vector::Told(found) => self.kept_of(found.iter().copied()),
        }
    }

    /// Begins to sense rows, by so many computations.
    fn start_wave(&self, sensing: &Sensing<'_, '_>, rows: &[Sealed]) -> (Wave<'_>, u64) {
        let ticket = self.schedule.ticket();
        let mut computations = 0;
        let vectors: Vec<Buffer<'_>> = rows.iter().map(|_| self.buffers.take()).collect();
        for (die, batch) in self.batches(rows) {
            let outputs = batch.iter().map(|at| {
                let plane = self.geometry.plane_of_block(rows[*at].1[0][0]);
                (plane, vectors[*at].id())
            });
            let compute = Compute {
                outputs: outputs.collect(),
                steps: self.steps(&sensing.senses, batch.iter().map(|at| &*rows[*at].1)),
                room: None,
                counted: None,
                origin: sensing.origin,
            };
            computations += 1;
            self.schedule.push(die, compute, ticket.id().into());
        }
        self.count_senses(&sensing.senses, rows.len());
        (Wave { ticket, vectors }, computations)
    }

    /// The commands that compare rows of different planes of a die.
    fn steps<'r>(
        &self,
        senses: &Senses,
        rows: impl Iterator<Item = &'r [Vec<BlockId>]> + Clone,
    ) -> Rc<[Command]> {
        let raise = match self.config.voltage_tuning {
            true => {
                let blocks = rows.clone().flatten().flatten().copied();
                self.tuning.raise(&self.schedule.nand(), blocks)
            }
            false => 0,
        };
        let steps = flagged(senses).map(|((column, slice, layers), iscm)| {
            let at = self.layout.slice(*slice);
            let planes = rows.clone().map(|blocks| MwsPlane {
                slots: std::iter::once(MwsSlot {
                    block: blocks[*column][at.block],
                    string: at.string,
                    wordlines: *layers,
                })
                .collect(),
            });
            Command::mws(iscm, planes.collect()).raised(raise)
        });
        steps.collect()
    }
}
