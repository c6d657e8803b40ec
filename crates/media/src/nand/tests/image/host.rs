//! A host that does not take what a drive writes, or does not give it back.

use super::*;
use std::io::ErrorKind;

fn fill(d: &mut Driver, block: u32, pages: std::ops::Range<u32>) {
    for index in pages {
        let value = (block * 8 + index + 1) as u8;
        d.program(page(block, index), SLC, &[value; 32], &[value; 9]);
    }
}

fn assert_filled(d: &mut Driver, block: u32, pages: std::ops::Range<u32>) {
    for index in pages {
        let value = (block * 8 + index + 1) as u8;
        let at = page(block, index);
        assert_eq!(d.read(at), Some(vec![value; 32]), "{at:?}");
        let ppa = d.nand.geometry().ppa(at);
        assert_eq!(d.nand.spare(ppa), Some(&[value; 9][..]), "{at:?}");
    }
}

/// A full disk, then room: nothing is lost, and a sync says when it is safe.
#[test]
fn a_full_disk_loses_nothing_and_says_so() {
    let disk = Disk::default();
    let mut d = disk.create(&small());
    fill(&mut d, 0, 0..4);
    d.nand.sync().expect("there is room");
    disk.fail_writes(Some(ErrorKind::StorageFull));
    fill(&mut d, 0, 4..8);
    d.must(0, &Command::erase(BlockId(1)));
    fill(&mut d, 1, 0..8);
    d.must(0, &Command::erase(BlockId(0)));
    fill(&mut d, 0, 0..3);
    d.nand.mark_bad(BlockId(40)).expect("kept in memory");
    for _ in 0..2 {
        let error = d.nand.sync().expect_err("the disk is full").to_string();
        assert!(
            error.contains("x.img: the disk of this image is full"),
            "{error}"
        );
        assert!(error.contains("kept in memory"), "{error}");
    }
    assert_filled(&mut d, 0, 0..3);
    assert_filled(&mut d, 1, 0..8);
    let before = snapshot(&mut d);

    // A process that ends here leaves the image as it was when the disk got full.
    let left = Disk::holding(disk.bytes());
    assert_filled(&mut left.open(&small()).expect("it is whole"), 0, 0..4);

    disk.fail_writes(None);
    d.nand.sync().expect("there is room again");
    fill(&mut d, 2, 0..1);
    let mut again = Disk::holding(disk.bytes())
        .open(&small())
        .expect("it is whole");
    assert_filled(&mut again, 2, 0..1);
    drop(d);
    let mut d = disk.open(&small()).expect("it is whole");
    d.must(0, &Command::erase(BlockId(2)));
    let mut after = snapshot(&mut d);
    after.0[2] = before.0[2];
    assert_eq!(after, before);
}

/// A raise is kept in memory like all else, and what counts is never between two versions.
#[test]
fn a_raise_on_a_full_disk_is_kept_until_there_is_room() {
    let disk = Disk::default();
    let mut d = disk.create(&small());
    fill(&mut d, 0, 0..3);
    d.nand.sync().expect("there is room");
    disk.fail_writes(Some(ErrorKind::StorageFull));
    for mask in [0xFE, 0xFD, 0xFB] {
        d.nand.data_in(PlaneId(0), 0, &[mask; 32]).expect("idle");
        d.must(0, &Command::raise(page(0, 2)));
    }
    assert_eq!(
        d.read(page(0, 2)),
        Some(vec![0; 32]),
        "of 3 nothing is left"
    );
    assert!(d.nand.sync().is_err());
    let left = Disk::holding(disk.bytes());
    assert_filled(&mut left.open(&small()).expect("it is whole"), 0, 0..3);
    disk.fail_writes(None);
    d.nand.sync().expect("there is room again");
    drop(d);
    let mut d = disk.open(&small()).expect("it is whole");
    assert_eq!(d.read(page(0, 2)), Some(vec![0; 32]));
    assert_filled(&mut d, 0, 0..2);
}

/// What the host lost is another thing than a full disk.
#[test]
fn every_refusal_of_the_host_is_told() {
    let disk = Disk::default();
    let mut d = disk.create(&small());
    for kind in [ErrorKind::Other, ErrorKind::ReadOnlyFilesystem] {
        disk.fail_writes(Some(kind));
        d.must(0, &Command::erase(BlockId(0)));
        fill(&mut d, 0, 0..2);
        let error = d.nand.sync().expect_err("it takes nothing").to_string();
        assert!(
            error.contains("x.img: cannot write a block's state"),
            "{error}"
        );
        assert_filled(&mut d, 0, 0..2);
        disk.fail_writes(None);
        d.nand.sync().expect("it does now");
    }
    disk.remove();
    let error = d.nand.sync().expect_err("it is gone").to_string();
    assert!(
        error.contains("x.img: the image file was removed"),
        "{error}"
    );
}

