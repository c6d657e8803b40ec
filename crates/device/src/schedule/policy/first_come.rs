//! In the order of arrival, whatever the kind.

use crate::schedule::queue::{Class, DieQueue};

pub(super) fn next(queue: &DieQueue) -> Option<Class> {
    Class::ALL
        .into_iter()
        .filter_map(|class| Some((queue.first_arrival(class)?, class)))
        .min_by_key(|(arrival, _)| *arrival)
        .map(|(_, class)| class)
}
