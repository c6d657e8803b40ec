//! Keys of the cell model: threshold voltages, what moves them, and the code that normal data has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nand::check::{ConfigError, check_range};

/// Threshold voltages of the cells and what moves them. Voltages are in millivolts; a state's
/// voltages are a normal distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellsConfig {
    /// Whether cells lose bits.
    pub errors: CellErrors,
    /// Mean of the erased state.
    pub erased_mv: f64,
    /// Width (standard deviation) of the erased state.
    pub erased_sigma_mv: f64,
    /// The programmed states of each mode.
    pub states: ProgrammedStates,
    /// What additional programming steps bring.
    pub esp: EspConfig,
    /// What program and erase cycles do.
    pub wear: WearConfig,
    /// What time does.
    pub retention: RetentionConfig,
    /// What reads of other pages of the block do.
    pub disturb: DisturbConfig,
    /// What programs of neighbours do.
    pub interference: InterferenceConfig,
    /// Spread of the widths from block to block: standard deviation of their logarithm, in percent.
    pub block_spread_percent: f64,
}

/// Whether cells lose bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellErrors {
    /// Never: pages read back as they were programmed.
    None,
    /// As their threshold voltages say.
    Modelled,
}

/// Means and widths of the programmed states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgrammedStates {
    /// Mean of the one programmed state of SLC.
    pub slc_mv: f64,
    /// Its width.
    pub slc_sigma_mv: f64,
    /// Means of the three programmed states of MLC, ascending.
    pub mlc_mv: [f64; 3],
    /// Their width.
    pub mlc_sigma_mv: f64,
    /// Means of the seven programmed states of TLC, ascending.
    pub tlc_mv: [f64; 7],
    /// Their width.
    pub tlc_sigma_mv: f64,
    /// Means of the fifteen programmed states of QLC, ascending.
    pub qlc_mv: [f64; 15],
    /// Their width.
    pub qlc_sigma_mv: f64,
}

/// Enhanced SLC programming (Flash-Cosmos 4.2): with more steps the programmed state ends higher and
/// narrower, and neighbours disturb less. How much of it a program of `1 + d` times the SLC program
/// has reached is `d^n (1 + h^n) / (d^n + h^n)`: nothing at 1, all at 2. More time brings no more: the window of threshold
/// voltages is fixed (Flash-Cosmos 1) and ends below `V_PASS`, at which every cell must conduct. A state that went on
/// rising would leak more than it gained on a reference that stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EspConfig {
    /// How much higher the state is at twice the time.
    pub raise_mv: f64,
    /// How much narrower, and how much less interference there is, in percent.
    pub narrowing_percent: f64,
    /// `h`, in percent.
    pub half_percent: f64,
    /// `n`.
    pub steepness: f64,
}

/// Program and erase cycles widen every state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WearConfig {
    /// By how much after 10,000 cycles, in percent.
    pub widening_percent: f64,
    /// Power of the cycles that this grows with.
    pub exponent: f64,
}

/// Cells leak: a state falls by a share of its distance from the erased state that grows with the
/// logarithm of time, and spreads meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetentionConfig {
    /// Share lost each time that `t / hours + 1` grows e-fold, in millionths, by cells never cycled.
    pub fresh_loss_ppm: f64,
    /// What 10,000 cycles add to that; it grows evenly with cycles.
    pub worn_loss_ppm: f64,
    /// The unit of time at the reference temperature, in hours.
    pub hours: f64,
    /// Spread of what single cells lose, in percent of the mean loss.
    pub spread_percent: f64,
    /// Activation energy by which warmth makes time pass faster (Arrhenius), in electronvolts.
    pub activation_ev: f64,
    /// Temperature at which time passes as stated, in degrees Celsius.
    pub reference_celsius: f64,
}

/// Reads of a block raise its low states, the erased one most, the highest not at all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisturbConfig {
    /// By how much a million reads raise the erased state, in millivolts.
    pub raise_mv_per_million_reads: f64,
}

