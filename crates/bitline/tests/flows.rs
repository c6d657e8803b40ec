//! Flows that are looked at and stopped on their way; what a drive says of itself.

use bitline::inside::InsideConfig;
use bitline::workload::{Arrival, Flow, Pattern};
use bitline::{Config, Drive, Error, Extent};

fn small() -> Drive {
    let config = Config::preset("flash-cosmos").expect("a preset").with([
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "2"),
        ("nand.geometry.blocks_per_plane", "32"),
        ("ftl.gc.threshold_blocks", "3"),
    ]);
    Drive::open(config.expect("a legal drive")).expect("a drive in memory")
}

fn flow() -> Flow {
    Flow {
        requests: 2000,
        range_blocks: 256,
        ..Flow::default()
    }
}

#[test]
fn flows_advance_as_far_as_they_are_let_and_measure_the_same() {
    let (mut whole, mut pieces) = (small(), small());
    let expected = whole.run_flows(&[flow()], |_| {}).expect("it runs");
    let under_way = pieces.start_flows(&[flow()]).expect("it runs");
    let (mut seen, mut looks) = (0, 0);
    while !under_way.advance(&pieces, 100).expect("it goes on") {
        assert!(under_way.completed() >= seen && under_way.completed() <= 2000);
        seen = under_way.completed();
        looks += 1;
    }
    assert!(looks > 10);
    assert_eq!(under_way.completed(), 2000);
    assert_eq!(under_way.report(&pieces).expect("it is done"), expected);
    assert_eq!(pieces.now(), whole.now());
}

/// Mean latencies of reads through an urgent queue and one of low priority, under a policy.
fn latencies(policy: &str) -> [f64; 2] {
    let config = Config::preset("flash-cosmos").expect("a preset").with([
        ("nand.geometry.channels", "1"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "32"),
        ("ftl.gc.threshold_blocks", "3"),
        ("schedule.policy", policy),
        ("host.queue_pairs", "2"),
        ("host.queue_priorities", "[\"urgent\", \"low\"]"),
    ]);
    let mut drive = Drive::open(config.expect("a legal drive")).expect("a drive in memory");
    let flows = [0, 1].map(|queue| Flow {
        name: format!("queue {queue}"),
        queue,
        prefill: queue == 0,
        arrival: Arrival::Closed { depth: 32 },
        stop_ns: 20_000_000,
        requests: 1 << 30,
        ..flow()
    });
    let report = drive.run_flows(&flows, |_| {}).expect("it runs");
    [0, 1].map(|flow| report.flows[flow].read.expect("only reads").mean_ns)
}

#[test]
fn dies_serve_urgent_queues_first_if_the_policy_says_so() {
    let [urgent, low] = latencies("priority_classes");
    assert!(urgent * 1.5 < low, "{urgent} against {low} ns");
    let [first, second] = latencies("read_priority");
    assert!(
        (first / second - 1.0).abs() < 0.1,
        "{first} against {second} ns"
    );
}

#[test]
fn dropped_flows_stop_after_what_is_in_flight() {
    for arrival in [
        Arrival::Closed { depth: 8 },
        Arrival::Open {
            requests_per_second: 100_000.0,
            outstanding_max: 8,
        },
    ] {
        let mut drive = small();
        let endless = Flow {
            requests: 1 << 38,
            arrival,
            ..flow()
        };
        let under_way = drive.start_flows(&[endless]).expect("it runs");
        while under_way.completed() < 100 {
            assert!(!under_way.advance(&drive, 100).expect("it goes on"));
        }
        let before = drive.statistics().expect("power").frontend.commands;
        drop(under_way);
        drive.simulation().expect("power").run();
        let after = drive.statistics().expect("power").frontend.commands;
        assert!(after - before <= 16, "{} more", after - before);
        drive.write(0, &[7; 4096]).expect("it goes on");
    }
}

#[test]
fn flows_that_are_not_done_have_no_report() {
    let mut drive = small();
    let under_way = drive.start_flows(&[flow()]).expect("it runs");
    assert!(matches!(under_way.report(&drive), Err(Error::Workload(_))));
}

