//! Threshold voltages: the distributions of the states of a mode under some condition, and how many
//! cells are beyond the read references between them.

use arrayvec::ArrayVec;

use super::config::CellsConfig;
use crate::nand::mode::ProgramMode;

/// States of the densest mode.
const STATES_MAX: usize = 16;
/// P/E cycles that wear is stated for.
const CYCLES: f64 = 10_000.0;

/// What cells have been through, and what they hold.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Condition {
    /// Program and erase cycles before they were programmed.
    pub cycles: f64,
    /// Hours since, as they would have passed at the reference temperature.
    pub hours: f64,
    /// Reads of their block since.
    pub reads: f64,
    /// Whether what they hold looks random.
    pub randomized: bool,
    /// How good their block is, in standard deviations: positive ones are worse.
    pub quality: f64,
    /// Time of their program in SLC programs, for [`ProgramMode::Esp`].
    pub effort: f64,
}

impl Condition {
    /// Cells of a median block that were just programmed for the first time, with random data.
    pub const FRESH: Condition = Condition {
        cycles: 0.0,
        hours: 0.0,
        reads: 0.0,
        randomized: true,
        quality: 0.0,
        effort: 1.0,
    };

    /// After so many program and erase cycles.
    #[must_use]
    pub const fn after_cycles(mut self, cycles: f64) -> Condition {
        self.cycles = cycles;
        self
    }

    /// So many hours after they were programmed, at the reference temperature.
    #[must_use]
    pub const fn after_hours(mut self, hours: f64) -> Condition {
        self.hours = hours;
        self
    }

    /// After so many reads of their block.
    #[must_use]
    pub const fn after_reads(mut self, reads: f64) -> Condition {
        self.reads = reads;
        self
    }

    /// Whether what they hold looks random.
    #[must_use]
    pub const fn randomized(mut self, randomized: bool) -> Condition {
        self.randomized = randomized;
        self
    }

    /// In a block of this quality, in standard deviations: positive ones are worse.
    #[must_use]
    pub const fn of_quality(mut self, quality: f64) -> Condition {
        self.quality = quality;
        self
    }

    /// Programmed for this time, in SLC programs.
    #[must_use]
    pub const fn with_effort(mut self, effort: f64) -> Condition {
        self.effort = effort;
        self
    }
}

/// Share of the cells of a state that are beyond a reference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Boundary {
    /// Of the state below: they read as the one above.
    up: f64,
    /// Of the state above: they read as the one below.
    down: f64,
}

/// How many cells read wrong, by read reference.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorRates {
    boundaries: ArrayVec<Boundary, { STATES_MAX - 1 }>,
}

impl ErrorRates {
    /// Of cells with one bit: the share of ones (erased cells) that read as zero.
    pub fn of_ones(&self) -> f64 {
        self.boundaries[0].up
    }

    /// Of cells with one bit: the share of zeros (programmed cells) that read as one.
    pub fn of_zeros(&self) -> f64 {
        self.boundaries[0].down
    }

    /// Raw bit error rate of one of the pages that cells hold, by [`ProgramMode::page_type`]. All
    /// states are equally frequent.
    pub fn of_page(&self, page_type: usize) -> f64 {
        let count = self.boundaries.len();
        let wrong = references_of(count, page_type)
            .iter()
            .map(|&at| self.boundaries[at].up + self.boundaries[at].down);
        (wrong.sum::<f64>() / (count + 1) as f64).min(0.5)
    }

    /// Raw bit error rate over all pages that the cells hold.
    pub fn mean(&self) -> f64 {
        let bits = (self.boundaries.len() + 1).ilog2() as usize;
        (0..bits).map(|page| self.of_page(page)).sum::<f64>() / bits as f64
    }
}

/// Where the bit of a page changes, of cells with `count` references: a Gray code (TLC 2-3-2, QLC 3-4-4-4).
const fn references_of(count: usize, page_type: usize) -> &'static [usize] {
    match (count, page_type) {
        (3, 0) => &[1],
        (3, _) => &[0, 2],
        (7, 0) => &[0, 4],
        (7, 1) => &[1, 3, 5],
        (7, _) => &[2, 6],
        (15, 0) => &[5, 9, 11],
        (15, 1) => &[0, 2, 4, 10],
        (15, 2) => &[1, 7, 12, 14],
        (15, _) => &[3, 6, 8, 13],
        _ => &[0],
    }
}

