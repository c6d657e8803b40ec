//! Random: any block that yields something.

use media::nand::BlockId;
use sim::Random;

use crate::ftl::blocks::View;

/// Draws until it gives up: most blocks of a drive that has to collect yield something.
const DRAWS_MAX: u32 = 64;

pub(super) fn victim(candidates: View<'_>, random: &mut Random) -> Option<BlockId> {
    (0..DRAWS_MAX).find_map(|_| super::d_choices::victim(candidates, 1, random))
}