#[test]
fn flows_that_make_no_sense_are_told_by_their_key() {
    let mut drive = small();
    let open = |requests_per_second, outstanding_max| Arrival::Open {
        requests_per_second,
        outstanding_max,
    };
    let wrong = [
        (
            Flow {
                arrival: open(1e-30, 5),
                ..flow()
            },
            "requests_per_second = 0.000000000000000000000000000001 must be 0.0001 to",
        ),
        (
            Flow {
                requests: u64::MAX,
                arrival: open(10.0, 5),
                ..flow()
            },
            "longer than",
        ),
        (
            Flow {
                read_fraction: -0.1,
                ..flow()
            },
            "read_fraction = -0.1",
        ),
        (
            Flow {
                blocks: 0.into(),
                ..flow()
            },
            "blocks = 0",
        ),
        (
            Flow {
                queue: 99,
                ..flow()
            },
            "queue = 99",
        ),
        (
            Flow {
                range_blocks: u64::MAX,
                ..flow()
            },
            "must lie within",
        ),
        (
            Flow {
                first_block: u64::MAX,
                ..flow()
            },
            "must lie within",
        ),
        (
            Flow {
                arrival: Arrival::Closed { depth: 0 },
                ..flow()
            },
            "depth = 0",
        ),
        (
            Flow {
                arrival: Arrival::Closed { depth: 1 << 20 },
                ..flow()
            },
            "depth = 1048576",
        ),
        (
            Flow {
                arrival: open(f64::NAN, 1),
                ..flow()
            },
            "requests_per_second = NaN",
        ),
        (
            Flow {
                arrival: open(1.0, 0),
                ..flow()
            },
            "outstanding_max = 0",
        ),
    ];
    for (flow, words) in wrong {
        let error = drive.start_flows(&[flow]).err().expect("it is refused");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(drive.statistics().expect("power").flash.senses, 0);
}

#[test]
fn a_drive_tells_what_it_holds() {
    let mut drive = small();
    let identity = drive.identify().expect("power");
    assert_eq!(identity.nvme_version, "2.1");
    assert_eq!(identity.blocks, drive.blocks().expect("power"));
    let blank = drive.inventory().expect("power");
    assert_eq!(
        (blank.mapped_pages, blank.flash_blocks_used, blank.vectors),
        (0, 0, 0)
    );
    assert_eq!(blank.flash_blocks, 2 * 2 * 2 * 32);
    // Pages of 16 KiB hold 4 blocks: 6 to 13 lie on three of them, 100 on one.
    drive.write(6, &[1; 8 * 4096]).expect("in range");
    drive.write(100, &[2; 4096]).expect("in range");
    let runs = [(4, 12), (100, 4)].map(|(first, blocks)| Extent { first, blocks });
    assert_eq!(drive.mapped_runs().expect("power"), runs);
    assert_eq!(drive.inventory().expect("power").mapped_pages, 4);
    drive.deallocate(4, 12).expect("in range");
    assert_eq!(drive.mapped_runs().expect("power"), runs[1..]);
}

#[test]
fn sequential_requests_take_their_range_in_turn() {
    let mut drive = small();
    let writes = Flow {
        requests: 6,
        read_fraction: 0.0,
        blocks: 4.into(),
        range_blocks: 16,
        pattern: Pattern::Sequential,
        prefill: false,
        ..flow()
    };
    drive.run_flows(&[writes], |_| {}).expect("it runs");
    let runs = drive.mapped_runs().expect("power");
    assert_eq!(
        runs,
        [Extent {
            first: 0,
            blocks: 16
        }]
    );
}

#[test]
fn an_open_loop_at_the_slowest_rate_keeps_the_time() {
    let mut drive = small();
    let slow = Flow {
        requests: 10,
        arrival: Arrival::Open {
            requests_per_second: 1e-4,
            outstanding_max: 5,
        },
        ..flow()
    };
    let report = drive.run_flows(&[slow], |_| {}).expect("it runs");
    // Ten gaps of ten thousand seconds on average.
    let seconds = report.flows[0].elapsed_ns / 1e9;
    assert!((2e4..4e5).contains(&seconds), "{seconds} s");
}

#[test]
fn filling_a_range_leaves_alone_what_is_there() {
    for cache in ["off", "write"] {
        let overrides = [("cache.mode", cache)];
        let preset = Config::preset("flash-cosmos").expect("a preset");
        let config = preset.with(overrides).expect("a legal drive");
        let mut drive = Drive::open(config).expect("a drive");
        let page =
            drive.config().device().nand.geometry.page_bytes / drive.block_bytes().expect("power");
        let data = vec![7; 3 * drive.block_bytes().expect("power") as usize];
        // A part of a page, and three pages further on.
        drive.write(1, &data).expect("room");
        drive.write(u64::from(4 * page), &data).expect("room");
        let flow = Flow {
            requests: 50,
            read_fraction: 1.0,
            range_blocks: 1000,
            ..Flow::default()
        };
        drive.run_flows(&[flow], |_| {}).expect("reads");
        assert_eq!(drive.read(1, 3).expect("written"), data, "cache {cache}");
        assert_eq!(drive.read(u64::from(4 * page), 3).expect("written"), data);
        let inventory = drive.inventory().expect("power");
        drive.flush().expect("no image");
        let filled = drive.inventory().expect("power").mapped_pages;
        assert_eq!(filled, 1000_u64.div_ceil(page.into()), "{inventory:?}");
        // It is filled with zeroes.
        assert!(
            drive
                .read(500, 100)
                .expect("filled")
                .iter()
                .all(|byte| *byte == 0)
        );
    }
}

#[test]
fn flows_do_not_write_into_the_volume() {
    let mut drive =
        Drive::open(Config::preset("flash-cosmos").expect("a preset")).expect("a drive");
    let [vector] = &drive
        .group("g")
        .expect("a name")
        .write(8, [[1]])
        .expect("room")[..]
    else {
        panic!("one");
    };
    let first_block = vector.extents[0].first;
    let of = |read_fraction| Flow {
        requests: 10,
        read_fraction,
        first_block,
        range_blocks: 4,
        ..Flow::default()
    };
    let refused = drive.run_flows(&[of(0.5)], |_| {});
    let told = refused.expect_err("it would overwrite it").to_string();
    assert!(told.contains("reach into the drive's volume"), "{told}");
    drive
        .run_flows(&[of(1.0)], |_| {})
        .expect("reads are harmless");
    assert_eq!(
        drive.query(&vector.into()).read().expect("it is there"),
        [1]
    );
}
