//! Cells that age: threshold voltages that programs set and that wear, time, reads and neighbours
//! move, and the bits that are wrong for it (Flash-Cosmos 2.2, 3.2, 4.2 and 5.2).
//!
//! Two kinds of data suffer differently. What is computed on is read raw: every cell on the wrong side
//! of its reference is a wrong bit, always the same one (`weak.rs`). Normal data is randomized and has a
//! code: a page reads well, or with shifted references, or is given up (`ecc.rs`).

mod age;
mod config;
mod ecc;
#[cfg(test)]
mod tests;
mod voltage;
mod weak;

pub use age::{Ageing, DriveAge};
pub use config::{
    CellErrors, CellsConfig, DisturbConfig, EccConfig, EspConfig, InterferenceConfig,
    ProgrammedStates, RetentionConfig, WearConfig,
};
pub use voltage::{Condition, ErrorRates, kelvin};

pub(crate) use age::Birth;
pub(crate) use voltage::over_qualities;
pub(crate) use weak::mix;

use std::cell::Cell;

use super::geometry::{Geometry, PageAddress};
use super::mode::ProgramMode;
use ecc::Code;
use weak::{Draws, WeakCells};

/// The quality of the worst and best blocks, in standard deviations: one of some two thousand is
/// as far out.
pub const QUALITY_MAX: f64 = 3.5;
/// Fewer reads of a block than this leave no trace.
const READS_MIN: u32 = 1024;
/// Reads that a block may have and still be [`Quiet`].
const QUIET_READS: u32 = 1 << 17;
/// What draws of a page are for.
const CODE: u64 = 0;
const ONES: u64 = 1;
const ZEROS: u64 = 2;
/// Blocks whose error rates are remembered: what a few vectors have in all planes.
const MEMO: usize = 1024;

/// Reads of a block as its cells feel them: in powers of two, so that a read seldom changes what the
/// next one gives.
pub(crate) fn felt_reads(reads: u32) -> u32 {
    match reads {
        0..READS_MIN => 0,
        _ => 1 << reads.ilog2(),
    }
}

/// After how many more reads a block that was read so often feels more of them.
pub(crate) fn unfelt_reads(reads: u32) -> u32 {
    let next = match reads {
        0..READS_MIN => READS_MIN,
        _ => (1u32 << reads.ilog2()).saturating_mul(2),
    };
    next - reads
}

/// What the array says of a page's cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Past {
    pub(crate) mode: ProgramMode,
    pub(crate) erase_count: u32,
    /// As [`felt_reads`] gives them.
    pub(crate) reads: u32,
    pub(crate) birth: Birth,
}

/// Shares of cells with one bit that read wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RawRates {
    pub(crate) ones: f64,
    pub(crate) zeros: f64,
}

/// Error rates of a block's cells with such a past.
#[derive(Clone, Copy, Debug)]
struct Known {
    block: u32,
    past: Past,
    raise: u8,
    rates: RawRates,
}

/// Up to where no page with a code needs a look.
#[derive(Clone, Copy, Debug)]
struct Quiet {
    erase_count: u32,
    reads: u32,
}

/// What else of a drive's configuration says how its cells are programmed and read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Time of an ESP program as configured, in SLC programs.
    pub(crate) effort: f64,
    /// How much a step raises the read voltage of a sense, in millivolts.
    pub(crate) raise_step_mv: f64,
}

/// All cells of a drive: the model, and how old they are.
pub(crate) struct Cells {
    config: CellsConfig,
    code: Code,
    retry_step_mv: f64,
    /// How much a step raises the read voltage of a sense.
    raise_step_mv: f64,
    /// Time of an ESP program as configured, in SLC programs.
    effort: f64,
    seed: u64,
    age: DriveAge,
    quiet: Quiet,
    /// Bits that a cell holds at most.
    bits_per_cell_max: u32,
    memo: Box<[Cell<Option<Known>>; MEMO]>,
}

impl Cells {
    /// Cells of such a kind, with data protected by such a code, and read as `reading` says.
    pub(crate) fn new(
        config: &CellsConfig,
        ecc: &EccConfig,
        geometry: &Geometry,
        reading: Reading,
        age: DriveAge,
    ) -> Cells {
        let mut cells = Cells {
            config: config.clone(),
            code: Code::new(ecc, geometry.page_bytes),
            retry_step_mv: f64::from(ecc.retry_step_mv),
            raise_step_mv: reading.raise_step_mv,
            effort: reading.effort,
            seed: 0,
            age,
            quiet: Quiet {
                erase_count: 0,
                reads: 0,
            },
            bits_per_cell_max: geometry.bits_per_cell_max,
            memo: Box::new([const { Cell::new(None) }; MEMO]),
        };
        cells.settle();
        cells
    }

