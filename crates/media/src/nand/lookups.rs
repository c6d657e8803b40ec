//! How searches for names fare with cells that read wrong, and how far firmware raises their read voltage so that none is missed
//! (ANVIL 5.1, false-negative voltage tuning).
//!
//! A key that equals a name senses only low cells of it, one a bit. The name is missed if any of them reads as high. A key that
//! differs in some bits senses high cells there; the name matches falsely if all of these read as low, and no other as high.

use super::cells::{
    Cells, Condition, DriveAge, Past, QUALITY_MAX, RawRates, felt_reads, over_qualities,
};
use super::command::RAISE_MAX;
use super::{BlockId, Nand, NandConfig, PageAddress, ProgramMode};

/// Low cells of a block that may read as high, at most, in the mean over the worst blocks there are: so few that of 33 million
/// names (ANVIL's largest figure; 252 blocks of its SSD-A) none is missed on all but one of a thousand drives.
pub const MISSED_CELLS_MAX: f64 = 4e-6;

/// Draws made for an experiment, about; of more names fewer blocks are looked at.
const DRAWS_MAX: f64 = 2e7;
/// Blocks that are looked at in any case, as far as there are so many.
const BLOCKS_MIN: u64 = 16;

/// Shares of single cells with one bit that a sense reads wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchRates {
    /// Of low (erased) cells: those that read as high. They make misses.
    pub low_as_high: f64,
    /// Of high (programmed) cells: those that read as low. They make false matches.
    pub high_as_low: f64,
}

impl SearchRates {
    /// The chance that a name is missed by a key that equals it and senses so many cells.
    pub fn miss(&self, sensed: u32) -> f64 {
        -libm::expm1(f64::from(sensed) * libm::log1p(-self.low_as_high))
    }

    /// The chance that a name matches a key that senses so many cells of it, of which `differing` are high.
    pub fn false_match(&self, sensed: u32, differing: u32) -> f64 {
        let others = f64::from(sensed.saturating_sub(differing));
        let conduct = libm::exp(others * libm::log1p(-self.low_as_high));
        libm::pow(self.high_as_low, f64::from(differing)) * conduct
    }
}

impl NandConfig {
    /// What a search reads wrong of cells of one bit that have been through `condition`, with the read voltage raised by so many
    /// steps. Names are not randomized, whatever the condition says.
    ///
    /// # Panics
    /// If cells of `mode` hold several bits.
    pub fn search_rates(&self, mode: ProgramMode, condition: &Condition, raise: u8) -> SearchRates {
        assert!(mode.bits_per_cell() == 1, "names are in cells of one bit");
        let condition = condition.randomized(false);
        let raised = f64::from(raise) * f64::from(self.mws.raise_step_mv);
        let rates = self.cells.raised_rates(mode, &condition, raised);
        SearchRates {
            low_as_high: rates.of_ones(),
            high_as_low: rates.of_zeros(),
        }
    }

    /// How many steps firmware raises the read voltage of searches, which knows what all blocks of a region have been through
    /// but not how good each is: the fewest with which less than `missed_max` low cells are expected to read as high in
    /// the worst block ([`MISSED_CELLS_MAX`]), all of whose cells may be low. `None` if the most steps are too few.
    ///
    /// # Panics
    /// If cells of `mode` hold several bits.
    pub fn tuned_raise(
        &self,
        mode: ProgramMode,
        condition: &Condition,
        missed_max: f64,
    ) -> Option<u8> {
        let geometry = &self.geometry;
        let cells =
            f64::from(geometry.wordlines_per_block()) * f64::from(geometry.page_bytes) * 8.0;
        let worst = condition.of_quality(QUALITY_MAX);
        let missed = |raise| cells * self.search_rates(mode, &worst, raise).low_as_high;
        (0..=RAISE_MAX).find(|&raise| missed(raise) < missed_max)
    }

    /// Time of an ESP program as configured, in SLC programs.
    pub fn esp_effort(&self) -> f64 {
        self.latency.program_esp_ns as f64 / self.latency.program_slc_ns as f64
    }
}

impl Nand {
    /// What firmware knows of the cells of a block: the mode in which its pages are programmed, and what they have been
    /// through since, which it counts. How good the block is it does not know. `None` while the block is erased.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn history(&self, block: BlockId) -> Option<(ProgramMode, Condition)> {
        let past = self.array.past(PageAddress { block, page: 0 })?;
        let condition = self.cells.condition(&past, block.0, false);
        Some((past.mode, condition.of_quality(0.0)))
    }
}

/// Lookups of many names, each once by its own key: those of ANVIL's Figure 9, and others like them. Names are
/// numbered, and a name is its number: so keys that differ from a name in one bit are asked for as well, one for each bit
/// that numbers differ in.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lookups {
    /// How cells are programmed; one bit each.
    pub mode: ProgramMode,
    /// Erases of their blocks.
    pub erases: u32,
    /// Effective hours since they were programmed.
    pub hours: u32,
    /// Reads of their blocks since.
    pub reads: u32,
    /// Steps by which the read voltage is raised.
    pub raise: u8,
    /// How many there are.
    pub names: u64,
    /// Bits of a name, the one that says that it is valid aside.
    pub name_bits: u32,
    /// Whose cells they are.
    pub seed: u64,
}

/// What came of lookups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LookupErrors {
    /// Names looked at: all, or those of as many blocks as are enough where very many cells read wrong.
    pub names: u64,
    /// Of these, names that their own key missed.
    pub misses: u64,
    /// Times that one of them matched another key.
    pub false_matches: u64,
}

