//! Readers, writers and deletions of the same groups at the same time.

use std::cell::Cell;
use std::rc::Rc;

use bitline::{Error, Expression, Host, Platform, VectorId};
use sim::Span;

use crate::numbered;
use crate::{BITS, Random, clear_tail, open};

const VECTORS: u32 = 3;
const VERSIONS: u64 = 40;

/// A version of a vector: every byte of it tells which.
fn version(vector: u32, number: u64) -> Vec<u8> {
    let mut bytes = vec![(number * u64::from(VECTORS) + u64::from(vector)) as u8; 9738];
    clear_tail(&mut bytes, BITS);
    bytes
}

/// What is known of a vector: versions up to `sent` may be there, versions before `done` may not.
#[derive(Default)]
struct Known {
    sent: Cell<u64>,
    done: Cell<u64>,
}

/// Overwrites a vector again and again.
async fn write(host: Host, id: VectorId, known: Rc<Known>) {
    for number in 1..=VERSIONS {
        known.sent.set(number);
        let data = version(id.vector, number);
        let written = numbered::write(&host, id, BITS, number % 2 == 0, &data).await;
        written.expect("strings are reused");
        known.done.set(number);
    }
}

/// Reads a vector again and again; it must be whole, and neither too old nor too new.
async fn read(host: Host, id: VectorId, known: Rc<Known>, platform: Platform) {
    while known.done.get() < VERSIONS {
        let oldest = known.done.get();
        let read = numbered::evaluate(&host, &id.into(), platform).await;
        match read {
            Ok(bytes) => {
                let fits = (oldest..=known.sent.get()).any(|n| bytes == version(id.vector, n));
                assert!(
                    fits,
                    "{id} by {platform}, since {oldest}: {:?}",
                    &bytes[..4]
                );
            }
            Err(Error::NoVector(_)) => assert_eq!(oldest, 0),
            Err(error) => panic!("{error}"),
        }
        host.sim().sleep(Span::from_us(1)).await;
    }
}

#[test]
fn readers_see_whole_versions_while_strings_are_erased() {
    let mut drive = open(&[
        ("nand.geometry.blocks_per_plane", "64"),
        // With reads first, so many readers would never let a write through.
        ("schedule.policy", "first_come"),
    ]);
    let checked = drive.run(|host| async move {
        let mut tasks = Vec::new();
        for vector in 0..VECTORS {
            let (id, known) = (VectorId::new(1, vector), Rc::new(Known::default()));
            tasks.push(host.sim().spawn(write(host.clone(), id, known.clone())));
            for platform in [Platform::FlashCosmos, Platform::InStorage] {
                let reader = read(host.clone(), id, known.clone(), platform);
                tasks.push(host.sim().spawn(reader));
            }
        }
        for task in tasks {
            task.await;
        }
    });
    checked.expect("nothing hangs");
    let counts = drive.statistics().expect("power").bits;
    assert!(counts.blocks_erased > 0, "{counts:?}");
    assert_eq!(counts.rows_written, u64::from(VECTORS) * VERSIONS);
}

/// Writes a pair of vectors and deletes their group, again and again.
async fn renew(host: Host, seed: u64) {
    let mut random = Random(seed);
    let pair = [VectorId::new(4, 0), VectorId::new(4, 1)];
    for _ in 0..40 {
        for id in pair {
            let data = version(id.vector, 1);
            numbered::write(&host, id, BITS, random.below(2) == 0, &data)
                .await
                .expect("room");
        }
        host.sim().sleep(Span::from_us(random.below(3000))).await;
        match random.below(3) {
            0 => numbered::delete(&host, 4, Some(1))
                .await
                .expect("it is there"),
            _ => numbered::delete(&host, 4, None).await.expect("it is there"),
        }
    }
}

#[test]
fn an_expression_is_over_vectors_that_exist_or_none() {
    let mut drive = open(&[]);
    let results = drive.run(|host| async move {
        let writer = host.sim().spawn(renew(host.clone(), 1));
        let both: Expression = VectorId::new(4, 0) ^ VectorId::new(4, 1);
        let mut results = Vec::new();
        for round in 0..300 {
            let platform = Platform::NAMED[1 + round % 3];
            results.push(numbered::evaluate(&host, &both, platform).await);
            host.sim().sleep(Span::from_us(500)).await;
        }
        writer.await;
        results
    });
    let results = results.expect("nothing hangs");
    let expected: Vec<u8> = std::iter::zip(version(0, 1), version(1, 1))
        .map(|(a, b)| a ^ b)
        .collect();
    let mut found = 0;
    for result in &results {
        match result {
            Ok(bytes) => {
                assert!(*bytes == expected, "{:?}", &bytes[..4]);
                found += 1;
            }
            Err(Error::NoVector(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(
        found > 20 && found < results.len() - 20,
        "{found} of {}",
        results.len()
    );
}
