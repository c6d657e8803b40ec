//! How many pages of each block are still needed, after what was written.

/// Steps of MQSim's solver.
const MQSIM_STEPS: u32 = 10_000;
/// Length of a step, in block lifetimes; shorter for very large blocks.
const STEP: f64 = 0.001;
/// The field has settled when none of it moves more in a step.
const SETTLED: f64 = 1e-10;
/// Far more than it takes to settle.
const STEPS_MAX: u32 = 200_000;

/// How far the field is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// It has settled.
    Settled,
    /// As far as MQSim goes, which leaves out blocks whose pages are all needed.
    Mqsim,
}

/// The share of blocks with 0, 1, ... `pages` needed pages when pages of a share `rho`
/// of all are overwritten at random and the emptiest of `choices` blocks drawn at random
/// is collected: the mean field of Van Houdt, SIGMETRICS 2013, theorem 1, followed by Euler's
/// method from the binomial distribution on.
pub(super) fn mean_field(pages: u32, rho: f64, choices: u32, until: Until) -> Vec<f64> {
    let pages = pages as usize;
    if rho <= 0.0 || rho >= 1.0 {
        let mut field = vec![0.0; pages + 1];
        field[if rho <= 0.0 { 0 } else { pages }] = 1.0;
        return field;
    }
    // At least so many pages are needed, for each number; the last is for more than all.
    let mut tail = vec![0.0; pages + 2];
    for needed in (0..=pages).rev() {
        tail[needed] = tail[needed + 1] + binomial(pages, needed, rho);
    }
    let (last, steps) = match until {
        Until::Settled => (pages, STEPS_MAX),
        Until::Mqsim => (pages - 1, MQSIM_STEPS),
    };
    tail[last + 1..].fill(0.0);
    for _ in 0..steps {
        if euler_step(&mut tail, last, rho, choices) < SETTLED {
            break;
        }
    }
    (0..=pages)
        .map(|needed| (tail[needed] - tail[needed + 1]).max(0.0))
        .collect()
}

/// One step of the field up to `last` needed pages; gives the most that any of it moved.
fn euler_step(tail: &mut [f64], last: usize, rho: f64, choices: u32) -> f64 {
    let pages = (tail.len() - 2) as f64;
    let step = STEP.min(0.2 / pages);
    let powers: f64 = tail[1..]
        .iter()
        .map(|share| share.powi(choices as i32))
        .sum();
    let written = pages - powers;
    let mut moved: f64 = 0.0;
    // Of a number of needed pages only itself and the next above count: in ascending order
    // every one is computed from the step before.
    for needed in 1..=last {
        let leaves = needed as f64 * (tail[needed] - tail[needed + 1]);
        let gains = 1.0 - tail[needed].powi(choices as i32);
        let change = step * (gains - written * leaves / (pages * rho));
        tail[needed] += change;
        moved = moved.max(change.abs());
    }
    moved
}

fn binomial(of: usize, taken: usize, share: f64) -> f64 {
    let logarithm = |number: usize| (1..=number).map(|factor| (factor as f64).ln()).sum::<f64>();
    let ways = logarithm(of) - logarithm(taken) - logarithm(of - taken);
    (ways + taken as f64 * share.ln() + (of - taken) as f64 * (1.0 - share).ln()).exp()
}

/// Blocks full of needed pages; the last has the rest.
pub(super) fn full_blocks(pages: usize, per_block: u32) -> Vec<u32> {
    let per_block = per_block as usize;
    (0..pages.div_ceil(per_block))
        .map(|block| (pages - block * per_block).min(per_block) as u32)
        .collect()
}

/// Blocks of a log in which `pages` pages were written `written` times at random, from the
/// oldest on: each page written since replaces one in `pages`.
pub(super) fn by_age(pages: usize, written: f64, per_block: u32) -> Vec<u32> {
    let blocks = (written / f64::from(per_block)).ceil() as usize;
    let counts = (0..blocks).map(|block| {
        let age = written - (block as f64 + 0.5) * f64::from(per_block);
        let kept = (-age.max(0.0) / pages.max(1) as f64).exp();
        (f64::from(per_block) * kept).round() as u32
    });
    fitted(counts.collect(), pages, per_block)
}

/// `blocks` blocks that follow `field` as closely as whole blocks can, the emptiest first.
pub(super) fn by_quantiles(field: &[f64], blocks: u32, pages: usize, per_block: u32) -> Vec<u32> {
    let total: f64 = field.iter().sum();
    let (mut needed, mut below) = (0, field[0]);
    let counts = (0..blocks).map(|block| {
        let quantile = (f64::from(block) + 0.5) / f64::from(blocks) * total;
        while below < quantile && needed < per_block {
            needed += 1;
            below += field[needed as usize];
        }
        needed
    });
    fitted(counts.collect(), pages, per_block)
}

