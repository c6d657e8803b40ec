//! Files that are where FIEMAP says, and read as the drive has written them.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::thread;
use std::time::Duration;

use attach::mounted::{MountedError, Sharing};

use crate::place::{Place, data, mounted, write_file};

/// On both file systems.
fn on_each(test: impl Fn(Place)) {
    let xfs = mounted("xfs", &["-q"], "defaults");
    let ext4 = mounted("ext4", &["-q"], "defaults");
    [ext4, xfs].into_iter().flatten().for_each(test);
}

#[test]
fn a_file_lies_where_it_is_said_to() {
    on_each(|place| {
        let written = data(3_000_001, 1);
        write_file(&place.path("file"), &written);
        let mount = place.open();
        let file = mount.read("file").expect("it has blocks");
        assert_eq!(file.bytes(), 3_000_001);
        assert!(place.read(&file) == written);
        assert_eq!(mount.offset(), 0);
        drop(file);
        place.check().expect("it is sound");
    });
}

#[test]
fn what_the_drive_writes_is_what_the_host_reads() {
    on_each(|place| {
        let path = place.path("file");
        write_file(&path, &data(1_000_000, 1));
        let before = fs::metadata(&path).expect("it is there");
        // The host has it in its page cache.
        assert!(fs::read(&path).expect("it is there") == data(1_000_000, 1));
        thread::sleep(Duration::from_millis(20));
        let file = place.open().write("file", Sharing::Alone);
        let file = file.expect("nobody has it open");
        place.write(&file, &data(1_000_000, 2));
        file.settle(true).expect("it is where it was");
        assert!(fs::read(&path).expect("it is there") == data(1_000_000, 2));
        let after = fs::metadata(&path).expect("it is there");
        assert_eq!(after.len(), before.len());
        assert!(after.modified().expect("a time") > before.modified().expect("a time"));
        place.check().expect("it is sound");
    });
}

#[test]
fn a_new_file_is_there_when_it_is_written() {
    on_each(|place| {
        let mount = place.open();
        for (name, is_good) in [("good", true), ("bad", false)] {
            let file = mount.create(name, 9_000_000).expect("there is room");
            assert!(place.read(&file).iter().all(|byte| *byte == 0));
            place.write(&file, &data(9_000_000, 3));
            assert!(!place.path(name).exists());
            file.settle(is_good).expect("it is where it was");
        }
        assert!(fs::read(place.path("good")).expect("it is there") == data(9_000_000, 3));
        assert!(!place.path("bad").exists());
        let again = mount.create("good", 4096).expect_err("there is one");
        assert!(again.to_string().contains("of that name"), "{again}");
        place.check().expect("it is sound");
    });
}

/// Who opens a file that is leased waits until it is settled, and reads what was written then.
#[test]
fn others_wait_for_a_file_that_is_written() {
    on_each(|place| {
        let path = place.path("file");
        write_file(&path, &data(100_000, 1));
        let file = place.open().write("file", Sharing::Alone);
        let file = file.expect("nobody has it open");
        let refused = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&path);
        assert_eq!(
            refused.expect_err("it is leased").kind(),
            std::io::ErrorKind::WouldBlock
        );
        let reader = {
            let path = path.clone();
            thread::spawn(move || fs::read(path).expect("it is there"))
        };
        thread::sleep(Duration::from_millis(100));
        assert!(!reader.is_finished());
        place.write(&file, &data(100_000, 2));
        file.settle(true).expect("it is where it was");
        assert!(reader.join().expect("it ends") == data(100_000, 2));
        place.check().expect("it is sound");
    });
}

#[test]
fn a_file_that_others_have_open_can_be_shared() {
    on_each(|place| {
        let path = place.path("file");
        write_file(&path, &data(100_000, 1));
        let mut other = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .expect("it is there");
        let mount = place.open();
        let refused = mount.write("file", Sharing::Alone).expect_err("it is open");
        assert!(refused.to_string().contains("somebody else has it open"));
        let file = mount.write("file", Sharing::Shared).expect("it may be");
        place.write(&file, &data(100_000, 2));
        file.settle(true).expect("it is where it was");
        let mut read = Vec::new();
        other.read_to_end(&mut read).expect("it is there");
        assert!(read == data(100_000, 2));
        drop(other);
        place.check().expect("it is sound");
    });
}

#[test]
fn a_file_that_was_cut_or_moved_is_told_of() {
    on_each(|place| {
        let path = place.path("file");
        write_file(&path, &data(100_000, 1));
        let mount = place.open();
        let file = mount.write("file", Sharing::Shared).expect("it may be");
        let other = OpenOptions::new().write(true).open(&path).expect("it is");
        other.set_len(5000).expect("it is cut");
        let changed = file.settle(true).expect_err("it was cut");
        assert!(matches!(changed, MountedError::Changed { .. }));
        assert!(changed.to_string().contains("100000 to 5000"), "{changed}");

        write_file(&path, &data(100_000, 1));
        let file = mount.write("file", Sharing::Shared).expect("it may be");
        other.set_len(0).expect("it is cut");
        write_file(&place.path("between"), &data(100_000, 7));
        write_file(&path, &data(100_000, 1));
        other.sync_all().expect("it is written");
        let changed = file.settle(true);
        // Where it lies now is the file system's choice, and may be where it lay.
        if let Err(changed) = changed {
            assert!(matches!(changed, MountedError::Changed { .. }), "{changed}");
        }
        drop(other);
        place.check().expect("it is sound");
    });
}

/// A writer, as much as a reader: what it writes comes after what the drive has written.
#[test]
fn who_waits_to_write_a_file_is_no_conflict() {
    on_each(|place| {
        let path = place.path("file");
        write_file(&path, &data(100_000, 1));
        let file = place.open().write("file", Sharing::Alone);
        let file = file.expect("nobody has it open");
        let writer = {
            let path = path.clone();
            thread::spawn(move || {
                let other = OpenOptions::new().write(true).open(path);
                other.expect("it is let in").write_all_at(b"late", 0)
            })
        };
        thread::sleep(Duration::from_millis(100));
        place.write(&file, &data(100_000, 2));
        assert!(!writer.is_finished());
        file.settle(true).expect("who waits has changed nothing");
        writer.join().expect("it ends").expect("it is written");
        let mut expected = data(100_000, 2);
        expected[..4].copy_from_slice(b"late");
        assert!(fs::read(&path).expect("it is there") == expected);
        place.check().expect("it is sound");
    });
}

/// Wherever the blocks are that are free.
#[test]
fn a_file_begins_where_it_is_to() {
    on_each(|place| {
        let mount = place.open();
        for number in 0..8_u64 {
            write_file(&place.path(&format!("odd-{number}")), &data(5000, 1));
            let name = format!("aligned-{number}");
            let file = mount.create_aligned(&name, 100_000, 65536);
            let file = file.expect("there is room");
            assert_eq!(file.bytes(), 100_000);
            assert_eq!(file.extents()[0].first % 16, 0, "{name}");
            place.write(&file, &data(100_000, 3));
            file.settle(true).expect("it is where it was");
            assert!(fs::read(place.path(&name)).expect("it is there") == data(100_000, 3));
        }
        place.check().expect("it is sound");
    });
}
