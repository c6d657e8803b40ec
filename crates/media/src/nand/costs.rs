//! What senses and moves of latches take and spend, by what the configuration states.

use sim::{Energy, Span};

use super::command::{Iscm, MwsPlane};
use super::config::NandConfig;
use super::mws::MwsTime;
use super::power::energy_of;

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
    /// If `blocks` is not within 1 to [`MWS_BLOCKS_MAX`](super::MWS_BLOCKS_MAX).
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
    /// If it selects no block, or more than [`MWS_BLOCKS_MAX`](super::MWS_BLOCKS_MAX).
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
