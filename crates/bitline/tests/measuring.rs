//! What a report says of a run beside its sums: how it went over time, and what of it is not to be taken at its face.

use bitline::workload::{
    Arrival, Flow, Latencies, Report, RunOptions, Size, WarningKind, Workload,
};
use bitline::{Config, Drive, History, Precondition};

/// Some megabytes of flash, quickly written over.
fn small(settings: &[(&str, &str)]) -> Drive {
    let geometry = [
        ("data.storage", "none"),
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.dies_per_chip", "1"),
        ("nand.geometry.planes_per_die", "1"),
        ("nand.geometry.blocks_per_plane", "64"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "16"),
        ("ftl.overprovisioning", "0.3"),
        ("ftl.gc.threshold_blocks", "4"),
        ("ftl.gc.hard_threshold_blocks", "3"),
        ("ftl.gc.urgent_threshold_blocks", "3"),
        ("cache.mode", "off"),
    ];
    let settings = geometry.into_iter().chain(settings.iter().copied());
    let config = Config::preset("mqsim-default").expect("a preset");
    Drive::open(config.with(settings).expect("a legal drive")).expect("a drive in memory")
}

fn flow(requests: u64) -> Flow {
    Flow {
        requests,
        blocks: Size::Fixed { blocks: 2 },
        ..Flow::default()
    }
}

fn run(drive: &mut Drive, flows: &[Flow], options: RunOptions) -> (Report, Latencies) {
    let workloads: Vec<Workload> = flows.iter().cloned().map(Workload::Flow).collect();
    let options = RunOptions {
        latencies: true,
        ..options
    };
    let under_way = drive.start_workloads(&workloads, options).expect("it fits");
    while !under_way.advance(drive, 1 << 20).expect("it goes on") {}
    let rows = under_way.take_latencies();
    (under_way.report(drive).expect("it is done"), rows)
}

fn kinds(report: &Report) -> Vec<WarningKind> {
    report.warnings.iter().map(|warning| warning.kind).collect()
}

/// A drive that was written at random for ever.
fn steady(settings: &[(&str, &str)]) -> Drive {
    let mut drive = small(settings);
    let precondition = Precondition::new(History::SteadyState);
    drive.precondition(&precondition).expect("a new drive");
    drive
}

#[test]
fn runs_on_one_drive_draw_other_addresses_and_can_be_drawn_again() {
    let mut drive = small(&[]);
    let flow = [flow(300)];
    let mut draw = |draw| {
        let options = RunOptions {
            draw,
            ..RunOptions::default()
        };
        let (report, rows) = run(&mut drive, &flow, options);
        let mut lbas = rows.lba;
        // In the order in which they complete, which is the drive's to say.
        lbas.sort_unstable();
        (report.draw, lbas)
    };
    let (first, second) = (draw(None), draw(None));
    assert_eq!((first.0, second.0), (0, 1));
    assert_ne!(first.1, second.1);
    assert_eq!(draw(Some(0)).1, first.1);
    assert_eq!(draw(Some(1)).1, second.1);
    // The first draw is what a new drive draws.
    let again = run(&mut small(&[]), &flow, RunOptions::default());
    assert_eq!(again.0.draw, 0);
    assert_eq!(again.1.lba.iter().sum::<u64>(), first.1.iter().sum::<u64>());
}

#[test]
fn the_next_opening_of_an_image_draws_other_addresses_too() {
    let path = std::env::temp_dir().join(format!("bitline-{}-draws.img", std::process::id()));
    let config = small(&[]).config().clone();
    let config = config
        .with([("data.storage", "image")])
        .expect("a legal drive");
    let mut drawn = Vec::new();
    for opening in 0..3 {
        let drive = match opening {
            0 => Drive::open_image(config.clone(), &path),
            _ => Drive::open_existing_image(&path),
        };
        let mut drive = drive.expect("an image");
        let (report, rows) = run(&mut drive, &[flow(50)], RunOptions::default());
        drive.close().expect("room");
        drawn.push((report.draw, rows.lba));
    }
    std::fs::remove_file(&path).expect("it is there");
    assert_eq!(drawn[0].0, 0);
    assert_ne!(drawn[0].1, drawn[1].1);
    assert_ne!(drawn[1].1, drawn[2].1);
}

