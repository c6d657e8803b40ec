//! How long a sense of several wordlines takes and what power it draws, by wordlines and blocks
//! (Flash-Cosmos 5.2, Figures 12 to 14).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::{Energy, Span};

use super::command::{Iscm, MwsPlane};
use super::config::{ConfigError, NandConfig, check_range, energy_of};

/// Blocks one multi-wordline sense can address: the address slots of its command
/// (Flash-Cosmos Figure 15).
pub const MWS_BLOCKS_MAX: usize = 4;

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

impl NandConfig {
    /// How long a sense in `blocks` blocks of a plane takes that selects at most `wordlines` in one
    /// string. One wordline of one block is a page read (Flash-Cosmos Figure 12).
    pub fn sense_time(&self, blocks: u32, wordlines: u32) -> Span {
        let t_r = Span::from_ns(self.latency.read_slc_ns);
        match self.mws.time {
            _ if blocks == 1 && wordlines == 1 => t_r,
            MwsTime::Stated => Span::from_ns(self.latency.mws_ns),
            MwsTime::Measured => self.mws.precharge.time(t_r, blocks, wordlines),
        }
    }

    /// What such a sense spends in its plane: the power of so many blocks for its time.
    ///
    /// # Panics
    /// If `blocks` is not within 1 to [`MWS_BLOCKS_MAX`].
    pub fn sense_energy(&self, blocks: u32, wordlines: u32) -> Energy {
        let percent = self.mws.power_percent[blocks as usize - 1];
        let (read_pj, read_ns) = (self.energy.read_pj, self.latency.read_slc_ns);
        let time = self.sense_time(blocks, wordlines);
        let percent = if blocks == 1 && wordlines == 1 {
            100
        } else {
            percent
        };
        energy_of(read_pj, read_ns * 1000, time.as_ps(), percent)
    }

    /// What one plane's share of a multi-wordline sense takes and spends. Combining with what a latch
    /// holds costs an AND or OR of a page.
    ///
    /// # Panics
    /// If it selects no block, or more than [`MWS_BLOCKS_MAX`].
    pub fn mws_cost(&self, iscm: Iscm, sense: &MwsPlane) -> (Span, Energy) {
        let blocks = sense.slots.len() as u32;
        let counts = sense.slots.iter().map(|slot| slot.wordlines.count());
        let wordlines = counts.max().unwrap_or(1);
        let combined = u64::from(!iscm.init_s) + u64::from(iscm.transfer && !iscm.init_c);
        let and_or = self.per_page(self.energy.and_or_pj_per_kib);
        let energy = self.sense_energy(blocks, wordlines) + and_or * combined;
        (self.sense_time(blocks, wordlines), energy)
    }

    /// What an XOR of the latches takes, and spends in each plane.
    pub fn xor_cost(&self) -> (Span, Energy) {
        let energy = self.per_page(self.energy.xor_pj_per_kib);
        (Span::from_ns(self.latency.xor_ns), energy)
    }
}
