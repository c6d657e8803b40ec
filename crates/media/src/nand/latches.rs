//! The latches of a plane: the page buffer between cells and channel.
//!
//! The sensing latch (S) takes what is sensed, the cache latch (C) is the page register that the
//! channel reads and writes (Flash-Cosmos Figures 3, 4 and 6).

use super::command::Iscm;
use super::deferred::Deferred;
use super::geometry::PageAddress;
use super::latch_bits::LatchBits;
use super::storage::BitStore;
use sim::memory::Frame;
use std::ops::Range;
use zerocopy::IntoBytes;

/// Whether the data in a latch can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageStatus {
    /// It is what was programmed, or was computed from such.
    #[default]
    Ok,
    /// More bits of it are wrong than its code corrects. With other read references there may be fewer.
    TooManyErrors,
    /// A torn or failed page went into it: what an error-correcting code would give up on.
    Uncorrectable,
}

/// One latch per bitline: what is known of its bits, which are in [`LatchBits`].
#[derive(Default)]
pub(crate) struct Latch {
    /// Whether it has been given a value since the die was powered or reset.
    pub(crate) holds: bool,
    pub(crate) status: PageStatus,
    /// The one page that it holds unchanged, whose spare bytes come with it.
    pub(crate) page: Option<PageAddress>,
}

/// Some of the latches of a plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latches {
    /// The sensing latch.
    pub s: bool,
    /// The cache latch.
    pub c: bool,
}

impl Latches {
    /// Neither.
    pub const NONE: Latches = Latches { s: false, c: false };
}

/// The latches of one plane and the spare bytes beside them.
#[derive(Default)]
pub(crate) struct PlaneLatches {
    pub(crate) s: Latch,
    pub(crate) c: Latch,
    /// Undefined while they are deferred.
    pub(crate) bits: LatchBits,
    pub(crate) deferred: Deferred,
    /// What of them may not be changed.
    pub(crate) leased: Latches,
    /// Whether the channel has begun to load the C-latch, or a copyback did.
    pub(crate) loading: bool,
    /// Whether the C-latch holds what the last program took from it.
    pub(crate) is_programmed: bool,
    /// Spare bytes given by the channel, for the next program, if they were.
    pub(crate) spare_in: Vec<u8>,
    pub(crate) spare_is_given: bool,
    /// Data given by the channel for the next program, and that of the program in progress,
    /// where the store keeps none.
    pub(crate) firmware_in: Option<Box<[u8]>>,
    pub(crate) firmware_programming: Option<Box<[u8]>>,
    /// The data of the raise in progress: its zeros are the cells that are raised.
    pub(crate) raising: Box<[u64]>,
    /// Spare bytes of the program in progress.
    pub(crate) spare_programming: Vec<u8>,
    /// Spare bytes of the C-latch's page, once that page is no more.
    pub(crate) spare_kept: Vec<u8>,
}

impl PlaneLatches {
    /// What a sense of `page` alone (if it is one page) does besides moving bits.
    pub(crate) fn note_sense(&mut self, iscm: Iscm, page: Option<PageAddress>, status: PageStatus) {
        let s = &mut self.s;
        s.status = match iscm.init_s {
            true => status,
            false => status.max(s.status),
        };
        s.page = if iscm.init_s & !iscm.inverse {
            page
        } else {
            None
        };
        s.holds = true;
        self.loading = false;
        self.is_programmed &= !iscm.init_c;
        if iscm.init_c {
            self.spare_kept.clear();
            self.spare_is_given = false;
            self.c.status = PageStatus::Ok;
            self.c.page = None;
            self.c.holds = true;
        }
        if iscm.transfer {
            self.note_transfer(iscm.init_c);
        }
    }

    /// What C |= S does besides moving bits; `anew` if C was all zeros before.
    pub(crate) fn note_transfer(&mut self, anew: bool) {
        self.c.status = self.c.status.max(self.s.status);
        self.c.page = if anew { self.s.page } else { None };
        self.spare_kept.clear();
        self.loading = false;
        self.is_programmed = false;
    }

    /// C = S, as between two cache reads.
    pub(crate) fn copy_s_to_c(&mut self) {
        self.bits.copy_s_to_c();
        self.c.holds = true;
        self.c.status = PageStatus::Ok;
        self.note_transfer(true);
    }

    /// S = C.
    pub(crate) fn copy_c_to_s(&mut self) {
        self.bits.copy_c_to_s();
        self.s.holds = true;
        self.s.status = self.c.status;
        self.s.page = self.c.page;
        self.loading = false;
    }

    /// C |= S.
    pub(crate) fn or_s_into_c(&mut self) {
        self.bits.combine(|c, s| *c |= s);
        self.note_transfer(false);
    }

    /// Makes the bits that were deferred.
    #[inline]
    pub(crate) fn settle(&mut self, store: &dyn BitStore, words: usize) {
        if self.deferred.is_some() {
            self.make_bits(store, words);
        }
    }

    #[cold]
    fn make_bits(&mut self, store: &dyn BitStore, words: usize) {
        let (mut s, mut c) = self.bits.overwrite_both(words);
        self.deferred.make(store, 0..words, |made_s, made_c| {
            for (into, made) in [(&mut s, made_s), (&mut c, made_c)] {
                let (here, rest) = std::mem::take(into).split_at_mut(made.len());
                here.copy_from_slice(made);
                *into = rest;
            }
        });
        self.deferred.clear();
    }

    /// Notes C ^= S, if what the latches hold is deferred; whether it is.
    pub(crate) fn xor_is_deferred(&mut self) -> bool {
        let noted = self.deferred.xor();
        if noted {
            self.note_transfer(false);
        }
        noted
    }

    /// C ^= S.
    pub(crate) fn xor_s_into_c(&mut self) {
        self.bits.combine(|c, s| *c ^= s);
        self.note_transfer(false);
    }

    /// Loads bytes into the page register, of so many words, from byte `column` on.
    pub(crate) fn load(&mut self, words: usize, column: usize, bytes: &[u8]) {
        let end = column + bytes.len();
        self.start_loading(words, column..end);
        // Byte 0 is lowest in word 0.
        self.bits.change_c().as_mut_bytes()[column..end].copy_from_slice(bytes);
    }

    /// Loads the whole page register with what is in a frame.
    pub(crate) fn load_all(&mut self, frame: &Frame) {
        self.note_loading();
        self.bits.share_c(frame.clone());
    }

    /// Makes sure that the page register, of so many words, is as the channel has loaded it, or filled with ones.
    pub(crate) fn fill_unless_loaded(&mut self, words: usize) {
        self.start_loading(words, 0..0);
    }

    /// Starts loading the page register, which a program command fills with ones first (ONFI's 80h); not where it is loaded next.
    fn start_loading(&mut self, words: usize, loaded: Range<usize>) {
        if !self.loading {
            let c = self.bits.overwrite_c(words);
            if !c.is_empty() {
                c[..loaded.start.div_ceil(8)].fill(u64::MAX);
                c[loaded.end / 8..].fill(u64::MAX);
            }
            self.note_loading();
        }
    }

    /// What the first load after a command does besides moving bits.
    fn note_loading(&mut self) {
        if !self.loading {
            self.c.holds = true;
            self.c.status = PageStatus::Ok;
            self.c.page = None;
            self.spare_kept.clear();
            self.loading = true;
            self.is_programmed = false;
        }
    }
}