#[test]
fn a_flow_goes_everywhere_and_reads_what_was_written_for_it() {
    // 4 GiB, of which 500 requests touch 500 pages at most.
    let mut drive = Drive::open(
        Config::preset("flash-cosmos")
            .and_then(|preset| preset.with([("data.storage", "none")]))
            .expect("a preset"),
    )
    .expect("a drive");
    let flow = Flow {
        requests: 500,
        ..Flow::default()
    };
    let (report, rows) = run(&mut drive, &[flow], RunOptions::default());
    let blocks = drive.data_blocks().expect("power");
    let farthest = *rows.lba.iter().max().expect("some");
    assert!(farthest > blocks * 9 / 10, "{farthest} of {blocks}");
    assert_eq!(report.unmapped_page_reads, 0);
    let mapped = drive.inventory().expect("power").mapped_pages;
    assert!((490..=500).contains(&mapped), "{mapped}");
}

#[test]
fn intervals_add_up_to_the_report() {
    for interval_ns in [0, 250_000, 1 << 50] {
        let mut drive = steady(&[]);
        let flows = [
            Flow {
                read_fraction: 0.0,
                ..flow(3000)
            },
            Flow {
                name: "reads".into(),
                arrival: Arrival::Open {
                    requests_per_second: 20_000.0,
                    outstanding_max: 64,
                },
                ..flow(2000)
            },
        ];
        let options = RunOptions {
            interval_ns,
            ..RunOptions::default()
        };
        let (report, rows) = run(&mut drive, &flows, options);
        let series = &report.series;
        let (first, last) = (&series.intervals[0], series.intervals.last().expect("one"));
        // The report counts from before the workloads had found their namespaces.
        let found_ns = report.elapsed_ns - last.end_ns;
        assert!((0.0..20_000.0).contains(&found_ns), "{found_ns}");
        assert_eq!(first.begin_ns, 0.0);
        for pair in series.intervals.windows(2) {
            assert_eq!(pair[0].end_ns, pair[1].begin_ns);
            assert!((pair[0].end_ns - pair[0].begin_ns - series.interval_ns).abs() < 1e-3);
        }
        if interval_ns == 0 {
            assert!((20..=100).contains(&series.intervals.len()));
        } else {
            assert_eq!(series.interval_ns, interval_ns as f64);
        }
        let sum = |of: fn(&bitline::workload::Interval) -> u64| -> u64 {
            series.intervals.iter().map(of).sum()
        };
        assert_eq!(
            sum(|interval| interval.flash_page_programs),
            report.flash_page_programs
        );
        assert_eq!(
            sum(|interval| interval.flash_block_erases),
            report.flash_block_erases
        );
        assert_eq!(
            sum(|interval| interval.gc_page_copies),
            report.gc_page_copies
        );
        assert_eq!(last.erase_count_max, report.wear.erase_count_max);
        for (number, flow) in report.flows.iter().enumerate() {
            // Counted again from single requests.
            let mut begin = 0.0;
            let start = rows.arrival_ns.iter().copied().fold(f64::MAX, f64::min);
            for interval in &series.intervals {
                let found = &interval.workloads[number];
                let end = if interval == last {
                    f64::MAX
                } else {
                    interval.end_ns
                };
                let within: Vec<f64> = (0..rows.len())
                    .filter(|row| rows.flow[*row] == number as u32)
                    .filter(|row| {
                        let done = rows.arrival_ns[*row] + rows.latency_ns[*row] - start;
                        (begin..end).contains(&done)
                    })
                    .map(|row| rows.latency_ns[row])
                    .collect();
                begin = end;
                // A completion in the instant of a border may be on either side.
                assert!(found.requests.abs_diff(within.len() as u64) <= 2);
                let outstanding = outstanding(&rows, number, start, interval);
                assert!((found.outstanding - outstanding).abs() < 0.001 * (1.0 + outstanding));
                let most = within.iter().copied().fold(0.0, f64::max);
                if found.requests == within.len() as u64 && found.requests > 0 {
                    let latency = found.latency.expect("some");
                    assert!(
                        (latency.max_ns - most).abs() < 1e-3,
                        "{} {most}",
                        latency.max_ns
                    );
                }
            }
            let of = |interval: &bitline::workload::Interval| interval.workloads[number].requests;
            let requests: u64 = series.intervals.iter().map(of).sum();
            assert_eq!(
                (requests, &series.intervals[0].workloads[number].name),
                (flow.requests, &flow.name)
            );
        }
    }
}

