//! Out of order, as MQSim's default policy: reads of the mapping first; then the host's reads,
//! computations and programs, then collection; erases last. While collection is urgent, it
//! comes before the host. Reads of collection and of the host fill up each other's multi-plane
//! commands, and so do programs.
//!
//! Two cases that MQSim has not: computing goes behind the host's reads, and programs of the
//! mapping go before the host's (MQSim queues them and never carries them out).

use super::Turns;
use crate::schedule::lane::{Choice, Lane};
use crate::schedule::queue::UnitQueue;

/// `turns`: the host's among its own.
#[inline]
pub(super) fn next(queue: &UnitQueue, urgent: bool, turns: Turns) -> Option<Choice> {
    let Turns {
        reads,
        computes,
        programs,
    } = turns;
    let held = |lane: Lane| queue.holds(lane).then_some(lane);
    let choose = |lane, fill| Some(Choice { lane, fill });
    let collection_reads = held(Lane::COLLECTION_READS);
    let collection_programs = held(Lane::COLLECTION_PROGRAMS);
    if queue.holds(Lane::MAPPING_READS) {
        let fill = collection_reads.filter(|_| urgent).or(reads);
        return choose(Lane::MAPPING_READS, fill);
    }
    if urgent {
        if let Some(lane) = collection_reads {
            return choose(lane, reads);
        }
        if let Some(lane) = collection_programs {
            return choose(lane, programs);
        }
        if queue.erase_is_due() {
            return choose(Lane::ERASES, None);
        }
    }
    if let Some(lane) = reads {
        return choose(lane, collection_reads);
    }
    if let Some(lane) = computes {
        return choose(lane, None);
    }
    if queue.holds(Lane::MAPPING_PROGRAMS) {
        return choose(Lane::MAPPING_PROGRAMS, programs);
    }
    if let Some(lane) = programs {
        return choose(lane, collection_programs);
    }
    collection_reads
        .or(collection_programs)
        .or(held(Lane::ERASES))
        .map(Choice::from)
}
