//! A drive under more load than one of its resources can bear: the rate is that
//! resource's, within 1 %, and the utilization figures say so.

use bitline::workload::{Arrival, Flow, Pattern};
use bitline::{Drive, Statistics};

use crate::model::{Model, drive};

const BLOCK: u64 = 4096;

/// What a flow did to a drive, its own window only.
struct Measured {
    requests_per_second: f64,
    link_down: f64,
    link_up: f64,
    channels: f64,
    dies: f64,
}

/// Sequential requests of `blocks` blocks, round and round in `range` blocks.
fn sequential(read_fraction: f64, blocks: u64, requests: u64, depth: u32, range: u64) -> Flow {
    Flow {
        read_fraction,
        blocks: (blocks as u32).into(),
        requests,
        arrival: Arrival::Closed { depth },
        pattern: Pattern::Sequential,
        range_blocks: range,
        prefill: false,
        ..Flow::default()
    }
}

fn fill(drive: &mut Drive, blocks: u64) {
    let flow = sequential(0.0, 64, blocks / 64, 16, blocks);
    drive.run_flows(&[flow], |_| {}).expect("the writes");
}

fn measure(drive: &mut Drive, flow: Flow) -> Measured {
    let before = drive.statistics().expect("power");
    let report = drive.run_flows(&[flow], |_| {}).expect("the requests");
    let after = drive.statistics().expect("power");
    let share = |utilization: fn(&Statistics) -> f64| {
        let busy = utilization(&after) * after.now_ns - utilization(&before) * before.now_ns;
        busy / (after.now_ns - before.now_ns)
    };
    Measured {
        requests_per_second: report.flows[0].requests_per_second,
        link_down: share(|statistics| statistics.link_down_utilization),
        link_up: share(|statistics| statistics.link_up_utilization),
        channels: share(|statistics| statistics.channel_utilization),
        dies: share(|statistics| statistics.die_utilization),
    }
}

/// Asserts that `found` is `expected` within 1 %.
#[track_caller]
fn assert_close(found: f64, expected: f64, what: &str) {
    assert!(
        (found / expected - 1.0).abs() < 0.01,
        "{what}: {found}, not {expected}"
    );
}

/// Asserts that requests come as fast as `servers` servers that each take `period_ps`.
#[track_caller]
fn assert_rate(measured: &Measured, servers: u64, period_ps: u64) {
    let expected = servers as f64 * 1e12 / period_ps as f64;
    assert_close(measured.requests_per_second, expected, "requests a second");
}

#[test]
fn reads_bound_by_the_link() {
    let mut drive = drive("flash-cosmos", &[("link.lanes", "1")]);
    let model = Model::of(&drive);
    let (blocks, bytes) = (64, 64 * BLOCK);
    fill(&mut drive, 256 * blocks);
    let measured = measure(&mut drive, sequential(1.0, blocks, 2000, 32, 256 * blocks));
    assert_rate(&measured, 1, model.read_up(bytes));
    assert_close(measured.link_up, 1.0, "link, to the host");
    let pages = (bytes / model.page_bytes()) as f64;
    let of_channel = pages * measured.requests_per_second / 8.0;
    let data = model.data_out(model.page_bytes()) as f64 / 1e12;
    let command = model.read_command(1) as f64 / 1e12;
    // Some reads merge, which shortens commands, little as they are.
    assert!(
        measured.channels > of_channel * data && measured.channels < of_channel * (data + command)
    );
}

#[test]
fn writes_bound_by_the_link() {
    let changes = [("link.lanes", "1"), ("ftl.mode", "slc")];
    let mut drive = drive("flash-cosmos", &changes);
    let model = Model::of(&drive);
    let (blocks, bytes) = (64, 64 * BLOCK);
    let measured = measure(&mut drive, sequential(0.0, blocks, 2000, 32, 2000 * blocks));
    assert_rate(&measured, 1, model.write_down(bytes));
    assert_close(measured.link_down, 1.0, "link, to the drive");
}

/// One channel with many dies of one plane, on a fast link.
const ONE_CHANNEL: [(&str, &str); 5] = [
    ("nand.geometry.channels", "1"),
    ("nand.geometry.chips_per_channel", "64"),
    ("nand.geometry.planes_per_die", "1"),
    ("ftl.mode", "slc"),
    ("link.lanes", "16"),
];

