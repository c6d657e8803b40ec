//! Queues share the drive as the weights of their classes say, and no queue has more in flight
//! than it may.

use std::cell::Cell;
use std::rc::Rc;

use bitline::inside::InsideHost;
use bitline::{Drive, Host};
use nvme::BROADCAST_NAMESPACE;
use sim::Span;

use crate::{blocks, drive};

/// Keeps `depth` reads under way on each of three queues for a while; gives how many of each
/// completed, and the most that the drive had in flight of one.
fn completed(drive: &mut Drive, depth: u64) -> Vec<u64> {
    drive.write(0, &blocks(0, 1024)).expect("room");
    let counts = drive.run(move |host| async move {
        let counts: Vec<Rc<Cell<u64>>> = (0..3).map(|_| Rc::default()).collect();
        for (queue, count) in counts.iter().enumerate() {
            for worker in 0..depth {
                read_for_ever(&host, queue, worker, count.clone()).await;
            }
        }
        // Those that came first had the drive for themselves.
        counts.iter().for_each(|count| count.set(0));
        host.sim().sleep(Span::from_us(20_000)).await;
        counts.iter().map(|count| count.get()).collect::<Vec<u64>>()
    });
    counts.expect("power")
}

async fn read_for_ever(host: &Host, queue: usize, worker: u64, count: Rc<Cell<u64>>) {
    let block = host.block_on_queue(queue).await.expect("there are three");
    let buffer = block.buffer(8).expect("room");
    host.sim().spawn_detached(async move {
        for number in 0u64.. {
            let lba = (worker * 37 + number * 11) % 120 * 8;
            let read = block.read_into(lba, 8, &buffer).await;
            read.expect("it was written");
            count.set(count.get() + 1);
        }
    });
}

const WEIGHTED: [(&str, &str); 5] = [
    ("frontend.arbitration", "weighted_round_robin"),
    ("frontend.arbitration_weights", "[6, 3, 1]"),
    ("frontend.commands_in_flight", "6"),
    ("host.queue_pairs", "3"),
    ("host.queue_priorities", "[\"high\", \"medium\", \"low\"]"),
];

#[test]
fn shares_follow_weights() {
    let counts = completed(&mut drive(&WEIGHTED), 16);
    let all: u64 = counts.iter().sum();
    println!("{counts:?} reads of high, medium and low");
    assert!(all > 500, "{counts:?}");
    for (count, weight) in counts.iter().zip([0.6, 0.3, 0.1]) {
        let share = *count as f64 / all as f64;
        assert!((share - weight).abs() < 0.02, "{counts:?}");
    }
    let equal = [WEIGHTED[2], WEIGHTED[3], WEIGHTED[4]];
    let counts = completed(&mut drive(&equal), 16);
    println!("{counts:?} reads in equal turns");
    let all: u64 = counts.iter().sum();
    for count in &counts {
        assert!(
            (*count as f64 / all as f64 - 1.0 / 3.0).abs() < 0.02,
            "{counts:?}"
        );
    }
}

#[test]
fn urgent_queues_come_first() {
    let urgent = ("host.queue_priorities", "[\"urgent\", \"medium\", \"low\"]");
    let keys = [WEIGHTED[0], WEIGHTED[2], WEIGHTED[3], urgent];
    let counts = completed(&mut drive(&keys), 16);
    println!("{counts:?} reads of urgent, medium and low");
    assert!(counts[0] > 20 * (counts[1] + counts[2]), "{counts:?}");
}

#[test]
fn a_queue_has_no_more_in_flight_than_it_may() {
    // Three queues of one command each keep three dies' worth of work at most; without the limit,
    // sixteen of each do more.
    let pairs = ("host.queue_pairs", "3");
    let one = completed(
        &mut drive(&[pairs, ("frontend.fetch_limit_per_queue", "1")]),
        16,
    );
    let many = completed(&mut drive(&[pairs]), 16);
    let (one, many): (u64, u64) = (one.iter().sum(), many.iter().sum());
    println!("{one} reads with one in flight a queue, {many} without the limit");
    assert!(many > one * 5 / 4, "{one} against {many}");
    // A queue alone, one at a time, is as fast as a host that sends one at a time.
    let keys = [
        ("host.queue_pairs", "1"),
        ("frontend.fetch_limit_per_queue", "1"),
    ];
    let mut alone = drive(&keys);
    alone.write(0, &blocks(0, 64)).expect("room");
    let begun = alone.now();
    for lba in 0..8 {
        alone.read(lba * 8, 8).expect("written");
    }
    let one_by_one = alone.now().since(begun);
    let begun = alone.now();
    let done = alone.run(|host| async move {
        let reads: Vec<_> = (0..8)
            .map(|lba| {
                let block = host.block().clone();
                host.sim()
                    .spawn(async move { block.read(lba * 8, 8).await })
            })
            .collect();
        for read in reads {
            read.await.expect("written");
        }
    });
    done.expect("power");
    let together = alone.now().since(begun);
    let ratio = together.as_seconds() / one_by_one.as_seconds();
    assert!(
        (0.99..1.01).contains(&ratio),
        "{together} against {one_by_one}"
    );
}

/// What takes long, such as a format, keeps no other admin command from being fetched.
#[test]
fn admin_commands_have_no_limit() {
    let mut drive = drive(&[("frontend.fetch_limit_per_queue", "1")]);
    drive.write(0, &blocks(0, 64)).expect("room");
    let ended = drive.run(|host| async move {
        let admin = host.admin();
        let formatting = {
            let admin = admin.clone();
            let all = BROADCAST_NAMESPACE;
            host.sim()
                .spawn(async move { admin.format(all, 512).await })
        };
        host.sim().sleep(Span::from_us(10)).await;
        admin.health().await?;
        assert!(!formatting.is_finished(), "the page came after the format");
        formatting.await
    });
    ended.expect("nothing hangs").expect("both end");
}
