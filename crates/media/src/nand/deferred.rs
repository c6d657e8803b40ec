//! Senses whose bits nobody has looked at yet.
//!
//! Most of what the latches hold is looked at once, as it leaves the plane, or never: the next sense begins anew. So it is
//! noted what was sensed, and the bits are made when they are asked for, piece by piece in the first-level cache, without a
//! page's worth of memory for what comes between. Only what is as it was programmed can be noted: where a cell reads wrong, or a
//! page is not in memory, bits are sensed at once. Of what changes the array nothing but an erase or a raise changes what was noted, and both have
//! the bits made before.

use std::ops::Range;

use arrayvec::ArrayVec;

use super::command::Iscm;
use super::geometry::PageAddress;
use super::storage::BitStore;
use crate::words::{STREAMS, and, and_all, and_where_any, invert, is_sparse, is_zero, or, xor};

/// Words that are worked on at a time.
const PIECE: usize = 256;
/// Pages that are noted at most, and steps.
const NOTED_MAX: usize = 256;

const STAYS: &str = "what is noted stays until it is erased";

/// What a plane did to its latches since a sense that began both anew; nothing if they hold their bits.
#[derive(Default)]
pub(crate) struct Deferred {
    steps: Vec<Step>,
    /// Pages that conduct where they hold ones.
    pages: Vec<PageAddress>,
    /// Where in `pages` each slot ends.
    slot_ends: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Step {
    /// A sense of slots up to this one.
    Sense { iscm: Iscm, slots_end: usize },
    /// C ^= S.
    Xor,
}

/// What may be noted of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// It is erased: all of it conducts.
    Conducts,
    /// It is in memory as it was programmed.
    Kept,
    /// Neither.
    Not,
}

impl Deferred {
    /// Whether the bits of the latches are still to be made.
    pub(crate) fn is_some(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The latches hold their bits.
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.pages.clear();
        self.slot_ends.clear();
    }

    /// Notes a sense of slots, of which `noted` tells what each page is; false, and not noted, if it has to be carried out at
    /// once. What a sense that begins anew replaces is forgotten either way.
    pub(crate) fn sense<'a>(
        &mut self,
        iscm: Iscm,
        slots: impl Iterator<Item = &'a [PageAddress]>,
        noted: impl Fn(PageAddress) -> Noted,
    ) -> bool {
        let begins = iscm.begins_s() && iscm.init_c;
        if begins {
            self.clear();
        }
        if !begins && !self.is_some() || self.steps.len() == NOTED_MAX {
            return false;
        }
        let (pages, slot_ends) = (self.pages.len(), self.slot_ends.len());
        for slot in slots {
            for &page in slot {
                let noted = noted(page);
                if noted == Noted::Not || self.pages.len() == NOTED_MAX {
                    self.pages.truncate(pages);
                    self.slot_ends.truncate(slot_ends);
                    return false;
                }
                if noted == Noted::Kept {
                    self.pages.push(page);
                }
            }
            self.slot_ends.push(self.pages.len());
        }
        let slots_end = self.slot_ends.len();
        self.steps.push(Step::Sense { iscm, slots_end });
        true
    }

    /// Notes C ^= S; false if that has to be carried out at once.
    pub(crate) fn xor(&mut self) -> bool {
        let notes = self.is_some() && self.steps.len() < NOTED_MAX;
        if notes {
            self.steps.push(Step::Xor);
        }
        notes
    }

    /// The page whose bits are what both latches hold, if it is one.
    pub(crate) fn only_page(&self) -> Option<PageAddress> {
        let [Step::Sense { iscm, .. }] = self.steps[..] else {
            return None;
        };
        let is_plain = (iscm.transfer, iscm.inverse) == (true, false);
        match (&self.pages[..], &self.slot_ends[..]) {
            (&[page], [_]) if is_plain => Some(page),
            _ => None,
        }
    }

    /// Makes the bits of the words `range`, and shows them to `look` piece by piece: S and C.
    pub(crate) fn make(
        &self,
        store: &dyn BitStore,
        range: Range<usize>,
        mut look: impl FnMut(&[u64], &[u64]),
    ) {
        if let Some(page) = self.only_page() {
            let words = store.words(page, range).expect(STAYS);
            return look(words, words);
        }
        let pages = self.pages.iter();
        let kept = pages.map(|&page| store.words(page, range.clone()));
        let kept: ArrayVec<&[u64], NOTED_MAX> = kept.map(|words| words.expect(STAYS)).collect();
        let mut latches = Piece::new();
        for start in (0..range.len()).step_by(PIECE) {
            let here = start..range.len().min(start + PIECE);
            self.make_piece(&kept, here.clone(), &mut latches);
            let (s, c) = latches.both(here.len());
            look(s, c);
        }
    }

    fn make_piece(&self, kept: &[&[u64]], here: Range<usize>, latches: &mut Piece) {
        let mut first_slot = 0usize;
        for step in &self.steps {
            let Step::Sense { iscm, slots_end } = *step else {
                latches.xor(here.len());
                continue;
            };
            // Where the slots before end, whether they were looked at or not.
            let before = first_slot.checked_sub(1);
            let mut first_page = before.map_or(0, |slot| self.slot_ends[slot]);
            let slots = self.slot_ends[first_slot..slots_end].iter();
            let slots = slots.map(|&end| &kept[std::mem::replace(&mut first_page, end)..end]);
            latches.sense(iscm, slots, here.clone());
            first_slot = slots_end;
        }
    }
}