#[test]
fn reads_bound_by_the_channel() {
    for blocks in [1, 4] {
        let mut drive = drive("flash-cosmos", &ONE_CHANNEL);
        let model = Model::of(&drive);
        fill(&mut drive, 4096);
        let measured = measure(&mut drive, sequential(1.0, blocks, 20_000, 512, 4096));
        let phases = model.read_command(1) + model.data_out(blocks * BLOCK);
        assert_rate(&measured, 1, phases);
        assert_close(measured.channels, 1.0, "channel");
        let of_die = measured.requests_per_second / 64.0;
        let sense = model.sense() as f64 / 1e12;
        assert_close(measured.dies, of_die * sense, "dies");
    }
}

#[test]
fn writes_bound_by_the_channel() {
    let mut drive = drive("flash-cosmos", &ONE_CHANNEL);
    let model = Model::of(&drive);
    let measured = measure(&mut drive, sequential(0.0, 4, 20_000, 512, 80_000));
    let phases = model.program_command(1) + model.channel(model.page_bytes());
    assert_rate(&measured, 1, phases);
    assert_close(measured.channels, 1.0, "channel");
    let of_die = measured.requests_per_second / 64.0;
    let program = model.program() as f64 / 1e12;
    assert_close(measured.dies, of_die * program, "dies");
}

#[test]
fn reads_bound_by_the_dies() {
    // One die a channel, so that nothing else is waited for.
    let changes = [
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.planes_per_die", "1"),
    ];
    for (mode, blocks) in [("slc", 1), ("slc", 4), ("mlc", 4), ("tlc", 1), ("qlc", 1)] {
        let mut drive = drive(
            "flash-cosmos",
            &[
                changes[0],
                changes[1],
                ("ftl.mode", mode),
                ("link.lanes", "16"),
            ],
        );
        let model = Model::of(&drive);
        fill(&mut drive, 4096);
        let measured = measure(&mut drive, sequential(1.0, blocks, 20_000, 256, 4096));
        let period = model.page_read(blocks * BLOCK);
        assert_rate(&measured, model.dies(), period);
        let sensing = model.sense() as f64 / period as f64;
        assert_close(measured.dies, sensing, "dies");
        let moving = period - model.sense();
        assert_close(measured.channels, moving as f64 / period as f64, "channels");
    }
}

#[test]
fn writes_bound_by_the_dies() {
    // Several dies a channel find out of each other's way, as the bus is mostly idle.
    for (preset, mode) in [
        ("flash-cosmos", "tlc"),
        ("txisc", "mlc"),
        ("th-issd", "mlc"),
    ] {
        let changes = [
            ("nand.geometry.planes_per_die", "1"),
            ("nand.geometry.chips_per_channel", "4"),
            ("nand.geometry.dies_per_chip", "1"),
            ("ftl.mode", mode),
            ("link.lanes", "16"),
        ];
        let mut drive = drive(preset, &changes);
        let model = Model::of(&drive);
        let measured = measure(&mut drive, sequential(0.0, 4, 20_000, 512, 80_000));
        assert_rate(&measured, model.dies(), model.page_program());
        let programming = model.program() as f64 / model.page_program() as f64;
        assert_close(measured.dies, programming, "dies");
    }
}

#[test]
fn merging_planes_multiplies_what_dies_do() {
    for planes in [2, 4] {
        let mut rates = Vec::new();
        for together in [1, planes] {
            let changes = [
                ("nand.geometry.chips_per_channel", "1"),
                (
                    "nand.geometry.planes_per_die",
                    if planes == 2 { "2" } else { "4" },
                ),
                ("ftl.plane_allocation", "PCWD"),
                (
                    "schedule.multi_plane",
                    if together > 1 { "true" } else { "false" },
                ),
                ("link.lanes", "16"),
            ];
            let mut drive = drive("flash-cosmos", &changes);
            let model = Model::of(&drive);
            let page = model.page_bytes();
            let range = 20_480 * 4;
            let write = measure(&mut drive, sequential(0.0, 4, range / 4, 512, range));
            let period =
                model.program_command(together) + together * model.channel(page) + model.program();
            assert_rate(&write, model.dies() * together, period);
            let read = measure(&mut drive, sequential(1.0, 4, range / 4, 512, range));
            let period =
                model.read_command(together) + model.sense() + together * model.data_out(page);
            assert_rate(&read, model.dies() * together, period);
            rates.push((write.requests_per_second, read.requests_per_second));
        }
        // TLC programs are so long that planes count almost in full.
        assert!(rates[1].0 / rates[0].0 > 0.9 * planes as f64, "{rates:?}");
        assert!(rates[1].1 / rates[0].1 > 1.5, "{rates:?}");
    }
}
