//! What the two latches of a plane hold, bit for bit.
//!
//! Most commands leave the same bits in both latches, and the next sense gives S others. So a copy between them is only
//! noted, and made when one of them is changed in part; where one is overwritten as a whole, they change places. What comes in a
//! frame stays there until C is changed in part, or a block of the plane is erased.

use crate::words::invert;
use sim::memory::Frame;

/// The bits of S and C; empty until first used, and for good when no data is kept.
#[derive(Default)]
pub(crate) struct LatchBits {
    /// What S holds; both latches, where they hold the `same`.
    s: Box<[u64]>,
    /// What C holds, unless both hold the `same` or C's is `shared`: then it is room, of undefined content.
    c: Box<[u64]>,
    same: bool,
    /// What C holds, if it came in a frame that others hold, too.
    shared: Option<Frame>,
}

impl LatchBits {
    /// What S holds.
    #[cfg(test)]
    fn s(&self) -> &[u64] {
        &self.s
    }

    /// What C holds.
    pub(crate) fn c(&self) -> &[u64] {
        match &self.shared {
            Some(frame) => frame.words(),
            None if self.same => &self.s,
            None => &self.c,
        }
    }

    /// What C holds, if that is in a frame.
    pub(crate) fn shared_c(&self) -> Option<&Frame> {
        self.shared.as_ref()
    }

    /// C holds what is in a frame.
    pub(crate) fn share_c(&mut self, frame: Frame) {
        self.same = false;
        self.shared = Some(frame);
    }

    /// C shares no frame: it has what it holds for itself.
    pub(crate) fn own_c(&mut self) {
        if let Some(frame) = self.shared.take() {
            let words = frame.words();
            room(&mut self.c, words.len()).copy_from_slice(words);
        }
    }

    /// C holds nothing that is needed: it is going to be overwritten as a whole. So S may be where it is, which keeps
    /// the memory that steady work touches small.
    pub(crate) fn forget_c(&mut self) {
        self.same = false;
        self.shared = None;
    }

    /// S, to be overwritten as a whole.
    pub(crate) fn overwrite_s(&mut self, words: usize) -> &mut [u64] {
        if std::mem::take(&mut self.same) {
            std::mem::swap(&mut self.s, &mut self.c);
        }
        room(&mut self.s, words)
    }

    /// C, to be overwritten as a whole.
    pub(crate) fn overwrite_c(&mut self, words: usize) -> &mut [u64] {
        self.forget_c();
        room(&mut self.c, words)
    }

    /// Both, to be overwritten as a whole.
    pub(crate) fn overwrite_both(&mut self, words: usize) -> (&mut [u64], &mut [u64]) {
        self.forget_c();
        (room(&mut self.s, words), room(&mut self.c, words))
    }

    /// S, to be changed.
    pub(crate) fn change_s(&mut self, words: usize) -> &mut [u64] {
        self.part();
        room(&mut self.s, words)
    }

    /// C, to be changed.
    pub(crate) fn change_c(&mut self) -> &mut [u64] {
        self.part();
        &mut self.c
    }

    /// C = NOT C.
    pub(crate) fn invert_c(&mut self) {
        self.part();
        invert(&mut self.c);
    }

    /// C = S.
    pub(crate) fn copy_s_to_c(&mut self) {
        self.shared = None;
        self.same = true;
    }

    /// S = C.
    pub(crate) fn copy_c_to_s(&mut self) {
        self.own_c();
        if !std::mem::replace(&mut self.same, true) {
            std::mem::swap(&mut self.s, &mut self.c);
        }
    }

    /// C takes in S, word by word.
    pub(crate) fn combine(&mut self, take_in: impl Fn(&mut u64, u64)) {
        self.part();
        for (c, s) in self.c.iter_mut().zip(&self.s) {
            take_in(c, *s);
        }
    }

    /// Gives C its own copy of what both hold.
    fn part(&mut self) {
        self.own_c();
        if std::mem::take(&mut self.same) {
            self.c.clone_from(&self.s);
        }
    }
}

/// `words` of `latch`, which are made if it has others.
fn room(latch: &mut Box<[u64]>, words: usize) -> &mut [u64] {
    if latch.len() != words {
        *latch = vec![0; words].into();
    }
    latch
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sim::memory::Frames;

    const WORDS: usize = 3;

    proptest! {
        /// Whatever is done to them in whatever order, they hold what two plain arrays would.
        #[test]
        fn they_hold_what_two_arrays_would(steps in prop::collection::vec((0..11u8, any::<u64>()), 1..60)) {
            let frames = Frames::of_pages(WORDS);
            let mut others = Vec::new();
            let (mut s, mut c) = ([0; WORDS], [0; WORDS]);
            let mut latches = LatchBits::default();
            latches.overwrite_s(WORDS).fill(0);
            latches.overwrite_c(WORDS).fill(0);
            for (step, word) in steps {
                match step {
                    0 => {
                        s.fill(word);
                        latches.overwrite_s(WORDS).fill(word);
                    }
                    1 => {
                        c.fill(word);
                        latches.overwrite_c(WORDS).fill(word);
                    }
                    2 => {
                        s[0] &= word;
                        latches.change_s(WORDS)[0] &= word;
                    }
                    3 => {
                        c[0] = word;
                        latches.change_c()[0] = word;
                    }
                    4 => {
                        c = s;
                        latches.copy_s_to_c();
                    }
                    5 => {
                        s = [word; WORDS];
                        c = s;
                        latches.forget_c();
                        latches.overwrite_s(WORDS).fill(word);
                        latches.copy_s_to_c();
                    }
                    6 => {
                        s = c;
                        latches.copy_c_to_s();
                    }
                    7 => {
                        c = std::array::from_fn(|at| c[at] ^ s[at]);
                        latches.combine(|c, s| *c ^= s);
                    }
                    8 => {
                        c = [word; WORDS];
                        let mut frame = frames.take();
                        frame.words_mut().fill(word);
                        others.push((frame.clone(), word));
                        latches.share_c(frame);
                    }
                    9 => latches.own_c(),
                    _ => {
                        c = std::array::from_fn(|at| c[at] | s[at]);
                        latches.combine(|c, s| *c |= s);
                    }
                }
                prop_assert_eq!(latches.s(), &s[..]);
                prop_assert_eq!(latches.c(), &c[..]);
            }
            for (frame, word) in others {
                prop_assert_eq!(frame.words(), [word; WORDS]);
            }
        }
    }
}
