//! Transactions over files, on whole drives under seeds: histories of transactions and host commands, with collection, failing
//! programs and power cuts, held against what snapshot isolation and durability mean. Every failure names its seed:
//!
//! ```text
//! BITLINE_SEED=123 cargo test -p bitline-tests --test transactions one_seed -- --nocapture
//! ```

#![expect(unreachable_pub, reason = "a test binary has no outside")]

mod cases;
mod checker;
mod history;
mod life;
#[cfg(feature = "planted-bugs")]
mod planted;
#[path = "../simulation/random_drive.rs"]
mod random_drive;
mod streams;

use std::sync::atomic::{AtomicU64, Ordering};

use life::{Life, ROUNDS, Tally, live};

/// Drives that `make test` lives: ten histories each.
const SEEDS: u64 = 1000;

/// Lives drives on every core.
fn live_all(seeds: u64) -> Tally {
    let next = AtomicU64::new(0);
    let work = || {
        let mut tally = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return tally;
            }
            match std::panic::catch_unwind(|| live(seed)) {
                Ok(Ok(of_seed)) => tally += of_seed,
                Ok(Err(wrong)) => panic!("{wrong}\nreplay: BITLINE_SEED={seed}"),
                Err(_) => panic!("an assertion fails\nreplay: BITLINE_SEED={seed}"),
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut all = Tally::default();
        for worker in workers {
            all += worker
                .join()
                .unwrap_or_else(|wrong| std::panic::resume_unwind(wrong));
        }
        all
    })
}

#[test]
fn ten_thousand_histories_are_under_snapshot_isolation() {
    let all = live_all(SEEDS);
    println!("{all:?}");
    assert_eq!(all.histories, SEEDS * u64::from(ROUNDS));
    assert!(all.cuts > SEEDS, "{all:?}");
    assert!(all.committed > all.histories, "{all:?}");
    assert!(all.conflicts > SEEDS && all.rolled_back > SEEDS, "{all:?}");
    assert!(all.cut_off > SEEDS && all.host > all.histories, "{all:?}");
    assert!(
        all.collected > SEEDS && all.given_up > SEEDS / 20,
        "{all:?}"
    );
    assert!(all.streams > SEEDS && all.collections > SEEDS, "{all:?}");
}

#[test]
fn one_seed() {
    let named = std::env::var("BITLINE_SEED").ok();
    let Some(seed) = named.and_then(|seed| seed.parse().ok()) else {
        return;
    };
    match live(seed) {
        Ok(tally) => println!("seed {seed}: {tally:?}"),
        Err(wrong) => panic!("{wrong}"),
    }
}

/// Power cuts after every event of small histories, one life each.
#[test]
fn a_power_cut_at_any_event_leaves_all_of_a_transaction_or_nothing() {
    for seed in 0..6 {
        for events in 0.. {
            let mut life = Life::new(seed).expect("a drive");
            // Something to be rewritten first.
            life.round(None).unwrap_or_else(|wrong| panic!("{wrong}"));
            let over = life.round(Some(events));
            if over.unwrap_or_else(|wrong| panic!("cut after {events} events: {wrong}")) {
                break;
            }
        }
    }
}
