//! Runs of logical blocks, and the free ones among them.

use std::collections::BTreeMap;

/// A run of logical blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    /// The first block.
    pub first: u64,
    /// How many.
    pub blocks: u64,
}

/// A run of pages of the data area, counted from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) pages: u32,
}

impl Run {
    /// The page after the last; a run that was checked to lie in the area does not overflow.
    pub(super) fn end(self) -> u32 {
        self.first + self.pages
    }

    /// Whether it has pages of the other.
    pub(super) fn touches(self, other: Run) -> bool {
        self.first < other.end() && other.first < self.end()
    }
}

/// Where pages may begin: page k of what is allocated lies at `residue` + k modulo `modulus`, and none below
/// `residue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alignment {
    pub(super) modulus: u32,
    pub(super) residue: u32,
}

impl Alignment {
    /// Anywhere.
    pub(super) const ANY: Alignment = Alignment {
        modulus: 1,
        residue: 0,
    };

    /// The first place from `from` on where page `index` may lie.
    fn next(self, from: u32, index: u32) -> Option<u32> {
        let from = from.max(self.residue);
        let modulus = u64::from(self.modulus.max(1));
        let wanted = (u64::from(self.residue) + u64::from(index)) % modulus;
        let ahead = (wanted + modulus - u64::from(from) % modulus) % modulus;
        u32::try_from(u64::from(from) + ahead).ok()
    }
}

/// The free pages of the data area. The same calls give the same answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Space {
    /// First page and number of pages of each free run; runs do not touch.
    free: BTreeMap<u32, u32>,
    free_pages: u64,
}

impl Space {
    /// An area of `pages`, all of them free.
    pub(super) fn new(pages: u32) -> Space {
        let free = (pages > 0).then_some((0, pages));
        Space {
            free: free.into_iter().collect(),
            free_pages: u64::from(pages),
        }
    }

    pub(super) fn free_pages(&self) -> u64 {
        self.free_pages
    }

    pub(super) fn free_runs(&self) -> impl Iterator<Item = Run> {
        let run = |(first, pages): (&u32, &u32)| Run {
            first: *first,
            pages: *pages,
        };
        self.free.iter().map(run)
    }

    /// Whether some of these pages are free.
    pub(super) fn has_free(&self, run: Run) -> bool {
        let before = self.free.range(..run.end()).next_back();
        before.is_some_and(|(first, pages)| first + pages > run.first)
    }

    /// Takes `pages`: the first free run that has room for all of them, or else the longest pieces there are.
    /// Takes nothing and gives `None` if they do not fit, or not into `runs_max` pieces.
    pub(super) fn allocate(
        &mut self,
        pages: u32,
        alignment: Alignment,
        runs_max: usize,
    ) -> Option<Vec<Run>> {
        if let Some(first) = self.first_fit(pages, alignment) {
            let run = Run { first, pages };
            return self.claim(run).then(|| vec![run]);
        }
        let mut taken = Vec::new();
        let mut done = 0;
        while done < pages {
            let piece = self
                .longest(pages - done, alignment, done)
                .filter(|_| taken.len() < runs_max);
            let Some(piece) = piece else {
                taken.iter().for_each(|run| self.release(*run));
                return None;
            };
            let was_free = self.claim(piece);
            debug_assert!(was_free, "it was just found in a free run");
            done += piece.pages;
            taken.push(piece);
        }
        Some(taken)
    }

    /// Where `pages` in one run would begin.
    pub(super) fn first_fit(&self, pages: u32, alignment: Alignment) -> Option<u32> {
        self.free_runs().find_map(|run| {
            let first = alignment.next(run.first, 0)?;
            (first.checked_add(pages)? <= run.end()).then_some(first)
        })
    }

    /// The longest piece, up to `pages`, that page `index` may begin; the first of equals.
    fn longest(&self, pages: u32, alignment: Alignment, index: u32) -> Option<Run> {
        let piece = |run: Run| {
            let first = alignment.next(run.first, index)?;
            let left = run.end().checked_sub(first).filter(|left| *left > 0)?;
            Some(Run {
                first,
                pages: left.min(pages),
            })
        };
        let longer = |best: Run, next: Run| if next.pages > best.pages { next } else { best };
        self.free_runs().filter_map(piece).reduce(longer)
    }

    /// Takes this very run; false, and nothing is taken, if it is not free.
    pub(super) fn claim(&mut self, run: Run) -> bool {
        let Some((first, pages)) = self.free.range(..=run.first).next_back() else {
            return false;
        };
        let around = Run {
            first: *first,
            pages: *pages,
        };
        if run.pages == 0 || run.end() > around.end() {
            return false;
        }
        self.free.remove(&around.first);
        if run.first > around.first {
            self.free.insert(around.first, run.first - around.first);
        }
        if run.end() < around.end() {
            self.free.insert(run.end(), around.end() - run.end());
        }
        self.free_pages -= u64::from(run.pages);
        true
    }

    /// Gives back a run that was taken.
    pub(super) fn release(&mut self, run: Run) {
        let (mut first, mut pages) = (run.first, run.pages);
        if let Some((before, length)) = self.free.range(..run.first).next_back()
            && before + length == run.first
        {
            (first, pages) = (*before, pages + length);
        }
        if let Some(length) = self.free.remove(&run.end()) {
            pages += length;
        }
        self.free.insert(first, pages);
        self.free_pages += u64::from(run.pages);
    }
}
