//! Out of order, as MQSim's default policy: reads of the mapping first; then the host's reads,
//! computations and programs, then collection; erases last. While collection is urgent, it
//! comes before the host. Reads of collection and of the host fill up each other's multi-plane
//! commands, and so do programs.
//!
//! Two cases that MQSim has not: computing goes behind the host's reads, and programs of the
//! mapping go before the host's (MQSim queues them and never carries them out).

use super::Turns;
use crate::schedule::key::{Choice, QueueKey};
use crate::schedule::queue::UnitQueue;

/// `turns`: the host's among its own.
#[inline]
pub(super) fn next<C>(queue: &UnitQueue<C>, urgent: bool, turns: Turns) -> Option<Choice> {
    let Turns {
        reads,
        computes,
        programs,
    } = turns;
    let held = |key: QueueKey| queue.holds(key).then_some(key);
    let choose = |key, fill| {
        Some(Choice {
            key,
            index: 0,
            fill,
        })
    };
    let collection_reads = held(QueueKey::COLLECTION_READS);
    let collection_programs = held(QueueKey::COLLECTION_PROGRAMS);
    if queue.holds(QueueKey::MAPPING_READS) {
        let fill = collection_reads.filter(|_| urgent).or(reads);
        return choose(QueueKey::MAPPING_READS, fill);
    }
    if urgent {
        if let Some(key) = collection_reads {
            return choose(key, reads);
        }
        if let Some(key) = collection_programs {
            return choose(key, programs);
        }
        if queue.erase_is_due() {
            return choose(QueueKey::ERASES, None);
        }
    }
    if let Some(key) = reads {
        return choose(key, collection_reads);
    }
    if let Some(key) = computes {
        return choose(key, None);
    }
    if queue.holds(QueueKey::MAPPING_PROGRAMS) {
        return choose(QueueKey::MAPPING_PROGRAMS, programs);
    }
    if let Some(key) = programs {
        return choose(key, collection_programs);
    }
    collection_reads
        .or(collection_programs)
        .or(held(QueueKey::ERASES))
        .map(Choice::from)
}