/// What is to be expected of lookups, for each of them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LookupRates {
    /// Names missed.
    pub misses: f64,
    /// Names that match falsely.
    pub false_matches: f64,
}

impl Lookups {
    /// 33 million names of twelve bytes (ANVIL 5.1) in cells of `mode`, fresh and read as usual.
    pub const fn of_figure_9(mode: ProgramMode) -> Lookups {
        Lookups {
            mode,
            erases: 0,
            hours: 0,
            reads: 0,
            raise: 0,
            names: 33_000_000,
            name_bits: 96,
            seed: 0,
        }
    }

    /// The condition of the cells in a median block.
    pub fn condition(&self, nand: &NandConfig) -> Condition {
        Condition::FRESH
            .after_cycles(f64::from(self.erases))
            .after_hours(f64::from(self.hours))
            .after_reads(f64::from(felt_reads(self.reads)))
            .randomized(false)
            .with_effort(match self.mode {
                ProgramMode::Esp => nand.esp_effort(),
                _ => 1.0,
            })
    }

    /// Bits in which numbers of names differ, all of which a name has.
    fn differing_bits(&self) -> u32 {
        let bits = u64::BITS - self.names.saturating_sub(1).leading_zeros();
        bits.min(self.name_bits)
    }

    /// The expected errors, over blocks of all qualities.
    ///
    /// # Panics
    /// If cells of their mode hold several bits.
    pub fn expected(&self, nand: &NandConfig) -> LookupRates {
        let (condition, sensed) = (self.condition(nand), self.name_bits + 1);
        let at = |quality| nand.search_rates(self.mode, &condition.of_quality(quality), self.raise);
        let others = f64::from(self.differing_bits());
        LookupRates {
            misses: over_qualities(|quality| at(quality).miss(sensed)),
            false_matches: others * over_qualities(|quality| at(quality).false_match(sensed, 1)),
        }
    }

    /// The errors of the cells that are weak: those of a drive with blocks of one string, each a page of names.
    ///
    /// # Panics
    /// If cells of their mode hold several bits, or the configuration is none that could be.
    pub fn sample(&self, nand: &NandConfig) -> LookupErrors {
        assert!(
            self.mode.bits_per_cell() == 1,
            "names are in cells of one bit"
        );
        let mut cells = nand.cells_of_age(DriveAge {
            effective_hours: f64::from(self.hours),
            ..DriveAge::default()
        });
        cells.reseed(self.seed);
        let in_block = u64::from(nand.geometry.page_bytes) * 8;
        let blocks = self.names.div_ceil(in_block);
        let worst = nand.search_rates(self.mode, &self.condition(nand), self.raise);
        let draws = in_block as f64
            * 2.0
            * (worst.low_as_high * f64::from(self.name_bits + 1)
                + worst.high_as_low * f64::from(self.differing_bits()));
        let enough = (DRAWS_MAX / draws.max(1.0)) as u64;
        let mut errors = LookupErrors::default();
        let mut missed = vec![false; in_block as usize];
        for block in 0..blocks.min(enough.max(BLOCKS_MIN)) {
            let first = block * in_block;
            let names = in_block.min(self.names - first) as u32;
            missed.fill(false);
            self.sample_block(
                &cells,
                BlockId(block as u32),
                (first, names),
                &mut missed,
                &mut errors,
            );
        }
        errors
    }

    /// The names of one block: their first and their number.
    fn sample_block(
        &self,
        cells: &Cells,
        block: BlockId,
        (first, names): (u64, u32),
        missed: &mut [bool],
        errors: &mut LookupErrors,
    ) {
        errors.names += u64::from(names);
        let past = Past {
            mode: self.mode,
            erase_count: self.erases,
            reads: felt_reads(self.reads),
            birth: Default::default(),
        };
        let page = |number| PageAddress {
            block,
            page: number,
        };
        let Some(rates) = cells.raw_rates(page(0), &past, self.raise) else {
            return;
        };
        for number in 0..2 * (self.name_bits + 1) {
            for cell in cells.weak_ones(page(number), rates, missed.len() as u32) {
                if cell < names && !self.is_high(first + u64::from(cell), number) {
                    missed[cell as usize] = true;
                }
            }
        }
        errors.misses += missed.iter().filter(|missed| **missed).count() as u64;
        self.sample_false_matches(cells, rates, page, (first, names), missed, errors);
    }

    /// Names that match a key that differs in one bit, unless they are missed anyway.
    fn sample_false_matches(
        &self,
        cells: &Cells,
        rates: RawRates,
        page: impl Fn(u32) -> PageAddress,
        (first, names): (u64, u32),
        missed: &[bool],
        errors: &mut LookupErrors,
    ) {
        let mut matches = vec![false; missed.len()];
        for number in 0..2 * self.differing_bits() {
            matches.fill(false);
            for cell in cells.weak_zeros(page(number), rates, missed.len() as u32) {
                if cell >= names || missed[cell as usize] {
                    continue;
                }
                let name = first + u64::from(cell);
                let key = name ^ 1 << (number / 2);
                matches[cell as usize] |= self.is_high(name, number) && key < self.names;
            }
            errors.false_matches += matches.iter().filter(|matches| **matches).count() as u64;
        }
    }

    /// Whether a name has its high cell of a pair in that wordline. The last bit, which all have set, says that it is valid.
    fn is_high(&self, name: u64, wordline: u32) -> bool {
        let bit = wordline / 2;
        let is_set = bit == self.name_bits || bit < u64::BITS && name >> bit & 1 != 0;
        is_set == (wordline % 2 == 1)
    }
}
