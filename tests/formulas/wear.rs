//! Wear levelling: how far the erases of a plane's blocks lie apart when all writes go to
//! a tenth of a full drive.

use bitline::inside::InsideDrive;
use bitline::workload::{Arrival, Flow};
use bitline::{Config, Drive};
use media::nand::BlockId;

const BLOCKS: u32 = 128;

fn drive(dynamic: &str, static_threshold: &str) -> Drive {
    let keys = [
        ("data.storage", "none"),
        ("nand.geometry.channels", "1"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.planes_per_die", "1"),
        ("nand.geometry.blocks_per_plane", "128"),
        ("nand.geometry.strings_per_block", "1"),
        ("nand.geometry.cells_per_string", "32"),
        ("nand.geometry.page_bytes", "4096"),
        ("bits.compute_blocks_percent", "0"),
        ("ftl.mode", "slc"),
        ("ftl.overprovisioning", "0.2"),
        ("ftl.gc.threshold_blocks", "4"),
        ("ftl.wear_levelling.dynamic", dynamic),
        ("ftl.wear_levelling.static_threshold", static_threshold),
    ];
    let preset = Config::preset("flash-cosmos").expect("a preset");
    Drive::open(preset.with(keys).expect("a configuration")).expect("a drive")
}

/// Fills the drive, writes sixty times its size to the first tenth of it, and gives the
/// fewest, mean and most erases of a block.
fn wear(drive: &mut Drive) -> (u32, f64, u32) {
    let pages = drive.blocks().expect("power");
    let fill = Flow {
        read_fraction: 0.0,
        requests: 1,
        range_blocks: pages,
        ..Flow::default()
    };
    let hot = Flow {
        read_fraction: 0.0,
        requests: 60 * pages,
        range_blocks: pages / 10,
        arrival: Arrival::Closed { depth: 8 },
        prefill: false,
        ..Flow::default()
    };
    drive.run_flows(&[fill], |_| {}).expect("the fill");
    drive.run_flows(&[hot], |_| {}).expect("the writes");
    let nand = drive.nand().borrow();
    let erases: Vec<u32> = (0..BLOCKS)
        .map(|block| nand.block_state(BlockId(block)).erase_count)
        .collect();
    let sum: u32 = erases.iter().sum();
    let (least, most) = (erases.iter().min(), erases.iter().max());
    (
        *least.expect("some block"),
        f64::from(sum) / f64::from(BLOCKS),
        *most.expect("some block"),
    )
}

#[test]
fn static_levelling_bounds_the_spread() {
    const THRESHOLD: u32 = 10;
    let (least, mean, most) = wear(&mut drive("true", "10"));
    println!("static: {least} to {most}, mean {mean:.1}");
    // A block is behind by the threshold, one more when the most worn is erased again, and
    // by those that wait for their turn.
    assert!(most - least <= THRESHOLD + 5, "{least} to {most}");
    let (least, mean_without, most) = wear(&mut drive("true", "0"));
    println!("dynamic only: {least} to {most}, mean {mean_without:.1}");
    assert_eq!(least, 0, "cold blocks are never erased");
    assert!(most > 5 * THRESHOLD, "{most}");
    // What levelling costs: erases of blocks that would not have been erased.
    assert!(mean < 2.5 * mean_without, "{mean}, without {mean_without}");
}

#[test]
fn dynamic_levelling_narrows_the_spread_of_blocks_in_use() {
    let worn = |dynamic| wear(&mut drive(dynamic, "0")).2;
    let (with, without) = (worn("true"), worn("false"));
    println!("most erases: {with} with, {without} without");
    assert!(with <= without, "{with}, {without}");
}

#[test]
fn moves_are_counted() {
    let mut drive = drive("true", "10");
    wear(&mut drive);
    let counts = drive.statistics().expect("power").ftl;
    assert!(counts.wear_levelling_blocks > 20, "{counts:?}");
    assert!(counts.wear_levelling_page_copies >= 20 * 32, "{counts:?}");
}
