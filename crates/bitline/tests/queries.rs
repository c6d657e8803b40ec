//! Streams of queries beside flows: against queries asked one by one, and by what reports say.

use std::ops::ControlFlow;

use bitline::workload::{
    Answer, Arrival, Flow, Formula, Latencies, Queries, Report, RequestKind, RunOptions, Workload,
};
use bitline::{Ageing, Config, Drive, Error, Expression, Platform, Span, Vector};

/// Of each vector: a page of each of the drive's 8 planes, twice.
const BITS: u64 = 2 * 8 * 16384 * 8;

fn open(changes: &[(&str, &str)]) -> Drive {
    let config = Config::preset("flash-cosmos").expect("a preset").with([
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "2"),
        ("nand.geometry.blocks_per_plane", "32"),
        ("ftl.gc.threshold_blocks", "3"),
        ("data.storage", "none"),
    ]);
    let config = config.expect("a legal drive").with(changes.iter().copied());
    Drive::open(config.expect("a legal drive")).expect("a drive in memory")
}

fn place(drive: &mut Drive, group: &str, count: u32) -> Vec<Vector> {
    let group = drive.group(group).expect("a name");
    let placed = group.place(BITS, count, |_| ControlFlow::Continue(()));
    placed.expect("room")
}

/// A drive with vectors in two groups.
fn with_vectors(changes: &[(&str, &str)]) -> (Drive, Vec<Vector>, Vec<Vector>) {
    let mut drive = open(changes);
    let days = place(&mut drive, "days", 6);
    let flags = place(&mut drive, "flags", 2);
    (drive, days, flags)
}

fn all_days() -> Formula {
    Formula::All("days".into())
}

fn few() -> Queries {
    Queries {
        requests: 4,
        ..Queries::of(all_days())
    }
}

fn run(drive: &mut Drive, workloads: &[Workload]) -> Result<(Report, Latencies), Error> {
    let options = RunOptions {
        latencies: true,
        ..RunOptions::default()
    };
    let under_way = drive.start_workloads(workloads, options)?;
    while !under_way.advance(drive, 1 << 20)? {}
    let rows = under_way.take_latencies();
    Ok((under_way.report(drive)?, rows))
}

fn asked(drive: &mut Drive, queries: &Queries) -> (Report, Latencies) {
    run(drive, &[Workload::Queries(queries.clone())]).expect("it runs")
}

/// What a query takes by itself.
fn alone(drive: &mut Drive, expression: &Expression, queries: &Queries) -> Span {
    let begin = drive.now();
    let query = drive.query(expression).on(queries.platform);
    let done = match queries.answer {
        Answer::Count => query.count().map(drop),
        Answer::CountByHost => query.count_in_host().map(drop),
        Answer::Read => query.read().map(drop),
        _ => query.stream(),
    };
    done.expect("it is answered");
    drive.now().since(begin)
}

#[test]
fn each_query_of_a_closed_loop_of_one_takes_what_it_takes_by_itself() {
    for platform in Platform::NAMED {
        for answer in [
            Answer::Count,
            Answer::CountByHost,
            Answer::Read,
            Answer::Stream,
        ] {
            let queries = Queries {
                platform,
                answer,
                ..few()
            };
            let (mut drive, days, _) = with_vectors(&[]);
            let expression = Expression::all(&days).expect("operands");
            let expected: Vec<f64> = (0..4)
                .map(|_| alone(&mut drive, &expression, &queries).as_ns())
                .collect();
            let (mut drive, ..) = with_vectors(&[]);
            let (report, rows) = asked(&mut drive, &queries);
            assert_eq!(rows.latency_ns, expected, "{platform}, {answer:?}");
            let told = &report.queries[0];
            let sum: f64 = expected.iter().sum();
            assert!((told.elapsed_ns - sum).abs() < 0.01, "{platform}");
            assert!((told.queries_per_second * sum / 4e9 - 1.0).abs() < 1e-9);
            let latency = told.latency.expect("there are some");
            assert!((latency.mean_ns - sum / 4.0).abs() < 0.01);
        }
    }
}

