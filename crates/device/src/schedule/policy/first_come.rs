//! In the order of arrival, whatever the kind and whoever asks.

use crate::schedule::lane::Choice;
use crate::schedule::queue::UnitQueue;

pub(super) fn next(queue: &UnitQueue) -> Option<Choice> {
    queue.oldest().map(|(_, lane)| lane.into())
}
