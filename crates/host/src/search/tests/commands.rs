//! What commands do, in lives of random ones against a list of entries that is searched bit by bit.

use nvme::Status;
use nvme::query::{Part, Pattern, Query};

use super::drive::{LookupDrive, TRANSFER_BYTES};
use super::{Random, device, kind, now, query, term};
use crate::search::{DataRegion, NameKind, SearchDevice, SearchError, Wanted};

type Device = SearchDevice<LookupDrive>;

/// An entry as a test knows it: of each search region a name and which bits of it count, and the value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    names: Vec<(Vec<u8>, Vec<u8>)>,
    value: Vec<u8>,
}

impl Entry {
    fn random(random: &mut Random, kinds: &[NameKind], value_bytes: usize) -> Entry {
        let mut name = |kind: &NameKind| {
            // Few names, so that some are found.
            let mut name = vec![0; kind.name_bytes()];
            name[0] = random.below(4) as u8;
            let mut mask = vec![0xFF; kind.name_bytes()];
            if kind.ternary && random.below(3) == 0 {
                mask[0] = random.next() as u8;
            }
            (name, mask)
        };
        let names = kinds.iter().map(&mut name).collect();
        let value = random.bytes(value_bytes);
        Entry { names, value }
    }

    fn record(&self, kinds: &[NameKind]) -> Vec<u8> {
        let mut record = Vec::new();
        for ((name, mask), kind) in self.names.iter().zip(kinds) {
            record.extend(name);
            if kind.ternary {
                record.extend(mask);
            }
        }
        record.extend(&self.value);
        record
    }

    /// Whether all bits agree that count on both sides.
    fn is_met(&self, field: usize, name: &[u8], mask: &[u8]) -> bool {
        let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (at % 8) & 1;
        let (stored, cares) = &self.names[field];
        (0..name.len() * 8)
            .all(|at| bit(mask, at) & bit(cares, at) == 0 || bit(name, at) == bit(stored, at))
    }
}

/// Groups of terms: a search region by its place, a name and a mask.
type Groups = Vec<Vec<(usize, Vec<u8>, Vec<u8>)>>;

fn random_groups(random: &mut Random, kinds: &[NameKind]) -> Groups {
    let groups = 1 + random.below(2);
    let mut one = || {
        let field = random.below(kinds.len() as u64) as usize;
        let bytes = kinds[field].name_bytes();
        let mut name = vec![0; bytes];
        name[0] = random.below(4) as u8;
        let mut mask = vec![0xFF; bytes];
        mask[0] = [0xFF, 0x01, 0x02, 0][random.below(4) as usize];
        (field, name, mask)
    };
    (0..groups)
        .map(|index| (0..=index).map(|_| one()).collect())
        .collect()
}

fn query_of(region: &DataRegion, groups: &Groups, parts: Vec<Part>) -> Query {
    let terms = |group: &Vec<(usize, Vec<u8>, Vec<u8>)>| {
        let terms = group.iter().map(|(field, name, mask)| {
            let bits = region.names[*field].kind.bits;
            term(region, *field, Pattern::new(bits, name, mask).unwrap())
        });
        terms.collect::<Vec<_>>()
    };
    Query::new(groups.iter().map(terms), parts).unwrap()
}

/// The numbers of the entries that are there and match.
fn matching(entries: &[Option<Entry>], groups: &Groups) -> Vec<usize> {
    let is_found = |entry: &Entry| {
        groups.iter().any(|group| {
            group
                .iter()
                .all(|(field, name, mask)| entry.is_met(*field, name, mask))
        })
    };
    let indexed = entries.iter().enumerate();
    let found = indexed.filter(|(_, entry)| entry.as_ref().is_some_and(is_found));
    found.map(|(index, _)| index).collect()
}

