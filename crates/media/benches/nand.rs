//! Speed of the NAND packages on this machine: `cargo bench -p bitline-media`.
//!
//! Prints the bandwidth at which one multi-wordline sense ANDs 48 pages, beside that at which memory can be
//! read at all in the same run, and the cost of a read command without data.

use media::nand::{
    BlockId, Command, DieId, Iscm, MwsPlane, MwsSlot, Nand, NandConfig, PageAddress, PlaneId,
    ProgramMode, Storage, WordlineBitmap,
};
use sim::Time;
use std::hint::black_box;
use std::time::Instant;

/// Blocks ANDed, of 48 pages of 16 KiB each: 768 MiB, far more than any cache.
const BLOCKS: u32 = 1024;
const LAYERS: u32 = 48;

const CONFIG: &str = "
[geometry]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 1024
strings_per_block = 1
cells_per_string = 48
page_bytes = 16384
spare_bytes = 64
[latency]
read_slc_ns = 22500
read_mlc_ns = [40000, 40000]
read_tlc_ns = [60000, 60000, 60000]
read_qlc_ns = [140000, 140000, 140000, 140000]
mws_ns = 25000
program_slc_ns = 200000
program_esp_ns = 400000
program_mlc_ns = [500000, 500000]
program_tlc_ns = [700000, 700000, 700000]
program_qlc_ns = [2700000, 2700000, 2700000, 2700000]
erase_ns = 3500000
latch_transfer_ns = 20
xor_ns = 30
set_feature_ns = 1000
suspend_ns = 20000
resume_ns = 5000
reset_ns = 10000
[bus]
command_cycle_ns = 25
t_wb_ns = 100
t_adl_ns = 70
t_rr_ns = 20
[mws]
blocks_max = 4
time = 'stated'
power_percent = [100, 134, 157, 180]
raise_step_mv = 100
precharge = { bitlines_ppm = 110000, block_ppm = 13750, wordline_ppm = 702 }
[energy]
read_pj = 20500000
latch_transfer_pj_per_kib = 10000
and_or_pj_per_kib = 10000
xor_pj_per_kib = 20000
program_power_percent = 150
erase_power_percent = 190
[cells]
errors = 'modelled'
erased_mv = -1500.0
erased_sigma_mv = 340.0
block_spread_percent = 3.0
[cells.states]
slc_mv = 1000.0
slc_sigma_mv = 412.0
mlc_mv = [500.0, 1700.0, 2900.0]
mlc_sigma_mv = 197.0
tlc_mv = [0.0, 700.0, 1400.0, 2100.0, 2800.0, 3500.0, 4200.0]
tlc_sigma_mv = 95.0
qlc_mv = [-100.0, 230.0, 560.0, 890.0, 1220.0, 1550.0, 1880.0, 2210.0, 2540.0, 2870.0, 3200.0, 3530.0, 3860.0, 4190.0, 4520.0]
qlc_sigma_mv = 50.0
[cells.esp]
raise_mv = 3500.0
narrowing_percent = 70.0
half_percent = 76.0
steepness = 8.0
[cells.wear]
widening_percent = 6.5
exponent = 0.6
[cells.retention]
fresh_loss_ppm = 1059.0
worn_loss_ppm = 3530.0
hours = 1.0
spread_percent = 30.0
activation_ev = 1.1
reference_celsius = 30.0
[cells.disturb]
raise_mv_per_million_reads = 100.0
[cells.interference]
slc_percent = 6.03
multi_level_percent = 3.88
qlc_percent = 1.5
randomized_percent = 30.0
[ecc]
codeword_bytes = 1024
correctable_bits = 72
retries_max = 8
retry_step_mv = 40
";

fn config() -> NandConfig {
    toml::from_str(CONFIG).expect("it has every key")
}

fn open(storage: Storage) -> Nand {
    Nand::open(&config(), storage).expect("it is legal")
}

/// Flash-Cosmos Table 1's 2 TB drive.
fn open_2tb() -> Nand {
    let mut config = config();
    config.geometry.channels = 8;
    config.geometry.chips_per_channel = 8;
    config.geometry.planes_per_die = 2;
    config.geometry.blocks_per_plane = 2048;
    config.geometry.strings_per_block = 4;
    Nand::open(&config, Storage::Memory).expect("it is legal")
}

/// Runs a command; the time after it.
fn run(nand: &mut Nand, command: &Command, now: Time) -> Time {
    let busy = nand.begin(DieId(0), command, now).expect("it is legal");
    let end = now + busy.span;
    nand.finish(DieId(0), end).expect("it is the time");
    end
}

/// A drive full of ESP pages.
fn filled() -> (Nand, Time) {
    let mut nand = open(Storage::Memory);
    let mut now = Time::ZERO;
    let mut bytes = vec![0xFF; 16384];
    for block in (0..BLOCKS).map(BlockId) {
        for page in 0..LAYERS {
            bytes[page as usize] ^= block.0 as u8;
            let plane = nand.geometry().plane_of_block(block);
            nand.data_in(plane, 0, &bytes).expect("the die is idle");
            let page = PageAddress { block, page };
            now = run(&mut nand, &Command::program(page, ProgramMode::Esp), now);
        }
    }
    (nand, now)
}