/// Whether cells beyond a reference make bits of a page wrong.
#[cfg(test)]
pub(super) fn is_wrong_at(count: usize, reference: usize, page_type: usize) -> bool {
    references_of(count, page_type).contains(&reference)
}

/// The states of a mode just after programming.
struct States {
    means: ArrayVec<f64, STATES_MAX>,
    widths: ArrayVec<f64, STATES_MAX>,
    /// How much programs of neighbours spread each of them.
    interference: f64,
}

impl CellsConfig {
    /// How many cells of `mode` read wrong under `condition`, with all references lowered: the
    /// highest by `shift_mv`, the others in proportion.
    pub fn error_rates(
        &self,
        mode: ProgramMode,
        condition: &Condition,
        shift_mv: f64,
    ) -> ErrorRates {
        self.rates_at(mode, condition, |fresh, swing| {
            fresh - shift_mv * (fresh - self.erased_mv) / swing
        })
    }

    /// The same with all references raised by `raise_mv` (ANVIL 5.1): fewer cells of lower states, and more of higher
    /// ones, are on the wrong side.
    pub fn raised_rates(
        &self,
        mode: ProgramMode,
        condition: &Condition,
        raise_mv: f64,
    ) -> ErrorRates {
        self.rates_at(mode, condition, |fresh, _| fresh + raise_mv)
    }

    /// The same with references where `moved` puts them: given where they are by default, and how far the highest state is
    /// above the erased one.
    fn rates_at(
        &self,
        mode: ProgramMode,
        condition: &Condition,
        moved: impl Fn(f64, f64) -> f64,
    ) -> ErrorRates {
        let states = self.states_of(mode, condition.effort);
        let erased = self.erased_mv;
        let swing = states.means[states.means.len() - 1] - erased;
        let wear = self.widening(condition);
        let leaked = self.loss(condition);
        let spread = self.retention.spread_percent / 100.0;
        let raise = self.disturb.raise_mv_per_million_reads * condition.reads / 1e6;
        let interference = states.interference * self.pattern(condition.randomized);
        let mut now = ArrayVec::<(f64, f64), STATES_MAX>::new();
        for (&mean, &width) in states.means.iter().zip(&states.widths) {
            let height = mean - erased;
            let lost = leaked * height;
            let raised = raise * (1.0 - height / swing);
            let widths = [width * wear, spread * lost, interference];
            let width = libm::sqrt(widths.iter().map(|width| width * width).sum());
            now.push((mean - lost + raised, width));
        }
        let references = self.references(mode, &states);
        let boundaries = references.iter().zip(now.windows(2)).map(|(&fresh, pair)| {
            let reference = moved(fresh, swing);
            let [(below, below_width), (above, above_width)] = [pair[0], pair[1]];
            Boundary {
                up: tail((reference - below) / below_width),
                down: tail((above - reference) / above_width),
            }
        });
        ErrorRates {
            boundaries: boundaries.collect(),
        }
    }

    /// The same over blocks of all qualities: the mean raw bit error rate.
    pub fn mean_error_rate(&self, mode: ProgramMode, condition: &Condition) -> f64 {
        over_qualities(|quality| {
            let condition = condition.of_quality(quality);
            self.error_rates(mode, &condition, 0.0).mean()
        })
    }

    fn states_of(&self, mode: ProgramMode, effort: f64) -> States {
        let states = &self.states;
        let mut means = ArrayVec::from_iter([self.erased_mv]);
        let (programmed, width, mut share): (&[f64], f64, f64) = match mode {
            ProgramMode::Slc | ProgramMode::Esp => (
                std::slice::from_ref(&states.slc_mv),
                states.slc_sigma_mv,
                self.interference.slc_percent,
            ),
            ProgramMode::Mlc => (
                &states.mlc_mv,
                states.mlc_sigma_mv,
                self.interference.multi_level_percent,
            ),
            ProgramMode::Tlc => (
                &states.tlc_mv,
                states.tlc_sigma_mv,
                self.interference.multi_level_percent,
            ),
            ProgramMode::Qlc => (
                &states.qlc_mv,
                states.qlc_sigma_mv,
                self.interference.qlc_percent,
            ),
        };
        means.extend(programmed.iter().copied());
        let mut widths = ArrayVec::from_iter([self.erased_sigma_mv]);
        widths.extend(programmed.iter().map(|_| width));
        if mode == ProgramMode::Esp {
            let reached = self.esp_reached(effort);
            let narrower = (1.0 - self.esp.narrowing_percent / 100.0 * reached).max(0.0);
            means[1] += self.esp.raise_mv * reached;
            widths[1] *= narrower;
            share *= narrower;
        }
        let swing = means[means.len() - 1] - self.erased_mv;
        States {
            interference: share / 100.0 * swing,
            means,
            widths,
        }
    }

