//! What a drive would not do by itself, and does to imitate a simulator: keys that only comparisons set.
//! Each belongs to a part, which finds it in its own configuration.

use media::OutOfRange;
use media::dram::DramTiming;
use media::nand::CommandPhases;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frontend::EntryFetch;
use crate::ftl::{Frontiers, GcPace, StaticRule};
use crate::schedule::{Interleave, ProgramTransfer};

/// What imitates MQSim. Left as in the base preset, nothing does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompatibilityConfig {
    /// How long command phases of page reads, programs and erases are on the channel.
    pub command_phases: CommandPhases,
    /// When the next entry of a submission queue is asked for.
    pub entry_fetch: EntryFetch,
    /// How the time of an access to the DRAM is computed.
    pub dram_timing: DramTiming,
    /// What works on its own: each die, or each chip as a whole.
    pub interleave: Interleave,
    /// What of a page crosses the channel to be programmed.
    pub program_transfer: ProgramTransfer,
    /// Since when planes have a block open for each purpose.
    pub frontiers: Frontiers,
    /// When the next block of a plane short of free ones is emptied.
    pub gc_pace: GcPace,
    /// What static wear levelling compares with `ftl.wear_levelling.static_threshold`.
    pub static_rule: StaticRule,
}

impl CompatibilityConfig {
    /// # Errors
    /// The first thing that is wrong; its key begins with that of the field.
    pub(crate) fn validate(&self) -> Result<(), OutOfRange> {
        self.command_phases.validate()
    }
}
