//! The whole drive under a seed: random commands from several queues, block and
//! bitwise, power cuts at random events, programs and erases that fail, held
//! against an oracle of a few lines. Every failure names its seed; replay it with
//!
//! ```text
//! BITLINE_SEED=123 cargo test -p bitline-tests --test simulation one_seed -- --nocapture
//! ```

#![expect(unreachable_pub, reason = "a test program has no outside")]

mod clients;
mod entries;
mod life;
mod oracle;
#[cfg(feature = "planted-bugs")]
mod planted;

use life::{Cuts, live};

/// Seeds and power cuts that `make test` runs at the least.
const SEEDS: u64 = 500;
const CUTS_PER_SEED: u32 = 40;

#[test]
fn what_is_acknowledged_survives() {
    let mut cuts = Cuts::default();
    for seed in 0..SEEDS {
        match live(seed, CUTS_PER_SEED) {
            Ok(of_seed) => cuts += of_seed,
            Err(loss) => panic!("seed {seed}: {loss}\nreplay: BITLINE_SEED={seed}"),
        }
    }
    println!("{SEEDS} seeds: {cuts}");
    assert_eq!(cuts.cuts, SEEDS * u64::from(CUTS_PER_SEED), "{cuts}");
    // A simulation in which nothing happens finds nothing.
    assert!(
        cuts.in_flight > cuts.cuts,
        "too little was in flight when the power went: {cuts}"
    );
    assert!(
        cuts.collected > SEEDS,
        "garbage was hardly ever collected: {cuts}"
    );
    assert!(
        cuts.program_failures > SEEDS / 10,
        "hardly any program failed: {cuts}"
    );
    assert!(
        cuts.vectors_checked > SEEDS,
        "hardly any vector was checked: {cuts}"
    );
}

#[test]
fn one_seed() {
    let Some(seed) = std::env::var("BITLINE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
    else {
        return;
    };
    match live(seed, CUTS_PER_SEED) {
        Ok(cuts) => println!("seed {seed}: {cuts}"),
        Err(loss) => panic!("seed {seed}: {loss}"),
    }
}

#[test]
fn a_seed_lives_the_same_life_twice() {
    for seed in [3, 77] {
        let (first, second) = (live(seed, 5), live(seed, 5));
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
    }
}
