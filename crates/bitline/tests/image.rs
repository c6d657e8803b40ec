//! Durable drives: what was acknowledged is in the image file, however the drive
//! went; and what is no such image is refused and left alone.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

use bitline::{Config, Drive};

/// A path of this test's own, removed with its file.
struct Path(PathBuf);

impl Path {
    fn new(name: &str) -> Path {
        let path = std::env::temp_dir().join(format!("bitline-{}-{name}.img", std::process::id()));
        let _ = fs::remove_file(&path);
        Path(path)
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn small(overrides: &[(&str, &str)]) -> Config {
    let keys = [
        ("data.storage", "image"),
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "40"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "8"),
        ("ftl.gc.threshold_blocks", "4"),
    ];
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    preset
        .with(keys.iter().chain(overrides).copied())
        .expect("a possible drive")
}

fn block(seed: u8) -> Vec<u8> {
    (0..4096u32)
        .map(|place| (place as u8).wrapping_mul(31) ^ seed)
        .collect()
}

#[test]
fn a_drive_that_was_just_dropped_has_everything() {
    let path = Path::new("dropped");
    let mut drive = Drive::open_image(small(&[]), &path.0).expect("a new image");
    for lba in 0..200 {
        drive.write(lba, &block(lba as u8)).expect("there is room");
    }
    drive.deallocate(100, 20).expect("a hint");
    drop(drive);
    let mut drive = Drive::open_image(small(&[]), &path.0).expect("the image is sound");
    for lba in (0..100).chain(120..200) {
        assert_eq!(
            drive.read(lba, 1).expect("it was written"),
            block(lba as u8),
            "block {lba}"
        );
    }
    assert_eq!(
        drive.read(100, 20).expect("it was deallocated"),
        vec![0; 20 * 4096]
    );
    // Recovery read the media, which took simulated time.
    assert!(drive.now().as_ns() > 0.0);
}

#[test]
fn an_image_has_one_writer_in_a_process_too() {
    let path = Path::new("one-writer");
    let other = Path::new("one-writer-linked");
    let mut drive = Drive::open_image(small(&[]), &path.0).expect("a new image");
    drive.write(0, &block(1)).expect("there is room");
    // By another name of the file, too.
    std::os::unix::fs::symlink(&path.0, &other.0).expect("a new name");
    for name in [&path.0, &other.0] {
        for refused in [
            Drive::open_image(small(&[]), name),
            Drive::open_existing_image(name),
        ] {
            let told = refused.err().expect("somebody writes it").to_string();
            assert!(told.contains("in use by another drive"), "{told}");
        }
    }
    drive.write(1, &block(2)).expect("nothing happened to it");
    drive.close().expect("it closes");
    let mut drive = Drive::open_existing_image(&other.0).expect("nobody writes it");
    assert_eq!(drive.read(1, 1).expect("it was written"), block(2));
}

#[test]
fn an_image_knows_its_configuration() {
    let path = Path::new("knows");
    let config = small(&[("seed", "77"), ("link.lanes", "2")]);
    let mut drive = Drive::open_image(config.clone(), &path.0).expect("a new image");
    drive.write(7, &block(7)).expect("there is room");
    drive.close().expect("it closes");
    let mut drive = Drive::open_existing_image(&path.0).expect("the image is sound");
    assert_eq!(drive.config(), &config);
    assert_eq!(drive.read(7, 1).expect("it was written"), block(7));
}

#[test]
fn another_layout_is_refused_by_name_and_another_speed_is_not() {
    let path = Path::new("layout");
    let mut drive = Drive::open_image(small(&[]), &path.0).expect("a new image");
    drive.write(0, &block(1)).expect("there is room");
    drop(drive);
    let refused = Drive::open_image(small(&[("ftl.overprovisioning", "0.2")]), &path.0);
    let message = refused.err().expect("the layout depends on it").to_string();
    assert!(
        message.contains("ftl.overprovisioning") && message.contains("0.07"),
        "{message}"
    );
    let mut faster = Drive::open_image(
        small(&[("nand.latency.read_tlc_ns", "[30000, 30000, 30000]")]),
        &path.0,
    )
    .expect("a latency is no layout");
    assert_eq!(faster.read(0, 1).expect("it was written"), block(1));
}

#[test]
fn what_changes_the_capacity_alone_is_the_key_that_is_named() {
    let path = Path::new("capacity");
    let drive = Drive::open_image(small(&[]), &path.0).expect("a new image");
    drive.close().expect("it closes");
    for (key, value, before) in [
        ("ftl.mapping_unit_bytes", "4096", "0"),
        ("ftl.slc_cache.blocks_per_plane", "2", "0"),
    ] {
        let mut settings = vec![(key, value)];
        // A difference that does not matter, and stands first, is not it.
        settings.push(("nand.latency.read_tlc_ns", "[30000, 30000, 30000]"));
        let refused = Drive::open_image(small(&settings), &path.0);
        let message = refused.err().expect("the layout depends on it").to_string();
        let expected = format!("{key} = {value} does not fit the image");
        assert!(message.starts_with(&expected), "{message}");
        assert!(
            message.ends_with(&format!("made with {before}")),
            "{message}"
        );
    }
}

/// Four bits a cell: collection, power cuts and images go as with three.
#[test]
fn drives_with_four_bits_a_cell_keep_their_data() {
    let path = Path::new("qlc");
    for cache in ["0", "2"] {
        let changes = [
            ("ftl.mode", "qlc"),
            ("ftl.slc_cache.blocks_per_plane", cache),
            ("nand.geometry.channels", "1"),
            ("nand.geometry.blocks_per_plane", "24"),
            ("nand.geometry.cells_per_string", "4"),
            ("ftl.overprovisioning", "0.25"),
            ("nand.geometry.page_bytes", "4096"),
        ];
        let tlc = [&changes[..], &[("ftl.mode", "tlc")]].concat();
        let pages = |changes: &[(&str, &str)]| {
            let path = Path::new("pages");
            let drive = Drive::open_image(small(changes), &path.0);
            drive.expect("a new image").blocks().expect("power")
        };
        let (blocks, third) = (pages(&changes), pages(&tlc) / 3);
        assert!((4 * third).abs_diff(blocks) < 64, "{blocks}, {third}");
        let mut drive = Drive::open_image(small(&changes), &path.0).expect("a new image");
        for round in 0..4 {
            for lba in 0..blocks {
                let data = block((lba + round) as u8);
                drive.write(lba, &data).expect("there is room");
            }
            if round == 2 {
                drive.power_cut().expect("the image can be written");
                drive.power_up().expect("it recovers");
            }
        }
        assert!(drive.statistics().expect("power").flash.block_erases > 10);
        drop(drive);
        let mut drive = Drive::open_existing_image(&path.0).expect("the image is sound");
        for lba in 0..blocks {
            let read = drive.read(lba, 1).expect("it was written");
            assert!(read == block((lba + 3) as u8), "block {lba}");
        }
        drop(drive);
        let refused = Drive::open_image(small(&tlc), &path.0).err();
        let message = refused.expect("the layout depends on it").to_string();
        assert!(message.contains("ftl.mode"), "{message}");
        fs::remove_file(&path.0).expect("it is there");
    }
}

#[test]
fn two_drives_do_not_share_an_image() {
    let path = Path::new("shared");
    let _first = Drive::open_image(small(&[]), &path.0).expect("a new image");
    let message = Drive::open_image(small(&[]), &path.0)
        .err()
        .expect("it is locked")
        .to_string();
    assert!(message.contains("in use"), "{message}");
}

#[test]
fn what_is_no_sound_image_is_refused_and_left_alone() {
    let path = Path::new("foreign");
    for content in [
        b"not an image at all".to_vec(),
        Vec::new(),
        vec![0; 100_000],
    ] {
        fs::write(&path.0, &content).expect("a temporary file");
        let message = Drive::open_image(small(&[]), &path.0)
            .err()
            .expect("it is none")
            .to_string();
        assert!(message.contains("foreign.img"), "{message}");
        assert_eq!(fs::read(&path.0).expect("it is still there"), content);
    }
}

#[test]
fn a_truncated_image_is_refused_and_left_alone() {
    let path = Path::new("truncated");
    let mut drive = Drive::open_image(small(&[]), &path.0).expect("a new image");
    drive.write(0, &block(1)).expect("there is room");
    drop(drive);
    let length = fs::metadata(&path.0).expect("it is there").len();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(&path.0)
        .expect("it is ours");
    file.set_len(length / 2).expect("it can be truncated");
    let message = Drive::open_image(small(&[]), &path.0)
        .err()
        .expect("half is missing")
        .to_string();
    assert!(message.contains("truncated.img"), "{message}");
    assert_eq!(
        fs::metadata(&path.0).expect("it is still there").len(),
        length / 2
    );
}

/// A file system of its own of so many mebibytes, gone with it.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None`, said aloud, where this user may not mount one.
    fn new(mebibytes: u32) -> Option<SmallDisk> {
        let folder = std::env::temp_dir().join(format!("bitline-disk-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let disk = SmallDisk(folder);
        let size = format!("size={mebibytes}m");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&disk.0)
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            // Past the harness, which keeps what passing tests print to itself.
            let told = writeln!(
                std::io::stderr(),
                "SKIPPED: a full disk: mounting one needs root"
            );
            told.expect("the standard error is open");
        }
        mounted.then_some(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).output();
        drop((unmounted, fs::remove_dir(&self.0)));
    }
}

