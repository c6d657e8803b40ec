//! What firmware's own time costs: cycles over clock where nothing else is busy, cores times clock over
//! cycles where nothing else is the limit.

use bitline::inside::{InsideDrive, InsideHost};
use bitline::workload::{Arrival, Flow, Pattern};
use bitline::{Drive, Platform};
use device::tenants;
use sim::Span;

use crate::latency::{BLOCK, timed, timed_read, timed_write};
use crate::model::{Model, drive};

/// A table of which every number is another.
const TABLE: [(&str, &str); 9] = [
    ("cores.count", "3"),
    ("cores.clock_megahertz", "1000"),
    ("cores.work.fetch_cycles", "1000"),
    ("cores.work.read_page_cycles", "200"),
    ("cores.work.write_page_cycles", "30"),
    ("cores.work.plan_cycles", "5000"),
    ("cores.work.complete_cycles", "4"),
    ("cores.work.mapping_miss_cycles", "70000"),
    ("cores.work.collect_page_cycles", "600000"),
];

fn with_table(changes: &[(&str, &str)]) -> Drive {
    let changes: Vec<_> = TABLE.iter().chain(changes).copied().collect();
    drive("flash-cosmos", &changes)
}

/// What the same command takes with the table, less what it takes without, in nanoseconds.
fn added(changes: &[(&str, &str)], command: impl Fn(&mut Drive) -> u64) -> u64 {
    let with = command(&mut with_table(changes));
    let difference = with - command(&mut drive("flash-cosmos", changes));
    assert_eq!(difference % 1000, 0, "a cycle is a nanosecond");
    difference / 1000
}

#[test]
fn commands_at_rest_take_their_cycles_more() {
    let pages = 4 * 16384 / BLOCK;
    let read = |blocks| {
        move |drive: &mut Drive| {
            drive.write(0, &vec![0; 1 << 20]).expect("a write");
            timed_read(drive, 0, blocks)
        }
    };
    assert_eq!(added(&[], read(1)), 1000 + 200 + 4, "a read of a page");
    assert_eq!(added(&[], read(pages)), 1000 + 4 * 200 + 4, "of four");
    let write = |blocks| move |drive: &mut Drive| timed_write(drive, 0, blocks);
    assert_eq!(added(&[], write(1)), 1000 + 30 + 4, "a write of a page");
    // Three cores: the fourth page waits for one of them.
    assert_eq!(added(&[], write(pages)), 1000 + 2 * 30 + 4, "of four");
    let flush = |drive: &mut Drive| timed(drive, |host| async move { host.block().flush().await });
    assert_eq!(added(&[], flush), 1000 + 4, "what touches no page");
}

#[test]
fn a_mapping_miss_takes_its_cycles_more() {
    let cached = [("ftl.mapping.kind", "cached")];
    assert_eq!(
        added(&cached, |drive| timed_read(drive, 0, 1)),
        1000 + 200 + 70_000 + 4
    );
}

#[test]
fn planning_a_vendor_command_takes_its_cycles_more() {
    let computed = added(&[], |drive| {
        let group = drive.group("bits").expect("a name");
        let written = group.write(64, [[0; 8]]).expect("there is room");
        settle(drive);
        let begin = drive.now();
        let counted = drive.query(&(&written[0]).into());
        let counted = counted.on(Platform::FlashCosmos).count();
        counted.expect("the vector is there");
        drive.now().since(begin).as_ps()
    });
    assert_eq!(computed, 1000 + 5000 + 4);
}

/// Lets what is on its way arrive.
fn settle(drive: &mut Drive) {
    let pause = drive.run(|host| async move { host.sim().sleep(Span::from_us(100_000)).await });
    pause.expect("nothing hangs");
}

#[test]
fn the_cores_bound_what_a_drive_does_in_a_second() {
    for cores in [1, 3] {
        let count = cores.to_string();
        let changes = [
            ("cores.count", count.as_str()),
            ("cores.work.fetch_cycles", "200000"),
        ];
        let mut drive = with_table(&changes);
        let model = Model::of(&drive);
        let reads = Flow {
            read_fraction: 1.0,
            blocks: 1.into(),
            requests: 6_000,
            arrival: Arrival::Closed { depth: 256 },
            pattern: Pattern::Sequential,
            range_blocks: 100_000,
            prefill: false,
            ..Flow::default()
        };
        let before = drive.statistics().expect("power");
        let report = drive.run_flows(&[reads], |_| {}).expect("reads");
        let rate = report.flows[0].requests_per_second;
        // Of pages that were never written: nothing else takes long. (Work is served in turn, so that
        // commands come in waves, between which the cores wait for the link.)
        let bound = cores as f64 * 1e12 / model.firmware(200_000 + 200 + 4) as f64;
        let after = drive.statistics().expect("power");
        assert!((rate / bound - 1.0).abs() < 0.01, "{rate} of {bound}");
        let busy = after.core_utilization * after.now_ns - before.core_utilization * before.now_ns;
        let share = busy / (after.now_ns - before.now_ns);
        assert!((0.99..=1.0).contains(&share), "{share} at work");
    }
}

#[test]
fn collection_takes_its_cycles_of_the_cores() {
    let small = [
        ("nand.geometry.blocks_per_plane", "24"),
        ("nand.geometry.cells_per_string", "4"),
        ("nand.geometry.channels", "1"),
        ("nand.geometry.chips_per_channel", "1"),
        ("ftl.gc.threshold_blocks", "4"),
        ("ftl.overprovisioning", "0.25"),
        ("cores.work.collect_page_cycles", "6000"),
    ];
    let mut drive = with_table(&small);
    let blocks = drive.blocks().expect("power");
    let writes = Flow {
        read_fraction: 0.0,
        blocks: 4.into(),
        requests: 3 * blocks / 4,
        arrival: Arrival::Closed { depth: 16 },
        pattern: Pattern::Random,
        range_blocks: blocks,
        prefill: false,
        ..Flow::default()
    };
    drive.run_flows(&[writes], |_| {}).expect("the writes");
    let copies = drive.statistics().expect("power").ftl.gc_page_copies;
    assert!(copies > 100, "{copies}");
    let cores = drive.device().expect("power").cores.clone();
    let busy = cores.busy_for(tenants::COLLECTION).as_ns();
    // Copies of pages that the host replaced meanwhile were begun, too, and some are under way.
    let begun = busy / 6000.0;
    assert!(
        begun >= copies as f64 && begun < 1.5 * copies as f64 + 64.0,
        "{begun} of {copies}"
    );
    assert!(cores.busy_for(tenants::namespace(0)).as_ns() > 0.0);
}
