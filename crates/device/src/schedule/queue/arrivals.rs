//! What waits for a unit in the order in which it came, where it does not wait in that order.

use std::collections::VecDeque;

use crate::schedule::key::QueueKey;

/// Arrivals, and the queues in which those that wait do so.
#[derive(Default)]
pub(super) struct Arrivals {
    /// The first arrival of `line`.
    base: u64,
    /// One after the other; none for what is gone.
    line: VecDeque<Option<QueueKey>>,
    /// What was put back when `line` had left it behind: computations that stand back.
    back: Vec<(u64, QueueKey)>,
}

impl Arrivals {
    /// The next one came.
    pub(super) fn push(&mut self, arrival: u64, key: QueueKey) {
        if self.line.is_empty() {
            self.base = arrival;
        }
        debug_assert_eq!(self.base + self.line.len() as u64, arrival);
        self.line.push_back(Some(key));
    }

    /// One is gone.
    pub(super) fn take(&mut self, arrival: u64) {
        let Some(place) = self.place(arrival) else {
            self.back.retain(|(back, _)| *back != arrival);
            return;
        };
        self.line[place] = None;
        while let Some(None) = self.line.front() {
            self.line.pop_front();
            self.base += 1;
        }
    }

    /// One is there again.
    pub(super) fn put_back(&mut self, arrival: u64, key: QueueKey) {
        match self.place(arrival) {
            Some(place) => self.line[place] = Some(key),
            None => self.back.push((arrival, key)),
        }
    }

    /// What has waited longest in a queue that `may` go.
    pub(super) fn oldest(&self, may: impl Fn(QueueKey) -> bool) -> Option<(u64, QueueKey)> {
        let back = self.back.iter().filter(|(_, key)| may(*key));
        let back = back.min_by_key(|(arrival, _)| *arrival);
        back.copied().or_else(|| {
            let line = (self.base..).zip(&self.line);
            let mut waiting = line.filter_map(|(arrival, key)| Some((arrival, (*key)?)));
            waiting.find(|(_, key)| may(*key))
        })
    }

    fn place(&self, arrival: u64) -> Option<usize> {
        let place = arrival.checked_sub(self.base)? as usize;
        (place < self.line.len()).then_some(place)
    }
}
