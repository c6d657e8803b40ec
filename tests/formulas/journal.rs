//! What facts cost: pages, time, and what recovery reads for them.

use bitline::inside::InsideDrive;
use bitline::{Config, Drive};
use device::journal::FactKind;

use crate::latency::timed;
use crate::model::{Model, drive};

const KIND: FactKind = FactKind(0xF000);
/// Bytes of a page before its records, and of a record before its value.
const PAGE_OVERHEAD: u64 = 8;
const RECORD_OVERHEAD: u64 = 10;

/// Puts a fact of so many bytes on a drive at rest; what that takes, in picoseconds.
fn timed_put(drive: &mut Drive, key: u32, bytes: u64) -> u64 {
    let ftl = drive.device().expect("power").ftl.clone();
    timed(drive, move |_| async move {
        let value = vec![key as u8; bytes as usize];
        let put = ftl.put_fact(KIND.key(key), &value).await;
        put.expect("there is room");
        Ok(())
    })
}

fn programs(drive: &Drive) -> u64 {
    drive.statistics().expect("power").flash.page_programs
}

/// A fact takes the pages that its record fills, each a program. The first pages go to different
/// channels, where they do not wait for each other.
#[test]
fn a_put_takes_the_programs_of_its_pages() {
    for preset in Config::preset_names() {
        // An empty journal each time, so that nothing else moves into its last page.
        let page = Model::of(&drive(&preset, &[])).page_bytes();
        let payload = page - PAGE_OVERHEAD;
        let whole = payload - RECORD_OVERHEAD;
        for bytes in [
            1,
            8,
            1000,
            whole,
            whole + 1,
            payload + whole,
            payload + whole + 1,
        ] {
            let mut drive = drive(&preset, &[]);
            let model = Model::of(&drive);
            let pages = (bytes + RECORD_OVERHEAD).div_ceil(payload);
            let before = programs(&drive);
            let took = timed_put(&mut drive, 1, bytes);
            assert_eq!(programs(&drive) - before, pages, "{preset}: {bytes} bytes");
            if pages <= u64::from(model.0.nand.geometry.channels) {
                assert_eq!(took, model.page_program(), "{preset}: {bytes} bytes");
            }
        }
    }
}

/// While all facts share a page, a put costs one page however many there are, and recovery reads one.
#[test]
fn recovery_reads_the_pages_that_facts_fill() {
    let small = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.dies_per_chip", "1"),
        ("nand.geometry.planes_per_die", "2"),
        ("nand.geometry.blocks_per_plane", "60"),
        ("nand.geometry.cells_per_string", "8"),
        ("bits.compute_blocks_percent", "0"),
    ];
    let pages_read = |facts: u32, bytes: u64| {
        let mut drive = drive("flash-cosmos", &small);
        let payload = Model::of(&drive).page_bytes() - PAGE_OVERHEAD;
        for put in 0..3 * facts {
            timed_put(&mut drive, put % facts, bytes);
        }
        let written = programs(&drive);
        drive.power_cut().expect("no image");
        drive.power_up().expect("recovery");
        let found = drive.device().expect("power").recovered.as_ref();
        let read = found.map_or(0, |found| found.pages_read);
        // Without a checkpoint the spare bytes of every page are read, and one more of each block
        // that is not full: the rest are those that hold facts.
        let open = drive.nand().borrow().geometry().blocks();
        let live = (u64::from(facts) * (bytes + RECORD_OVERHEAD)).div_ceil(payload);
        (read.saturating_sub(written), u64::from(open), live)
    };
    let (few, blocks, live) = pages_read(20, 50);
    assert_eq!(live, 1);
    let (same, ..) = pages_read(1, 50);
    assert!(few <= blocks + 1 && same <= blocks + 1, "{few} {same}");
    let (many, blocks, live) = pages_read(30, 5000);
    let most = blocks + 2 * live + 8 + 2;
    assert!(many <= most, "{many} pages are read again, {most} at most");
}

/// A group of more pages than 16 bits can count comes back whole.
#[test]
fn a_group_of_more_pages_than_16_bits_count_outlives_the_power() {
    let keys = [
        ("nand.geometry.page_bytes", "512"),
        ("frontend.block_bytes", "512"),
        ("ftl.mapping_unit_bytes", "0"),
        ("nand.geometry.blocks_per_plane", "200"),
    ];
    let mut drive = drive("flash-cosmos", &keys);
    let payload = Model::of(&drive).page_bytes() - PAGE_OVERHEAD;
    let (pages, before) = (65_540, programs(&drive));
    timed_put(&mut drive, 3, pages * payload - RECORD_OVERHEAD);
    assert_eq!(programs(&drive) - before, pages);
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    let ftl = drive.device().expect("power").ftl.clone();
    let kept = ftl.fact(KIND.key(3)).expect("it was put");
    assert_eq!(kept.len() as u64, pages * payload - RECORD_OVERHEAD);
    assert!(kept.iter().all(|byte| *byte == 3));
}
