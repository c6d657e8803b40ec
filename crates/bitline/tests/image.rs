//! Durable drives: what was acknowledged is in the image file, however the drive
//! went; and what is no such image is refused and left alone.

use std::fs;
use std::path::PathBuf;

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
    file.set_len(length / 2).expect("it can be cut");
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