#[test]
fn a_report_says_what_was_asked_and_how_much() {
    let (mut drive, ..) = with_vectors(&[]);
    let both = Formula::Or(vec![all_days(), Formula::vector("flags", "1")]);
    let queries = Queries {
        name: "busy".into(),
        answer: Answer::Stream,
        platform: Platform::ParaBit,
        ..Queries {
            expression: both,
            ..few()
        }
    };
    let (report, rows) = asked(&mut drive, &queries);
    let told = &report.queries[0];
    assert_eq!(told.name, "busy");
    assert_eq!(told.expression, "and(days) | flags:1");
    assert_eq!(
        (told.platform, told.answer),
        (Platform::ParaBit, Answer::Stream)
    );
    assert_eq!((told.queries, told.failed), (4, 0));
    assert_eq!((told.operands, told.bits), (7, BITS));
    assert_eq!(told.operand_bits, 4 * 7 * BITS);
    assert!(report.flows.is_empty());
    assert_eq!(rows.kind, [RequestKind::Query as u8; 4]);
    assert_eq!(rows.bytes, [7 * BITS / 8; 4]);
    assert_eq!((rows.lba, rows.blocks), (vec![0; 4], vec![0; 4]));
    assert_eq!((rows.namespace, rows.flow), (vec![1; 4], vec![0; 4]));
}

/// An expression over days and flags, written out.
type Written = fn(&[Vector], &[Vector]) -> Expression;

#[test]
fn formulas_are_the_expressions_that_their_operators_say() {
    let v = Formula::vector;
    let group = |name: &str| name.to_owned();
    let asks: [(Formula, Written); 5] = [
        (Formula::Any(group("days")), |days, _| {
            Expression::any(days).expect("operands")
        }),
        (Formula::Parity(group("flags")), |_, flags| {
            Expression::parity(flags).expect("operands")
        }),
        // One chain of eight, as it would be written out.
        (
            Formula::And(vec![all_days(), v("flags", "0"), v("flags", "1")]),
            |days, flags| Expression::all(days.iter().chain(flags)).expect("operands"),
        ),
        (Formula::Not(all_days().into()), |days, _| {
            Expression::nand(days).expect("operands")
        }),
        (
            Formula::Xor(vec![v("days", "3"), Formula::Not(v("flags", "1").into())]),
            |days, flags| {
                let other = !Expression::from(&flags[1]);
                Expression::parity([Expression::from(&days[3]), other]).expect("operands")
            },
        ),
    ];
    for (formula, expression) in asks {
        let words = formula.to_string();
        let queries = Queries {
            requests: 1,
            ..Queries::of(formula)
        };
        let (mut drive, days, flags) = with_vectors(&[]);
        let expected = alone(&mut drive, &expression(&days, &flags), &queries).as_ns();
        let (mut drive, ..) = with_vectors(&[]);
        assert_eq!(
            asked(&mut drive, &queries).1.latency_ns,
            [expected],
            "{words}"
        );
    }
}

#[test]
fn flows_beside_queries_get_slower_and_all_are_counted() -> Result<(), Error> {
    let flow = Flow {
        requests: 1 << 40,
        stop_ns: 20_000_000,
        range_blocks: 256,
        arrival: Arrival::Closed { depth: 4 },
        ..Flow::default()
    };
    let endless = Queries {
        requests: 1 << 40,
        stop_ns: 20_000_000,
        ..few()
    };
    let (mut drive, ..) = with_vectors(&[]);
    let (quiet, _) = run(&mut drive, &[Workload::Flow(flow.clone())])?;
    let (mut drive, ..) = with_vectors(&[]);
    let (alone, _) = asked(&mut drive, &endless);
    let both = [Workload::Queries(endless), Workload::Flow(flow)];
    let beside = || {
        let (mut drive, ..) = with_vectors(&[]);
        run(&mut drive, &both)
    };
    let (busy, rows) = beside()?;
    let read = |report: &Report| report.flows[0].read.expect("reads");
    assert!(read(&busy).p99_ns > read(&quiet).p99_ns);
    assert!(busy.flows[0].requests < quiet.flows[0].requests);
    assert!(busy.queries[0].queries < alone.queries[0].queries);
    assert!(busy.queries[0].queries > 0);
    let total = busy.queries[0].queries + busy.flows[0].requests;
    assert_eq!(rows.len() as u64, total);
    let queries = rows.flow.iter().filter(|flow| **flow == 0).count();
    assert_eq!(queries as u64, busy.queries[0].queries);
    let again = beside()?;
    assert_eq!(again, (busy, rows), "the same run twice");
    Ok(())
}

#[test]
fn queries_of_an_open_loop_count_from_their_arrival() {
    let (mut drive, ..) = with_vectors(&[]);
    let one = asked(
        &mut drive,
        &Queries {
            requests: 1,
            ..few()
        },
    )
    .1
    .latency_ns[0];
    // Twice as many as the drive answers one after another: the n-th waits n times half of one.
    let paced = |outstanding_max| Queries {
        requests: 20,
        arrival: Arrival::Paced {
            requests_per_second: 2e9 / one,
            outstanding_max,
        },
        ..few()
    };
    let (mut drive, ..) = with_vectors(&[]);
    let (report, rows) = asked(&mut drive, &paced(1));
    assert_eq!(report.queries[0].queries, 20);
    let last = rows.latency_ns[19];
    assert!((last / one - 10.5).abs() < 0.5, "{last} against {one} ns");
    let (mut drive, ..) = with_vectors(&[]);
    let together = asked(&mut drive, &paced(8)).0;
    assert!(together.queries[0].elapsed_ns <= report.queries[0].elapsed_ns);
}