/// The mean number of requests of a workload between arrival and completion in an interval of a run that began at
/// `start`, from single requests.
fn outstanding(
    rows: &Latencies,
    number: usize,
    start: f64,
    interval: &bitline::workload::Interval,
) -> f64 {
    let of_workload = (0..rows.len()).filter(|row| rows.flow[*row] == number as u32);
    let overlaps = of_workload.map(|row| {
        let arrival = rows.arrival_ns[row] - start;
        let end = arrival + rows.latency_ns[row];
        (end.min(interval.end_ns) - arrival.max(interval.begin_ns)).max(0.0)
    });
    overlaps.sum::<f64>() / (interval.end_ns - interval.begin_ns)
}

#[test]
fn requests_that_wait_are_outstanding_while_they_wait() {
    // Far more than the drive serves: what waits grows until the last one has come, and most are sent late.
    for (outstanding_max, interval_ns) in [(64, 0), (4000, 0), (64, 3_000_000)] {
        let writes = Flow {
            read_fraction: 0.0,
            prefill: false,
            arrival: Arrival::Open {
                requests_per_second: 200_000.0,
                outstanding_max,
            },
            ..flow(4000)
        };
        // A reader of depth 2 tells when the run began.
        let reads = Flow {
            name: "reads".into(),
            arrival: Arrival::Closed { depth: 2 },
            ..flow(50)
        };
        let options = RunOptions {
            interval_ns,
            ..RunOptions::default()
        };
        let (report, rows) = run(&mut small(&[]), &[writes, reads], options);
        let start = rows.arrival_ns.iter().copied().fold(f64::MAX, f64::min);
        let mut most: f64 = 0.0;
        for interval in &report.series.intervals {
            for (number, found) in interval.workloads.iter().enumerate() {
                let truth = outstanding(&rows, number, start, interval);
                let found = found.outstanding;
                assert!(
                    (found - truth).abs() < 0.001 * (1.0 + truth),
                    "{found}: {truth}"
                );
                most = most.max(truth);
            }
        }
        assert!(most > 1000.0, "{most}");
    }
}

#[test]
fn looking_at_intervals_changes_no_time() {
    let timed = |interval_ns| {
        let mut drive = steady(&[]);
        let writes = Flow {
            read_fraction: 0.3,
            ..flow(2000)
        };
        let options = RunOptions {
            interval_ns,
            ..RunOptions::default()
        };
        let (report, rows) = run(&mut drive, &[writes], options);
        (drive.now(), report.flows, rows)
    };
    assert_eq!(timed(0), timed(1_000));
}

#[test]
fn a_new_drive_that_collects_nothing_is_told() {
    let writes = Flow {
        read_fraction: 0.0,
        ..flow(200)
    };
    let (report, _) = run(
        &mut small(&[]),
        std::slice::from_ref(&writes),
        RunOptions::default(),
    );
    assert_eq!(report.gc_blocks, 0);
    assert!(
        kinds(&report).contains(&WarningKind::NothingCollected),
        "{report:?}"
    );
    let reads = Flow {
        read_fraction: 1.0,
        ..writes
    };
    let (report, _) = run(&mut small(&[]), &[reads], RunOptions::default());
    assert_eq!(report.warnings, []);
}