/// Some words of both latches.
struct Piece {
    s: [u64; PIECE],
    /// What C holds, unless that is what S holds.
    c: [u64; PIECE],
    is_alike: bool,
    /// What is sensed, and what a slot of it is.
    sensed: [u64; PIECE],
    slot: [u64; PIECE],
}

impl Piece {
    fn new() -> Piece {
        let [s, c, sensed, slot] = [[0; PIECE]; 4];
        let is_alike = true;
        Piece {
            s,
            c,
            is_alike,
            sensed,
            slot,
        }
    }

    /// What the latches hold.
    fn both(&self, words: usize) -> (&[u64], &[u64]) {
        let c = if self.is_alike { &self.s } else { &self.c };
        (&self.s[..words], &c[..words])
    }

    /// Senses slots of pages, of each the words `here`.
    fn sense<'a>(
        &mut self,
        iscm: Iscm,
        slots: impl Iterator<Item = &'a [&'a [u64]]>,
        here: Range<usize>,
    ) {
        let words = here.len();
        if self.is_alike && !iscm.init_c {
            self.part(words);
        }
        let (s, sensed) = (&mut self.s[..words], &mut self.sensed[..words]);
        let slot = &mut self.slot[..words];
        if iscm.begins_s() {
            conducts(s, slot, slots, here);
            if iscm.inverse {
                invert(s);
            }
        } else if !is_zero(s) {
            conducts(sensed, slot, slots, here);
            and(s, sensed);
        }
        match (iscm.init_c, iscm.transfer) {
            (true, true) => self.is_alike = true,
            (true, false) => {
                self.is_alike = false;
                self.c[..words].fill(0);
            }
            (false, true) => or(&mut self.c[..words], s),
            (false, false) => {}
        }
    }

    /// C ^= S.
    fn xor(&mut self, words: usize) {
        if self.is_alike {
            self.part(words);
        }
        xor(&mut self.c[..words], &self.s[..words]);
    }

    /// Gives C what both hold.
    fn part(&mut self, words: usize) {
        self.is_alike = false;
        self.c[..words].copy_from_slice(&self.s[..words]);
    }
}

/// Where bitlines conduct through one slot at least.
fn conducts<'a>(
    into: &mut [u64],
    slot: &mut [u64],
    slots: impl Iterator<Item = &'a [&'a [u64]]>,
    here: Range<usize>,
) {
    for (at, pages) in slots.enumerate() {
        if let (1.., [page]) = (at, pages) {
            or(into, &page[here.clone()]);
            continue;
        }
        let all = if at == 0 { &mut *into } else { &mut *slot };
        let mut anew = true;
        for (done, some) in (0..).step_by(STREAMS).zip(pages.chunks(STREAMS)) {
            // Of a search little is left after a few wordlines.
            if !anew && is_sparse(all) {
                and_where_any(all, &pages[done..], here.start);
                break;
            }
            let some = some.iter().map(|page| &page[here.clone()]);
            anew = and_all(all, &some.collect::<ArrayVec<_, STREAMS>>(), anew);
        }
        if anew {
            all.fill(u64::MAX);
        }
        if at > 0 {
            or(into, slot);
        }
    }
}