/// The best of some runs, in seconds; caches do not help as each run reads everything.
fn best(mut run: impl FnMut()) -> f64 {
    let times = (0..5).map(|_| {
        let begin = Instant::now();
        run();
        begin.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Sums words side by side, so that the compiler uses vector registers.
fn sum(words: &[u64]) -> u64 {
    let mut sums = [0u64; 32];
    for chunk in words.chunks_exact(32) {
        for (sum, word) in sums.iter_mut().zip(chunk) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}

/// A drive full of random names, 48 bits in pairs of wordlines a block, and a search for one of them in each.
fn names() -> (Nand, Time, Vec<Command>) {
    let mut config = config();
    config.geometry.cells_per_string = 2 * LAYERS;
    config.geometry.blocks_per_plane = BLOCKS / 2;
    let mut nand = Nand::open(&config, Storage::Memory).expect("it is legal");
    let (mut now, mut state) = (Time::ZERO, 1u64);
    let mut searches = Vec::new();
    for block in (0..BLOCKS / 2).map(BlockId) {
        let plane = nand.geometry().plane_of_block(block);
        let mut wordlines = WordlineBitmap::EMPTY;
        for bit in 0..LAYERS {
            let mut bytes = [0; 16384];
            for chunk in bytes.chunks_exact_mut(8) {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                chunk.copy_from_slice(
                    &(state ^ state >> 31)
                        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                        .to_le_bytes(),
                );
            }
            // What the first name of the block has.
            wordlines.insert(2 * bit + u32::from(bytes[0] & 1 == 0));
            for page in [2 * bit, 2 * bit + 1] {
                nand.data_in(plane, 0, &bytes).expect("the die is idle");
                let page = PageAddress { block, page };
                now = run(&mut nand, &Command::program(page, ProgramMode::Esp), now);
                bytes.iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        let slot = MwsSlot {
            block,
            string: 0,
            wordlines,
        };
        let plane = MwsPlane {
            slots: [slot].into_iter().collect(),
        };
        searches.push(Command::mws(Iscm::READ, [plane].into_iter().collect()));
    }
    (nand, now, searches)
}

fn main() {
    let bytes = f64::from(BLOCKS * LAYERS) * 16384.0;
    let words: Vec<u64> = (0..bytes as u64 / 8).collect();
    let read_gbps = bytes
        / 1e9
        / best(|| {
            black_box(sum(&words));
        });
    drop(words);

    let (mut nand, mut now) = filled();
    let senses: Vec<Command> = (0..BLOCKS)
        .map(|block| {
            let slot = MwsSlot {
                block: BlockId(block),
                string: 0,
                wordlines: WordlineBitmap::first(LAYERS),
            };
            let plane = MwsPlane {
                slots: [slot].into_iter().collect(),
            };
            Command::mws(Iscm::READ, [plane].into_iter().collect())
        })
        .collect();
    let seconds = best(|| {
        for sense in &senses {
            now = run(&mut nand, sense, now);
            // Bits are made when they are asked for.
            black_box(
                nand.count_ones(PlaneId(0), 131_072)
                    .expect("the die is idle"),
            );
        }
    });
    let and48_gbps = bytes / 1e9 / seconds;

    drop(nand);

    let (mut nand, mut now, searches) = names();
    let mut found = 0;
    let seconds = best(|| {
        for search in &searches {
            now = run(&mut nand, search, now);
            found += nand
                .count_ones(PlaneId(0), 131_072)
                .expect("the die is idle");
        }
    });
    assert_eq!(found, 5 * u64::from(BLOCKS / 2), "one name a block");
    let search_gbps = bytes / 2.0 / 1e9 / seconds;

    let mut timing_only = open(Storage::None);
    let reads: Vec<Command> = (0..BLOCKS)
        .map(|block| {
            Command::read(PageAddress {
                block: BlockId(block * 7919 % BLOCKS),
                page: block % LAYERS,
            })
        })
        .collect();
    let mut now = Time::ZERO;
    for block in (0..BLOCKS).map(BlockId) {
        for page in 0..LAYERS {
            let page = PageAddress { block, page };
            now = run(
                &mut timing_only,
                &Command::program(page, ProgramMode::Slc),
                now,
            );
        }
    }
    let seconds = best(|| {
        for read in reads.iter().cycle().take(4_000_000) {
            now = run(&mut timing_only, read, now);
        }
    });
    let open_2tb = best(|| drop(black_box(open_2tb())));
    println!("memory_read_gbps {read_gbps:.2}");
    println!(
        "and48_gbps {and48_gbps:.2} ({:.0} % of memory read)",
        100.0 * and48_gbps / read_gbps
    );
    println!(
        "search_gbps {search_gbps:.2} ({:.0} % of memory read)",
        100.0 * search_gbps / read_gbps
    );
    println!("timing_only_read_ns {:.1}", seconds / 4e6 * 1e9);
    println!("open_2tb_ms {:.2}", open_2tb * 1e3);
}
