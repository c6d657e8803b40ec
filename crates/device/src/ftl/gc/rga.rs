//! The randomized greedy algorithm: of some different blocks drawn at random, the
//! one with the fewest needed pages (Li, Lee, Lui, SIGMETRICS 2013; MQSim's RGA).

use std::collections::BTreeSet;

use media::nand::BlockId;
use sim::Random;

use crate::ftl::blocks::View;

pub(super) fn victim(candidates: View<'_>, choices: u32, random: &mut Random) -> Option<BlockId> {
    let (count, choices) = (candidates.len() as u64, u64::from(choices));
    let mut drawn = BTreeSet::new();
    // Floyd's way of drawing different numbers: each takes one draw.
    for last in count.saturating_sub(choices)..count {
        let place = random.below(last + 1);
        if !drawn.insert(place) {
            drawn.insert(last);
        }
    }
    drawn
        .into_iter()
        .map(|place| candidates.at(place as usize))
        .min_by_key(|block| candidates.valid(*block))
        .filter(|block| candidates.yields(*block))
}
