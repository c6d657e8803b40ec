//! A catalogue is read from a drive, so anything may stand in it: damage is told, and nothing else happens.

use nvme::NamespaceId;

use super::drive::{BLOCK_BYTES, MemoryDrive, PAGE_BLOCKS};
use super::{FIRST, Random, commit, file, fresh, open};
use crate::volume::object::{Content, Entry, Group, ObjectId, Vector};
use crate::volume::page::{self, Stamp};
use crate::volume::record;
use crate::volume::superblock::Layout;
use crate::volume::{VolumeError, extent::Run};

const STAMP: Stamp = Stamp {
    generation: 1,
    sequence: 1,
};

/// A volume whose catalogue says this, in pages that are as they should be.
fn saying(records: &[u8]) -> MemoryDrive {
    let (drive, volume) = fresh();
    let lba = volume.layout.area(0);
    drive.put(lba, &page::encode(STAMP, records, lba, 1024, PAGE_BLOCKS));
    drive
}

fn refusal(drive: &MemoryDrive) -> String {
    match open(drive) {
        Ok(_) => panic!("it must not open"),
        Err(error) => error.to_string(),
    }
}

fn entry(name: &str, content: Content, runs: &[Run]) -> Entry {
    Entry {
        name: name.into(),
        content,
        runs: runs.to_vec(),
    }
}

fn said(objects: &[(u32, Entry)]) -> MemoryDrive {
    let mut records = Vec::new();
    for (id, entry) in objects {
        record::encode(ObjectId(*id), Some(entry), &mut records);
    }
    saying(&records)
}

fn of_one_page() -> Content {
    Content::File { bytes: 1024 }
}

fn at(first: u32, pages: u32) -> Run {
    Run { first, pages }
}

#[test]
fn records_that_make_no_sense_are_told() {
    assert!(open(&saying(&[])).is_ok(), "no objects are none");
    let refused = |records: &[u8], words: &str| {
        let message = refusal(&saying(records));
        let place = format!("the volume is damaged at block {}", FIRST + 2 * PAGE_BLOCKS);
        assert!(
            message.starts_with(&place) && message.contains(words),
            "{message}"
        );
    };
    refused(&[9, 1, 0, 0, 0], "record 0: action 9, which does not exist");
    refused(&[2, 0, 0, 0, 0], "object 0, which does not exist");
    refused(&[2, 1, 0, 0], "it ends 1 bytes early");
    refused(&[1, 1, 0, 0, 0, 77], "kind 77 of object");
    let mut records = Vec::new();
    record::encode(
        ObjectId(7),
        Some(&entry("a", of_one_page(), &[at(0, 1)])),
        &mut records,
    );
    let length = records.len();
    for cut in 1..length {
        refused(&records[..cut], "early");
    }
    // The count of extents stands before the only one: more of them than there are bytes.
    records[length - 10..length - 8].fill(0xFF);
    refused(&records, "early");
    records[length - 11] = b'\n';
    refused(&records, "control character");
    records[length - 11] = 0xFF;
    refused(&records, "no UTF-8");
}

