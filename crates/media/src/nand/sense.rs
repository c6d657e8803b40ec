//! The sense primitive on stored bits: OR over slots of AND over wordlines, streamed
//! through accumulators that stay in the first-level cache.

use super::array::{Array, PageState};
use super::cells::{Cells, mix};
use super::command::Iscm;
use super::geometry::{Geometry, PageAddress};
use super::latches::PlaneLatches;
use super::mode::ProgramMode;
use super::storage::BitStore;
use arrayvec::ArrayVec;
use std::cell::Cell;

/// Words of an accumulator: 16 KiB.
const CHUNK: usize = 2048;

/// Operands ANDed at once.
const STREAMS: usize = 12;

/// Words of each that are ANDed at once: a line of the processor's cache.
const LINE_WORDS: usize = 8;

/// What is sensed, and room to do it in; kept between senses.
pub(crate) struct Sensor {
    operands: Vec<PageAddress>,
    /// Whether what is sensed is read raw, without a code.
    raw: bool,
    /// Where in `operands` each slot ends.
    slot_ends: Vec<usize>,
    all: Box<[u64; CHUNK]>,
    slot: Box<[u64; CHUNK]>,
    /// Where a store that is not memory reads operands to.
    scratch: Box<[[u64; CHUNK]; STREAMS]>,
}

impl Sensor {
    pub(crate) fn new() -> Sensor {
        Sensor {
            operands: Vec::new(),
            raw: false,
            slot_ends: Vec::new(),
            all: Box::new([0; CHUNK]),
            slot: Box::new([0; CHUNK]),
            scratch: Box::new([[0; CHUNK]; STREAMS]),
        }
    }

    /// Forgets the slots of the last sense. Pages of the next are read `raw`, or have a code that is
    /// looked after elsewhere.
    pub(crate) fn clear(&mut self, raw: bool) {
        self.raw = raw;
        self.operands.clear();
        self.slot_ends.clear();
    }

    /// Adds a slot: the AND of `pages`.
    pub(crate) fn slot(&mut self, pages: impl IntoIterator<Item = PageAddress>) {
        self.operands.extend(pages);
        self.slot_ends.push(self.operands.len());
    }

    /// Senses the slots into the latches as the flags say.
    pub(crate) fn sense(&mut self, stored: &Stored<'_>, iscm: Iscm, latches: &mut PlaneLatches) {
        let words = stored.geometry.page_words();
        let (s, c) = (latches.s.room(words), latches.c.room(words));
        for start in (0..words).step_by(CHUNK) {
            let length = CHUNK.min(words - start);
            let sensed = self.sense_chunk(stored, start, length);
            let range = start..start + length;
            latch(iscm, sensed, &mut s[range.clone()], &mut c[range]);
        }
    }

    /// What the bitlines from word `start` on conduct.
    fn sense_chunk<'a>(
        &'a mut self,
        stored: &'a Stored<'a>,
        start: usize,
        length: usize,
    ) -> &'a [u64] {
        if let [page] = self.operands[..] {
            let scratch = &mut self.scratch[0][..length];
            return match stored.operand(page, self.raw, start, scratch) {
                Some(words) => words,
                None => {
                    self.all[..length].fill(u64::MAX);
                    &self.all[..length]
                }
            };
        }
        let mut first = 0;
        for (index, &end) in self.slot_ends.iter().enumerate() {
            let slot = if index == 0 {
                &mut self.all[..length]
            } else {
                &mut self.slot[..length]
            };
            slot.fill(u64::MAX);
            for pages in self.operands[first..end].chunks(STREAMS) {
                let mut operands = ArrayVec::<&[u64], STREAMS>::new();
                for (&page, scratch) in pages.iter().zip(self.scratch.iter_mut()) {
                    let scratch = &mut scratch[..length];
                    // Erased cells conduct: they leave the AND as it is.
                    operands.extend(stored.operand(page, self.raw, start, scratch));
                }
                and_all(slot, &operands);
            }
            if index > 0 {
                or(&mut self.all[..length], &self.slot[..length]);
            }
            first = end;
        }
        &self.all[..length]
    }
}