/// `counts` changed by as little as brings their sum to `pages`.
fn fitted(mut counts: Vec<u32>, pages: usize, per_block: u32) -> Vec<u32> {
    let mut sum: i64 = counts.iter().map(|count| i64::from(*count)).sum();
    let pages = pages as i64;
    while sum != pages && !counts.is_empty() {
        let before = sum;
        for count in &mut counts {
            if sum < pages && *count < per_block {
                *count += 1;
                sum += 1;
            } else if sum > pages && *count > 0 {
                *count -= 1;
                sum -= 1;
            }
        }
        if sum == before {
            // All are full: the rest takes more blocks.
            let rest = full_blocks((pages - sum) as usize, per_block);
            counts.extend(rest);
            break;
        }
    }
    counts
}

/// As MQSim: the field is moved as a whole until its average is right, each number of
/// needed pages gets its share of `goal` blocks rounded down, and what found no place
/// makes more of the fullest.
pub(super) fn by_rounding(field: &[f64], goal: u32, pages: usize, per_block: u32) -> Vec<u32> {
    let full = per_block as usize;
    let share = |needed: usize| needed as f64 / f64::from(per_block);
    let average: f64 = field
        .iter()
        .enumerate()
        .map(|(needed, density)| density * share(needed))
        .sum();
    let right = pages as f64 / (f64::from(goal) * f64::from(per_block));
    let mut moved = field.to_vec();
    let distance = (right - average) * f64::from(per_block);
    if distance.abs() > 0.9999 {
        // The last entry, of full blocks, stays where it is.
        for (needed, density) in moved.iter_mut().enumerate().take(full) {
            let from = needed as i64 - distance as i64;
            let within = (0..full as i64).contains(&from) || distance < 0.0 && from == full as i64;
            *density = if within { field[from as usize] } else { 0.0 };
        }
    }
    let blocks = |density: f64| (density * f64::from(goal)) as u32;
    let placed: usize = moved
        .iter()
        .enumerate()
        .map(|(needed, density)| needed * blocks(*density) as usize)
        .sum();
    let mut missing = pages.saturating_sub(placed) as u32;
    let (mut left, mut unplaced) = (goal, pages as u32);
    let mut counts = Vec::new();
    for needed in (0..=per_block).rev() {
        let mut count = blocks(moved[needed as usize]);
        if count > 0 && missing > 0 && needed > 0 {
            count += missing.div_ceil(needed);
            missing = 0;
        }
        let count = count.min(left);
        left -= count;
        for _ in 0..count {
            let valid = needed.min(unplaced);
            unplaced -= valid;
            counts.push(valid);
        }
    }
    // What the moved field has no blocks for.
    counts.extend(full_blocks(unplaced as usize, per_block));
    counts.reverse();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(field: &[f64]) -> f64 {
        field
            .iter()
            .enumerate()
            .map(|(needed, share)| needed as f64 * share)
            .sum()
    }

    #[test]
    fn the_field_keeps_its_average_and_its_total() {
        for (pages, rho, choices) in [(32, 0.8, 30), (64, 0.7, 1), (128, 0.65, 8)] {
            let field = mean_field(pages, rho, choices, Until::Settled);
            let total: f64 = field.iter().sum();
            assert!((total - 1.0).abs() < 1e-6, "{total}");
            let average = mean(&field) / f64::from(pages);
            assert!((average / rho - 1.0).abs() < 0.01, "{average}, not {rho}");
        }
    }

    #[test]
    fn greedy_collects_what_the_closed_form_says() {
        // At 0.8, with blocks of 32 pages (Desnoyers, SYSTOR 2012).
        let field = mean_field(32, 0.8, 30, Until::Settled);
        let mut tail = 1.0;
        let mut copied = 0.0;
        for share in &field[..32] {
            tail -= share;
            copied += f64::max(tail, 0.0).powi(30);
        }
        let amplification = 32.0 / (32.0 - copied);
        assert!(
            (amplification / 2.510 - 1.0).abs() < 0.02,
            "{amplification}"
        );
    }

    #[test]
    fn every_page_finds_its_block() {
        let field = mean_field(128, 0.7, 30, Until::Mqsim);
        for pages in [0, 1, 127, 10_000, 20_024, 31_000] {
            let sums = [
                full_blocks(pages, 128),
                by_quantiles(&field, 244, pages, 128),
                by_rounding(&field, 250, pages, 128),
                by_age(pages, pages as f64 * 1.3, 128),
            ]
            .map(|counts| {
                assert!(counts.iter().all(|count| *count <= 128));
                counts.iter().map(|count| *count as usize).sum::<usize>()
            });
            assert_eq!(sums, [pages; 4]);
        }
    }
}
