//! Bugs planted on purpose, each of which the simulation must catch.

use device::planted::{Bug, plant};

use crate::life::live;

/// Seeds within which a bug must show. Most do at once; a read in the way of a lease is rare.
const SEEDS: u64 = 300;

#[test]
fn every_planted_bug_is_caught() {
    for bug in Bug::ALL {
        let planted = plant(bug);
        let caught = (0..SEEDS).find_map(|seed| {
            // A drive that notices by itself, by an assertion, is caught as well.
            let outcome = std::panic::catch_unwind(|| live(seed, 20));
            let loss = outcome
                .unwrap_or_else(|_| Err("an assertion of the firmware fails".into()))
                .err()?;
            Some((seed, loss))
        });
        drop(planted);
        let Some((seed, loss)) = caught else {
            panic!("{bug:?} was not caught within {SEEDS} seeds");
        };
        println!("{bug:?} caught by seed {seed}: {loss}");
    }
}