#[test]
fn objects_that_cannot_be_together_are_told() {
    let refused = |objects: &[(u32, Entry)], words: &str| {
        let message = refusal(&said(objects));
        assert!(message.contains(words), "{message}");
    };
    let file = |name, runs: &[Run]| entry(name, of_one_page(), runs);
    refused(
        &[(1, file("a", &[at(0, 1)])), (2, file("a", &[at(1, 1)]))],
        "there twice",
    );
    refused(
        &[(1, file("a", &[at(0, 1)])), (1, file("b", &[at(1, 1)]))],
        "there twice",
    );
    refused(
        &[(1, file("a", &[at(3, 1)])), (2, file("b", &[at(3, 1)]))],
        "where another object lies",
    );
    refused(&[(1, file("a", &[at(55, 1)]))], "lies where it cannot");
    refused(
        &[(1, file("a", &[at(u32::MAX, 1)]))],
        "lies where it cannot",
    );
    refused(
        &[(1, file("a", &[at(u32::MAX, u32::MAX)]))],
        "lies where it cannot",
    );
    refused(&[(1, file("a", &[at(1, 0)]))], "lies where it cannot");
    refused(
        &[(1, file("a", &[at(0, 2)]))],
        "\"a\" has 2 pages for 1024 bytes",
    );
    refused(&[(1, file("a", &[]))], "\"a\" has 0 pages for 1024 bytes");
    let endless = Content::File { bytes: u64::MAX };
    refused(&[(1, entry("a", endless, &[at(0, 1)]))], "has 1 pages for");

    let vector = |group, number, bits| {
        let vector = Vector {
            group: ObjectId(group),
            number,
            inverse: false,
            bits,
        };
        entry(
            &number.to_string(),
            Content::Vector(vector),
            &[at(number, 1)],
        )
    };
    let group = |change: fn(&mut Group)| {
        let mut group = Group {
            handle: 1,
            anchor: FIRST + 22 * PAGE_BLOCKS,
            pitch: PAGE_BLOCKS,
            first_die: 0,
            dies: 0,
            bits: 8,
        };
        change(&mut group);
        entry(&format!("g{}", group.handle), Content::Group(group), &[])
    };
    assert!(open(&said(&[(1, group(|_| {})), (2, vector(1, 0, 8))])).is_ok());
    refused(&[(2, vector(1, 0, 8))], "has no group");
    refused(
        &[(1, file("a", &[at(9, 1)])), (2, vector(1, 0, 8))],
        "its vectors did not",
    );
    refused(&[(2, vector(2, 0, 8))], "has no group");
    refused(
        &[(1, group(|_| {})), (2, vector(1, 0, 9))],
        "not as long as its group",
    );
    refused(&[(2, vector(1, 0, 0))], "bits is 0");
    let second = entry(
        "other name",
        Content::Vector(Vector {
            group: ObjectId(1),
            number: 0,
            inverse: false,
            bits: 8,
        }),
        &[at(5, 1)],
    );
    refused(
        &[(1, group(|_| {})), (2, vector(1, 0, 8)), (3, second)],
        "have number 0",
    );
    refused(
        &[
            (1, group(|_| {})),
            (2, entry("h", group(|_| {}).content, &[])),
        ],
        "two groups have handle 1",
    );
    refused(
        &[(1, group(|group| group.handle = 0x8000))],
        "handle is 32768",
    );
    refused(&[(1, group(|group| group.pitch = 0))], "pitch is 0");
    refused(
        &[(1, group(|group| group.pitch = u64::MAX))],
        "a matrix that cannot be",
    );
    refused(
        &[(1, group(|group| group.pitch = 1))],
        "a matrix that cannot be",
    );
    refused(
        &[(1, group(|group| group.anchor = 0))],
        "a matrix that cannot be",
    );
    refused(
        &[(1, group(|group| group.anchor = u64::MAX - 1))],
        "a matrix that cannot be",
    );
    refused(
        &[(1, group(|group| group.bits = 1 << 40))],
        "a matrix that cannot be",
    );
}

#[test]
fn the_highest_number_of_an_object_is_not_the_end() {
    let drive = said(&[(u32::MAX, entry("a", of_one_page(), &[at(0, 1)]))]);
    let mut volume = open(&drive).unwrap();
    file(&mut volume, "b", &[1]).unwrap();
    assert_eq!(volume.named("b").unwrap().id.get(), 1);
}

#[test]
fn superblocks_that_make_no_sense_are_told() {
    let (_, volume) = fresh();
    let refused = |change: &dyn Fn(&mut Layout), words: &str| {
        let mut layout = volume.layout;
        change(&mut layout);
        let drive = MemoryDrive::new();
        // As many pages as its own: those of a layout that says otherwise would be huge.
        let mut page = Layout {
            page_blocks: 1,
            ..layout
        }
        .encode();
        if layout.page_blocks != 1 {
            page[36..40].copy_from_slice(&layout.page_blocks.to_le_bytes());
            let checksum = crate::volume::checksum::crc32(&page[12..48]);
            page[8..12].copy_from_slice(&checksum.to_le_bytes());
        }
        drive.put(FIRST, &page);
        let message = refusal(&drive);
        assert!(message.contains(words), "{message}");
    };
    refused(&|layout| layout.first = 0, "is of a volume at block 0");
    refused(&|layout| layout.block_bytes = 4096, "blocks of 4096 bytes");
    refused(
        &|layout| layout.blocks = u64::MAX,
        "the namespace has 160 blocks",
    );
    refused(&|layout| layout.blocks -= 1, "begin and end at a multiple");
    refused(
        &|layout| layout.catalogue_pages = u32::MAX,
        "catalogue pages: they must be 4 to 65536",
    );
    refused(
        &|layout| layout.catalogue_pages = 65_536,
        "they are 77 pages",
    );
    refused(
        &|layout| layout.page_blocks = u32::MAX,
        "it must have 512 bytes to 16 MiB",
    );
    refused(
        &|layout| layout.page_blocks = 0,
        "it must have 512 bytes to 16 MiB",
    );
    refused(
        &|layout| layout.page_blocks = 1,
        "its pages are 1 blocks, the drive's are 2",
    );
}

