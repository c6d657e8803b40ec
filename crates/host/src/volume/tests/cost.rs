//! What changes and opening take.

use super::drive::{MemoryDrive, PAGE_BLOCKS, Sent};
use super::{commit, device, file, fresh, now, open};
use crate::volume::{Volume, VolumeError, VolumeOptions, page};

#[test]
fn a_commit_is_a_page_or_as_many_as_its_records_fill() {
    let (drive, mut volume) = fresh();
    let group = commit(&mut volume, |change| change.create_group("g", 80, 0, 0)).unwrap();
    drive.take_log();
    let mut change = volume.change().unwrap();
    for number in 10..50 {
        change
            .create_vector(group, &number.to_string(), false)
            .unwrap();
    }
    let committed = now(change.commit()).unwrap();
    // Of each 26 bytes, a name of two and an extent of 8; a page has room for 1024 - 48.
    assert_eq!(
        committed.pages,
        (40 * (26 + 2 + 8) as u32).div_ceil(1024 - 48)
    );
    assert!(!committed.is_compacted);
    let written = |sent: &Sent| matches!(sent, Sent::Write { .. });
    let writes: Vec<Sent> = drive.take_log().into_iter().filter(written).collect();
    let first = volume.layout.area(0) + 2 * PAGE_BLOCKS;
    assert_eq!(
        writes,
        [Sent::Write {
            first,
            blocks: 2 * PAGE_BLOCKS,
            durably: true
        }]
    );
}

#[test]
fn records_take_the_bytes_that_are_stated() {
    let (_, mut volume) = fresh();
    commit(&mut volume, |change| {
        let group = change.create_group("gr", 80, 0, 0)?;
        change.create_vector(group, "vec", false)
    })
    .unwrap();
    let mut sizes = volume.catalogue.iter().map(|(id, entry)| {
        let mut bytes = Vec::new();
        crate::volume::record::encode(id, Some(entry), &mut bytes);
        bytes.len()
    });
    assert_eq!(sizes.next(), Some(39 + 2));
    assert_eq!(sizes.next(), Some(26 + 3 + 8));
}

#[test]
fn a_full_area_is_left_for_the_other() {
    let (drive, mut volume) = fresh();
    let mut compactions = 0;
    for round in 0..30u8 {
        let mut change = volume.change().unwrap();
        match change.volume().named("a") {
            Some(old) => change.replace(old.id, old.content).unwrap(),
            None => drop(change.create("a", super::content(&[0; 700])).unwrap()),
        }
        let id = change.volume().named("a").unwrap().id;
        now(change.write(id, &[round; 700])).unwrap();
        let committed = now(change.commit()).unwrap();
        assert_eq!(committed.pages, 1);
        compactions += u32::from(committed.is_compacted);
        assert_eq!(now(open(&drive).unwrap().read(id)).unwrap(), [round; 700]);
    }
    assert_eq!(
        compactions, 3,
        "ten pages an area, the first of which the volume begins with"
    );
    let old = [volume.layout.area(0), volume.layout.area(1)][1 - volume.log.area];
    assert_eq!(
        drive.block(old),
        vec![0; 512],
        "the area left is deallocated"
    );
}

#[test]
fn a_catalogue_that_is_too_small_is_told_and_nothing_changes() {
    let (_, mut volume) = fresh();
    file(&mut volume, "a", &[1; 10]).unwrap();
    let schema = vec![0; 10 * page::room(1024)];
    let table = super::super::Content::Table { schema, bytes: 0 };
    let result = commit(&mut volume, |change| change.create("t", table.clone()));
    assert_eq!(
        result,
        Err(VolumeError::CatalogueFull {
            needed: 11,
            pages: 10
        })
    );
    assert!(volume.named("t").is_none());
    file(&mut volume, "b", &[1; 10]).expect("it goes on");
}

#[test]
fn opening_reads_the_catalogue_only() {
    let (drive, mut volume) = fresh();
    for number in 0..20 {
        file(&mut volume, &format!("file {number}"), &[1; 1000]).unwrap();
    }
    drive.take_log();
    let volume = open(&drive).unwrap();
    let log = drive.take_log();
    assert_eq!(log[0], Sent::Flush);
    let data = volume.layout.data();
    let is_catalogue =
        |sent: &Sent| matches!(sent, Sent::Read { first, blocks } if first + blocks <= data);
    assert!(log[1..].iter().all(is_catalogue), "{log:?}");
    let read: u64 = log[1..]
        .iter()
        .map(|sent| match sent {
            Sent::Read { blocks, .. } => *blocks,
            _ => 0,
        })
        .sum();
    assert_eq!(
        read,
        (2 + 2 * 10) * PAGE_BLOCKS,
        "the superblock, twice over, and both areas"
    );
}

#[test]
fn a_drive_that_keeps_only_time_is_asked_the_same() {
    let (kept, mut with_data) = fresh();
    let nothing = MemoryDrive::keeping_nothing();
    let options = VolumeOptions {
        keeps_data: false,
        ..super::options()
    };
    let mut without = now(Volume::create(device(&nothing).unwrap(), options)).unwrap();
    let live = |volume: &mut super::MemoryVolume| {
        file(volume, "a", &[1; 3000]).unwrap();
        file(volume, "b", &[1; 3000]).unwrap();
        commit(volume, |change| {
            change.remove(change.volume().named("a").unwrap().id)
        })
        .unwrap();
    };
    live(&mut with_data);
    live(&mut without);
    now(with_data.reopen(device(&kept).unwrap())).unwrap();
    now(without.reopen(device(&nothing).unwrap())).unwrap();
    assert_eq!(without.catalogue, with_data.catalogue);
    assert_eq!(
        nothing.take_log(),
        kept.take_log(),
        "so that it takes the same time"
    );
    assert!(matches!(open(&nothing), Err(VolumeError::NoVolume { .. })));
}

#[test]
fn default_areas_are_a_hundredth_of_the_volume_or_so() {
    let drive = MemoryDrive::new();
    let options = VolumeOptions::new(0, super::BLOCKS);
    let volume = now(Volume::create(device(&drive).unwrap(), options)).unwrap();
    assert_eq!(volume.layout.catalogue_pages, 16);
}
