//! What a policy that ranks requests asks of the queues of a unit.

use super::line::{oldest_of, place_of};
use super::{Choice, Kind, QueueKey, Rank, Set, UnitQueue, Waiting};

/// The first of a queue.
#[derive(Clone, Copy, Debug)]
pub(in crate::schedule) struct Head {
    pub(in crate::schedule) key: QueueKey,
    pub(in crate::schedule) rank: Rank,
    pub(in crate::schedule) arrival: u64,
}

impl<C> UnitQueue<C> {
    /// The firsts of the queues that hold something that may go.
    pub(in crate::schedule) fn heads(&self) -> impl Iterator<Item = Head> + '_ {
        let mut ready = self.ready();
        std::iter::from_fn(move || {
            if ready == 0 {
                return None;
            }
            let key = QueueKey(ready.trailing_zeros() as u8);
            ready &= ready - 1;
            self.waiting_at(key, 0)
        })
    }

    fn waiting_at(&self, key: QueueKey, index: usize) -> Option<Head> {
        fn head<T>(key: QueueKey, waiting: &Waiting<T>) -> Head {
            Head {
                key,
                rank: waiting.rank,
                arrival: waiting.arrival,
            }
        }
        let class = key.class();
        match key.kind() {
            Kind::Read => Some(head(key, self.reads[class].waiting.get(index)?)),
            Kind::Compute => Some(head(key, self.computes[class].get(index)?)),
            Kind::Program => Some(head(key, self.programs[class].waiting.get(index)?)),
            Kind::Erase => Some(head(key, self.erases.waiting.get(index)?)),
        }
    }

    /// When what was chosen arrived.
    pub(in crate::schedule) fn arrival_of(&self, choice: Choice) -> Option<u64> {
        let chosen = self.waiting_at(choice.key, choice.index as usize);
        chosen.map(|head| head.arrival)
    }

    /// The rank of what was chosen.
    pub(in crate::schedule) fn rank_of(&self, choice: Choice) -> Rank {
        let chosen = self.waiting_at(choice.key, choice.index as usize);
        chosen.map_or(Rank::BACKGROUND, |head| head.rank)
    }

    /// The choice of what arrived so, and waits in the queue of `key`.
    pub(in crate::schedule) fn choice_of(&self, arrival: u64, key: QueueKey) -> Option<Choice> {
        let class = key.class();
        let index = match key.kind() {
            Kind::Read => place_of(&self.reads[class].waiting, arrival),
            Kind::Compute => place_of(&self.computes[class], arrival),
            Kind::Program => place_of(&self.programs[class].waiting, arrival),
            Kind::Erase => place_of(&self.erases.waiting, arrival),
        }?;
        let index = index as u32;
        Some(Choice {
            index,
            ..Choice::from(key)
        })
    }

    pub(super) fn lowest_arrival(&self, key: QueueKey) -> Option<u64> {
        let class = key.class();
        match key.kind() {
            Kind::Read => oldest_of(&self.reads[class].waiting),
            Kind::Compute => oldest_of(&self.computes[class]),
            Kind::Program => oldest_of(&self.programs[class].waiting),
            Kind::Erase => oldest_of(&self.erases.waiting),
        }
    }

    /// Operations that were taken wait no more.
    #[inline]
    pub(super) fn note_gone<T>(&mut self, set: &Set<T>) {
        if self.is_ranked() {
            set.iter()
                .for_each(|taken| self.arrivals.take(taken.arrival));
        }
    }
}