/// Programs of neighbouring cells spread a state by a share of the distance between the lowest and
/// the highest state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterferenceConfig {
    /// The share with SLC programming, in percent, of data that is not randomized.
    pub slc_percent: f64,
    /// The same with MLC and TLC programming.
    pub multi_level_percent: f64,
    /// The same with QLC programming, whose last pass comes when the neighbours have had their first.
    pub qlc_percent: f64,
    /// What is left of it when data is randomized, in percent.
    pub randomized_percent: f64,
}

/// The error-correcting code of normal data, and how often a page is read before it is given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EccConfig {
    /// Bytes of data in a codeword; a shorter page is one codeword.
    pub codeword_bytes: u32,
    /// Wrong bits of a codeword that it corrects.
    pub correctable_bits: u32,
    /// Further reads with shifted reference voltages.
    pub retries_max: u32,
    /// How much lower the highest reference is in each, in millivolts; lower ones in proportion to
    /// their distance from the erased state.
    pub retry_step_mv: u32,
}

impl CellsConfig {
    /// Cells that never lose a bit. The other keys have no effect then.
    pub fn perfect() -> CellsConfig {
        CellsConfig {
            errors: CellErrors::None,
            erased_mv: 0.0,
            erased_sigma_mv: 1.0,
            states: ProgrammedStates {
                slc_mv: 1000.0,
                slc_sigma_mv: 1.0,
                mlc_mv: [1000.0, 2000.0, 3000.0],
                mlc_sigma_mv: 1.0,
                tlc_mv: std::array::from_fn(|state| 1000.0 * (state + 1) as f64),
                tlc_sigma_mv: 1.0,
                qlc_mv: std::array::from_fn(|state| 1000.0 * (state + 1) as f64),
                qlc_sigma_mv: 1.0,
            },
            esp: EspConfig {
                raise_mv: 0.0,
                narrowing_percent: 0.0,
                half_percent: 50.0,
                steepness: 1.0,
            },
            wear: WearConfig {
                widening_percent: 0.0,
                exponent: 1.0,
            },
            retention: RetentionConfig {
                fresh_loss_ppm: 0.0,
                worn_loss_ppm: 0.0,
                hours: 1.0,
                spread_percent: 0.0,
                activation_ev: 0.0,
                reference_celsius: 30.0,
            },
            disturb: DisturbConfig {
                raise_mv_per_million_reads: 0.0,
            },
            interference: InterferenceConfig {
                slc_percent: 0.0,
                multi_level_percent: 0.0,
                qlc_percent: 0.0,
                randomized_percent: 0.0,
            },
            block_spread_percent: 0.0,
        }
    }

    pub(in crate::nand) fn validate(&self) -> Result<(), ConfigError> {
        self.check_states()?;
        self.esp.validate()?;
        self.wear.validate()?;
        self.retention.validate()?;
        self.disturb.validate()?;
        self.interference.validate()?;
        check_percent("cells.block_spread_percent", self.block_spread_percent)
    }

    /// Checks where states lie when they are fresh, and how wide they are.
    fn check_states(&self) -> Result<(), ConfigError> {
        let states = &self.states;
        check_real(
            "cells.erased_mv",
            self.erased_mv,
            -20_000.0..=20_000.0,
            "-20000 to 20000",
        )?;
        for (key, means) in [
            ("cells.states.slc_mv", &[states.slc_mv][..]),
            ("cells.states.mlc_mv", &states.mlc_mv),
            ("cells.states.tlc_mv", &states.tlc_mv),
            ("cells.states.qlc_mv", &states.qlc_mv),
        ] {
            check_ascending(key, self.erased_mv, means)?;
        }
        for (key, width) in [
            ("cells.erased_sigma_mv", self.erased_sigma_mv),
            ("cells.states.slc_sigma_mv", states.slc_sigma_mv),
            ("cells.states.mlc_sigma_mv", states.mlc_sigma_mv),
            ("cells.states.tlc_sigma_mv", states.tlc_sigma_mv),
            ("cells.states.qlc_sigma_mv", states.qlc_sigma_mv),
        ] {
            check_real(key, width, 1.0..=10_000.0, "1 to 10000")?;
        }
        Ok(())
    }
}

