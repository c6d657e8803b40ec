//! The model's own properties; that it gives what was published is tested with the presets.

use super::*;
use crate::nand::tests::flash_cosmos;

fn cells(seed: u64) -> Cells {
    let mut cells = flash_cosmos().cells_of_age(DriveAge::default());
    cells.reseed(seed);
    cells
}

fn rate(mode: ProgramMode, condition: Condition) -> f64 {
    let config = flash_cosmos().cells;
    config.error_rates(mode, &condition, 0.0).mean()
}

#[test]
fn whatever_happens_to_cells_makes_them_worse() {
    let steps: [fn(Condition, f64) -> Condition; 4] = [
        |condition, step| Condition {
            cycles: 2000.0 * step,
            ..condition
        },
        |condition, step| Condition {
            hours: 500.0 * step,
            ..condition
        },
        |condition, step| Condition {
            reads: 2e5 * step,
            ..condition
        },
        |condition, step| Condition {
            quality: 0.5 * step,
            ..condition
        },
    ];
    for mode in ProgramMode::ALL {
        for (which, step) in steps.iter().enumerate() {
            let rates = (0..8).map(|at| rate(mode, step(Condition::FRESH, f64::from(at))));
            let rates: Vec<f64> = rates.collect();
            assert!(
                rates.is_sorted_by(|a, b| a < b),
                "{mode}, step {which}: {rates:?}"
            );
        }
        let plain = Condition {
            randomized: false,
            ..Condition::FRESH
        };
        assert!(rate(mode, plain) > rate(mode, Condition::FRESH), "{mode}");
    }
}

/// Rates of ESP with rising efforts.
fn by_effort(efforts: impl Iterator<Item = f64>, condition: Condition) -> Vec<f64> {
    let of = |effort| {
        rate(
            ProgramMode::Esp,
            Condition {
                effort,
                ..condition
            },
        )
    };
    efforts.map(of).collect()
}

/// A page of cells reads as its bit of the state they are in: each reference is one page's, and no two states are alike.
#[test]
fn pages_of_a_cell_are_a_gray_code() {
    for mode in [ProgramMode::Mlc, ProgramMode::Tlc, ProgramMode::Qlc] {
        let bits = mode.bits_per_cell() as usize;
        let states = 1 << bits;
        // One reference after another is the only one at which cells read wrong.
        let owner = |reference: usize| {
            let pages = (0..bits).filter(|&page| voltage::is_wrong_at(states - 1, reference, page));
            let pages: Vec<usize> = pages.collect();
            assert_eq!(pages.len(), 1, "{mode}, reference {reference}: {pages:?}");
            pages[0]
        };
        let mut code = 0;
        let mut codes = vec![code];
        for reference in 0..states - 1 {
            code ^= 1 << owner(reference);
            codes.push(code);
        }
        codes.sort_unstable();
        assert_eq!(codes, (0..states).collect::<Vec<_>>(), "{mode}");
    }
}

#[test]
fn more_effort_never_makes_more_errors() {
    let efforts = || {
        (0..=120)
            .map(|step| 1.0 + f64::from(step) / 40.0)
            .chain([10.0])
    };
    // Within what Flash-Cosmos tested (5.1): up to a year after up to 10,000 cycles, in any block.
    for (cycles, hours) in [
        (0.0, 0.0),
        (0.0, 8760.0),
        (10_000.0, 0.0),
        (10_000.0, 8760.0),
    ] {
        for quality in [-QUALITY_MAX, 0.0, QUALITY_MAX] {
            for randomized in [false, true] {
                let condition = Condition {
                    cycles,
                    hours,
                    randomized,
                    quality,
                    ..Condition::FRESH
                };
                let rates = by_effort(efforts(), condition);
                assert!(
                    rates.is_sorted_by(|a, b| a >= b),
                    "{condition:?}: {rates:?}"
                );
            }
        }
    }
}

#[test]
fn more_effort_than_twice_the_time_changes_nothing_however_old_the_cells_are() {
    for (cycles, years) in [
        (0.0, 0.0),
        (10_000.0, 10.0),
        (20_000.0, 5.0),
        (50_000.0, 1.0),
    ] {
        let condition = Condition {
            cycles,
            hours: 8760.0 * years,
            randomized: false,
            ..Condition::FRESH
        };
        let rates = by_effort([2.0, 2.05, 2.5, 5.0, 10.0].into_iter(), condition);
        assert!(
            rates.iter().all(|&rate| rate == rates[0]),
            "{condition:?}: {rates:?}"
        );
    }
}

#[test]
fn warmth_makes_time_pass_as_arrhenius_says() {
    let config = flash_cosmos().cells;
    assert_eq!(config.acceleration(30.0), 1.0);
    // 1.1 eV from 30 to 85 degrees: a year in about 13 hours, as JEDEC's tables have it.
    let hours = 8760.0 / config.acceleration(85.0);
    assert!((12.0..15.0).contains(&hours), "{hours}");
    assert!(config.acceleration(20.0) < 1.0);
}

#[test]
fn references_that_follow_leaked_cells_find_fewer_errors() {
    let config = flash_cosmos().cells;
    let condition = Condition {
        cycles: 3000.0,
        hours: 8760.0,
        ..Condition::FRESH
    };
    let at = |shift| {
        config
            .error_rates(ProgramMode::Tlc, &condition, shift)
            .mean()
    };
    assert!(at(80.0) < 0.5 * at(0.0));
    assert!(at(320.0) > at(80.0), "too far is wrong, too");
}

#[test]
fn qualities_are_those_of_a_normal_distribution_and_another_seed_has_others() {
    let (cells, other) = (cells(1), cells(2));
    let qualities: Vec<f64> = (0..20_000).map(|block| cells.quality(block)).collect();
    let count = qualities.len() as f64;
    let mean = qualities.iter().sum::<f64>() / count;
    let variance = qualities
        .iter()
        .map(|quality| quality * quality)
        .sum::<f64>()
        / count;
    assert!(
        mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04,
        "{mean}, {variance}"
    );
    let alike = (0..20_000).filter(|&block| cells.quality(block) == other.quality(block));
    // Both may be as far out as goes.
    assert!(alike.count() < 10);
}

#[test]
fn what_is_quiet_is_correctable_even_in_the_worst_block() {
    let mut cells = cells(3);
    for ageing in [0.0, 24.0 * 90.0, 8760.0] {
        let older = cells.older(&Ageing {
            hours: ageing,
            celsius: 30.0,
            cycles: 0,
        });
        cells.set_age(older);
        let erase_count = cells.quiet.erase_count.saturating_sub(1);
        if cells.quiet.erase_count == 0 {
            continue;
        }
        assert!(cells.is_quiet(erase_count, 0) && !cells.is_quiet(erase_count + 1, 0));
        for block in 0..500 {
            let page = PageAddress {
                block: crate::nand::BlockId(block),
                page: 8,
            };
            let past = Past {
                mode: ProgramMode::Tlc,
                erase_count,
                reads: 0,
                birth: Birth::default(),
            };
            assert!(
                cells.is_correctable(page, &past, 0),
                "block {block} after {ageing} hours"
            );
        }
    }
}
