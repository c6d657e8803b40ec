//! What the drive cannot work on, and why: each with what would be right.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;

use attach::mounted::{Mounted, Sharing};

use crate::place::{BLOCK_BYTES, data, mounted, tool, write_file};

fn text<T: std::fmt::Debug>(refused: Result<T, attach::mounted::MountedError>) -> String {
    refused.expect_err("it is refused").to_string()
}

#[test]
fn files_without_blocks_of_their_own() {
    let Some(place) = mounted("ext4", &["-q", "-O", "inline_data"], "defaults") else {
        return;
    };
    let mount = place.open();
    write_file(&place.path("inline"), b"a few bytes");
    let inline = text(mount.read("inline"));
    assert!(inline.contains("inside its inode"), "{inline}");

    let hole = File::create(place.path("hole")).expect("there is room");
    hole.set_len(1 << 20).expect("it is longer");
    hole.write_all_at(&data(8192, 1), 16384)
        .expect("there is room");
    drop(hole);
    let holes = text(mount.read("hole"));
    assert!(holes.contains("0 to 16384 are a hole") && holes.contains("--sparse=never"));

    let path = place.path("reserved").display().to_string();
    tool("fallocate", &["-l", "1M", &path]).expect("there is room");
    let unwritten = text(mount.write("reserved", Sharing::Alone));
    assert!(
        unwritten.contains("set aside and not written"),
        "{unwritten}"
    );

    fs::create_dir(place.path("folder")).expect("there is room");
    assert!(text(mount.read("folder")).contains("no regular file"));
    assert!(
        text(mount.read("/proc/self/status")).contains("no regular file")
            || text(mount.read("/proc/self/status")).contains("another file system")
    );
    assert!(text(mount.read("nothing")).contains("No such file"));
    assert!(text(mount.create("empty", 0)).contains("no bytes"));
    place.check().expect("it is sound");
}

#[test]
fn files_that_share_blocks() {
    let Some(place) = mounted("xfs", &["-q"], "defaults") else {
        return;
    };
    let (one, other) = (place.path("one"), place.path("other"));
    write_file(&one, &data(100_000, 1));
    let (from, to) = (one.display().to_string(), other.display().to_string());
    tool("cp", &["--reflink=always", &from, &to]).expect("xfs has reflinks");
    let shared = text(place.open().read("one"));
    assert!(shared.contains("shared with another file"), "{shared}");
    assert!(shared.contains("cp --reflink=never"), "{shared}");
    place.check().expect("it is sound");
}

#[test]
fn pages_that_somebody_has_mapped() {
    let Some(place) = mounted("ext4", &["-q"], "defaults") else {
        return;
    };
    let path = place.path("mapped");
    write_file(&path, &data(100_000, 1));
    let file = OpenOptions::new().read(true).write(true).open(&path);
    let file = file.expect("it is there");
    // SAFETY: nobody else changes the file.
    let mut map = unsafe { memmap2::MmapMut::map_mut(&file) }.expect("it is mapped");
    map[5000] = 1;
    let mount = place.open();
    drop(file);
    let alone = text(mount.write("mapped", Sharing::Alone));
    assert!(alone.contains("somebody else has it open"), "{alone}");
    let shared = text(mount.write("mapped", Sharing::Shared));
    assert!(shared.contains("stay in the page cache"), "{shared}");
    drop(map);
    let closed = mount.write("mapped", Sharing::Alone);
    drop(closed.expect("it is closed now"));
    place.check().expect("it is sound");
}

#[test]
fn data_that_goes_to_the_journal_first() {
    let Some(place) = mounted("ext4", &["-q"], "data=journal") else {
        return;
    };
    let journal = text(Mounted::open(place.mount(), BLOCK_BYTES));
    assert!(journal.contains("data=journal"), "{journal}");
}

#[test]
fn a_single_file_whose_data_is_journalled() {
    let Some(place) = mounted("ext4", &["-q"], "defaults") else {
        return;
    };
    write_file(&place.path("file"), &data(100_000, 1));
    let path = place.path("file").display().to_string();
    if let Err(why) = tool("chattr", &["+j", &path]) {
        eprintln!("SKIPPED, as journalled data takes CAP_SYS_RESOURCE: {why}");
        return;
    }
    let journal = text(place.open().read("file"));
    assert!(journal.contains("chattr -j"), "{journal}");
}

#[test]
fn other_file_systems() {
    let other = text(Mounted::open("/proc", BLOCK_BYTES));
    assert!(
        other.contains("type 0x9fa0") && other.contains("ext4 and xfs"),
        "{other}"
    );
    let memory = text(Mounted::open("/dev/shm", BLOCK_BYTES));
    assert!(memory.contains("in memory"), "{memory}");
    let Some(btrfs) = mounted("btrfs", &["-q"], "defaults") else {
        return;
    };
    let btrfs = text(Mounted::open(btrfs.mount(), BLOCK_BYTES));
    assert!(
        btrfs.contains("btrfs") && btrfs.contains("checksums"),
        "{btrfs}"
    );
}

#[test]
fn blocks_smaller_than_those_of_the_drive() {
    let Some(place) = mounted("ext4", &["-q"], "defaults") else {
        return;
    };
    write_file(&place.path("file"), &data(100_000, 1));
    let mount = Mounted::open(place.mount(), 65536).expect("it begins the drive");
    let why = text(mount.read("file"));
    assert!(why.contains("blocks of 65536 bytes"), "{why}");
}
