//! Out of order: reads before computing before programs before erases; within a
//! kind, in the order of arrival.

use crate::schedule::queue::{Class, DieQueue};

#[inline]
pub(super) fn next(queue: &DieQueue) -> Option<Class> {
    Class::ALL
        .into_iter()
        .find(|class| queue.first_arrival(*class).is_some())
}