#[test]
fn a_run_shorter_than_the_free_blocks_of_a_filled_drive_is_told_so() {
    let mut drive = small(&[]);
    let filled = Precondition::new(History::Sequential);
    drive.precondition(&filled).expect("a new drive");
    let writes = Flow {
        read_fraction: 0.0,
        prefill: false,
        ..flow(20)
    };
    let (report, _) = run(&mut drive, &[writes], RunOptions::default());
    let told = &report.warnings[0];
    assert_eq!(told.kind, WarningKind::NothingCollected);
    assert!(!told.message.contains("precondition"), "{told}");
    assert!(told.message.contains("the run was shorter"), "{told}");
}

#[test]
fn a_run_that_is_still_changing_is_told_and_a_steady_one_is_not() {
    let writes = |requests| Flow {
        read_fraction: 0.0,
        prefill: false,
        ..flow(requests)
    };
    let (report, _) = run(&mut steady(&[]), &[writes(30_000)], RunOptions::default());
    assert!(report.gc_blocks > 0);
    assert_eq!(report.warnings, []);
    // Filled in order, then written at random: collection becomes dearer all the time.
    let mut drive = small(&[("nand.geometry.cells_per_string", "128")]);
    let filled = Precondition::new(History::Sequential);
    drive.precondition(&filled).expect("a new drive");
    let blocks = drive.data_blocks().expect("power");
    let (report, _) = run(&mut drive, &[writes(blocks / 4)], RunOptions::default());
    assert!(report.gc_blocks > 0);
    let told = |report: &Report, what: &str| {
        let mut warnings = report.warnings.iter();
        warnings.any(|told| told.kind == WarningKind::NotSteady && told.message.contains(what))
    };
    assert!(
        told(&report, "write amplification was"),
        "{:?}",
        report.warnings
    );
    // Too short to tell.
    let (report, _) = run(&mut steady(&[]), &[writes(500)], RunOptions::default());
    assert!(told(&report, "too short"), "{:?}", report.warnings);
}

#[test]
fn a_range_that_is_small_beside_the_drive_is_told() {
    let reads = |range_blocks| Flow {
        range_blocks,
        ..flow(500)
    };
    let told = |settings: &[(&str, &str)], flow: Flow| {
        let (report, _) = run(&mut small(settings), &[flow], RunOptions::default());
        kinds(&report)
    };
    let namespace = small(&[]).data_blocks().expect("power");
    let cache = [("cache.mode", "read")];
    assert_eq!(
        told(&[], reads(namespace / 50)),
        [],
        "reads alone take the same everywhere"
    );
    assert_eq!(
        told(&cache, reads(namespace / 50)),
        [WarningKind::SmallRange]
    );
    assert_eq!(told(&cache, reads(0)), []);
    assert_eq!(
        told(&[], reads(2)),
        [WarningKind::SmallRange],
        "one page keeps one plane busy"
    );
    assert_eq!(
        told(&[("ftl.mapping_unit_bytes", "4096")], reads(2)),
        [],
        "two logical pages of one flash page are anywhere once they were written again"
    );
}

#[test]
fn a_load_that_is_too_much_is_told() {
    let reads = |requests_per_second| Flow {
        arrival: Arrival::Open {
            requests_per_second,
            outstanding_max: 1000,
        },
        ..flow(4000)
    };
    let told = |flow: Flow| {
        let (report, _) = run(&mut small(&[]), &[flow], RunOptions::default());
        kinds(&report)
    };
    // What two dies serve.
    let closed = Flow {
        arrival: Arrival::Closed { depth: 64 },
        ..flow(4000)
    };
    let (report, _) = run(&mut small(&[]), &[closed], RunOptions::default());
    let most = report.flows[0].requests_per_second;
    assert_eq!(told(reads(most * 0.8)), []);
    assert_eq!(told(reads(most * 1.5)), [WarningKind::Overloaded]);
    assert_eq!(told(reads(most * 20.0)), [WarningKind::Overloaded]);
}
