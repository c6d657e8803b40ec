//! Who a drive does what for: counts, wear and energy by tenant, against those of the whole.

use std::collections::BTreeMap;

use bitline::inside::{InsideHost, Queue};
use bitline::{Config, Drive, EnergyEntry, Expression, LatencyEntry, Statistics, TenantEntry};
use host::bits::{BitsDevice, PlacementHandle, Request};
use nvme::command::{Engine, Home};
use nvme::{Lba, NamespaceId};

/// Two namespaces of a drive so small that writing soon has it collect and level wear.
const SMALL: [(&str, &str); 18] = [
    ("nand.geometry.channels", "2"),
    ("nand.geometry.chips_per_channel", "1"),
    ("nand.geometry.blocks_per_plane", "40"),
    ("nand.geometry.strings_per_block", "2"),
    ("nand.geometry.cells_per_string", "4"),
    ("nand.geometry.page_bytes", "4096"),
    ("ftl.mode", "slc"),
    ("ftl.mapping.kind", "cached"),
    ("ftl.mapping.cache_entries", "64"),
    ("ftl.gc.threshold_blocks", "4"),
    ("ftl.wear_levelling.static_threshold", "2"),
    ("cache.mode", "read_write"),
    ("cache.capacity_bytes", "131072"),
    ("cache.capacitor", "true"),
    ("bits.compute_blocks_percent", "20"),
    ("bits.accelerator_buffer_bytes", "8192"),
    ("frontend.namespaces", NAMESPACES),
    ("seed", "5"),
];
const NAMESPACES: &str =
    "[{ share = 0.5, block_bytes = 4096 }, { share = 0.25, block_bytes = 4096 }]";
/// Blocks of a vector, each a logical page.
const BLOCKS: u64 = 12;
const BITS: u64 = 4096 * 8 * BLOCKS;
const ROUNDS: u64 = 6000;

fn open(changes: &[(&str, &str)]) -> Drive {
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let small = preset.with(SMALL).expect("a legal drive");
    let config = small.with(changes.iter().copied()).expect("a legal drive");
    Drive::open(config).expect("a drive in memory")
}

/// Writes so many vectors with a placement handle to the end of a namespace; gives the AND of them.
async fn write_vectors(
    bits: &BitsDevice<Queue>,
    number: u16,
    vectors: u64,
) -> Result<Expression<Lba>, host::Error> {
    let anchor = bits.block().blocks() - vectors * BLOCKS;
    let handle = PlacementHandle {
        number,
        anchor,
        pitch: BLOCKS,
        home: Home::ALL,
    };
    bits.open_handle(&handle).await?;
    let begins = |vector| anchor + vector * BLOCKS;
    for vector in 0..vectors {
        let data = [0x35; BITS as usize / 8];
        bits.write(number, false, begins(vector), &data).await?;
    }
    let operands = (0..vectors).map(|vector| Lba::new(begins(vector)));
    Ok(Expression::all(operands).expect("there are some"))
}

/// Overwrites a third of each namespace at random, reads from it, and has the second one compute.
fn work(drive: &mut Drive) {
    let worked = drive.run(|host| async move {
        let mut random = host.sim().random("work");
        let second = NamespaceId::new(2);
        let bits = BitsDevice::new(host.namespace(1, second).await?);
        let all = write_vectors(&bits, 1, 3).await?;
        for round in 0..ROUNDS {
            for (pair, namespace) in [(0, NamespaceId::new(1)), (1, second)] {
                let device = host.namespace(pair, namespace).await?;
                let (written, read) = (
                    random.below(device.blocks() / 3),
                    random.below(device.blocks()),
                );
                device.write(written, &[round as u8; 4096]).await?;
                device.read(read, 1).await?;
            }
            if round % 400 == 0 {
                bits.evaluate(Request::new(&all, Engine::ParaBit, BITS))
                    .await?;
                bits.count(Request::new(&all, Engine::FlashCosmos, BITS))
                    .await?;
            }
        }
        host.block().deallocate(0, 10).await?;
        host.block().flush().await
    });
    worked.expect("power").expect("the commands");
}