/// Nothing acknowledged is lost, and flush and close do not say that it is safe before it is.
#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let Some(disk) = SmallDisk::new(4) else {
        return;
    };
    let path = disk.0.join("drive.img");
    let filler = disk.0.join("filler");
    fs::write(&filler, vec![1; 2 << 20]).expect("there is room");
    let mut drive = Drive::open_image(small(&[]), &path).expect("a sparse image");
    let blocks = 800;
    for lba in 0..blocks {
        drive
            .write(lba, &block(lba as u8))
            .expect("a drive has its own capacity");
    }
    for _ in 0..2 {
        let error = drive.flush().expect_err("the disk is full").to_string();
        assert!(
            error.contains("drive.img: the disk of this image is full"),
            "{error}"
        );
    }
    let unclosed = drive.close().expect_err("the disk is full");
    let error = unclosed.to_string();
    assert!(
        error.contains("drive.img: the disk of this image is full"),
        "{error}"
    );
    let mut drive = *unclosed.drive;
    for lba in 0..blocks {
        assert_eq!(drive.read(lba, 1).expect("it is kept"), block(lba as u8));
    }
    fs::remove_file(&filler).expect("it is there");
    let resized = Command::new("mount")
        .args(["-o", "remount,size=64m"])
        .arg(&disk.0)
        .status();
    assert!(resized.expect("it was mounted").success());
    drive.flush().expect("there is room");
    drive
        .write(0, &block(99))
        .expect("a drive has its own capacity");
    drive.close().expect("there is room");
    let mut drive = Drive::open_existing_image(&path).expect("the image is sound");
    assert_eq!(drive.read(0, 1).expect("it was written"), block(99));
    for lba in 1..blocks {
        assert_eq!(
            drive.read(lba, 1).expect("it was written"),
            block(lba as u8)
        );
    }
    drop(drive);
}