#[test]
fn another_version_says_so() {
    let (drive, _) = fresh();
    let mut superblock = drive.block(FIRST);
    superblock[12] = 9;
    let checksum = crate::volume::checksum::crc32(&superblock[12..48]);
    superblock[8..12].copy_from_slice(&checksum.to_le_bytes());
    drive.put(FIRST, &superblock);
    let expected =
        format!("the volume at block {FIRST} has version 9; this library reads version 1");
    assert_eq!(refusal(&drive), expected);
}

#[test]
fn one_copy_of_the_superblock_is_enough() {
    for copy in 0..2 {
        let (drive, _) = fresh();
        drive.damage(FIRST + copy * PAGE_BLOCKS, 20, 1);
        assert!(open(&drive).is_ok(), "copy {copy}");
        drive.damage(FIRST + (1 - copy) * PAGE_BLOCKS, 20, 1);
        assert!(matches!(open(&drive), Err(VolumeError::NoVolume { .. })));
    }
}

#[test]
fn a_page_lost_before_others_is_damage_and_the_last_one_is_torn() {
    let (drive, mut volume) = fresh();
    for name in ["a", "b", "c"] {
        file(&mut volume, name, &[1]).unwrap();
    }
    // Pages 0 to 3: none, a, b, c.
    for (lost, opens) in [(0, false), (1, false), (2, false), (3, true)] {
        let damaged = drive.copy();
        let lba = volume.layout.area(0) + lost * PAGE_BLOCKS;
        damaged.damage(lba, 60, 4);
        match open(&damaged) {
            Ok(volume) => {
                assert!(opens && volume.named("b").is_some() && volume.named("c").is_none())
            }
            Err(error) => {
                let words = format!("damaged at block {lba}: a page of its catalogue is lost");
                assert!(
                    !opens && error.to_string().contains(&words),
                    "{lost}: {error}"
                );
            }
        }
    }
}

#[test]
fn damage_of_the_newer_area_is_not_answered_with_the_older() {
    let (drive, mut volume) = fresh();
    let mut before = drive.copy();
    for round in 0.. {
        if volume.log.area == 1 {
            break;
        }
        before = drive.copy();
        file(&mut volume, &round.to_string(), &[1]).unwrap();
    }
    file(&mut volume, "last", &[1]).unwrap();
    // As if the cut had come before the old area was deallocated.
    let old = volume.layout.area(0);
    (old..old + 20).for_each(|lba| drive.put(lba, &before.block(lba)));
    assert!(open(&drive).unwrap().named("last").is_some());
    drive.damage(volume.layout.area(1), 60, 4);
    let message = refusal(&drive);
    assert!(
        message.contains("a page of its catalogue is lost"),
        "{message}"
    );
}

#[test]
fn random_bytes_neither_panic_nor_open_what_was_not_written() {
    let (drive, mut volume) = fresh();
    commit(&mut volume, |change| {
        let group = change.create_group("g", 100, 0, 0)?;
        change.create_vector(group, "0", false)
    })
    .unwrap();
    file(&mut volume, "a", &[7; 3000]).unwrap();
    let whole = super::contents(&volume);
    let mut random = Random(1);
    for _ in 0..2000 {
        let damaged = drive.copy();
        for _ in 0..=random.below(3) {
            let lba = FIRST + random.below(10);
            let offset = random.below(BLOCK_BYTES as u64) as usize;
            damaged.damage(lba, offset, 1 << random.below(8));
        }
        // The newest commits may be lost, as torn ones are; an object that is there is as it was.
        if let Ok(volume) = open(&damaged) {
            assert!(
                super::contents(&volume)
                    .iter()
                    .all(|found| whole.contains(found))
            );
        }
    }
    // The same behind checksums that fit: whatever is decoded, nothing panics and little memory is asked for.
    for _ in 0..20_000 {
        let mut records = random.bytes(random.0 as usize % 200);
        if let Some(action) = records.first_mut() {
            *action %= 3;
        }
        if let Some(kind) = records.get_mut(5) {
            *kind %= 6;
        }
        if let Ok(decoded) = record::decode_all(&records) {
            let mut again = Vec::new();
            decoded
                .iter()
                .for_each(|(id, entry)| record::encode(*id, entry.as_ref(), &mut again));
            assert_eq!(again.len(), records.len());
        }
    }
    let device = super::now(crate::block::BlockDevice::open(drive, NamespaceId::new(1))).unwrap();
    let beyond = super::now(crate::volume::Volume::open(device, u64::MAX - 1)).map(drop);
    assert_eq!(
        beyond.unwrap_err(),
        VolumeError::NoVolume {
            first: u64::MAX - 1
        }
    );
}
