//! Time does not depend on where bits are kept, and everything depends on
//! nothing but the configuration and its seed.

#[path = "support/numbered.rs"]
mod numbered;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use bitline::inside::InsideHost;
use bitline::workload::{Arrival, Flow};
use bitline::{Config, Drive, Error, Expression, Host, Platform, Request, VectorId};
use sim::Random;

/// A drive of 1920 pages, so that garbage is collected all the time.
const TINY: [(&str, &str); 12] = [
    ("nand.geometry.channels", "2"),
    ("nand.geometry.chips_per_channel", "2"),
    ("nand.geometry.planes_per_die", "2"),
    ("nand.geometry.blocks_per_plane", "30"),
    ("nand.geometry.strings_per_block", "2"),
    ("nand.geometry.cells_per_string", "4"),
    ("ftl.mode", "slc"),
    ("ftl.overprovisioning", "0.1"),
    ("ftl.gc.threshold_blocks", "4"),
    ("bits.compute_blocks_percent", "27"),
    ("host.queue_entries", "8"),
    ("frontend.commands_in_flight", "12"),
];

const WORKERS: u64 = 16;
const VECTOR_BITS: u64 = 150_000;

fn tiny(changes: &[(&str, &str)]) -> Config {
    let config = Config::preset("flash-cosmos").expect("a preset");
    config
        .with(TINY.iter().chain(changes).copied())
        .expect("a configuration")
}

/// One command: who sent it, what it was, when it completed, and how.
#[derive(Clone, Debug, PartialEq)]
struct Completed {
    worker: u64,
    command: String,
    at_ps: u64,
    outcome: Result<(), String>,
}

type Log = Rc<RefCell<Vec<Completed>>>;

/// Runs many workers that each send `commands` random commands; gives the
/// completions in their order.
fn run_mixture(drive: &mut Drive, name: &str, commands: u32) -> Vec<Completed> {
    let (log, name) = (Log::default(), name.to_owned());
    let into = log.clone();
    let run = drive.run(|host| async move {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let random = host.sim().random(&format!("{name} {worker}"));
                let work = work(host.clone(), worker, random, commands, into.clone());
                host.sim().spawn(work)
            })
            .collect();
        for worker in workers {
            worker.await;
        }
    });
    run.expect("power");
    log.take()
}

async fn work(host: Host, worker: u64, mut random: Random, commands: u32, log: Log) {
    for _ in 0..commands {
        let (command, outcome) = if worker < 3 {
            compute(&host, worker as u32, &mut random).await
        } else {
            access(&host, worker, &mut random).await
        };
        log.borrow_mut().push(Completed {
            worker,
            command,
            at_ps: host.sim().now().as_ps(),
            outcome: outcome.map_err(|error| error.to_string()),
        });
    }
}

/// A random command of the block interface.
async fn access(host: &Host, worker: u64, random: &mut Random) -> (String, Result<(), Error>) {
    let pair = worker as usize % host.queue_pairs();
    let device = match host.block_on_queue(pair).await {
        Ok(device) => device,
        Err(error) => return ("identify".into(), Err(error.into())),
    };
    // Half of what is not for vectors is hot, so that blocks differ in what they still hold.
    let range = host.area().start / if random.chance(0.8) { 2 } else { 1 };
    let count = 1 + random.below(12);
    let lba = random.below(range - count);
    let kind = random.below(20);
    let outcome = match kind {
        0..=6 => {
            let buffer = device.buffer(count as u32);
            match buffer {
                Ok(buffer) => device.read_into(lba, count as u32, &buffer).await,
                Err(error) => Err(error),
            }
        }
        7..=16 => {
            let mut data = vec![0; count as usize * device.block_bytes() as usize];
            random.fill(&mut data);
            device.write(lba, &data).await
        }
        17 => device.deallocate(lba, count).await,
        18 => device.write_zeroes(lba, count).await,
        _ => device.flush().await,
    };
    (
        format!("{kind}: {count} from {lba}"),
        outcome.map_err(Error::from),
    )
}

/// A random command of the computing interface, on the worker's own group.
async fn compute(host: &Host, group: u32, random: &mut Random) -> (String, Result<(), Error>) {
    let kind = random.below(16);
    let mut vector = || VectorId::new(group, random.below(4) as u32);
    let operands = [vector(), vector(), vector()].map(Expression::Vector);
    let id = vector();
    let platforms = [
        Platform::FlashCosmos,
        Platform::ParaBit,
        Platform::InStorage,
    ];
    let platform = platforms[random.below(3) as usize];
    let [a, b, c] = operands;
    let expression = match kind {
        0..=2 => Expression::And(vec![a, b, c]),
        3..=5 => Expression::Or(vec![a, Expression::Not(Box::new(b)), c]),
        _ => Expression::Xor(vec![a, Expression::And(vec![b, c])]),
    };
    let outcome = match kind {
        0..=5 => {
            let read = numbered::evaluate(host, &expression, platform).await;
            read.map(|_| ())
        }
        6..=7 => {
            let known = numbered::known(host, &expression).await;
            let request = Request::new(&known.expect("power")).on(platform);
            let count = host.ask(&request).await;
            count.map(|_| ())
        }
        8 => numbered::delete(host, group, None).await,
        _ => {
            let mut data = vec![0; VECTOR_BITS.div_ceil(8) as usize];
            random.fill(&mut data);
            let inverse = random.chance(0.3);
            numbered::write(host, id, VECTOR_BITS, inverse, &data).await
        }
    };
    (format!("{kind} on group {group} by {platform}"), outcome)
}