    /// Another drive of the same kind: other cells are weak.
    pub(crate) fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        self.forget();
    }

    pub(crate) fn age(&self) -> &DriveAge {
        &self.age
    }

    /// The age after `ageing`.
    pub(crate) fn older(&self, ageing: &Ageing) -> DriveAge {
        let age = &self.age;
        let passed = ageing.hours > 0.0;
        DriveAge {
            hours: age.hours + ageing.hours,
            effective_hours: age.effective_hours
                + ageing.hours * self.config.acceleration(ageing.celsius),
            cycles: age.cycles.saturating_add(ageing.cycles),
            celsius: if passed {
                Some(ageing.celsius)
            } else {
                age.celsius
            },
        }
    }

    pub(crate) fn set_age(&mut self, age: DriveAge) {
        self.age = age;
        self.settle();
    }

    /// When a page that is programmed now is so, with that many percent of an SLC program (0 as configured).
    pub(crate) fn birth(&self, effort_percent: u32) -> Birth {
        Birth::new(&self.age, effort_percent)
    }

    /// Whether cells lose bits at all.
    fn lose_bits(&self) -> bool {
        self.config.errors == CellErrors::Modelled
    }

    /// Forgets the error rates that were remembered.
    fn forget(&self) {
        self.memo.iter().for_each(|known| known.set(None));
    }

    /// Whether pages of `mode`, which the drive can have, are corrected.
    fn has_code(&self, mode: ProgramMode) -> bool {
        mode != ProgramMode::Esp && mode.bits_per_cell() <= self.bits_per_cell_max
    }

    /// Forgets what was remembered, and finds anew up to where pages need no look.
    fn settle(&mut self) {
        self.forget();
        if !self.lose_bits() {
            self.quiet = Quiet {
                erase_count: u32::MAX,
                reads: u32::MAX,
            };
            return;
        }
        let safe = |erase_count: u32| {
            ProgramMode::ALL
                .into_iter()
                .filter(|mode| self.has_code(*mode))
                .all(|mode| {
                    let past = Past {
                        mode,
                        erase_count,
                        reads: QUIET_READS,
                        birth: Birth::default(),
                    };
                    let worst = Condition {
                        quality: QUALITY_MAX,
                        ..self.condition(&past, 0, true)
                    };
                    let rates = self.config.error_rates(mode, &worst, 0.0);
                    (0..mode.bits_per_cell() as usize)
                        .all(|page| rates.of_page(page) <= self.code.safe_rate())
                })
        };
        // Rates rise with erases; the first count that is not safe, by halving.
        let (mut least, mut most) = (0, 1 << 20);
        while least < most {
            let middle = (least + most) / 2;
            if safe(middle) {
                least = middle + 1;
            } else {
                most = middle;
            }
        }
        self.quiet = Quiet {
            erase_count: least,
            reads: QUIET_READS,
        };
    }

    /// What the cells of a page have been through.
    pub(crate) fn condition(&self, past: &Past, block: u32, randomized: bool) -> Condition {
        Condition {
            cycles: f64::from(past.erase_count) + f64::from(self.age.cycles),
            hours: past.birth.hours_until(&self.age),
            reads: f64::from(past.reads),
            randomized,
            quality: self.quality(block),
            effort: past.birth.effort().unwrap_or(self.effort),
        }
    }

    /// How good a block is, in standard deviations.
    pub(crate) fn quality(&self, block: u32) -> f64 {
        let key = self.seed ^ mix(u64::from(block) | 1 << 40);
        Draws::new(key).normal().clamp(-QUALITY_MAX, QUALITY_MAX)
    }

    /// Whether a page with a code surely reads well, whichever it is.
    #[inline]
    pub(crate) fn is_quiet(&self, erase_count: u32, reads: u32) -> bool {
        erase_count < self.quiet.erase_count && reads < self.quiet.reads
    }

    /// Whether a page with a code can be corrected when read with the references lowered by so many steps.
    #[cold]
    pub(crate) fn is_correctable(&self, page: PageAddress, past: &Past, level: u32) -> bool {
        let condition = self.condition(past, page.block.0, true);
        let shift = f64::from(level) * self.retry_step_mv;
        let rates = self.config.error_rates(past.mode, &condition, shift);
        let rate = rates.of_page(past.mode.page_type(page.page));
        self.code.corrects(self.key(page, CODE), rate)
    }

    /// How many of the cells of a page without a code read wrong with the read voltage `raise` steps higher; `None` if none
    /// do, whichever page it is.
    pub(crate) fn raw_rates(&self, page: PageAddress, past: &Past, raise: u8) -> Option<RawRates> {
        /// Cells of the largest page that there can be.
        const CELLS_MAX: f64 = (1u64 << 24) as f64;
        /// The least that [`Draws::uniform`] leaves as weakness of the weakest cell.
        const LEAST: f64 = 1.0 / (1u64 << 54) as f64;
        if !self.lose_bits() {
            return None;
        }
        let block = page.block.0;
        // Blocks of the same number in different planes are used together.
        let at = mix(block.into()) as usize % MEMO;
        let known = self.memo[at].get();
        let known =
            known.filter(|known| (known.block, known.past, known.raise) == (block, *past, raise));
        let rates = match known {
            Some(known) => known.rates,
            None => {
                let condition = self.condition(past, block, false);
                let raised = f64::from(raise) * self.raise_step_mv;
                let rates = self.config.raised_rates(past.mode, &condition, raised);
                let rates = RawRates {
                    ones: rates.of_ones(),
                    zeros: match raise {
                        0 => rates.of_zeros(),
                        // Nothing to speak of may be left of the zeros.
                        _ => density_of(rates.of_zeros()),
                    },
                };
                let known = Known {
                    block,
                    past: *past,
                    raise,
                    rates,
                };
                self.memo[at].set(Some(known));
                rates
            }
        };
        (rates.ones.max(rates.zeros) * CELLS_MAX > LEAST).then_some(rates)
    }

    /// Of `cells` cells of a page those that read wrong if they are low, weakest first; one may come more than once.
    pub(crate) fn weak_ones(
        &self,
        page: PageAddress,
        rates: RawRates,
        cells: u32,
    ) -> impl Iterator<Item = u32> {
        WeakCells::new(self.key(page, ONES), cells, rates.ones)
    }

    /// The same of those that do if they are high.
    pub(crate) fn weak_zeros(
        &self,
        page: PageAddress,
        rates: RawRates,
        cells: u32,
    ) -> impl Iterator<Item = u32> {
        WeakCells::new(self.key(page, ZEROS), cells, rates.zeros)
    }

    /// Flips the bits of a page that read wrong in `into`, which holds its words from `start` on.
    pub(crate) fn flip(
        &self,
        page: PageAddress,
        rates: RawRates,
        page_words: usize,
        start: usize,
        into: &mut [u64],
    ) {
        let cells = (page_words * 64) as u32;
        // What was a zero is not looked at as a one.
        let mut were_zeros: Vec<u32> = self
            .weak_zeros(page, rates, cells)
            .filter(|&cell| flip_if(into, start, cell, 0))
            .collect();
        were_zeros.sort_unstable();
        for cell in self.weak_ones(page, rates, cells) {
            if were_zeros.binary_search(&cell).is_err() {
                flip_if(into, start, cell, 1);
            }
        }
    }

    /// Whether any cell of a page reads wrong.
    pub(crate) fn any_flips(&self, page: PageAddress, rates: RawRates, page_words: usize) -> bool {
        let cells = (page_words * 64) as u32;
        self.weak_ones(page, rates, cells).next().is_some()
            || self.weak_zeros(page, rates, cells).next().is_some()
    }

    /// The raw bit error rate of a page, and whether its data is read raw.
    pub(crate) fn error_rate(&self, page: PageAddress, past: &Past) -> f64 {
        let raw = past.mode == ProgramMode::Esp;
        let condition = self.condition(past, page.block.0, !raw);
        let rates = self.config.error_rates(past.mode, &condition, 0.0);
        rates.of_page(past.mode.page_type(page.page))
    }

    fn key(&self, page: PageAddress, class: u64) -> u64 {
        let place = u64::from(page.block.0) << 24 | u64::from(page.page) << 4 | class;
        self.seed ^ mix(place)
    }
}

/// How densely points must lie so that a share `rate` of cells has at least one: [`WeakCells`] does not look whether it
/// drew a cell before. It is no less than `rate`, so that what is weak at lower rates is so at this one.
fn density_of(rate: f64) -> f64 {
    /// More is not told apart: all cells but one in a million.
    const SHARE_MAX: f64 = 1.0 - 1e-6;
    -libm::log1p(-rate.min(SHARE_MAX))
}

/// Flips a cell's bit in `words`, which begin with word `start` of the page, if it is `value`; whether
/// it was.
fn flip_if(words: &mut [u64], start: usize, cell: u32, value: u64) -> bool {
    let Some(word) = (cell as usize / 64).checked_sub(start) else {
        return false;
    };
    let bit = cell % 64;
    match words.get_mut(word) {
        Some(word) if *word >> bit & 1 == value => {
            *word ^= 1 << bit;
            true
        }
        _ => false,
    }
}