/// What a sense finds: the bits, and what became of the cells that hold them.
pub(crate) struct Stored<'a> {
    pub(crate) store: &'a dyn BitStore,
    pub(crate) array: &'a Array,
    pub(crate) geometry: &'a Geometry,
    pub(crate) cells: &'a Cells,
    /// Whether the store could not give back what was programmed into some page.
    pub(crate) damaged: Cell<bool>,
}

impl Stored<'_> {
    /// The words of one page from `start` on, as its cells show them if it is read `raw`; `None` if
    /// it is erased. They are where they are kept unless some of them read wrong. Those of a page that cannot
    /// be read, or that the store has lost, follow from their address.
    fn operand<'a>(
        &'a self,
        page: PageAddress,
        raw: bool,
        start: usize,
        scratch: &'a mut [u64],
    ) -> Option<&'a [u64]> {
        if !self.array.is_readable(page) {
            return Some(self.noise(page, start, scratch));
        }
        if self.array.page_state(page) == PageState::Erased {
            return None;
        }
        let range = start..start + scratch.len();
        let rates = match self.array.past(page) {
            Some(past) if raw || past.mode == ProgramMode::Esp => self.cells.raw_rates(page, &past),
            _ => None,
        };
        let words = self.geometry.page_words();
        let rates = rates.filter(|rates| self.cells.any_flips(page, *rates, words));
        if rates.is_none()
            && let Some(words) = self.store.words(page, range.clone())
        {
            return Some(words);
        }
        if self.store.read(page, range, scratch).is_err() {
            // The status of the page tells, and a check of the image says what is wrong.
            self.damaged.set(true);
            return Some(self.noise(page, start, scratch));
        }
        if let Some(rates) = rates {
            self.cells.flip(page, rates, words, start, scratch);
        }
        Some(scratch)
    }

    fn noise<'a>(&self, page: PageAddress, start: usize, words: &'a mut [u64]) -> &'a [u64] {
        let seed = u64::from(self.geometry.ppa(page).0) << 32;
        for (word, index) in words.iter_mut().zip(start as u64..) {
            *word = mix(seed | index);
        }
        words
    }
}

/// ANDs operands of the length of `into`: as many streams at once as there are, since memory serves
/// several faster than one after the other.
fn and_all(into: &mut [u64], mut operands: &[&[u64]]) {
    while let Some((streams, rest)) = operands.split_first_chunk::<STREAMS>() {
        and_streams(into, *streams);
        operands = rest;
    }
    while let Some((streams, rest)) = operands.split_first_chunk::<4>() {
        and_streams(into, *streams);
        operands = rest;
    }
    for operand in operands {
        and(into, operand);
    }
}

/// Line by line, so that the compiler uses wide registers whatever it thinks of the lengths.
fn and_streams<const N: usize>(into: &mut [u64], operands: [&[u64]; N]) {
    let length = into.len();
    let (lines, rest) = into.as_chunks_mut::<LINE_WORDS>();
    let count = lines.len();
    let operand_lines = operands.map(|operand| &operand.as_chunks::<LINE_WORDS>().0[..count]);
    for (index, line) in lines.iter_mut().enumerate() {
        let mut all = *line;
        for operand in &operand_lines {
            let words = &operand[index];
            all = std::array::from_fn(|at| all[at] & words[at]);
        }
        *line = all;
    }
    for operand in operands {
        and(rest, &operand[length - rest.len()..length]);
    }
}

fn and(into: &mut [u64], words: &[u64]) {
    for (into, word) in into.iter_mut().zip(words) {
        *into &= word;
    }
}

fn or(into: &mut [u64], words: &[u64]) {
    for (into, word) in into.iter_mut().zip(words) {
        *into |= word;
    }
}

/// Lets what the bitlines conduct into the latches (Flash-Cosmos Figures 3, 4 and 6).
fn latch(iscm: Iscm, sensed: &[u64], s: &mut [u64], c: &mut [u64]) {
    match (iscm.inverse, iscm.init_s) {
        (true, _) => s.iter_mut().zip(sensed).for_each(|(s, v)| *s = !v),
        (false, true) => s.copy_from_slice(sensed),
        (false, false) => and(s, sensed),
    }
    match (iscm.init_c, iscm.transfer) {
        (true, true) => c.copy_from_slice(s),
        (true, false) => c.fill(0),
        (false, true) => or(c, s),
        (false, false) => {}
    }
}
