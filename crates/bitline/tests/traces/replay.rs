//! Replays: when requests come, and where they go.

use bitline::workload::{Replay, RunOptions, Timing, Workload};

use crate::{FIO_2, MSR, TraceFile, drive};

/// Arrival, kind, first block and blocks of every request.
fn replayed(replay: &Replay) -> Vec<(f64, u8, u64, u32)> {
    let mut drive = drive();
    let options = RunOptions {
        latencies: true,
        ..RunOptions::default()
    };
    let under_way = drive
        .start_workloads(&[Workload::Replay(replay.clone())], options)
        .expect("it makes sense");
    while !under_way.advance(&drive, 1 << 20).expect("it goes on") {}
    let rows = under_way.take_latencies();
    under_way.report(&drive).expect("it is done");
    let first = rows.arrival_ns.iter().copied().fold(f64::MAX, f64::min);
    let mut requests: Vec<_> = (0..rows.len())
        .map(|row| {
            (
                rows.arrival_ns[row] - first,
                rows.kind[row],
                rows.lba[row],
                rows.blocks[row],
            )
        })
        .collect();
    requests.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
    requests
}

#[test]
fn requests_arrive_by_the_clock_of_the_trace_or_faster() {
    let text = "5000 0 0 8 0\n1005000 0 8 8 0\n1004000 0 16 8 0\n3005000 0 24 16 1\n";
    let file = TraceFile::of("clock", text.as_bytes());
    // The third is earlier than the second, and arrives with it.
    let expected = [
        (0.0, 1, 0, 1),
        (1e6, 1, 1, 1),
        (1e6, 1, 2, 1),
        (3e6, 0, 3, 2),
    ];
    assert_eq!(replayed(&file.replay()), expected);
    let faster = Replay {
        timing: Timing::Scaled { factor: 0.25 },
        ..file.replay()
    };
    let quarter = expected.map(|(at, kind, lba, blocks)| (at / 4.0, kind, lba, blocks));
    assert_eq!(replayed(&faster), quarter);
    let twice = Replay {
        repeat: 2,
        ..file.replay()
    };
    let again = expected.map(|(at, kind, lba, blocks)| (at + 3e6, kind, lba, blocks));
    let mut both = [expected, again].concat();
    both.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
    assert_eq!(replayed(&twice), both);

    let mut drive = drive();
    let fast = Replay {
        timing: Timing::AsFastAsPossible { depth: 1 },
        ..file.replay()
    };
    let report = drive.replay(&fast, |_| {}).expect("it runs");
    let flow = &report.flows[0];
    assert!(flow.elapsed_ns < 3e6, "{}", flow.elapsed_ns);
    let trace = flow.trace.as_ref().expect("a trace");
    assert_eq!((trace.requests, trace.lines, trace.format), (4, 4, "mqsim"));
}

#[test]
fn a_queue_that_is_full_costs_each_request_the_same() {
    // All at once, so that nearly all wait for a place in the queue of 1,023.
    let polls = |requests: u64| {
        let text: String = (0..requests)
            .map(|n| format!("0 0 {} 8 1\n", n * 8))
            .collect();
        let file = TraceFile::of(&format!("crowd-{requests}"), text.as_bytes());
        let mut drive = drive();
        let report = drive.replay(&file.replay(), |_| {}).expect("it runs");
        assert_eq!(report.flows[0].requests, requests);
        drive.simulation().expect("it is powered").events()
    };
    let (few, many) = (polls(4_000), polls(16_000));
    assert!(
        many < 5 * few,
        "{few} polls for 4,000 requests, {many} for 16,000"
    );
}

#[test]
fn waiting_counts_from_the_arrival() {
    // Ten writes at once, one at a time: the last waits for all others.
    let text: String = (0..10).map(|n| format!("0 0 {} 8 0\n", n * 8)).collect();
    let file = TraceFile::of("waiting", text.as_bytes());
    let replay = Replay {
        outstanding_max: 1,
        ..file.replay()
    };
    let report = drive().replay(&replay, |_| {}).expect("it runs");
    let write = report.flows[0].write.expect("writes");
    assert!(write.max_ns > 9.0 * write.min_ns, "{write:?}");
}

#[test]
fn requests_are_widened_to_blocks_and_folded_into_the_range() {
    // 512 bytes within a block; across two; beyond the range; across its end.
    let text = "0 0 1 1 0\n1 0 7 2 0\n2 0 8004 4 0\n3 0 799 8 0\n";
    let file = TraceFile::of("fold", text.as_bytes());
    let replay = Replay {
        first_block: 50,
        range_blocks: 100,
        ..file.replay()
    };
    let blocks: Vec<(u64, u32)> = replayed(&replay)
        .iter()
        .map(|request| (request.2, request.3))
        .collect();
    // 8004 sectors are block 1000, so block 0 of 100; 799 begins in block 99.
    assert_eq!(blocks, [(50, 1), (50, 2), (50, 1), (148, 2)]);
    let report = drive().replay(&replay, |_| {}).expect("it runs");
    let trace = report.flows[0].trace.as_ref().expect("a trace");
    assert_eq!((trace.widened, trace.wrapped), (4, 2));
    assert_eq!(report.written_bytes, 6 * 4096);
    assert_eq!(trace.requested_bytes, 15 * 512);
}

#[test]
fn deallocations_and_flushes_are_replayed() {
    let file = TraceFile::of("fio", FIO_2.as_bytes());
    let report = drive().replay(&file.replay(), |_| {}).expect("it runs");
    let flow = &report.flows[0];
    let counts = [flow.read, flow.write, flow.deallocate, flow.flush]
        .map(|class| class.map_or(0, |latency| latency.count));
    assert_eq!(counts, [1, 1, 1, 1]);
}

#[test]
fn devices_can_be_chosen() {
    let file = TraceFile::of("devices", MSR.as_bytes());
    let replay = Replay {
        devices: [("usr,1".to_owned(), 1)].into(),
        ..file.replay()
    };
    let report = drive().replay(&replay, |_| {}).expect("it runs");
    let trace = report.flows[0].trace.as_ref().expect("a trace");
    assert_eq!((trace.requests, trace.left_out, trace.devices), (1, 1, 2));
}

#[test]
fn a_replay_that_makes_no_sense_is_told_by_its_key() {
    let file = TraceFile::of("wrong", b"0 0 0 8 0\n1 0 0 4000000000 0\n");
    let base = file.replay();
    let wrong = [
        (
            Replay {
                repeat: 0,
                ..base.clone()
            },
            "repeat = 0",
        ),
        (
            Replay {
                queue: 99,
                ..base.clone()
            },
            "queue = 99",
        ),
        (
            Replay {
                range_blocks: u64::MAX,
                ..base.clone()
            },
            "must lie within",
        ),
        (
            Replay {
                timing: Timing::Scaled { factor: 0.0 },
                ..base.clone()
            },
            "factor = 0",
        ),
        (
            Replay {
                timing: Timing::AsFastAsPossible { depth: 0 },
                ..base.clone()
            },
            "depth = 0",
        ),
        (Replay::of("/nowhere/trace"), "/nowhere/trace: No such file"),
        (base, "line 2: its request is longer"),
    ];
    for (replay, words) in wrong {
        let error = drive().replay(&replay, |_| {}).expect_err("it is refused");
        assert!(error.to_string().contains(words), "{error}");
    }
}