#[test]
fn random_lives_are_those_of_a_list() {
    let mut fetched = 0;
    for seed in 0..60 {
        let mut random = Random(seed);
        let drive = LookupDrive::new();
        let device = device(&drive);
        let mut kinds = vec![kind(8 + random.below(40) as u32, random.below(2) == 0)];
        if random.below(2) == 0 {
            kinds.push(kind(200, random.below(2) == 0));
        }
        let value_bytes = [1, 40, 300, 700][random.below(4) as usize];
        let region = now(device.allocate(64, 1 << 12, value_bytes, &kinds)).unwrap();
        let mut entries: Vec<Option<Entry>> = Vec::new();
        for _ in 0..30 {
            let groups = random_groups(&mut random, &kinds);
            let found = matching(&entries, &groups);
            let query = query_of(&region, &groups, Vec::new());
            match random.below(6) {
                0 | 1 => {
                    let count = 1 + random.below(40);
                    let new = (0..count)
                        .map(|_| Entry::random(&mut random, &kinds, value_bytes as usize));
                    let new: Vec<Entry> = new.collect();
                    let records = new.iter().flat_map(|entry| entry.record(&kinds));
                    let records: Vec<u8> = records.collect();
                    let appended = now(device.append(&region, &records, count as u32)).unwrap();
                    assert_eq!(appended.first() as usize, entries.len(), "seed {seed}");
                    entries.extend(new.into_iter().map(Some));
                }
                2 => {
                    let deleted = now(device.delete(&region, &query)).unwrap();
                    assert_eq!(deleted as usize, found.len(), "seed {seed}");
                    found.iter().for_each(|index| entries[*index] = None);
                }
                3 => {
                    let new = Entry::random(&mut random, &kinds, value_bytes as usize);
                    let record = new.record(&kinds);
                    let exactly = random.below(2) == 0;
                    let updated = match exactly {
                        true => now(device.update(&region, None, &record, 1)).unwrap(),
                        false => now(device.update(&region, Some(&query), &record, 1)).unwrap(),
                    };
                    let is_same = |entry: &&mut Option<Entry>| {
                        let first = entry.as_ref().map(|entry| &entry.names[0]);
                        first.is_some_and(|(name, mask)| {
                            let (wanted, cares) = &new.names[0];
                            let masked = |name: &[u8], mask: &[u8]| -> Vec<u8> {
                                name.iter().zip(mask).map(|(a, b)| a & b).collect()
                            };
                            let last = kinds[0].bits % 8;
                            let whole = |mut mask: Vec<u8>| {
                                if last > 0 {
                                    *mask.last_mut().unwrap() &= (1 << last) - 1;
                                }
                                mask
                            };
                            let (mask, cares) = (whole(mask.clone()), whole(cares.clone()));
                            mask == cares && masked(name, &mask) == masked(wanted, &cares)
                        })
                    };
                    let deleted = match exactly {
                        true => {
                            let same = entries.iter_mut().filter(is_same);
                            same.map(|entry| *entry = None).count()
                        }
                        false => {
                            found.iter().for_each(|index| entries[*index] = None);
                            found.len()
                        }
                    };
                    assert_eq!(updated.deleted as usize, deleted, "seed {seed}");
                    assert_eq!(updated.first as usize, entries.len(), "seed {seed}");
                    entries.push(Some(new));
                }
                _ => fetched += check_look_up(&device, &region, &groups, &entries, &mut random),
            }
            let count = now(device.count(&region, &query)).unwrap();
            assert_eq!(
                count as usize,
                matching(&entries, &groups).len(),
                "seed {seed}"
            );
        }
    }
    assert!(fetched > 1000, "only {fetched} entries were looked up");
}

