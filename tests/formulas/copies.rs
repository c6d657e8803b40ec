//! Pages on their way between blocks: out of the SLC cache, and by copyback.

use bitline::Drive;
use bitline::workload::{Arrival, Flow};
use media::nand::ProgramMode;
use sim::{Random, Span};

use crate::latency::{BLOCK, timed_write};
use crate::model::{Model, drive};

/// Blocks of the SLC cache, and pages of one of them.
const CACHED: (u64, u64) = (3, 8);

/// One plane of 40 blocks of 8 wordlines, three bits a cell, pages of one logical block.
const SMALL: [(&str, &str); 13] = [
    ("nand.geometry.channels", "1"),
    ("nand.geometry.chips_per_channel", "1"),
    ("nand.geometry.dies_per_chip", "1"),
    ("nand.geometry.planes_per_die", "1"),
    ("nand.geometry.blocks_per_plane", "40"),
    ("nand.geometry.strings_per_block", "1"),
    ("nand.geometry.cells_per_string", "8"),
    ("nand.geometry.page_bytes", "4096"),
    ("bits.compute_blocks_percent", "0"),
    ("ftl.mode", "tlc"),
    ("ftl.overprovisioning", "0.3"),
    ("ftl.gc.threshold_blocks", "4"),
    ("ftl.wear_levelling.static_threshold", "0"),
];

fn small(changes: &[(&str, &str)]) -> Drive {
    drive("flash-cosmos", &[&SMALL, changes].concat())
}

fn cached(fold_threshold: &str) -> Drive {
    small(&[
        ("ftl.slc_cache.blocks_per_plane", "3"),
        ("ftl.slc_cache.fold_threshold_blocks", fold_threshold),
    ])
}

/// What a page write takes on a drive at rest whose pages are programmed in `mode`.
fn write_formula(drive: &Drive, mode: ProgramMode) -> u64 {
    let mut model = Model::of(drive);
    model.0.ftl.mode = mode;
    model.fetch() + model.host_read(BLOCK) + model.page_program() + model.completion()
}

fn rest(drive: &mut Drive) {
    let idle =
        |host: bitline::Host| async move { host.sim().sleep(Span::from_us(1_000_000)).await };
    drive.run(idle).expect("power");
}

#[test]
fn a_burst_that_fits_is_written_at_the_speed_of_one_bit_a_cell() {
    let (blocks, pages) = CACHED;
    // Folded when full; the last block is never full before the burst ends.
    let mut drive = cached("1");
    for lba in 0..blocks * pages - 1 {
        let expected = write_formula(&drive, ProgramMode::Slc);
        assert_eq!(timed_write(&mut drive, lba, 1), expected, "page {lba}");
    }
    let counts = drive.statistics().expect("power").ftl;
    assert_eq!(counts.slc_cache_page_writes, blocks * pages - 1);
    assert_eq!(counts.slc_cache_blocks_folded, 0);
    let mut plain = small(&[]);
    let expected = write_formula(&plain, ProgramMode::Tlc);
    assert_eq!(timed_write(&mut plain, 0, 1), expected, "without a cache");
}

#[test]
fn a_full_cache_is_gone_past_and_then_folded() {
    let (blocks, pages) = CACHED;
    let mut drive = cached("3");
    let burst = Flow {
        read_fraction: 0.0,
        requests: 20 * blocks * pages,
        arrival: Arrival::Closed { depth: 16 },
        range_blocks: 0,
        prefill: false,
        ..Flow::default()
    };
    drive.run_flows(&[burst], |_| {}).expect("a burst");
    let counts = drive.statistics().expect("power").ftl;
    // The host goes first, so nothing is folded before it rests.
    assert_eq!(counts.slc_cache_page_writes, blocks * pages, "{counts:?}");
    assert_eq!(counts.host_page_writes, 20 * blocks * pages);
    rest(&mut drive);
    let counts = drive.statistics().expect("power").ftl;
    assert_eq!(counts.slc_cache_blocks_folded, blocks, "all of it");
    let expected = write_formula(&drive, ProgramMode::Slc);
    assert_eq!(timed_write(&mut drive, 0, 1), expected, "room again");
}

#[test]
fn copybacks_lose_nothing() {
    for cache in ["0", "3"] {
        let mut drive = small(&[
            ("data.storage", "memory"),
            ("ftl.gc.copyback", "true"),
            ("ftl.slc_cache.blocks_per_plane", cache),
        ]);
        let blocks = drive.blocks().expect("power");
        let mut expected = vec![0; blocks as usize];
        let mut random = Random::named(1, "copybacks");
        for number in 0..6 * blocks {
            let lba = random.below(blocks);
            let byte = (number % 251) as u8;
            expected[lba as usize] = byte;
            let page = vec![byte; BLOCK as usize];
            drive.write(lba, &page).expect("a write");
        }
        let copied = drive.statistics().expect("power").flash.copybacks;
        assert!(copied > blocks, "cache of {cache} blocks: {copied}");
        drive.power_cut().expect("a cut");
        drive.power_up().expect("recovery");
        for (lba, byte) in (0..).zip(&expected) {
            let page = drive.read(lba, 1).expect("a read");
            assert!(page.iter().all(|found| found == byte), "page {lba}");
        }
    }
}

#[test]
fn copybacks_are_all_that_collection_moves() {
    let mut drive = small(&[("ftl.gc.copyback", "true")]);
    let flow = Flow {
        read_fraction: 0.0,
        requests: 5_000,
        range_blocks: 0,
        arrival: Arrival::Closed { depth: 1 },
        ..Flow::default()
    };
    drive.run_flows(&[flow], |_| {}).expect("the writes");
    let statistics = drive.statistics().expect("power");
    let (ftl, flash) = (statistics.ftl, statistics.flash);
    assert!(ftl.gc_page_copies > 1_000, "{ftl:?}");
    assert_eq!(flash.copybacks, ftl.gc_page_copies);
    assert_eq!(flash.collection_reads, 0, "{flash:?}");
    assert_eq!(
        flash.page_programs,
        ftl.host_page_writes + ftl.gc_page_copies
    );
}
