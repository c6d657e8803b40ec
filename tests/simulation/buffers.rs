//! The fewest page buffers a drive can have, and everything at once: nothing waits for ever, and
//! nothing is lost.

use std::rc::Rc;

use bitline::inside::InsideHost;
use bitline::{Config, Drive};
use host::block::BlockDevice;
use sim::Random;

/// Clients, each with a part of the drive of its own.
const CLIENTS: u64 = 12;
/// Commands of each.
const COMMANDS: u64 = 250;

/// A small drive with all that takes page buffers: a data cache, a mapping cache, checkpoints, an SLC
/// cache, collection with many copies at a time; and as few buffers as it may have.
fn config(planes: u64, mode: &str, storage: &str) -> Config {
    let (planes, fewest) = (planes.to_string(), (4 + 3 * planes).to_string());
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    let keys = [
        ("data.storage", storage),
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.planes_per_die", planes.as_str()),
        ("nand.geometry.blocks_per_plane", "32"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "4"),
        ("nand.geometry.page_bytes", "4096"),
        ("nand.geometry.spare_bytes", "64"),
        ("frontend.block_bytes", "512"),
        ("memory.page_buffers", fewest.as_str()),
        ("cache.mode", mode),
        ("cache.capacity_bytes", "16384"),
        ("cache.write_back", "lazy"),
        ("cache.back_pressure_pages", "2"),
        ("ftl.mode", "mlc"),
        ("ftl.overprovisioning", "0.3"),
        ("ftl.mapping.kind", "cached"),
        ("ftl.mapping.cache_entries", "8"),
        ("ftl.mapping.entry_bytes", "64"),
        ("ftl.checkpoint.interval_pages", "100"),
        ("ftl.gc.threshold_blocks", "4"),
        ("ftl.slc_cache.blocks_per_plane", "2"),
        ("bits.compute_blocks_percent", "0"),
        ("cores.work.write_page_cycles", "3000"),
        ("cores.work.collect_page_cycles", "3000"),
    ];
    preset.with(keys).expect("such a drive is possible")
}

/// What the blocks of one client hold: a byte each that fills it.
async fn client(
    device: BlockDevice<bitline::inside::Queue>,
    mut random: Random,
    first: u64,
    blocks: u64,
) {
    let size = device.block_bytes() as usize;
    let mut held = vec![0u8; blocks as usize];
    for number in 0..COMMANDS {
        let start = random.below(blocks);
        let most = if random.chance(0.1) { blocks } else { 20 };
        let count = 1 + random.below((blocks - start).min(most));
        let range = start as usize..(start + count) as usize;
        let lba = first + start;
        match random.below(10) {
            0..5 => {
                let byte = (number % 255) as u8 + 1;
                let data = vec![byte; count as usize * size];
                device.write(lba, &data).await.expect("a write");
                held[range].fill(byte);
            }
            5 => {
                let zeroed = device.write_zeroes(lba, count).await;
                zeroed.expect("a write of zeroes");
                held[range].fill(0);
            }
            6 => device.flush().await.expect("a flush"),
            _ => {
                let seen = device.read(lba, count).await.expect("a read");
                for (block, expected) in seen.chunks(size).zip(&held[range]) {
                    assert!(block.iter().all(|byte| byte == expected), "{lba}");
                }
            }
        }
    }
}

/// Lets the clients loose on a drive; gives how long they took.
fn live(config: Config) -> u64 {
    let mut drive = Drive::open(config).expect("a drive");
    let run = drive.run(|host| async move {
        let device = Rc::new(host.block().clone());
        let share = device.blocks() / CLIENTS;
        let clients = (0..CLIENTS).map(|number| {
            let random = Random::named(number, "buffers");
            let work = client((*device).clone(), random, number * share, share);
            host.sim().spawn(work)
        });
        for client in clients.collect::<Vec<_>>() {
            client.await;
        }
        host.sim().now().as_ps()
    });
    let took = run.expect("no drive stalls");
    let counts = drive.statistics().expect("power").ftl;
    assert!(counts.gc_page_copies > 100, "{counts:?}");
    assert!(counts.mapping_page_writes > 100, "{counts:?}");
    assert!(counts.partial_write_reads > 100, "{counts:?}");
    assert!(counts.slc_cache_page_folds > 0, "{counts:?}");
    took
}

#[test]
fn the_fewest_page_buffers_are_enough_for_everything() {
    for planes in [1, 2] {
        for mode in ["off", "write", "read_write"] {
            let few = live(config(planes, mode, "memory"));
            let many = config(planes, mode, "memory").with([("memory.page_buffers", "4096")]);
            let many = live(many.expect("a configuration"));
            assert!(few > many, "{few} with few buffers, {many} with many");
        }
    }
}
