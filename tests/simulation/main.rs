//! The whole drive under a seed: random commands from several queues, block and
//! bitwise, power cuts at random events, programs and erases that fail, held
//! against an oracle of a few lines. Every failure names its seed; replay it with
//!
//! ```text
//! BITLINE_SEED=123 cargo test -p bitline-tests --test simulation one_seed -- --nocapture
//! ```
//!
//! `BITLINE_SEEDS=1000..5000` lives other seeds than those of `make test`; `make soak` lives ten times as many.
//! Each seed is a life of its own, so they are shared out over the cores.

#![expect(unreachable_pub, reason = "a test binary has no outside")]

mod buffers;
#[cfg(feature = "planted-bugs")]
mod check;
mod clients;
mod entries;
mod inventory;
mod layout;
mod life;
mod names;
#[path = "../../crates/bitline/tests/support/numbered.rs"]
mod numbered;
mod oracle;
#[cfg(feature = "planted-bugs")]
mod planted;
mod random_drive;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use life::{Cuts, live};

/// Seeds that `make test` lives, and the power cuts of each.
const SEEDS: u64 = 200;
const CUTS_PER_SEED: u32 = 50;

/// The seeds to live: those of `make test`, or those that `BITLINE_SEEDS` names.
pub fn seeds() -> Range<u64> {
    let Ok(named) = std::env::var("BITLINE_SEEDS") else {
        return 0..SEEDS;
    };
    let range = named
        .split_once("..")
        .and_then(|(first, end)| Some(first.parse().ok()?..end.parse().ok()?));
    range.unwrap_or_else(|| panic!("BITLINE_SEEDS={named} is no range such as 500..1000"))
}

/// Lives all of `seeds`, on every core, and adds up what happened.
fn live_all(seeds: Range<u64>) -> Cuts {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let mut cuts = Cuts::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return cuts;
            }
            // An assertion of the drive fails as a loss does: with its seed.
            let outcome = std::panic::catch_unwind(|| live(seed, CUTS_PER_SEED));
            let outcome = outcome.unwrap_or_else(|_| Err("an assertion fails".into()));
            match outcome {
                Ok(of_seed) => cuts += of_seed,
                Err(loss) => {
                    // The others need not go on.
                    next.store(seeds.end, Ordering::Relaxed);
                    panic!("seed {seed}: {loss}\nreplay: BITLINE_SEED={seed}");
                }
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|loss| std::panic::resume_unwind(loss))
            })
            .fold(Cuts::default(), |mut sum, cuts| {
                sum += cuts;
                sum
            })
    })
}

#[test]
fn what_is_acknowledged_survives() {
    let seeds = seeds();
    let lives = seeds.end - seeds.start;
    let cuts = live_all(seeds);
    println!("{lives} seeds: {cuts}");
    let all = cuts.cuts + cuts.forgone;
    assert_eq!(all, lives * u64::from(CUTS_PER_SEED), "{cuts}");
    assert!(
        cuts.worn_out <= lives.div_ceil(20),
        "too many drives died: {cuts}"
    );
    // A simulation in which nothing happens finds nothing.
    assert!(
        cuts.in_flight > cuts.cuts,
        "too little was in flight when the power went: {cuts}"
    );
    assert!(
        cuts.collected > lives,
        "garbage was hardly ever collected: {cuts}"
    );
    assert!(
        cuts.program_failures > lives / 10,
        "hardly any program failed: {cuts}"
    );
    assert!(
        cuts.retried > lives,
        "hardly any page was read again: {cuts}"
    );
    assert!(
        cuts.sanitized > lives,
        "hardly any drive was sanitized: {cuts}"
    );
    assert!(
        cuts.computed > lives,
        "hardly anything was computed: {cuts}"
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

/// What was needed of a block that a format had to erase found no room at first, and the format did not end.
#[test]
fn a_format_makes_room_for_what_it_moves() {
    if let Err(loss) = live(216, CUTS_PER_SEED) {
        panic!("{loss}");
    }
}

#[test]
fn a_seed_lives_the_same_life_twice() {
    for seed in [3, 77] {
        let (first, second) = (live(seed, 5), live(seed, 5));
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
    }
}