/// Damage below a whole drive: right data or an error, never what a block held before.
#[test]
fn damage_never_brings_other_data() {
    let path = Path::new("damage");
    let mut drive = Drive::open_image(small(&[]), &path.0).expect("a new image");
    for round in 0..2 {
        for lba in 0..300 {
            drive
                .write(lba, &block(lba as u8 ^ round))
                .expect("there is room");
        }
    }
    drive.close().expect("there is room");
    // What is not zero in the file, found without reading its holes as bytes of a test.
    let intact = fs::read(&path.0).expect("readable");
    let used: Vec<usize> = (0..intact.len())
        .step_by(64)
        .filter(|&at| {
            intact[at..(at + 64).min(intact.len())]
                .iter()
                .any(|byte| *byte != 0)
        })
        .collect();
    let (mut refused, mut lost, mut whole) = (0, 0, 0);
    for step in 0..60 {
        let at = used[step * used.len() / 60];
        let file = fs::OpenOptions::new()
            .write(true)
            .open(&path.0)
            .expect("ours");
        match step % 3 {
            0 => file.write_all_at(&[intact[at + 8] ^ 1], at as u64 + 8),
            1 => file.write_all_at(&[0; 64], at as u64),
            _ => file.write_all_at(&[0; 512], at as u64 / 512 * 512),
        }
        .expect("writable");
        match Drive::open_image_read_only(&path.0) {
            Err(_) => refused += 1,
            Ok(mut drive) => {
                let mut errors = 0;
                for lba in 0..300 {
                    match drive.read(lba, 1) {
                        Ok(data) => assert!(data == block(lba as u8 ^ 1), "byte {at}, block {lba}"),
                        Err(_) => errors += 1,
                    }
                }
                let checked = Drive::check_image(&path.0, true).expect("it opens");
                assert!(
                    errors == 0 || !checked.damaged_pages.is_empty(),
                    "byte {at}"
                );
                (lost, whole) = (lost + u32::from(errors > 0), whole + u32::from(errors == 0));
            }
        }
        let near = at / 512 * 512;
        file.write_all_at(&intact[near..near + 1024], near as u64)
            .expect("writable");
    }
    assert_eq!(refused, 0, "one place is never too much");
    assert!(lost > 5 && whole > 5, "{lost} and {whole}");
}

#[test]
fn looking_at_an_image_does_not_change_it() {
    let path = Path::new("look");
    let mut drive = Drive::open_image(small(&[]), &path.0).expect("a new image");
    drive.write(3, &block(3)).expect("there is room");
    // Dropped, so that the next power-up has something to recover.
    drop(drive);
    let before = fs::read(&path.0).expect("readable");
    let mut first = Drive::open_image_read_only(&path.0).expect("the image is sound");
    let mut second = Drive::open_image_read_only(&path.0).expect("others may look, too");
    assert_eq!(first.read(3, 1).expect("it was written"), block(3));
    second.write(3, &block(4)).expect("kept in memory");
    second.flush().expect("there is nothing to save");
    assert_eq!(second.read(3, 1).expect("it was written"), block(4));
    first.close().expect("there is nothing to save");
    second.close().expect("there is nothing to save");
    assert!(fs::read(&path.0).expect("readable") == before);
}

#[test]
fn an_image_that_was_removed_is_told() {
    let path = Path::new("removed");
    let mut drive = Drive::open_image(small(&[]), &path.0).expect("a new image");
    drive.write(3, &block(3)).expect("there is room");
    fs::remove_file(&path.0).expect("it is there");
    let error = drive.flush().expect_err("nobody will find it").to_string();
    assert!(
        error.contains("removed.img: the image file was removed"),
        "{error}"
    );
    assert_eq!(drive.read(3, 1).expect("it is still open"), block(3));
}
