//! Garbage collection: blocks whose pages are no longer needed are emptied and
//! erased. One file a policy.

mod collect;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod random;
mod rga;

pub(super) use collect::Collections;

use media::nand::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::Random;

use super::blocks::View;

/// Free blocks of each plane that only garbage collection may take: one that it
/// fills, and one for what power cuts tear while it does.
pub(super) const GC_RESERVE_BLOCKS: u32 = 2;

/// How garbage is collected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GcConfig {
    /// Which block is emptied.
    pub policy: GcPolicy,
    /// Blocks that `d_choices` draws.
    pub choices: u32,
    /// Collection of a plane begins when fewer of its blocks are free.
    pub threshold_blocks: u32,
    /// Host writes to a plane wait while fewer of its blocks are free.
    pub hard_threshold_blocks: u32,
    /// Whether host transactions go before collection while `urgent_threshold_blocks` are free.
    pub preemptible: bool,
    /// Collection of a plane goes before the host while fewer of its blocks are free.
    pub urgent_threshold_blocks: u32,
    /// Whether dies copy pages within their planes, so that these do not cross the channel. A copy
    /// that finds no page in its plane still goes through the controller.
    pub copyback: bool,
    /// When the next block of a plane short of free ones is emptied. Set in `[compatibility]`.
    #[serde(skip)]
    pub pace: GcPace,
    /// Blocks of a plane emptied at the same time, at most.
    pub concurrent_blocks: u32,
    /// Pages of a block being emptied that are copied at the same time, at most.
    pub concurrent_copies: u32,
}

/// Which block is emptied next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GcPolicy {
    /// The one with the fewest pages to copy.
    Greedy,
    /// Of as many blocks drawn at random as the number of blocks of a plane has bits, the
    /// one with the fewest pages to copy (MQSim's RGA).
    Rga,
    /// Of `choices` blocks drawn at random, the one with the fewest pages to copy.
    DChoices,
    /// The one that was filled first.
    Fifo,
    /// The one with the most free space gained for its cost, weighed by its age.
    CostBenefit,
    /// Any.
    Random,
}

/// When collection goes on in a plane with fewer free blocks than the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GcPace {
    /// At once, until the threshold is reached again.
    #[default]
    Refill,
    /// One block for each that is filled, by the host or by collection, and below the hard
    /// threshold one after the other: what MQSim does.
    PerBlock,
}

/// A policy at work: its configuration and its randomness.
pub(super) struct Chooser {
    policy: GcPolicy,
    choices: u32,
    rga_choices: u32,
    random: Random,
}

impl Chooser {
    pub(super) fn new(config: &GcConfig, blocks_per_plane: u32, random: Random) -> Chooser {
        Chooser {
            policy: config.policy,
            choices: config.choices,
            rga_choices: GcPolicy::Rga.choices(config, blocks_per_plane),
            random,
        }
    }

    /// The block to empty; `None` if none would yield anything.
    fn victim(&mut self, candidates: View<'_>) -> Option<BlockId> {
        let (choices, rga_choices) = (self.choices, self.rga_choices);
        let random = &mut self.random;
        // A policy that draws may draw none that yields anything though there is one.
        match self.policy {
            GcPolicy::Greedy => greedy::victim(candidates),
            GcPolicy::Rga => rga::victim(candidates, rga_choices, random),
            GcPolicy::DChoices => d_choices::victim(candidates, choices, random),
            GcPolicy::Fifo => fifo::victim(candidates),
            GcPolicy::CostBenefit => cost_benefit::victim(candidates),
            GcPolicy::Random => random::victim(candidates, random),
        }
        .or_else(|| greedy::victim(candidates))
    }
}

impl GcPolicy {
    /// Whether the order in which blocks are closed must be kept for it.
    pub(super) fn keeps_order(self) -> bool {
        self == GcPolicy::Fifo
    }

    /// Of how many blocks drawn at random it empties the emptiest, or empties blocks that are as
    /// empty on average: what preconditioning takes for a steady state. 30 are as good as all.
    pub(super) fn choices(self, config: &GcConfig, blocks_per_plane: u32) -> u32 {
        match self {
            GcPolicy::Greedy | GcPolicy::Fifo | GcPolicy::CostBenefit => 30,
            GcPolicy::Rga => blocks_per_plane.ilog2().max(1),
            GcPolicy::DChoices => config.choices,
            GcPolicy::Random => 1,
        }
    }
}