fn check_look_up(
    device: &Device,
    region: &DataRegion,
    groups: &Groups,
    entries: &[Option<Entry>],
    random: &mut Random,
) -> usize {
    let numbers = random.below(2) == 0;
    let last = region.value_bytes - 1;
    let parts = match random.below(2) {
        0 => Vec::new(),
        _ => vec![
            Part {
                first: last,
                bytes: 1,
            },
            Part { first: 0, bytes: 1 },
        ],
    };
    let of_parts = |value: &[u8]| match parts.is_empty() {
        true => value.to_vec(),
        false => vec![value[last as usize], value[0]],
    };
    let query = query_of(region, groups, parts.clone());
    let wanted = Wanted {
        numbers,
        pages: false,
    };
    let found = now(device.look_up(region, &query, wanted)).unwrap();
    let expected = matching(entries, groups);
    let values = expected
        .iter()
        .map(|index| &entries[*index].as_ref().unwrap().value);
    let values: Vec<Vec<u8>> = values.map(|value| of_parts(value)).collect();
    assert_eq!(found.count as usize, expected.len());
    assert_eq!(found.iter().map(<[u8]>::to_vec).collect::<Vec<_>>(), values);
    let expected_numbers: Vec<u64> = expected.iter().map(|index| *index as u64).collect();
    assert_eq!(
        found.numbers,
        if numbers {
            expected_numbers
        } else {
            Vec::new()
        }
    );
    expected.len()
}

#[test]
fn short_names_go_in_the_command_and_long_results_are_fetched_in_growing_buffers() {
    let drive = LookupDrive::new();
    let device = device(&drive);
    let region = now(device.allocate(0, 1000, 10, &[kind(127, false), kind(128, false)])).unwrap();
    let record: Vec<u8> = [[7; 32].as_slice(), &[9; 10]].concat();
    now(device.append(&region, &record.repeat(60), 60)).unwrap();
    drive.take_log();
    let short = Pattern::exact(127, &[7; 16]).unwrap();
    let found = now(device.look_up(&region, &query(&region, 0, short), Wanted::default())).unwrap();
    assert_eq!(found.records, [9; 600]);
    // 64 bytes hold 6 records, 256 hold 25, 1024 the others.
    assert_eq!(drive.take_log(), ["simple lookup", "continue", "continue"]);
    let long = Pattern::exact(128, &[7; 16]).unwrap();
    now(device.count(&region, &query(&region, 1, long))).unwrap();
    assert_eq!(drive.take_log(), ["lookup"]);
    let of_second = query(&region, 1, Pattern::exact(8, &[7]).unwrap());
    let found = now(device.look_up(&region, &of_second, Wanted::default())).unwrap();
    assert_eq!(
        found.count, 60,
        "it goes on with the region that it began with"
    );
}

#[test]
fn pages_come_instead_of_values() {
    let drive = LookupDrive::new();
    let device = device(&drive);
    let region = now(device.allocate(0, 1000, 100, &[kind(8, false)])).unwrap();
    for number in 0..12 {
        let record = [vec![number % 2], vec![number; 100]].concat();
        now(device.append(&region, &record, 1)).unwrap();
    }
    let odd = query(&region, 0, Pattern::exact(8, &[1]).unwrap());
    let wanted = Wanted {
        numbers: true,
        pages: true,
    };
    let found = now(device.look_up(&region, &odd, wanted)).unwrap();
    // Five values to a page of 512 bytes.
    assert_eq!((found.count, found.record_bytes), (3, 512));
    assert_eq!(found.numbers, [1, 5, 11]);
    let second: Vec<u8> = found.iter().nth(1).unwrap().to_vec();
    assert_eq!(second[..100], [5; 100]);
    assert_eq!(second[400..500], [9; 100]);
    let long = now(device.allocate(64, 10, 600, &[kind(8, false)])).unwrap();
    let all = query(&long, 0, Pattern::new(8, &[0], &[0]).unwrap());
    let refused = now(device.look_up(&long, &all, wanted));
    assert!(matches!(refused, Err(SearchError::Usage(_))), "{refused:?}");
}

