//! Expressions evaluated beside reads and writes of the same dies: the results are those of plain
//! loops, whatever goes between the pieces of the computations.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bitline::inside::InsideHost;
use bitline::{Expression, Host, Platform, VectorId};

use crate::numbered;
use crate::{BITS, Random, open, oracle};

/// Tasks that read blocks; the first of them write, too.
const USERS: u64 = 6;
const WRITERS: u64 = 2;
/// Blocks of 512 bytes of each.
const BLOCKS: u64 = 50;

/// What the blocks of a user hold, each the same byte.
type Held = BTreeMap<u64, u8>;

async fn write(host: &Host, held: &mut Held, lba: u64, byte: u8) {
    let written = host.block().write(lba, &[byte; 512]).await;
    written.expect("there is room");
    held.insert(lba, byte);
}

/// Reads blocks until `done`, and overwrites some; each must hold what was written last.
async fn use_blocks(host: Host, user: u64, mut held: Held, done: Rc<Cell<bool>>) {
    let mut random = Random(user);
    while !done.get() {
        let lba = user * BLOCKS + random.below(BLOCKS);
        if user < WRITERS && random.below(4) == 0 {
            write(&host, &mut held, lba, random.bits() as u8).await;
        } else {
            let read = host.block().read(lba, 1).await.expect("it was written");
            assert_eq!(read, [held[&lba]; 512], "block {lba}");
        }
    }
}

/// Evaluates random expressions and holds them against plain loops.
async fn evaluate(host: Host, number: u64, vectors: Rc<BTreeMap<VectorId, Vec<u8>>>) {
    let mut random = Random(1000 + number);
    let ids: Vec<VectorId> = vectors.keys().copied().collect();
    for round in 0..12 {
        let expression = match round % 3 {
            0 => Expression::And(ids.iter().map(|&id| id.into()).collect()),
            1 => Expression::Or(ids.iter().map(|&id| id.into()).collect()),
            _ => random.expression(&ids, 2),
        };
        let platforms = [
            Platform::ParaBit,
            Platform::FlashCosmos,
            Platform::InStorage,
        ];
        let platform = platforms[(random.below(5) as usize).saturating_sub(2)];
        let found = numbered::evaluate(&host, &expression, platform).await;
        let expected = oracle(&expression, &vectors, BITS);
        assert!(
            found.expect("the vectors are there") == expected,
            "{expression} by {platform}"
        );
    }
}

#[test]
fn results_are_right_whatever_goes_between() {
    let lives = [
        ("first_come", "die", "false"),
        ("read_priority", "die", "false"),
        ("read_priority", "die", "true"),
        ("read_priority", "chip", "true"),
        ("priority_classes", "die", "true"),
        ("priority_classes", "chip", "false"),
        ("priority_aware", "die", "true"),
        ("priority_aware", "chip", "false"),
    ];
    for (policy, interleave, suspends) in lives {
        let mut drive = open(&[
            ("schedule.policy", policy),
            ("compatibility.interleave", interleave),
            ("schedule.suspend.programs", suspends),
            ("schedule.suspend.erases", suspends),
            ("schedule.piece_max_us", "1"),
            ("host.queue_priorities", "[\"low\"]"),
        ]);
        let checked = drive.run(|host| async move {
            let mut random = Random(7);
            let mut vectors = BTreeMap::new();
            for number in 0..16 {
                let id = VectorId::new(number % 2, number / 2);
                let data = random.vector(BITS);
                numbered::write(&host, id, BITS, number % 3 == 0, &data).await?;
                vectors.insert(id, data);
            }
            let (vectors, done) = (Rc::new(vectors), Rc::new(Cell::new(false)));
            let mut users = Vec::new();
            for user in 0..USERS {
                let mut held = Held::new();
                for block in 0..BLOCKS {
                    let (lba, byte) = (user * BLOCKS + block, random.bits() as u8);
                    write(&host, &mut held, lba, byte).await;
                }
                let user = use_blocks(host.clone(), user, held, done.clone());
                users.push(user);
            }
            let users: Vec<_> = users
                .into_iter()
                .map(|user| host.sim().spawn(user))
                .collect();
            let evaluations: Vec<_> = (0..2)
                .map(|number| {
                    host.sim()
                        .spawn(evaluate(host.clone(), number, vectors.clone()))
                })
                .collect();
            for evaluation in evaluations {
                evaluation.await;
            }
            done.set(true);
            for user in users {
                user.await;
            }
            Ok::<_, bitline::Error>(())
        });
        checked.expect("power").expect("the vectors");
        let flash = drive.statistics().expect("power").flash;
        match policy {
            "first_come" => assert_eq!(flash.computations_interrupted, 0),
            _ => assert!(
                flash.latches_saved > 50 && flash.latches_restored > 20,
                "{policy}, {interleave}: {flash:?}"
            ),
        }
    }
}