    /// How much of what additional programming steps bring is reached by a program of `effort` SLC
    /// programs: all of it at twice its time, and no more beyond.
    fn esp_reached(&self, effort: f64) -> f64 {
        let power = |base: f64| libm::pow(base, self.esp.steepness);
        let (more, half) = (
            power((effort - 1.0).clamp(0.0, 1.0)),
            power(self.esp.half_percent / 100.0),
        );
        more * (1.0 + half) / (more + half)
    }

    /// Where the references of a mode are: between fresh states so that both are as many widths
    /// away. Those of ESP are made for data that is not randomized.
    fn references(&self, mode: ProgramMode, states: &States) -> ArrayVec<f64, { STATES_MAX - 1 }> {
        let randomized = mode != ProgramMode::Esp;
        let interference = states.interference * self.pattern(randomized);
        let width = |at: usize| libm::hypot(states.widths[at], interference);
        (1..states.means.len())
            .map(|at| {
                let (below, above) = (width(at - 1), width(at));
                (states.means[at - 1] * above + states.means[at] * below) / (below + above)
            })
            .collect()
    }

    /// How much of the interference there is.
    fn pattern(&self, randomized: bool) -> f64 {
        match randomized {
            true => self.interference.randomized_percent / 100.0,
            false => 1.0,
        }
    }

    /// How much wider states are by wear and by the quality of the block.
    fn widening(&self, condition: &Condition) -> f64 {
        let worn = libm::pow(condition.cycles / CYCLES, self.wear.exponent);
        let quality = self.block_spread_percent / 100.0 * condition.quality;
        (1.0 + self.wear.widening_percent / 100.0 * worn) * libm::exp(quality)
    }

    /// The share of its height above the erased state that a state has lost.
    fn loss(&self, condition: &Condition) -> f64 {
        let retention = &self.retention;
        let each = retention.fresh_loss_ppm + retention.worn_loss_ppm * condition.cycles / CYCLES;
        each / 1e6 * libm::log1p(condition.hours / retention.hours)
    }

    /// Hours at the reference temperature that do what one hour at `celsius` does (Arrhenius).
    pub fn acceleration(&self, celsius: f64) -> f64 {
        /// Boltzmann's constant in electronvolts a kelvin.
        const BOLTZMANN: f64 = 8.617_333_262e-5;
        let retention = &self.retention;
        let colder = 1.0 / kelvin(retention.reference_celsius) - 1.0 / kelvin(celsius);
        libm::exp(retention.activation_ev / BOLTZMANN * colder)
    }
}

/// The mean over blocks of all qualities of what is so at each.
pub(crate) fn over_qualities(at: impl Fn(f64) -> f64) -> f64 {
    // Gauss-Hermite quadrature of nine points for a normal distribution.
    const POINTS: [(f64, f64); 5] = [
        (0.0, 0.406_349_206_349_206_4),
        (1.023_255_663_789_132_5, 0.244_097_502_894_939_4),
        (2.076_847_978_677_83, 0.049_916_406_765_217_88),
        (3.205_429_002_856_47, 0.002_789_141_321_231_77),
        (4.512_745_863_399_783, 2.234_584_400_774_664e-5),
    ];
    let both = |&(point, weight): &(f64, f64)| match point {
        0.0 => weight * at(point),
        _ => weight * (at(point) + at(-point)),
    };
    POINTS.iter().map(both).sum()
}

/// A temperature in degrees Celsius, in kelvin.
pub fn kelvin(celsius: f64) -> f64 {
    celsius + 273.15
}

/// Share of a normal distribution beyond so many widths.
fn tail(widths: f64) -> f64 {
    0.5 * libm::erfc(widths / std::f64::consts::SQRT_2)
}