#[test]
fn an_append_takes_as_many_commands_as_transfers_make_it() {
    let drive = LookupDrive::new();
    let device = device(&drive);
    let region = now(device.allocate(0, 1000, 1000, &[kind(16, false)])).unwrap();
    let most = TRANSFER_BYTES / 1002;
    assert_eq!(u64::from(device.records_per_command(&region)), most);
    drive.take_log();
    let appended = now(device.append(&region, &vec![1; 1002 * 20], 20)).unwrap();
    assert_eq!(appended.runs, [(0, 8), (8, 8), (16, 4)]);
    assert_eq!(drive.take_log(), ["append"; 3]);
    let refused = now(device.append_at_once(&region, &vec![1; 1002 * 9], 9));
    let too_much = SearchError::TooMuchAtOnce {
        count: 9,
        bytes: 9018,
        most: TRANSFER_BYTES,
    };
    assert_eq!(refused, Err(too_much.clone()));
    let updated = now(device.update(&region, None, &vec![1; 1002 * 9], 9));
    assert_eq!(updated, Err(too_much), "an update is one command");
    let wrong = now(device.append(&region, &[0; 1003], 1));
    assert!(
        matches!(wrong, Err(SearchError::Length { record: 1002, .. })),
        "{wrong:?}"
    );
    assert!(drive.take_log().is_empty(), "nothing was sent");
    let long = now(device.allocate(512, 4, 9000, &[kind(8, false)])).unwrap();
    let refused = now(device.append(&long, &[0; 9001], 1));
    assert!(
        matches!(refused, Err(SearchError::TooMuchAtOnce { count: 1, .. })),
        "{refused:?}"
    );
}

#[test]
fn an_append_that_ends_early_says_what_is_there() {
    let drive = LookupDrive::new();
    let device = device(&drive);
    let region = now(device.allocate(0, 10, 1000, &[kind(16, false)])).unwrap();
    let ended = now(device.append(&region, &vec![1; 1002 * 20], 20)).unwrap_err();
    assert!(ended.is_status(Status::REGION_FULL), "{ended}");
    assert!(
        matches!(
            ended,
            SearchError::Partly {
                appended: 8,
                count: 20,
                ..
            }
        ),
        "{ended}"
    );
    let all = query(&region, 0, Pattern::new(16, &[0; 2], &[0; 2]).unwrap());
    assert_eq!(now(device.count(&region, &all)), Ok(8));
}

#[test]
fn regions_are_allocated_all_or_none_and_told() {
    let drive = LookupDrive::new();
    let device = device(&drive);
    drive.model.borrow_mut().regions_max = 3;
    let first = now(device.allocate(0, 100, 8, &[kind(32, true)])).unwrap();
    let refused = now(device.allocate(64, 100, 8, &[kind(8, false); 3])).unwrap_err();
    assert!(
        refused.is_status(Status::REGION_LIMIT_EXCEEDED),
        "{refused}"
    );
    let report = now(device.report()).unwrap();
    assert_eq!(
        report.len(),
        1,
        "what was allocated for the second went back"
    );
    assert_eq!(report[0].name_bits.get(), 32);
    assert_eq!((report[0].ternary.get(), report[0].start.get()), (1, 0));
    drive.model.borrow_mut().regions_max = 0;
    for start in 1..=80 {
        now(device.allocate(start * 8, 1, 1, &[kind(8, false)])).unwrap();
    }
    assert_eq!(
        now(device.report()).unwrap().len(),
        81,
        "more than first asked for"
    );
    now(device.deallocate(&first)).unwrap();
    now(device.deallocate(&first)).expect("what is gone is fine");
    assert_eq!(now(device.report()).unwrap().len(), 80);
    let none = now(device.allocate(0, 1, 1, &[]));
    assert!(matches!(none, Err(SearchError::Usage(_))));
}

#[test]
fn a_data_region_has_whole_rows_of_whole_chunks() {
    let device = device(&LookupDrive::new());
    // A flash page of two blocks of 512 bytes has 8192 bits; a logical page is one block.
    assert_eq!(device.data_blocks(1, 512), Ok(8192));
    assert_eq!(device.data_blocks(8192, 512), Ok(8192));
    assert_eq!(device.data_blocks(8193, 512), Ok(16_384));
    assert_eq!(
        device.data_blocks(1, 100),
        Ok(1640),
        "five to a page, in whole chunks"
    );
    assert_eq!(device.data_blocks(1, 513), Ok(16_384));
    assert!(device.data_blocks(0, 1).is_err());
    assert!(device.data_blocks(1, 0).is_err());
}
