//! Misses and false matches of searches: what is expected, what is sampled, and what a drive does.

use super::*;
use crate::nand::cells::{Ageing, Condition, QUALITY_MAX};

/// Blocks of one string, as many wordlines as names of twelve bytes and their valid bit take.
fn config() -> NandConfig {
    let mut config = flash_cosmos();
    config.geometry = Geometry {
        strings_per_block: 1,
        cells_per_string: 194,
        page_bytes: 4096,
        blocks_per_plane: 4,
        ..small().geometry
    };
    config
}

fn lookups(mode: ProgramMode, names: u64) -> Lookups {
    Lookups {
        names,
        ..Lookups::of_figure_9(mode)
    }
}

#[test]
fn firmware_raises_by_the_fewest_steps_that_are_enough() {
    let mut config = config();
    config.mws.raise_step_mv = 100;
    let cells = 194.0 * 32_768.0;
    let mut raises = Vec::new();
    for mode in [ProgramMode::Slc, ProgramMode::Esp] {
        for cycles in [0.0, 5_000.0, 10_000.0, 20_000.0] {
            let condition = Condition::FRESH.after_cycles(cycles).with_effort(2.0);
            let worst = condition.of_quality(QUALITY_MAX);
            let missed = |raise| cells * config.search_rates(mode, &worst, raise).low_as_high;
            for missed_max in [MISSED_CELLS_MAX, 1e-1, 1e3, 1e6] {
                let raise = config.tuned_raise(mode, &condition, missed_max);
                let raise = raise.map_or(RAISE_MAX + 1, |raise| raise);
                if raise <= RAISE_MAX {
                    assert!(missed(raise) < missed_max);
                }
                if raise > 0 {
                    assert!(missed(raise - 1) >= missed_max);
                }
                raises.push(raise);
            }
        }
    }
    // Looser bounds take fewer steps, and of weakly programmed cells the tightest takes more than there are.
    let sorted = |raises: &[u8]| raises.is_sorted_by(|a, b| a >= b);
    assert!(raises.chunks(4).all(sorted), "{raises:?}");
    assert_eq!(raises[0], RAISE_MAX + 1);
    assert!((1..=RAISE_MAX).contains(&raises[1]), "{raises:?}");
    // More wear takes more steps.
    let by_wear: Vec<u8> = raises[2..16].iter().step_by(4).copied().collect();
    assert!(
        by_wear.is_sorted() && by_wear[0] < by_wear[3],
        "{by_wear:?}"
    );
    assert_eq!(raises[16..], [0; 16], "strongly programmed cells need none");
}

#[test]
fn rates_of_a_name_follow_from_those_of_its_cells() {
    let config = config();
    let condition = Condition::FRESH.after_cycles(10_000.0).after_hours(8760.0);
    let rates = config.search_rates(ProgramMode::Slc, &condition, 2);
    let (up, down) = (rates.low_as_high, rates.high_as_low);
    assert!(up > 1e-6 && down > 1e-6, "{rates:?}");
    assert!((rates.miss(97) - (1.0 - (1.0 - up).powi(97))).abs() < 1e-12);
    assert_eq!(rates.miss(0), 0.0);
    let expected = down * down * (1.0 - up).powi(95);
    assert!((rates.false_match(97, 2) / expected - 1.0).abs() < 1e-9);
    // Names are not randomized, whatever one says.
    let randomized = condition.randomized(true);
    assert_eq!(config.search_rates(ProgramMode::Slc, &randomized, 2), rates);
}

#[test]
fn as_many_are_missed_and_match_falsely_as_expected() {
    let config = config();
    for (erases, hours, raise) in [
        (2_500, 0, 0),
        (10_000, 8760, 0),
        (10_000, 8760, 4),
        (20_000, 100, 7),
    ] {
        let asked = Lookups {
            erases,
            hours,
            raise,
            ..lookups(ProgramMode::Slc, 1 << 21)
        };
        let (expected, sampled) = (asked.expected(&config), asked.sample(&config));
        assert_eq!(asked.sample(&config), sampled, "always the same");
        assert!((1 << 19..=1 << 21).contains(&sampled.names), "{sampled:?}");
        for (expected, found) in [
            (expected.misses, sampled.misses),
            (expected.false_matches, sampled.false_matches),
        ] {
            let expected = expected * sampled.names as f64;
            // Blocks differ in quality, and there are but 64.
            let error = 5.0 * expected.sqrt() + 0.15 * expected;
            assert!(
                (found as f64 - expected).abs() < error,
                "{asked:?}: {found} for {expected}"
            );
        }
    }
    let strong = Lookups {
        erases: 20_000,
        ..Lookups::of_figure_9(ProgramMode::Esp)
    };
    let sampled = strong.sample(&config);
    assert_eq!(
        (sampled.names, sampled.misses, sampled.false_matches),
        (33_000_000, 0, 0)
    );
}

