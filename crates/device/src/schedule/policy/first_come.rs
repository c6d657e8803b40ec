//! In the order of arrival, whatever the kind and whoever asks.

use crate::schedule::key::Choice;
use crate::schedule::queue::UnitQueue;

pub(super) fn next<C>(queue: &UnitQueue<C>) -> Option<Choice> {
    queue.oldest().map(|(_, key)| key.into())
}
