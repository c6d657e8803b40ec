//! By rank, as TH-iSSD 3.3: whoever has the highest of Equation 1 goes first, and of equals who came first, whatever the kind.
//!
//! Reads of the mapping, for which commands wait, have the highest rank, and so has collection while it is urgent; otherwise it
//! has none, and erases go when nothing else waits. What is under way is never aborted: computations give way at the borders of
//! their pieces.
//!
//! Streams and tasks are guaranteed a share of the die's time while they wait. A deficit grows by their share of what others take
//! meanwhile, and shrinks by the others' share of what they take; while there is one, the highest of them goes before the others.
//! While they always wait they have their share of any stretch of time, but for what they had too much of the millisecond before.

use std::cmp::Reverse;

use sim::Span;

use crate::schedule::key::{Choice, Kind, QueueKey};
use crate::schedule::queue::{Head, UnitQueue};
use crate::schedule::rank::Rank;

/// What streams and tasks are owed of a unit's time.
#[derive(Clone)]
pub(in crate::schedule) struct Owed {
    percent: i64,
    /// Hundredths of picoseconds by which they fall short of their share; below zero what they had too much.
    deficit: i64,
    /// What was chosen last.
    last: Last,
}

/// What was chosen, as far as streams and tasks are concerned.
#[derive(Clone, Copy)]
enum Last {
    /// Something of theirs.
    Theirs,
    /// Something else, while they waited.
    BeforeThem,
    /// Something else, while they did not.
    Another,
}

/// What they had beyond their share is held against them up to so much time of theirs.
const CREDIT: Span = Span::from_us(1000);

impl Owed {
    pub(super) fn new(percent: u32) -> Owed {
        Owed {
            percent: percent.into(),
            deficit: 0,
            last: Last::Another,
        }
    }

    /// What was chosen last took so long.
    pub(super) fn served(&mut self, span: Span) {
        let span = span.as_ps() as i64;
        match self.last {
            Last::Theirs => {
                let least = -(CREDIT.as_ps() as i64 * (100 - self.percent));
                self.deficit = (self.deficit - span * (100 - self.percent)).max(least);
            }
            Last::BeforeThem => self.deficit += span * self.percent,
            Last::Another => {}
        }
        self.last = Last::Another;
    }

    /// Whether one of theirs, which waits, is to go before the others, if these do.
    fn is_due(&self, others: bool) -> bool {
        others && self.deficit > 0
    }

    /// Notes whether some of theirs wait, and whether it is one of them that goes. Nothing is owed to those who do not wait.
    fn note(&mut self, waiting: bool, chosen: bool) {
        if !waiting {
            self.deficit = self.deficit.min(0);
        }
        self.last = match (waiting, chosen) {
            (true, true) => Last::Theirs,
            (true, false) => Last::BeforeThem,
            (false, _) => Last::Another,
        };
    }
}

pub(super) fn next<C>(queue: &UnitQueue<C>, urgent: bool, owed: &mut Owed) -> Option<Choice> {
    let erases = match urgent && queue.erase_is_due() {
        true => Rank::FIRST,
        false => Rank::BACKGROUND,
    };
    let (mut best, mut theirs, mut others) = (None, None, false);
    for mut head in queue.heads() {
        match head.key {
            QueueKey::ERASES => head.rank = erases,
            key if urgent && key.is_collection() => head.rank = Rank::FIRST,
            _ => {}
        }
        best = higher(best, head);
        if head.key.is_in_storage() {
            theirs = higher(theirs, head);
        } else {
            // They have what they want while nothing waits beside them but the background.
            others |= head.rank > Rank::BACKGROUND;
        }
    }
    let mut chosen = best?;
    if let Some(theirs) = theirs
        && owed.is_due(others)
        && chosen.rank < Rank::FIRST
    {
        chosen = theirs;
    }
    owed.note(theirs.is_some(), chosen.key.is_in_storage());
    Some(Choice {
        fill: fill(queue, chosen.key),
        ..Choice::from(chosen.key)
    })
}

/// The queue that fills up a multi-plane command: of the others of the same kind that with the highest first.
fn fill<C>(queue: &UnitQueue<C>, key: QueueKey) -> Option<QueueKey> {
    if !matches!(key.kind(), Kind::Read | Kind::Program) {
        return None;
    }
    let others = queue
        .heads()
        .filter(|head| head.key.kind() == key.kind() && head.key != key);
    others.fold(None, higher).map(|head| head.key)
}

/// Whichever goes first; erases that nobody is in need of go last.
fn higher(best: Option<Head>, head: Head) -> Option<Head> {
    let place = |head: &Head| {
        let waits = head.key == QueueKey::ERASES && head.rank < Rank::FIRST;
        (!waits, head.rank, Reverse(head.arrival))
    };
    best.filter(|best| place(best) > place(&head))
        .or(Some(head))
}
