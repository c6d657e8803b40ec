//! Records of pages: what is written is read, damage is noticed, layouts stay as they are.

use proptest::prelude::*;

use super::*;
use crate::ftl::unit::tests::geometry;
use crate::region::COLUMN_MAX;

fn unit(log2_units: u32) -> MappingUnit {
    let geometry = media::nand::Geometry {
        spare_bytes: 256,
        ..geometry(16384)
    };
    MappingUnit::of(&geometry, 16384 >> log2_units)
}

#[test]
fn placed_units_follow_one_another() {
    let placement = Placement {
        handle: 3,
        inverse: true,
        column: 9,
    };
    let lpn = Lpn(40);
    let record = Record {
        content: Content::Placed { lpn, placement },
        version: 5,
        sequence: 6,
    };
    let bytes = record.encode();
    let found = Record::decode_slots(&bytes, unit(2));
    let lpns = found.map(|(slot, found)| (slot, found.content.lpn(), found.version));
    let expected = (0..4).map(|slot| (slot, Some(Lpn(40 + slot)), 5));
    assert_eq!(lpns.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn the_checksum_goes_from_byte_to_byte(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let step = |sum: u8, byte: &u8| sum.rotate_left(1) ^ byte;
        prop_assert_eq!(checksum(&bytes), bytes.iter().fold(0xA5, step));
    }
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        (0..NOTHING).prop_map(|lpn| Content::Data(Lpn(lpn))),
        (any::<u32>(), 0..INVERSE, any::<bool>(), 0..=COLUMN_MAX).prop_map(
            |(lpn, handle, inverse, column)| Content::Placed {
                lpn: Lpn(lpn),
                placement: Placement {
                    handle,
                    inverse,
                    column
                }
            }
        ),
        Just(Content::Temporary),
        any::<(u16, u32, u8)>().prop_map(|(region, row, slice)| Content::Search {
            region,
            row,
            slice
        }),
        any::<(u32, u32)>().prop_map(|(start, count)| Content::Tombstone {
            start: Lpn(start),
            count
        }),
        ((0..=GROUP_PAGES_MAX, 0..=GROUP_PAGES_MAX), 0..=NUMBER_MAX).prop_map(
            |((index, count), oldest)| {
                Content::Journal {
                    index,
                    count,
                    oldest,
                }
            }
        ),
        (any::<u32>(), 0..=NUMBER_MAX).prop_map(|(number, deallocated_below)| {
            Content::Mapping {
                number,
                deallocated_below,
            }
        }),
        any::<(u16, u16)>().prop_map(|(index, count)| Content::Root { index, count }),
    ]
}

proptest! {
    #[test]
    fn records_survive_the_spare_area(
        content in content(),
        version in 0..=NUMBER_MAX,
        sequence in 0..=NUMBER_MAX,
    ) {
        let record = Record { content, version, sequence };
        prop_assert_eq!(Record::decode(&record.encode()), Some(record));
    }

    #[test]
    fn lists_of_units_survive_the_spare_area(
        log2_units in 0u32..5,
        units in prop::collection::vec((0..NOTHING, 0..=NUMBER_MAX), 1..17),
        sequence in 0..=NUMBER_MAX,
    ) {
        let unit = unit(log2_units);
        // In the last slots: the others are empty.
        let count = units.len().min(unit.per_page() as usize);
        let slots = unit.per_page() - count as u32..;
        let units: Vec<_> = slots.zip(&units[..count]).collect();
        let mut bytes = vec![0; data_record_bytes(unit) as usize];
        let listed = units.iter().map(|(slot, (lpn, version))| (*slot, Lpn(*lpn), *version));
        encode_units(&mut bytes, listed, sequence);
        let found: Vec<_> = Record::decode_slots(&bytes, unit).collect();
        let written = units.iter().map(|(slot, (lpn, version))| {
            let content = Content::Data(Lpn(*lpn));
            (*slot, Record { content, version: *version, sequence })
        });
        prop_assert_eq!(&found, &written.collect::<Vec<_>>());
        prop_assert_eq!(Record::decode(&bytes), Some(found[0].1));
        // With one unit it is the record that a page has always had.
        if log2_units == 0 {
            prop_assert_eq!(&found[0].1.encode()[..], &bytes[..]);
        }
    }

    #[test]
    fn decoding_is_total(bytes in prop::collection::vec(any::<u8>(), 0..180)) {
        let _ = Record::decode(&bytes);
        for log2_units in 0..5 {
            prop_assert!(Record::decode_slots(&bytes, unit(log2_units)).count() <= 20);
        }
    }
}

#[test]
fn an_erased_spare_area_holds_no_record() {
    for length in [SHORT, LONG] {
        assert_eq!(Record::decode(&vec![0xFF; length]), None);
        assert_eq!(Record::decode(&vec![0; length]), None);
    }
}
