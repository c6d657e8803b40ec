//! Time does not depend on where bits are kept, and everything depends on
//! nothing but the configuration and its seed.

use std::cell::RefCell;
use std::rc::Rc;

use bitline::workload::{Arrival, Flow};
use bitline::{Config, Drive, Host};
use nvme::command::Engine;
use nvme::{Expression, VectorId};
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
    outcome: Result<(), host::Error>,
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
            outcome,
        });
    }
}

/// A random command of the block interface.
async fn access(
    host: &Host,
    worker: u64,
    random: &mut Random,
) -> (String, Result<(), host::Error>) {
    let pair = worker as usize % host.queue_pairs();
    let device = match host.block_on_queue(pair).await {
        Ok(device) => device,
        Err(error) => return ("identify".into(), Err(error)),
    };
    // Half of the drive is hot, so that blocks differ in what they still hold.
    let range = device.blocks() / if random.chance(0.8) { 2 } else { 1 };
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
    (format!("{kind}: {count} from {lba}"), outcome)
}

/// A random command of the computing interface, on the worker's own group.
async fn compute(
    host: &Host,
    group: u32,
    random: &mut Random,
) -> (String, Result<(), host::Error>) {
    let kind = random.below(16);
    let mut vector = || VectorId::new(group, random.below(4) as u32);
    let operands = [vector(), vector(), vector()].map(Expression::Vector);
    let id = vector();
    let engine =
        [Engine::FlashCosmos, Engine::ParaBit, Engine::InStorage][random.below(3) as usize];
    let [a, b, c] = operands;
    let expression = match kind {
        0..=2 => Expression::And(vec![a, b, c]),
        3..=5 => Expression::Or(vec![a, Expression::Not(Box::new(b)), c]),
        _ => Expression::Xor(vec![a, Expression::And(vec![b, c])]),
    };
    let outcome = match kind {
        0..=5 => {
            let read = host.bits().evaluate(&expression, engine, VECTOR_BITS).await;
            read.map(|_| ())
        }
        6..=7 => {
            let count = host.bits().count(&expression, engine, VECTOR_BITS).await;
            count.map(|_| ())
        }
        8 => host.bits().delete(group, None).await,
        _ => {
            let mut data = vec![0; VECTOR_BITS.div_ceil(8) as usize];
            random.fill(&mut data);
            let inverse = random.chance(0.3);
            host.bits().write(id, VECTOR_BITS, inverse, &data).await
        }
    };
    (format!("{kind} on group {group} by {engine:?}"), outcome)
}

fn all_data(drive: &mut Drive) -> Vec<u8> {
    let blocks = drive.blocks().expect("power");
    drive.read(0, blocks).expect("a read")
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf29ce484222325u64, |h, b| {
        (h ^ u64::from(*b)).wrapping_mul(0x100000001b3)
    })
}

#[test]
fn fingerprint() {
    let configs: [(&str, &[(&str, &str)]); 6] = [
        ("plain", &[]),
        (
            "first-come",
            &[
                ("schedule.policy", "first_come"),
                ("schedule.multi_plane", "false"),
                ("ftl.plane_allocation", "PDWC"),
            ],
        ),
        (
            "failing",
            &[
                ("faults.program_failures_per_million", "400"),
                ("faults.erase_failures_per_million", "400"),
                ("faults.factory_bad_blocks_per_million", "20000"),
            ],
        ),
        (
            "cached",
            &[
                ("ftl.mapping.kind", "cached"),
                ("ftl.mapping.cache_entries", "200"),
                ("cache.mode", "read_write"),
            ],
        ),
        (
            "lazy",
            &[
                ("cache.mode", "read_write"),
                ("cache.capacitor", "false"),
                ("cache.write_back", "lazy"),
                ("cache.capacity_bytes", "1048576"),
            ],
        ),
        (
            "namespaces",
            &[(
                "frontend.namespaces",
                "[{ share = 0.6, block_bytes = 512 }, { share = 0.3, block_bytes = 1024 }]",
            )],
        ),
    ];
    for (name, changes) in configs {
        let config = tiny(changes);
        let mut drive = Drive::open(config).expect("a drive");
        drive.restart_traced().expect("a restart");
        let mut out = format!("{name}:");
        for life in ["first", "second"] {
            let log = run_mixture(&mut drive, life, 120);
            out += &format!(" log {:016x}", hash(format!("{log:?}").as_bytes()));
            let flow = Flow {
                read_fraction: 0.6,
                requests: 500,
                range_blocks: 512,
                arrival: Arrival::Open {
                    requests_per_second: 50_000.0,
                    outstanding_max: 64,
                },
                ..Flow::default()
            };
            drive.run_flows(&[flow], |_| {}).expect("a flow");
            let s = serde_json::to_string(&drive.statistics().expect("power")).expect("json");
            out += &format!(" stats {:016x}", hash(s.as_bytes()));
            let mut json = Vec::new();
            drive
                .simulation()
                .expect("power")
                .handle()
                .trace()
                .write_json(&mut json)
                .expect("room");
            out += &format!(
                " trace {} {:016x} data {:016x}",
                json.len(),
                hash(&json),
                hash(&all_data(&mut drive))
            );
            drive.power_cut().expect("cut");
            drive.power_up().expect("up");
            out += &format!(" now {}", drive.now().as_ps());
        }
        println!("{out}");
    }
}
