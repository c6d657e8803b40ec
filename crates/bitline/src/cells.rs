//! What a configuration says of cells and of senses.

use media::nand::ProgramMode;
use media::nand::cells::{Condition, QUALITY_MAX};
use sim::Span;

use crate::config::Config;

/// Which block's cells are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockQuality {
    /// The best of some thousands.
    Best,
    /// One as good as most.
    Median,
    /// The worst of some thousands.
    Worst,
    /// The mean of the error rates of all blocks.
    Average,
}

impl Config {
    /// The raw bit error rate of cells of `mode` under `condition` (whose quality is that of
    /// `block`), over all pages that they hold. Hours are those at the reference temperature.
    pub fn raw_bit_error_rate(
        &self,
        mode: ProgramMode,
        condition: &Condition,
        block: BlockQuality,
    ) -> f64 {
        let cells = &self.device.nand.cells;
        let of = |quality| {
            let condition = condition.of_quality(quality);
            cells.error_rates(mode, &condition, 0.0).mean()
        };
        match block {
            BlockQuality::Best => of(-QUALITY_MAX),
            BlockQuality::Median => of(0.0),
            BlockQuality::Worst => of(QUALITY_MAX),
            BlockQuality::Average => cells.mean_error_rate(mode, condition),
        }
    }

    /// Hours at the reference temperature in which cells lose as much charge as in one at `celsius` (Arrhenius).
    pub fn retention_acceleration(&self, celsius: f64) -> f64 {
        self.device.nand.cells.acceleration(celsius)
    }

    /// How long a sense takes by its blocks and wordlines, in times of a page read of one bit a cell, as measured
    /// (`nand.mws.precharge`).
    pub fn sense_time(&self, blocks: u32, wordlines: u32) -> f64 {
        let nand = &self.device.nand;
        let t_r = Span::from_ns(nand.latency.read_slc_ns);
        let time = nand.mws.precharge.time(t_r, blocks, wordlines);
        time.as_ps() as f64 / t_r.as_ps() as f64
    }

    /// Power of a sense of one block, of two, and so on up to as many as can be sensed at once, in times of a page read's
    /// (`nand.mws.power_percent`).
    pub fn sense_powers(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        let powers = self.device.nand.mws.power_percent.iter();
        powers.map(|percent| *percent as f64 / 100.0)
    }
}
