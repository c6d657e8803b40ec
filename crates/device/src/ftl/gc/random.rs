//! Random: any block that yields something.

use media::nand::BlockId;
use sim::Random;

use crate::ftl::blocks::View;

pub(super) fn victim(candidates: View<'_>, random: &mut Random) -> Option<BlockId> {
    super::d_choices::victim(candidates, 1, random)
}
