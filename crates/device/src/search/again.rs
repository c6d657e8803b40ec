//! Lookups that need not be simulated again, on drives that keep no data: where nothing else happens, one takes of flash what
//! the one before took that asked for as many bits of the same rows.

use std::rc::Rc;

use media::nand::BlockId;
use sim::{Span, Tenant, Time};
use smallvec::SmallVec;

use super::Search;
use super::find::{Question, Times};
use super::index::Entries;
use super::table::{Row, Table};
use super::waves::{Sealed, Senses};
use crate::schedule::{Memo, Origin, Recording};

/// Kinds of lookups that are remembered of a table.
const KINDS_MAX: usize = 16;

/// What lookups of a table took, while its rows stay as they are.
#[derive(Default)]
pub(super) struct Memos {
    version: u64,
    /// Reads of each block until cells of one show more of them, by which time the read voltage is looked at again.
    reads_left: u32,
    kinds: Vec<Rc<LookupMemo>>,
}

/// What lookups of a kind take.
pub(super) struct LookupMemo {
    /// For whom.
    tenant: Tenant,
    /// Of each term of each group, the search region and which bits count.
    masks: Vec<Vec<(usize, Box<[u8]>)>>,
    sealed: Vec<Rc<Row>>,
    /// Rows whose names are in memory, which come after all others, and their bytes.
    unsealed: Vec<Rc<Row>>,
    waiting: u64,
    times: Times,
    /// From its beginning to the last sense.
    whole: Span,
    senses: u64,
    /// Of a block, at most.
    senses_of_block: u32,
    flash: Rc<Memo>,
}

impl LookupMemo {
    fn is_of(&self, question: &Question<'_>) -> bool {
        let mut groups = self.masks.iter().zip(&question.groups);
        self.masks.len() == question.groups.len()
            && groups.all(|(terms, others)| {
                let mut both = terms.iter().zip(others);
                terms.len() == others.len()
                    && both.all(|((column, mask), (other, pattern))| {
                        column == other && **mask == *pattern.mask()
                    })
            })
    }
}

impl LookupMemo {
    /// The place of a row among all of them.
    fn place_of(&self, number: u32) -> Option<usize> {
        let place = |rows: &[Rc<Row>]| rows.binary_search_by_key(&number, |row| row.number).ok();
        let unsealed = || Some(self.sealed.len() + place(&self.unsealed)?);
        place(&self.sealed).or_else(unsealed)
    }
}

/// What is to be remembered of a lookup that has begun.
pub(super) struct Lesson {
    begin: Time,
    version: u64,
    recording: Recording,
}

impl Search {
    /// What a lookup will take, if that is known: nothing else happens until it is over.
    pub(super) fn remembered(
        &self,
        table: &Table,
        question: &Question<'_>,
        origin: Origin,
    ) -> Option<Rc<LookupMemo>> {
        let memos = self.memos.borrow();
        let memos = memos.get(&table.number)?;
        if memos.version != table.version.get() || memos.kinds.is_empty() {
            return None;
        }
        let is_it = |memo: &&Rc<LookupMemo>| memo.tenant == origin.tenant && memo.is_of(question);
        let memo = memos.kinds.iter().find(is_it)?;
        if memos.reads_left < memo.senses_of_block {
            return None;
        }
        // What waits for DRAM may have to wait for a refresh that it did not meet then.
        let alone = self.is_alone() && self.sim.alone_until() > self.sim.now() + memo.whole * 2;
        alone.then(|| memo.clone())
    }

    /// A lookup is simulated: what is known of reads is to be looked at again.
    pub(super) fn forget_reads(&self, table: &Table) {
        if let Some(memos) = self.memos.borrow_mut().get_mut(&table.number) {
            memos.reads_left = 0;
        }
    }

    /// Whether flash is at rest, and all that there is to a lookup is its time.
    fn is_alone(&self) -> bool {
        !self.buffers.stores_data() && self.schedule.is_at_rest() && !self.sim.trace().enabled()
    }

    /// Begins to look what a lookup takes, if it can be told from what others do.
    pub(super) fn learn(&self, table: &Table, begin: Time, origin: Origin) -> Option<Lesson> {
        self.is_alone().then(|| Lesson {
            begin,
            version: table.version.get(),
            recording: self.schedule.record(origin.tenant),
        })
    }