#[test]
fn random_arrivals_have_the_name_of_the_queries() {
    let arrivals = |name: &str| {
        let (mut drive, ..) = with_vectors(&[]);
        let queries = Queries {
            name: name.into(),
            arrival: Arrival::Open {
                requests_per_second: 5000.0,
                outstanding_max: 8,
            },
            ..few()
        };
        asked(&mut drive, &queries).1.arrival_ns
    };
    assert_eq!(arrivals("one"), arrivals("one"));
    assert_ne!(arrivals("one"), arrivals("two"));
}

#[test]
fn queries_of_an_urgent_queue_are_answered_before_others() {
    let (mut drive, ..) = with_vectors(&[
        ("schedule.policy", "priority_classes"),
        ("host.queue_pairs", "2"),
        ("host.queue_priorities", "[\"low\", \"urgent\"]"),
    ]);
    let workloads = [0, 1].map(|queue| {
        Workload::Queries(Queries {
            queue,
            requests: 1 << 40,
            stop_ns: 20_000_000,
            arrival: Arrival::Closed { depth: 4 },
            ..few()
        })
    });
    let (report, _) = run(&mut drive, &workloads).expect("it runs");
    let mean = |number: usize| report.queries[number].latency.expect("some").mean_ns;
    assert!(
        mean(1) * 1.5 < mean(0),
        "{} against {} ns",
        mean(1),
        mean(0)
    );
}

#[test]
fn a_query_that_fails_ends_the_run_or_is_counted() {
    // Ordinary pages need their correction, and get so old that it is not enough.
    let old = || {
        let mut drive = open(&[("data.storage", "memory")]);
        let rows = [[0x5a_u8; 1 << 16], [0x33; 1 << 16]];
        let group = drive.group("days").expect("a name");
        let vectors = group.write(8 << 16, rows).expect("room");
        for vector in vectors {
            let first = vector.extents[0].first;
            drive.write(first, &[0x5a; 1 << 16]).expect("blocks");
        }
        let ageing = Ageing::new(87_600.0, 55.0).after_cycles(20_000);
        drive.grow_older(&ageing).expect("it can");
        drive
    };
    let workload = [Workload::Queries(few())];
    let mut drive = old();
    let failed = drive.run_workloads(&workload, RunOptions::default(), |_| {});
    assert!(matches!(failed, Err(Error::Host(_))), "{failed:?}");
    let options = RunOptions {
        keep_going: true,
        ..RunOptions::default()
    };
    let report = old().run_workloads(&workload, options, |_| {});
    let told = &report.expect("it goes on").queries[0];
    assert_eq!((told.queries, told.failed), (0, 4));
    assert_eq!((told.latency, told.operand_bits), (None, 0));
}

#[test]
fn queries_that_make_no_sense_are_told_by_their_key() {
    let (mut drive, ..) = with_vectors(&[]);
    let shorter = drive.group("short").expect("a name");
    let placed = shorter.place(8, 1, |_| ControlFlow::Continue(()));
    placed.expect("room");
    let of = Queries::of;
    let wrong = [
        (Queries::default(), "expression: the expression is empty"),
        (
            of(Formula::All("weeks".into())),
            "expression: the drive has no group \"weeks\" with vectors",
        ),
        (
            of(Formula::vector("days", "6")),
            "expression: group \"days\" has no vector \"6\"; it has 0, 1, 2, 3, 4, 5",
        ),
        (
            of(Formula::And(vec![
                all_days(),
                Formula::vector("short", "0"),
            ])),
            "expression: vectors of 2097152 and 8 bits do not combine",
        ),
        (
            Queries { queue: 9, ..few() },
            "queue = 9 must be below the 4 queue pairs",
        ),
        (
            Queries {
                stop_ns: u64::MAX,
                ..few()
            },
            "stop_ns = 18446744073709551615 must be at most",
        ),
        (
            Queries {
                arrival: Arrival::Closed { depth: 0 },
                ..few()
            },
            "depth = 0 must be 1 to 65535",
        ),
    ];
    for (queries, words) in wrong {
        let error =
            drive.run_workloads(&[Workload::Queries(queries)], RunOptions::default(), |_| {});
        let error = error.expect_err(words).to_string();
        assert!(
            error.starts_with("workload: queries \"queries\": "),
            "{error}"
        );
        assert!(error.contains(words), "{error}");
    }
}
