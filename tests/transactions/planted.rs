//! Bugs planted on purpose, each of which the checker must catch.

use device::planted::{Bug, plant};

use crate::life::live;

/// Drives within which a bug must show.
const SEEDS: u64 = 300;

#[test]
fn every_planted_bug_is_caught() {
    let bugs = Bug::OF_TRANSACTIONS.into_iter().chain(Bug::OF_STREAMS);
    for bug in bugs {
        let planted = plant(bug);
        let caught = (0..SEEDS).find_map(|seed| {
            let outcome = std::panic::catch_unwind(|| live(seed));
            let outcome =
                outcome.unwrap_or_else(|_| Err("an assertion of the firmware fails".into()));
            Some((seed, outcome.err()?))
        });
        drop(planted);
        let Some((seed, wrong)) = caught else {
            panic!("{bug:?} was not caught within {SEEDS} drives");
        };
        let wrong: String = wrong.chars().take(120).collect();
        println!("{bug:?} caught by drive {seed}: {wrong}");
    }
}