    /// Remembers what a lookup took.
    pub(super) fn remember(
        &self,
        table: &Table,
        lesson: Lesson,
        senses: &Senses,
        question: &Question<'_>,
        times: Times,
        (sealed, unsealed, waiting): (Vec<Sealed>, Vec<Rc<Row>>, u64),
    ) {
        let last = sealed.last().map(|(row, _)| row.number);
        if table.version.get() != lesson.version
            || unsealed.first().map(|row| row.number) < last && !unsealed.is_empty()
        {
            return;
        }
        let each: usize = senses.iter().map(Vec::len).sum();
        let mut blocks: Vec<BlockId> = Vec::new();
        for (_, of_row) in &sealed {
            for (column, slice, _) in senses.iter().flatten() {
                blocks.push(of_row[*column][self.layout.slice(*slice).block]);
            }
        }
        blocks.sort_unstable();
        let counted = blocks.chunk_by(|one, other| one == other);
        let senses_of_block = counted.clone().map(|same| same.len() as u32).max();
        let counted = counted.map(|same| (same[0], same.len() as u32)).collect();
        let recorded = self
            .schedule
            .recorded(&lesson.recording, times.computations, counted);
        let Some(flash) = recorded else { return };
        let masks = question.groups.iter().map(|group| {
            let terms = group.iter();
            terms
                .map(|(column, pattern)| (*column, pattern.mask().into()))
                .collect()
        });
        let reads_left = {
            let nand = self.schedule.nand();
            blocks.iter().map(|block| nand.unfelt_reads(*block)).min()
        };
        let mut memos = self.memos.borrow_mut();
        let memos = memos.entry(table.number).or_default();
        memos.reads_left = reads_left.unwrap_or(0);
        memos
            .kinds
            .retain(|memo| !memo.is_of(question) || memo.tenant != flash.tenant());
        if memos.version != lesson.version {
            memos.version = lesson.version;
            memos.kinds.clear();
        }
        if memos.kinds.len() == KINDS_MAX {
            memos.kinds.remove(0);
        }
        memos.kinds.push(Rc::new(LookupMemo {
            tenant: flash.tenant(),
            masks: masks.collect(),
            senses: (each * sealed.len()) as u64,
            senses_of_block: senses_of_block.unwrap_or(0),
            sealed: sealed.into_iter().map(|(row, _)| row).collect(),
            unsealed,
            waiting,
            times,
            whole: self.sim.now().since(lesson.begin),
            flash: Rc::new(flash),
        }));
    }

    /// Carries out a lookup as one before: gives `take` the entries that match, row after row, until it says false.
    pub(super) async fn again(
        &self,
        memo: &LookupMemo,
        table: &Table,
        question: &Question<'_>,
        origin: Origin,
        mut take: impl FnMut(&Row, &mut dyn Iterator<Item = u32>) -> bool,
    ) {
        let found = self.found_again(memo, table, question);
        self.examine(origin, memo.waiting).await;
        let begin = self.sim.now();
        self.schedule.repeat(&memo.flash);
        if let Some(memos) = self.memos.borrow_mut().get_mut(&table.number) {
            memos.reads_left -= memo.senses_of_block;
        }
        self.count(|counts| {
            counts.senses += memo.senses;
            counts.match_vectors += memo.sealed.len() as u64;
        });
        let mut found = &found[..];
        let mut goes_on = true;
        let mut sensed = 0;
        for (rows, end) in memo.sealed.chunks(memo.times.at_once).zip(&memo.times.ends) {
            sensed += rows.len();
            let (of_wave, others) = found.split_at(found.partition_point(|(at, _)| *at < sensed));
            found = others;
            let empty = match self.config.early_termination {
                true => 0,
                false => (rows.len() - of_wave.len()) as u64 * self.kept_of(std::iter::empty()),
            };
            let matching = of_wave
                .iter()
                .map(|(_, found)| self.kept_of(found.iter().copied()));
            let bytes = empty + matching.sum::<u64>();
            if bytes == 0 && sensed < memo.sealed.len() {
                continue;
            }
            self.sim.sleep_until(begin + *end).await;
            if goes_on {
                self.take_vectors(bytes, origin).await;
            }
            for (at, found) in of_wave {
                goes_on = goes_on && take(&memo.sealed[*at], &mut found.iter().copied());
            }
        }
        for (at, found) in found {
            let row = &memo.unsealed[at - memo.sealed.len()];
            goes_on = goes_on && take(row, &mut found.iter().copied());
        }
    }

    /// The rows in which something matches, by their place in the memo, and what.
    fn found_again(
        &self,
        memo: &LookupMemo,
        table: &Table,
        question: &Question<'_>,
    ) -> SmallVec<[(usize, Entries); 1]> {
        let rows = || memo.sealed.iter().chain(&memo.unsealed);
        let Some(told) = self.told(table, question) else {
            let found = rows().map(|row| {
                let found = row.entries_matching(question).into_iter();
                found
                    .filter(|entry| row.is_there(*entry))
                    .collect::<Entries>()
            });
            let found = found.enumerate();
            return found.filter(|(_, found)| !found.is_empty()).collect();
        };
        let row_names = self.row_names();
        let by_row = told.chunk_by(|one, other| one / row_names == other / row_names);
        let found = by_row.filter_map(|entries| {
            let number = entries[0] / row_names;
            let at = memo.place_of(number)?;
            Some((at, entries.iter().map(|entry| entry % row_names).collect()))
        });
        found.collect()
    }
}
