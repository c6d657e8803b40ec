//! d choices: of d blocks drawn at random, with replacement, the one with the
//! fewest needed pages (Van Houdt, SIGMETRICS 2013).

use media::nand::BlockId;
use sim::Random;

use crate::ftl::blocks::View;

pub(super) fn victim(candidates: View<'_>, choices: u32, random: &mut Random) -> Option<BlockId> {
    if candidates.len() == 0 {
        return None;
    }
    (0..choices)
        .map(|_| candidates.at(random.below(candidates.len() as u64) as usize))
        .min_by_key(|block| candidates.valid(*block))
        .filter(|block| candidates.yields(*block))
}
