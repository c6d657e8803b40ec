//! Cost and benefit: the block with the highest age × (1 - u) / 2u, where u is the
//! share of its units that are needed and age the time since it last lost one, in
//! pages written (Rosenblum and Ousterhout, TOCS 1992; Kawaguchi et al., USENIX 1995).

use media::nand::BlockId;

use crate::ftl::blocks::View;

pub(super) fn victim(candidates: View<'_>) -> Option<BlockId> {
    let units = u64::from(candidates.units_per_block());
    let mut best: Option<(BlockId, u128, u128)> = None;
    // Of blocks with as many needed units, the one with the highest age is the best.
    for (block, valid) in candidates.longest_unchanged() {
        if valid == 0 {
            return Some(block);
        }
        let benefit = u128::from((candidates.age(block) + 1) * (units - u64::from(valid)));
        let cost = 2 * u128::from(valid);
        if best.is_none_or(|(_, most, at)| benefit * at > most * cost) {
            best = Some((block, benefit, cost));
        }
    }
    best.map(|(block, ..)| block)
}
