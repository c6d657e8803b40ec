//! What a configuration says of cells and senses, for Python: error rates, times and powers.

use bitline::{BlockQuality, Condition, NameLookups, ProgramMode};
use pyo3::prelude::*;

use crate::config::Config;
use crate::error::usage;

/// The raw bit error rate of cells, over all pages that they hold.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "Python names them; each is a property of the cells"
)]
pub(crate) fn raw_bit_error_rate(
    config: &Config,
    mode: &str,
    effort: f64,
    cycles: f64,
    hours: f64,
    celsius: f64,
    reads: f64,
    randomized: bool,
    block: &str,
) -> PyResult<f64> {
    let config = &config.0;
    let condition = Condition::FRESH
        .after_cycles(cycles)
        .after_hours(hours * config.retention_acceleration(celsius))
        .after_reads(reads)
        .randomized(randomized)
        .with_effort(effort);
    let mode = mode_of(mode)?;
    Ok(config.raw_bit_error_rate(mode, &condition, block_of(block)?))
}

/// Steps of the raise, whether they are enough, names looked at, misses, false matches, and what of both is expected for
/// each name.
type LookupErrors = (u8, bool, u64, u64, u64, f64, f64);

/// How lookups of names fare, each by its own key.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "Python names them; each is a property of the names or their cells"
)]
pub(crate) fn name_lookups(
    python: Python<'_>,
    config: &Config,
    enhanced: bool,
    tuned: bool,
    cycles: u32,
    hours: u32,
    reads: u32,
    names: u64,
    name_bytes: u32,
    seed: u64,
) -> LookupErrors {
    let mut asked = NameLookups::of_figure_9(enhanced, tuned, cycles);
    (asked.hours, asked.reads) = (hours, reads);
    (asked.names, asked.name_bytes, asked.seed) = (names, name_bytes, seed);
    let config = &config.0;
    let found = python.detach(|| config.name_lookups(&asked));
    let counted = (found.names, found.misses, found.false_matches);
    (
        found.raise,
        found.is_enough,
        counted.0,
        counted.1,
        counted.2,
        found.expected_misses,
        found.expected_false_matches,
    )
}

/// How long a sense takes by its blocks and wordlines, in times of a page read, as measured.
#[pyfunction]
pub(crate) fn sense_time(config: &Config, blocks: u32, wordlines: u32) -> f64 {
    config.0.sense_time(blocks, wordlines)
}

/// Power of a sense of so many blocks, in times of a page read's.
#[pyfunction]
pub(crate) fn sense_power(config: &Config, blocks: usize) -> PyResult<f64> {
    let mut powers = config.0.sense_powers();
    let most = powers.len();
    let power = blocks.checked_sub(1).and_then(|at| powers.nth(at));
    power.ok_or_else(|| {
        usage(format!(
            "a sense of {blocks} blocks: 1 to {most} can be sensed at once"
        ))
    })
}

fn mode_of(name: &str) -> PyResult<ProgramMode> {
    let found = ProgramMode::ALL
        .into_iter()
        .find(|mode| mode.to_string().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        usage(format!(
            "there is no mode {name:?}; it must be slc, esp, mlc, tlc or qlc"
        ))
    })
}

fn block_of(name: &str) -> PyResult<BlockQuality> {
    match name {
        "best" => Ok(BlockQuality::Best),
        "median" => Ok(BlockQuality::Median),
        "worst" => Ok(BlockQuality::Worst),
        "average" => Ok(BlockQuality::Average),
        _ => Err(usage(format!(
            "there is no block {name:?}; it must be best, median, worst or average"
        ))),
    }
}
