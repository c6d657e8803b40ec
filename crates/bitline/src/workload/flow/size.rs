//! How large the requests of a flow are.

use host::block::BLOCKS_PER_COMMAND_MAX;
use serde::{Deserialize, Serialize};
use sim::Random;

/// Logical blocks of each request. In a configuration a plain number is a fixed size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields, tag = "kind")]
#[non_exhaustive]
pub enum Size {
    /// All the same.
    Fixed {
        /// How many.
        blocks: u32,
    },
    /// Normally distributed, rounded up, at least one block and at most what a
    /// command and the flow's range can hold.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// Of a few sizes, each with a weight that need not add up to anything.
    Weighted {
        /// Pairs of blocks and weight.
        sizes: Vec<(u32, f64)>,
    },
}

impl From<u32> for Size {
    fn from(blocks: u32) -> Size {
        Size::Fixed { blocks }
    }
}

impl Size {
    /// Says what is wrong with it, by its key.
    pub(super) fn check(&self) -> Result<(), String> {
        let block_range = 1..=BLOCKS_PER_COMMAND_MAX;
        match self {
            Size::Fixed { blocks } if !block_range.contains(blocks) => Err(format!(
                "blocks = {blocks} must be 1 to {BLOCKS_PER_COMMAND_MAX}"
            )),
            Size::Normal { mean, .. }
                if !(1.0..=f64::from(BLOCKS_PER_COMMAND_MAX)).contains(mean) =>
            {
                Err(format!(
                    "blocks: mean = {mean} must be 1 to {BLOCKS_PER_COMMAND_MAX}"
                ))
            }
            Size::Normal { deviation, .. }
                if !(0.0..=f64::from(BLOCKS_PER_COMMAND_MAX)).contains(deviation) =>
            {
                Err(format!(
                    "blocks: deviation = {deviation} must be 0 to {BLOCKS_PER_COMMAND_MAX}"
                ))
            }
            Size::Weighted { sizes } => check_weights(sizes),
            _ => Ok(()),
        }
    }

    /// The blocks that a range must have: those of the largest request, or of a
    /// mean one where there is no largest.
    pub(super) fn blocks_needed(&self) -> u32 {
        match self {
            Size::Fixed { blocks } => *blocks,
            Size::Normal { mean, .. } => mean.ceil() as u32,
            Size::Weighted { sizes } => sizes.iter().map(|(blocks, _)| *blocks).max().unwrap_or(1),
        }
    }

    /// Unless the flow says otherwise, requests of one size are aligned to it.
    pub(super) fn alignment(&self) -> u32 {
        match self {
            Size::Fixed { blocks } => *blocks,
            Size::Normal { .. } | Size::Weighted { .. } => 1,
        }
    }

    /// Draws sizes, none larger than `blocks_max`.
    pub(super) fn draw(&self, blocks_max: u64, random: Random) -> Sizes {
        let blocks_max = blocks_max.min(u64::from(BLOCKS_PER_COMMAND_MAX)) as u32;
        match self {
            Size::Fixed { blocks } => Sizes::Fixed(*blocks),
            Size::Normal { mean, deviation } => Sizes::Normal {
                mean: *mean,
                deviation: *deviation,
                blocks_max,
                random,
            },
            Size::Weighted { sizes } => Sizes::Weighted {
                thresholds: thresholds(sizes),
                random,
            },
        }
    }
}

fn check_weights(sizes: &[(u32, f64)]) -> Result<(), String> {
    if sizes.is_empty() {
        return Err("blocks: sizes has no entry".into());
    }
    for (blocks, weight) in sizes {
        if !(1..=BLOCKS_PER_COMMAND_MAX).contains(blocks) {
            return Err(format!(
                "blocks: sizes: {blocks} must be 1 to {BLOCKS_PER_COMMAND_MAX}"
            ));
        }
        if !(*weight > 0.0 && weight.is_finite()) {
            return Err(format!(
                "blocks: sizes: the weight {weight} of {blocks} must be above 0"
            ));
        }
    }
    Ok(())
}

/// For each size the share of 2^64 below which it, or one before it, is drawn.
fn thresholds(sizes: &[(u32, f64)]) -> Vec<(u64, u32)> {
    let sum: f64 = sizes.iter().map(|(_, weight)| weight).sum();
    let mut so_far = 0.0;
    let mut thresholds: Vec<(u64, u32)> = sizes
        .iter()
        .map(|(blocks, weight)| {
            so_far += weight / sum;
            ((so_far * 2f64.powi(64)) as u64, *blocks)
        })
        .collect();
    if let Some(last) = thresholds.last_mut() {
        // Whatever rounding did, the last one takes the rest.
        last.0 = u64::MAX;
    }
    thresholds
}

/// Sizes being drawn.
pub(super) enum Sizes {
    Fixed(u32),
    Normal {
        mean: f64,
        deviation: f64,
        blocks_max: u32,
        random: Random,
    },
    Weighted {
        thresholds: Vec<(u64, u32)>,
        random: Random,
    },
}

impl Sizes {
    #[inline]
    pub(super) fn next(&mut self) -> u32 {
        match self {
            Sizes::Fixed(blocks) => *blocks,
            Sizes::Normal {
                mean,
                deviation,
                blocks_max,
                random,
            } => {
                let blocks = (*mean + *deviation * standard_normal(random)).ceil();
                // The conversion takes what is below zero as zero.
                (blocks as u32).clamp(1, *blocks_max)
            }
            Sizes::Weighted { thresholds, random } => {
                let drawn = random.bits();
                let place = thresholds.partition_point(|(limit, _)| *limit < drawn);
                thresholds[place.min(thresholds.len() - 1)].1
            }
        }
    }
}

/// One normally distributed number of mean 0 and deviation 1 (Box and Muller).
fn standard_normal(random: &mut Random) -> f64 {
    // The logarithm of what is above zero.
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}