/// A page that cannot be read is uncorrectable, with its spare bytes; the drive goes on.
#[test]
fn a_page_that_the_host_cannot_read_is_uncorrectable() {
    let disk = Disk::default();
    let mut d = disk.create(&small());
    fill(&mut d, 0, 0..2);
    disk.fail_reads(true);
    assert_eq!(d.read(page(0, 1)), None);
    assert_eq!(
        d.nand.page_status(PlaneId(0)).expect("idle"),
        PageStatus::TooManyErrors
    );
    assert_eq!(d.nand.spare_out(PlaneId(0)).expect("idle"), [2; 9]);
    let both = mws(flags("sct"), &[(0, 0, &[0]), (1, 0, &[0])]);
    d.must(0, &both);
    assert_eq!(
        d.nand.page_status(PlaneId(0)).expect("idle"),
        PageStatus::Uncorrectable
    );
    disk.fail_reads(false);
    assert_filled(&mut d, 0, 0..2);
}

/// After a failed sync a host takes for written what it lost. A second one must write it again.
#[test]
fn a_sync_that_failed_is_not_believed() {
    for syncs in 1..4 {
        let disk = Disk::default();
        let mut d = disk.create(&small());
        fill(&mut d, 0, 0..5);
        // The first attempt is followed by one that writes again what the host may have lost.
        disk.fail_syncs(syncs + 1);
        for _ in 0..syncs {
            let error = d.nand.sync().expect_err("the disk is broken").to_string();
            assert!(error.contains("cannot sync the image"), "{error}");
            let next = d.nand.block_state(BlockId(1)).next_page;
            fill(&mut d, 1, next..5);
        }
        d.nand.sync().expect("it is mended");
        // No sector that was not synced is there.
        let mut d = disk
            .after_power_loss(&mut || 0)
            .open_on_another_host(&small())
            .expect("it is whole");
        assert_filled(&mut d, 0, 0..5);
        assert_filled(&mut d, 1, 0..5);
    }
}

/// A drive that falls too far behind its disk refuses to be written, and changes nothing.
#[test]
fn what_is_kept_in_memory_is_limited() {
    let mut config = small();
    config.geometry.page_bytes = 1 << 24;
    let disk = Disk::default();
    let mut image = Image::create_on(
        Box::new(disk.clone()),
        Path::new("x.img"),
        &Geometry {
            channels: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 1,
            ..config.geometry
        },
        CONTENT,
        TEXT,
    )
    .expect("a blank disk");
    disk.fail_writes(Some(ErrorKind::StorageFull));
    let words = vec![1; 1 << 21];
    let taken = (0..24).take_while(|&index| image_write(&mut image, index, &words).is_ok());
    assert_eq!(taken.count(), 16, "256 MiB");
    let error = image_write(&mut image, 16, &words).expect_err("it is full");
    assert!(error.to_string().contains("is full"));
    disk.fail_writes(None);
    image_write(&mut image, 16, &words).expect("there is room");
}

fn image_write(image: &mut Image, index: u32, words: &[u64]) -> Result<(), StorageError> {
    use crate::nand::storage::BitStore;
    image.write(page(0, index), words)
}

/// Looking at an image changes none of its bytes, whatever is done to the drive.
#[test]
fn an_image_opened_to_look_at_it_is_never_written() {
    let disk = Disk::default();
    let mut d = disk.create(&small());
    fill(&mut d, 0, 0..4);
    drop(d);
    let (before, writes) = (disk.bytes(), disk.writes());
    let image = disk
        .image_read_only()
        .expect("it is whole")
        .on_another_host();
    let mut d = Driver::new(&small(), Storage::Image(image));
    fill(&mut d, 0, 4..8);
    d.must(0, &Command::erase(BlockId(1)));
    assert_filled(&mut d, 0, 0..8);
    d.nand.sync().expect("there is nothing to save");
    drop(d);
    assert!(disk.bytes() == before && disk.writes() == writes);

    let scratch = Scratch::new("look");
    drop(create(&scratch.0));
    let first = Image::open_read_only(&scratch.0, CONTENT).expect("it is free");
    let second = Image::open_read_only(&scratch.0, CONTENT).expect("others may look, too");
    assert!(Image::open(&scratch.0, CONTENT).is_err(), "none may write");
    drop((first, second));
    let writer = Image::open(&scratch.0, CONTENT).expect("it is free");
    assert!(Image::open_read_only(&scratch.0, CONTENT).is_err());
    drop(writer);
}
