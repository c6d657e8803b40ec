//! Evaluations that check themselves: the same results, and what that costs.

use std::collections::BTreeMap;

use bitline::{Drive, Expression, Home, Platform, VectorId};

use crate::numbered::Numbered;
use crate::{BITS, Random, ones, open, oracle};

const IN_DRIVE: [Platform; 3] = [
    Platform::InStorage,
    Platform::ParaBit,
    Platform::FlashCosmos,
];

type Vectors = BTreeMap<VectorId, Vec<u8>>;

fn fill(drive: &mut Drive, random: &mut Random, bits: u64) -> Vectors {
    let mut vectors = Vectors::new();
    for (group, first, inverse) in [(1, 0, false), (2, 0, true), (3, 2, false)] {
        for vector in 0..4 {
            let id = VectorId::new(group, vector);
            let data = random.vector(bits);
            let home = Home { first, dies: 0 };
            let written = drive.write_vector_at(home, id, bits, inverse, &data);
            written.expect("there is room");
            vectors.insert(id, data);
        }
    }
    vectors
}

#[test]
fn a_sound_drive_agrees_with_itself() {
    let mut random = Random(1);
    for rule in ["controller", "gather"] {
        let mut drive = open(&[
            ("bits.route", rule),
            ("nand.geometry.blocks_per_plane", "60"),
        ]);
        let vectors = fill(&mut drive, &mut random, BITS);
        let names: Vec<VectorId> = vectors.keys().copied().collect();
        let mut checks = 0;
        for round in 0..40 {
            let expression = random.expression(&names, 3);
            let expected = oracle(&expression, &vectors, BITS);
            for platform in IN_DRIVE {
                let place = format!("{rule}, {platform}, {round}: {expression}");
                let checked = drive.evaluate_checked(&expression, platform);
                let checked = checked.expect("the vectors are there");
                assert_eq!(checked.differing_bits, 0, "{place}");
                assert!(checked.result == expected, "{place}");
                let counted = drive.count_ones_checked(&expression, platform);
                let counted = counted.expect("the same");
                assert_eq!(counted.differing_bits, 0, "{place}");
                assert_eq!(counted.result, ones(&expected), "{place}");
                checks += 2;
            }
        }
        let counts = drive.statistics().expect("power").bits;
        assert_eq!((counts.checks, counts.disagreements), (checks, 0));
    }
}

#[test]
fn the_host_has_no_second_way() {
    let mut drive = open(&[]);
    let vectors = fill(&mut drive, &mut Random(2), BITS);
    let id = *vectors.keys().next().expect("some");
    let refused = drive.evaluate_checked(&id.into(), Platform::Host);
    let told = refused.expect_err("nothing to check").to_string();
    assert!(told.contains("choose in-storage"), "{told}");
}

/// The second plan senses every operand by itself: an AND of four in one sense costs four more,
/// and both pages cross the channel and pass the accelerator.
#[test]
fn a_check_costs_a_sense_for_each_operand() {
    let mut drive = open(&[]);
    fill(&mut drive, &mut Random(3), BITS);
    let all = Expression::all((0..4).map(|n| VectorId::new(1, n))).expect("operands");
    let before = drive.statistics().expect("power").bits;
    let checked = drive.evaluate_checked(&all, Platform::FlashCosmos);
    checked.expect("the vectors are there");
    let after = drive.statistics().expect("power").bits;
    let chunks = BITS.div_ceil(512 * 8);
    let spent = |of: fn(&device::bits::BitsCounts) -> u64| of(&after) - of(&before);
    assert_eq!(spent(|counts| counts.flash_cosmos_senses), chunks);
    assert_eq!(spent(|counts| counts.check_senses), 4 * chunks);
    assert_eq!(spent(|counts| counts.page_transfers), 2 * chunks);
    // One inversion, two results to compare.
    assert_eq!(spent(|counts| counts.accelerator_bytes), 3 * chunks * 512);
}