impl EspConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        let raise = self.raise_mv;
        check_real("cells.esp.raise_mv", raise, 0.0..=20_000.0, "0 to 20000")?;
        let narrowing = self.narrowing_percent;
        check_real(
            "cells.esp.narrowing_percent",
            narrowing,
            0.0..=80.0,
            "0 to 80",
        )?;
        let half = self.half_percent;
        check_real("cells.esp.half_percent", half, 1.0..=1_000.0, "1 to 1000")?;
        let steepness = self.steepness;
        check_real("cells.esp.steepness", steepness, 0.1..=100.0, "0.1 to 100")
    }
}

impl WearConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        let widening = self.widening_percent;
        check_real(
            "cells.wear.widening_percent",
            widening,
            0.0..=1_000.0,
            "0 to 1000",
        )?;
        check_real("cells.wear.exponent", self.exponent, 0.0..=10.0, "0 to 10")
    }
}

impl RetentionConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        check_ppm("cells.retention.fresh_loss_ppm", self.fresh_loss_ppm)?;
        check_ppm("cells.retention.worn_loss_ppm", self.worn_loss_ppm)?;
        let spread = self.spread_percent;
        check_real(
            "cells.retention.spread_percent",
            spread,
            0.0..=1_000.0,
            "0 to 1000",
        )?;
        let activation = self.activation_ev;
        check_real(
            "cells.retention.activation_ev",
            activation,
            0.0..=5.0,
            "0 to 5",
        )?;
        let hours = self.hours;
        check_real(
            "cells.retention.hours",
            hours,
            1e-3..=1e6,
            "0.001 to 1000000",
        )?;
        let reference = self.reference_celsius;
        check_real(
            "cells.retention.reference_celsius",
            reference,
            -50.0..=200.0,
            "-50 to 200",
        )
    }
}

impl DisturbConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        let raise = self.raise_mv_per_million_reads;
        check_real(
            "cells.disturb.raise_mv_per_million_reads",
            raise,
            0.0..=1e6,
            "0 to 1000000",
        )
    }
}

impl InterferenceConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        check_percent("cells.interference.slc_percent", self.slc_percent)?;
        check_percent(
            "cells.interference.multi_level_percent",
            self.multi_level_percent,
        )?;
        check_percent("cells.interference.qlc_percent", self.qlc_percent)?;
        check_percent(
            "cells.interference.randomized_percent",
            self.randomized_percent,
        )
    }
}

impl EccConfig {
    /// A code for cells that never lose a bit.
    pub fn unused() -> EccConfig {
        EccConfig {
            codeword_bytes: 1,
            correctable_bits: 0,
            retries_max: 0,
            retry_step_mv: 0,
        }
    }

    pub(in crate::nand) fn validate(&self) -> Result<(), ConfigError> {
        let bytes = u64::from(self.codeword_bytes);
        check_range("ecc.codeword_bytes", bytes, 1..=65_536, "1 to 65536")?;
        let bits = u64::from(self.correctable_bits);
        check_range("ecc.correctable_bits", bits, 0..=4_096, "0 to 4096")?;
        check_range(
            "ecc.retries_max",
            self.retries_max.into(),
            0..=64,
            "0 to 64",
        )?;
        let step = u64::from(self.retry_step_mv);
        check_range("ecc.retry_step_mv", step, 0..=1_000, "0 to 1000")
    }
}

/// # Errors
/// If `value` is not in `range`, which `allowed` says in words.
/// Means in order, each above the one before, from that of erased cells on.
fn check_ascending(key: &'static str, erased_mv: f64, means: &[f64]) -> Result<(), ConfigError> {
    let mut last = erased_mv;
    for &mean in means {
        let allowed = "above the state below it, at most 20000";
        check_real(key, mean, last..=20_000.0, allowed)?;
        last = mean;
    }
    Ok(())
}

fn check_ppm(key: &'static str, value: f64) -> Result<(), ConfigError> {
    check_real(key, value, 0.0..=1e6, "0 to 1000000")
}

fn check_percent(key: &'static str, value: f64) -> Result<(), ConfigError> {
    check_real(key, value, 0.0..=100.0, "0 to 100")
}

fn check_real(
    key: &'static str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
    allowed: &'static str,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(ConfigError::Real {
        key,
        value: value.to_string(),
        allowed,
    })
}