/// A drive with the same names in the same cells, read wordline by wordline.
#[test]
fn what_is_sampled_is_what_a_drive_does() {
    const NAMES: usize = 30_000;
    for raise in [0, 3, 9] {
        let asked = Lookups {
            erases: 10_000,
            hours: 8760,
            raise,
            ..lookups(ProgramMode::Slc, NAMES as u64)
        };
        let mut d = Driver::new(&config(), Storage::Memory);
        let set = |name: usize, bit: u32| bit == 96 || bit < 15 && name >> bit & 1 != 0;
        for number in 0..194 {
            let mut bytes = vec![0xFF; 4096];
            for name in 0..NAMES {
                // A name's 1 is (low, high).
                if set(name, number / 2) == (number % 2 == 1) {
                    bytes[name / 8] &= !(1 << (name % 8));
                }
            }
            d.program(page(0, number), ProgramMode::Slc, &bytes, b"");
        }
        let ageing = Ageing {
            hours: 8760.0,
            celsius: 30.0,
            cycles: 10_000,
        };
        d.nand.grow_older(&ageing).expect("memory does not fail");
        let wordlines: Vec<Vec<u8>> = (0..194)
            .map(|layer| {
                d.must(0, &mws(Iscm::READ, &[(0, 0, &[layer])]).raised(raise));
                d.register(0)
            })
            .collect();
        let conducts = |name: usize, bit: u32, set: bool| {
            let wordline = &wordlines[(2 * bit + u32::from(!set)) as usize];
            wordline[name / 8] >> (name % 8) & 1 != 0
        };
        let matches =
            |name: usize, key: usize| (0..97).all(|bit| conducts(name, bit, set(key, bit)));
        let missed = (0..NAMES).filter(|&name| !matches(name, name)).count();
        let pairs = (0..NAMES).flat_map(|name| (0..15).map(move |bit| (name, name ^ 1 << bit)));
        let pairs = pairs.filter(|&(name, key)| key < NAMES && matches(name, key));
        // A name that its own key misses is no false match of another, unless the cell that misses it is not sensed.
        let found: Vec<(usize, usize)> = pairs.collect();
        let clean = found
            .iter()
            .filter(|&&(name, _)| matches(name, name))
            .count();
        let sampled = asked.sample(&config());
        assert_eq!(sampled.names, NAMES as u64);
        assert_eq!(sampled.misses, missed as u64, "raise {raise}");
        assert_eq!(sampled.false_matches, clean as u64, "raise {raise}");
        assert!(missed > 0 || raise == 9);
        assert!(clean > 0);
    }
}

#[test]
fn what_firmware_knows_of_a_block_is_enough_to_miss_nothing() {
    let mut config = config();
    config.mws.raise_step_mv = 180;
    let mut d = Driver::new(&config, Storage::Memory);
    assert_eq!(d.nand.history(BlockId(1)), None);
    d.must(0, &Command::erase(BlockId(1)));
    let ones = vec![0xFF; 4096];
    for number in 0..8 {
        d.program(page(1, number), ProgramMode::Slc, &ones, b"");
    }
    let ageing = Ageing {
        hours: 1000.0,
        celsius: 30.0,
        cycles: 4_999,
    };
    d.nand.grow_older(&ageing).expect("memory does not fail");
    let lost = |d: &mut Driver, raise| -> u32 {
        let sense = |layer| mws(Iscm::READ, &[(1, 0, &[layer])]).raised(raise);
        let lost = (0..8).map(|layer| {
            d.must(0, &sense(layer));
            let zeros = d.register(0).into_iter().map(u8::count_zeros);
            zeros.sum::<u32>()
        });
        lost.sum()
    };
    for _ in 0..600 {
        assert!(lost(&mut d, 0) > 50);
    }
    let (mode, condition) = d.nand.history(BlockId(1)).expect("it is programmed");
    assert_eq!(mode, ProgramMode::Slc);
    let known = (condition.cycles, condition.hours, condition.reads);
    assert_eq!(
        known,
        (5_000.0, 1000.0, 4096.0),
        "reads are felt in powers of two"
    );
    assert_eq!((condition.quality, condition.randomized), (0.0, false));
    let raise = config.tuned_raise(mode, &condition, MISSED_CELLS_MAX);
    let raise = raise.expect("steps are long enough");
    assert_eq!(lost(&mut d, raise), 0);
    assert!(lost(&mut d, raise / 4) > 0);
}