/// An image file that goes with the test.
struct ImageFile(PathBuf);

impl ImageFile {
    fn new(name: &str) -> ImageFile {
        let name = format!("bitline-timing-{}-{name}.img", std::process::id());
        let file = ImageFile(std::env::temp_dir().join(name));
        let _ = std::fs::remove_file(&file.0);
        file
    }
}

impl Drop for ImageFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn all_data(drive: &mut Drive) -> Vec<u8> {
    let blocks = drive.blocks().expect("power");
    drive.read(0, blocks).expect("a read")
}

/// The same commands on three drives that keep their bits nowhere, in memory and
/// in a file: the same completions at the same picosecond, before and after a power cut.
fn compare_storages(name: &str, changes: &[(&str, &str)]) {
    let image = ImageFile::new(name);
    let with = |storage| {
        let config = tiny(changes).with([("data.storage", storage)]);
        config.expect("a configuration")
    };
    let mut drives = [
        Drive::open(with("none")).expect("a drive"),
        Drive::open(with("memory")).expect("a drive"),
        Drive::open_image(with("image"), &image.0).expect("a drive"),
    ];
    for life in ["first", "second"] {
        let logs = drives.each_mut().map(|drive| run_mixture(drive, life, 300));
        for storage in [1, 2] {
            let differs = logs[0].iter().zip(&logs[storage]).find(|(a, b)| a != b);
            assert_eq!(differs, None, "{name}, {life} life, storage {storage}");
            assert_eq!(logs[0].len(), logs[storage].len());
        }
        let counts = drives.each_ref().map(|drive| {
            let statistics = drive.statistics().expect("power");
            (statistics.ftl, statistics.flash, statistics.energy)
        });
        assert!(
            counts[0].0.gc_page_copies > 100,
            "{name}: {:?}",
            counts[0].0
        );
        assert_eq!(counts[0], counts[1]);
        assert_eq!(counts[0], counts[2]);
        let succeeded = logs[0].iter().filter(|entry| entry.outcome.is_ok()).count();
        assert!(succeeded * 3 > logs[0].len() * 2, "{name}: {succeeded}");
        for drive in &mut drives {
            drive.power_cut().expect("an image that can be written");
            drive.power_up().expect("a recovery");
        }
        let times = drives.each_ref().map(Drive::now);
        assert_eq!(times, [times[0]; 3], "{name}: recovery");
    }
    let [_, in_memory, in_image] = &mut drives;
    assert!(all_data(in_memory) == all_data(in_image), "{name}: data");
}

#[test]
fn time_is_the_same_wherever_bits_are_kept() {
    compare_storages("plain", &[]);
}

#[test]
fn time_is_the_same_wherever_bits_are_kept_whatever_the_schedule() {
    let changes = [
        ("schedule.policy", "first_come"),
        ("schedule.multi_plane", "false"),
        ("ftl.plane_allocation", "PDWC"),
    ];
    compare_storages("first-come", &changes);
}

#[test]
fn time_is_the_same_wherever_bits_are_kept_on_failing_flash() {
    let changes = [
        ("faults.program_failures_per_million", "400"),
        ("faults.erase_failures_per_million", "400"),
    ];
    compare_storages("failing", &changes);
}

/// Everything that is observable of a traced run: the trace as JSON, byte by byte.
fn trace(seed: &str) -> Vec<u8> {
    let config = tiny(&[("seed", seed)]);
    let mut drive = Drive::open(config).expect("a drive");
    drive.restart_traced(bitline::Keep::All).expect("a restart");
    run_mixture(&mut drive, "traced", 20);
    let flow = Flow {
        read_fraction: 0.5,
        requests: 300,
        arrival: Arrival::Open {
            requests_per_second: 50_000.0,
            outstanding_max: 64,
        },
        range_blocks: 512,
        ..Flow::default()
    };
    drive.run_flows(&[flow], |_| {}).expect("a flow");
    let mut json = Vec::new();
    drive.write_trace(&mut json).expect("room for the trace");
    json
}

#[test]
fn the_same_seed_gives_the_same_trace_to_the_byte() {
    let first = trace("1");
    assert!(first.len() > 100_000, "{} bytes", first.len());
    assert!(first == trace("1"), "two runs of one seed differ");
    assert!(first != trace("2"), "the seed makes no difference");
}

#[test]
fn two_drives_side_by_side_do_not_disturb_each_other() {
    let mut alone = Drive::open(tiny(&[])).expect("a drive");
    let expected = run_mixture(&mut alone, "x", 20);
    let mut first = Drive::open(tiny(&[])).expect("a drive");
    let mut second = Drive::open(tiny(&[("seed", "9")])).expect("a drive");
    let mut found = Vec::new();
    for step in 0..2 {
        run_mixture(&mut second, "y", 10 + step);
        if step == 0 {
            found = run_mixture(&mut first, "x", 20);
        }
    }
    assert_eq!(found, expected);
}
