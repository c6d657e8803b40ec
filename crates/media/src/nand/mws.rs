//! How long a sense of several wordlines takes and what power it draws, by wordlines and blocks
//! (Flash-Cosmos 5.2, Figures 12 to 14).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::Span;

use super::check::{ConfigError, check_range};
use super::command::MWS_BLOCKS_MAX;

/// Limits, time and power of multi-wordline sensing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MwsLimits {
    /// Blocks of a plane sensed at once, 1 to 4 (a power limit, Flash-Cosmos 5.2).
    pub blocks_max: u32,
    /// Where the time of a sense comes from.
    pub time: MwsTime,
    /// Power of a sense of 1, 2, 3 and 4 blocks in percent of that of a page read
    /// (Flash-Cosmos Figure 14).
    pub power_percent: [u64; MWS_BLOCKS_MAX],
    /// What wordlines and blocks add to a sense, for [`MwsTime::Measured`].
    pub precharge: Precharge,
    /// How much higher a sense's read voltage is with each step that it is raised by, in millivolts.
    pub raise_step_mv: u32,
}

/// Where the time of a sense of more than one wordline comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MwsTime {
    /// `latency.mws_ns`, whatever is sensed: one figure that is enough for all
    /// (Flash-Cosmos Table 1).
    Stated,
    /// tR and what the wordlines and blocks of the sense add to it (Flash-Cosmos 5.2).
    Measured,
}

/// What makes a sense longer than a page read, in millionths of tR (Flash-Cosmos 5.2).
///
/// Bitlines and the wordlines of all selected blocks are precharged side by side: blocks cost
/// nothing until their wordlines take longer than the bitlines. Each wordline at the read voltage
/// raises the resistance of its string, which slows the evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Precharge {
    /// The precharge of the bitlines, which is part of tR.
    pub bitlines_ppm: u32,
    /// The precharge of the wordlines, for each block selected.
    pub block_ppm: u32,
    /// The slower evaluation, for each wordline of a string beyond the first.
    pub wordline_ppm: u32,
}

impl Precharge {
    /// How long a sense of up to `wordlines` of a string in `blocks` blocks takes, where a page
    /// read takes `t_r`. Blocks may be more than a command can address.
    pub fn time(&self, t_r: Span, blocks: u32, wordlines: u32) -> Span {
        let blocks = u64::from(self.block_ppm) * u64::from(blocks);
        let wordlines = u64::from(self.wordline_ppm) * u64::from(wordlines.saturating_sub(1));
        let added = blocks.saturating_sub(u64::from(self.bitlines_ppm)) + wordlines;
        t_r + t_r * added / 1_000_000
    }
}

impl MwsLimits {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let blocks_max = u64::from(self.blocks_max);
        let slots = 1..=MWS_BLOCKS_MAX as u64;
        check_range("mws.blocks_max", blocks_max, slots, "1 to 4")?;
        let step = u64::from(self.raise_step_mv);
        check_range("mws.raise_step_mv", step, 0..=1_000, "0 to 1000")?;
        let [one, two, three, four] = self.power_percent;
        for (key, value) in [
            ("mws.power_percent[0]", one),
            ("mws.power_percent[1]", two),
            ("mws.power_percent[2]", three),
            ("mws.power_percent[3]", four),
        ] {
            check_range(key, value, 0..=100_000, "0 to 100000")?;
        }
        let Precharge {
            bitlines_ppm,
            block_ppm,
            wordline_ppm,
        } = self.precharge;
        for (key, value) in [
            ("mws.precharge.bitlines_ppm", bitlines_ppm),
            ("mws.precharge.block_ppm", block_ppm),
            ("mws.precharge.wordline_ppm", wordline_ppm),
        ] {
            check_range(key, value.into(), 0..=1_000_000, "0 to 1000000 (tR)")?;
        }
        Ok(())
    }
}