fn by_name(statistics: &Statistics) -> BTreeMap<&str, &TenantEntry> {
    let tenants = statistics.tenants.iter();
    tenants
        .map(|entry| (entry.tenant.as_str(), entry))
        .collect()
}

fn sum(statistics: &Statistics, of: fn(&TenantEntry) -> LatencyEntry) -> u64 {
    let tenants = statistics.tenants.iter();
    tenants.map(|entry| of(entry).count).sum()
}

/// Cores at work and a DRAM that is refreshed, of odd powers, so that what is rounded is seen.
const BUSY: [(&str, &str); 11] = [
    ("cores.count", "2"),
    ("cores.active_milliwatts", "173"),
    ("cores.idle_milliwatts", "19"),
    ("cores.work.fetch_cycles", "333"),
    ("cores.work.read_page_cycles", "77"),
    ("cores.work.write_page_cycles", "111"),
    ("cores.work.plan_cycles", "555"),
    ("cores.work.complete_cycles", "99"),
    ("cores.work.mapping_miss_cycles", "33"),
    ("cores.work.collect_page_cycles", "1111"),
    ("dram.refresh_pj", "1234"),
];

#[test]
fn energy_and_wear_of_all_tenants_are_those_of_the_drive() {
    sums_hold(&mut open(&[]));
    let mut busy = open(&BUSY);
    sums_hold(&mut busy);
    let accounts = busy.statistics().expect("power").energy;
    for (component, cause) in [
        ("controller", "cores"),
        ("dram", "data"),
        ("dram", "activation"),
        ("dram", "refresh"),
    ] {
        let of = |entry: &&EnergyEntry| entry.component == component && entry.cause == cause;
        let entry = accounts.iter().find(of);
        assert!(
            entry.is_some_and(|entry| entry.energy_pj > 0),
            "{component}, {cause}"
        );
    }
}

fn sums_hold(drive: &mut Drive) {
    work(drive);
    let before = drive.statistics().expect("power");
    assert!(before.ftl.gc_blocks > 0, "{:?}", before.ftl);
    assert!(before.ftl.wear_levelling_blocks > 0, "{:?}", before.ftl);
    let names = by_name(&before);
    let expected = [
        "collection",
        "drive",
        "mapping",
        "namespace 1",
        "namespace 2",
        "wear levelling",
    ];
    assert_eq!(names.keys().copied().collect::<Vec<_>>(), expected);
    drive.power_cut().expect("a capacitor");
    drive.power_up().expect("a recovery");
    work(drive);
    let after = drive.statistics().expect("power");
    assert!(by_name(&after).contains_key("recovery"));
    for statistics in [&before, &after] {
        let spent: u64 = statistics.tenants.iter().map(|entry| entry.energy_pj).sum();
        assert_eq!(spent, statistics.energy_pj);
        assert!(statistics.tenants.iter().all(|entry| entry.energy_pj > 0));
        assert_eq!(sum(statistics, |of| of.reads), statistics.flash.page_reads);
        let programs = sum(statistics, |of| of.programs);
        assert_eq!(programs, statistics.flash.page_programs);
        assert_eq!(
            sum(statistics, |of| of.erases),
            statistics.flash.block_erases
        );
        let commands = sum(statistics, |of| of.commands);
        assert_eq!(commands, statistics.frontend.commands);
    }
}

#[test]
fn a_namespace_is_charged_for_its_own_commands_alone() {
    let mut drive = open(&[]);
    work(&mut drive);
    let statistics = drive.statistics().expect("power");
    let names = by_name(&statistics);
    let (first, second) = (names["namespace 1"], names["namespace 2"]);
    assert_eq!(first.computations.count, 0);
    assert!(second.computations.count > 0);
    // Vectors of three pages a plane's worth each, and pages whose write-backs came in time.
    assert!(second.programs.count >= 3 * 12 && first.programs.count > 0);
    for (entry, commands) in [(first, 2 * ROUNDS + 2), (second, 2 * ROUNDS + 3 + 15 + 15)] {
        // Opening a namespace identifies it, which is the drive's.
        assert_eq!(entry.commands.count, commands, "{}", entry.tenant);
        assert!(entry.commands.max_ns >= entry.commands.total_ns / commands as f64);
        assert_eq!(entry.erases.count, 0);
    }
    assert_eq!(names["collection"].commands.count, 0);
    assert!(names["collection"].erases.count > 0 && names["wear levelling"].erases.count > 0);
}

