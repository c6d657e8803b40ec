//! The sense primitive on stored bits: OR over slots of AND over wordlines, streamed
//! through accumulators that stay in the first-level cache.

use super::array::{Array, PageState};
use super::cells::{Cells, RawRates, mix};
use super::command::Iscm;
use super::deferred::Noted;
use super::geometry::{Geometry, PageAddress};
use super::latches::PlaneLatches;
use super::mode::ProgramMode;
use super::storage::BitStore;
use crate::words::{STREAMS, and, and_all, is_zero, or};
use arrayvec::ArrayVec;
use std::cell::Cell;

/// Words of an accumulator: 16 KiB.
const CHUNK: usize = 2048;

/// What is sensed, and room to do it in; kept between senses.
pub(crate) struct Sensor {
    operands: Vec<PageAddress>,
    /// Whether what is sensed is read raw, without a code: by how many steps with a higher read voltage.
    raw: Option<u8>,
    /// Where in `operands` each slot ends.
    slot_ends: Vec<usize>,
    all: Box<[u64]>,
    slot: Box<[u64; CHUNK]>,
    /// Where a store that is not memory reads operands to.
    scratch: Box<[[u64; CHUNK]; STREAMS]>,
}

impl Sensor {
    pub(crate) fn new() -> Sensor {
        Sensor {
            operands: Vec::new(),
            raw: None,
            slot_ends: Vec::new(),
            all: Box::new([0; CHUNK]),
            slot: Box::new([0; CHUNK]),
            scratch: Box::new([[0; CHUNK]; STREAMS]),
        }
    }

    /// Forgets the slots of the last sense. Pages of the next are read `raw`, with a read voltage so many steps higher, or
    /// have a code that is looked after elsewhere.
    pub(crate) fn clear(&mut self, raw: Option<u8>) {
        self.raw = raw;
        self.operands.clear();
        self.slot_ends.clear();
    }

    /// Adds a slot: the AND of `pages`.
    pub(crate) fn slot(&mut self, pages: impl IntoIterator<Item = PageAddress>) {
        self.operands.extend(pages);
        self.slot_ends.push(self.operands.len());
    }

    /// Has the latches note the slots instead of sensing them; whether they do.
    pub(crate) fn defer(
        &self,
        stored: &Stored<'_>,
        iscm: Iscm,
        latches: &mut PlaneLatches,
    ) -> bool {
        let mut first = 0;
        let slots = self.slot_ends.iter();
        let slots = slots.map(|&end| &self.operands[std::mem::replace(&mut first, end)..end]);
        let noted = |page| stored.noted(page, self.raw);
        latches.deferred.sense(iscm, slots, noted)
    }

    /// Senses the slots into the latches as the flags say (Flash-Cosmos Figures 3, 4 and 6).
    pub(crate) fn sense(&mut self, stored: &Stored<'_>, iscm: Iscm, latches: &mut PlaneLatches) {
        let words = stored.geometry.page_words();
        let bits = &mut latches.bits;
        let begins_s = iscm.begins_s();
        if iscm.init_c && begins_s {
            bits.forget_c();
        }
        if begins_s {
            // S begins anew, so it is what conduction is gathered in.
            let s = bits.overwrite_s(words);
            for start in (0..words).step_by(CHUNK) {
                let into = &mut s[start..words.min(start + CHUNK)];
                self.sense_chunk(stored, start, into);
                if iscm.inverse {
                    into.iter_mut().for_each(|word| *word = !*word);
                }
            }
        } else {
            let s = bits.change_s(words);
            let mut all = std::mem::take(&mut self.all);
            for start in (0..words).step_by(CHUNK) {
                let into = &mut s[start..words.min(start + CHUNK)];
                if is_zero(into) {
                    continue;
                }
                let sensed = &mut all[..into.len()];
                self.sense_chunk(stored, start, sensed);
                and(into, sensed);
            }
            self.all = all;
        }
        match (iscm.init_c, iscm.transfer) {
            (true, true) => bits.copy_s_to_c(),
            (true, false) => bits.overwrite_c(words).fill(0),
            (false, true) => bits.combine(|c, s| *c |= s),
            (false, false) => {}
        }
    }

    /// What the bitlines from word `start` on conduct.
    fn sense_chunk(&mut self, stored: &Stored<'_>, start: usize, all: &mut [u64]) {
        let length = all.len();
        let mut first = 0;
        for (index, &end) in self.slot_ends.iter().enumerate() {
            let pages = &self.operands[first..end];
            first = end;
            if index > 0
                && let [page] = *pages
            {
                let scratch = &mut self.scratch[0][..length];
                match stored.operand(page, self.raw, start, scratch) {
                    Some(words) => or(all, words),
                    None => all.fill(u64::MAX),
                }
                continue;
            }
            let slot = if index == 0 {
                &mut *all
            } else {
                &mut self.slot[..length]
            };
            let mut anew = true;
            for pages in pages.chunks(STREAMS) {
                // What no bitline conducts any more no further wordline changes.
                if !anew && is_zero(slot) {
                    break;
                }
                let mut operands = ArrayVec::<&[u64], STREAMS>::new();
                for (&page, scratch) in pages.iter().zip(self.scratch.iter_mut()) {
                    let scratch = &mut scratch[..length];
                    // Erased cells conduct: they leave the AND as it is.
                    operands.extend(stored.operand(page, self.raw, start, scratch));
                }
                anew = and_all(slot, &operands, anew);
            }
            if anew {
                slot.fill(u64::MAX);
            }
            if index > 0 {
                or(all, &self.slot[..length]);
            }
        }
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
        raw: Option<u8>,
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
        let rates = self.rates(page, raw);
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
            let words = self.geometry.page_words();
            self.cells.flip(page, rates, words, start, scratch);
        }
        Some(scratch)
    }

    /// What may be noted of a page, to be sensed later.
    fn noted(&self, page: PageAddress, raw: Option<u8>) -> Noted {
        if !self.array.is_readable(page) {
            return Noted::Not;
        }
        if self.array.page_state(page) == PageState::Erased {
            return Noted::Conducts;
        }
        let is_kept = self.rates(page, raw).is_none() && self.store.frame(page).is_some();
        if is_kept { Noted::Kept } else { Noted::Not }
    }

    /// How many of the cells of a page read wrong, if any do.
    fn rates(&self, page: PageAddress, raw: Option<u8>) -> Option<RawRates> {
        let rates = match self.array.past(page) {
            Some(past) if raw.is_some() || past.mode == ProgramMode::Esp => {
                self.cells.raw_rates(page, &past, raw.unwrap_or(0))
            }
            _ => None,
        };
        let words = self.geometry.page_words();
        rates.filter(|rates| self.cells.any_flips(page, *rates, words))
    }

    fn noise<'a>(&self, page: PageAddress, start: usize, words: &'a mut [u64]) -> &'a [u64] {
        let seed = u64::from(self.geometry.ppa(page).0) << 32;
        for (word, index) in words.iter_mut().zip(start as u64..) {
            *word = mix(seed | index);
        }
        words
    }
}
