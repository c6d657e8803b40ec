//! Evaluations that check themselves find a drive that computes wrongly.

use bitline::{Config, Drive, Expression, Platform};
use device::planted::{Bug, plant};
use sim::Random;

const BITS: u64 = 2048 * 8 * 3 + 5;

fn drive() -> Drive {
    let keys = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "32"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "8"),
        ("nand.geometry.page_bytes", "2048"),
        ("frontend.block_bytes", "512"),
        ("ftl.gc.threshold_blocks", "3"),
        ("bits.compute_blocks_percent", "40"),
    ];
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    Drive::open(preset.with(keys).expect("a legal drive")).expect("a drive in memory")
}

/// Four random vectors and the AND of all.
fn fill(drive: &mut Drive) -> (Expression, Vec<u8>) {
    let mut random = Random::named(1, "check");
    let mut all = vec![u8::MAX; BITS.div_ceil(8) as usize];
    let mut rows = Vec::new();
    for _ in 0..4 {
        let mut data = vec![0; all.len()];
        random.fill(&mut data);
        all.iter_mut()
            .zip(&data)
            .for_each(|(all, data)| *all &= data);
        rows.push(data);
    }
    let group = drive.group("bits").expect("a name");
    let written = group.write(BITS, rows).expect("there is room");
    *all.last_mut().expect("not empty") &= (1 << (BITS % 8)) - 1;
    (Expression::all(&written).expect("operands"), all)
}

#[test]
fn a_sense_that_goes_wrong_is_found_and_counted() {
    let mut drive = drive();
    let (expression, expected) = fill(&mut drive);
    let sound = drive.query(&expression).read_checked();
    let sound = sound.expect("the vectors are there");
    assert_eq!((sound.differing_bits, &sound.result), (0, &expected));

    let planted = plant(Bug::SenseMissesAWordline);
    let wrong = drive.query(&expression).read_checked();
    let wrong = wrong.expect("results that differ are no error");
    let differing = wrong
        .result
        .iter()
        .zip(&expected)
        .map(|(a, b)| (a ^ b).count_ones());
    let differing: u32 = differing.sum();
    assert!(differing > 0, "the bug shows");
    assert_eq!(wrong.differing_bits, differing);
    let counted = drive.query(&expression).count_checked();
    assert_eq!(counted.expect("the same").differing_bits, differing);
    // Serial senses select one wordline each, so that ParaBit is not touched by this bug.
    let serial = drive
        .query(&expression)
        .on(Platform::ParaBit)
        .read_checked();
    assert_eq!(serial.expect("the same").differing_bits, 0);
    drop(planted);

    let counts = drive.statistics().expect("power").bits;
    assert_eq!((counts.checks, counts.disagreements), (4, 2));
    assert_eq!(counts.differing_bits, 2 * u64::from(differing));
}