#[test]
fn the_link_is_charged_to_whom_it_serves() {
    // 40 pJ a byte on the wire, packets of 128 bytes with 28 of overhead; no cache, so no DRAM.
    let mut drive = open(&[("cache.mode", "off"), ("ftl.mapping.kind", "ideal")]);
    let unmapped = 64;
    let read = drive.run(move |host| async move { host.block().read(unmapped, 1).await });
    read.expect("power").expect("a read");
    let statistics = drive.statistics().expect("power");
    let spent = by_name(&statistics)["namespace 1"].energy_pj;
    // The page has no data: nothing is spent but on 4096 bytes and a completion.
    assert_eq!(spent, 40 * (4096 + 32 * 28 + 16 + 28));
}

/// The mean latency of computations of namespaces 1 and 2, which evaluate the same at the same time
/// through queues of these priorities.
fn latencies(priorities: &str) -> [f64; 2] {
    let mut drive = open(&[
        ("schedule.policy", "priority_classes"),
        // Reads of mapping pages have no priority of a queue.
        ("ftl.mapping.kind", "ideal"),
        ("host.queue_pairs", "2"),
        ("host.queue_priorities", priorities),
    ]);
    let evaluated = drive.run(|host| async move {
        let mut evaluations = Vec::new();
        for number in 0..2 {
            let namespace = NamespaceId::new(number + 1);
            let bits = BitsDevice::new(host.namespace(number as usize, namespace).await?);
            let all = write_vectors(&bits, number as u16, 4).await?;
            evaluations.push((bits, all));
        }
        let tasks: Vec<_> = evaluations
            .into_iter()
            .map(|(bits, all)| {
                host.sim().spawn(async move {
                    for _ in 0..20 {
                        bits.evaluate(Request::new(&all, Engine::ParaBit, BITS))
                            .await?;
                    }
                    Ok::<_, host::Error>(())
                })
            })
            .collect();
        for task in tasks {
            task.await?;
        }
        Ok::<_, host::Error>(())
    });
    evaluated.expect("power").expect("the vectors");
    let statistics = drive.statistics().expect("power");
    let names = by_name(&statistics);
    ["namespace 1", "namespace 2"].map(|name| {
        let served = names[name].computations;
        served.total_ns / served.count as f64
    })
}

#[test]
fn vendor_commands_have_the_priority_of_their_queue() {
    let [urgent, low] = latencies("[\"urgent\", \"low\"]");
    assert!(urgent < 0.7 * low, "{urgent} {low}");
    let [low, urgent] = latencies("[\"low\", \"urgent\"]");
    assert!(urgent < 0.7 * low, "{urgent} {low}");
    let [one, other] = latencies("[\"high\"]");
    assert!((one / other - 1.0).abs() < 0.2, "{one} {other}");
}

#[test]
fn operands_that_are_read_are_read_for_who_asks() {
    let keys = [("cache.mode", "off"), ("ftl.mapping.kind", "ideal")];
    let mut drive = open(&keys);
    let evaluated = drive.run(|host| async move {
        let bits = BitsDevice::new(host.namespace(0, NamespaceId::new(2)).await?);
        // Ordinary blocks, which no handle has placed.
        for block in 0..2 * BLOCKS {
            bits.block().write(block, &[0x35; 4096]).await?;
        }
        let both = Expression::all([Lba::new(0), Lba::new(BLOCKS)]).expect("two");
        let request = Request::new(&both, Engine::FlashCosmos, BITS);
        bits.evaluate(request).await.map(|_| ())
    });
    evaluated.expect("power").expect("an evaluation");
    let statistics = drive.statistics().expect("power");
    let names = by_name(&statistics);
    assert_eq!(names["namespace 2"].reads.count, 2 * BLOCKS);
    assert_eq!(names["drive"].reads.count, 0);
}
