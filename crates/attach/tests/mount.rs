//! A file system on a drive, mounted by Linux. Where nothing can be mounted, these tests say so and pass.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use attach::attachment::{AttachError, Attachment, Options, State};
use attach::engine::{EngineError, Kind, Pace};
use attach::mount::{FileSystem, MountError};
use attach::unmount::Unmount;
use bitline::{Config, ConfigBuilder, DEFAULT_PRESET, Drive};
use rustix::fs::{FallocateFlags, fallocate};

/// Loop devices are found one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Why nothing can be mounted here, if so.
fn lacking() -> Option<&'static str> {
    let has = |tool: &str| {
        let folders = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"];
        folders
            .iter()
            .any(|folder| Path::new(folder).join(tool).exists())
    };
    let tools = [
        "losetup",
        "mkfs.ext4",
        "mkfs.xfs",
        "blkid",
        "e2fsck",
        "xfs_repair",
        "fstrim",
    ];
    match () {
        () if !rustix::process::getuid().is_root() => Some("root"),
        () if !Path::new("/dev/fuse").exists() => Some("/dev/fuse"),
        () if !Path::new("/dev/loop-control").exists() => Some("/dev/loop-control"),
        () => tools.into_iter().find(|tool| !has(tool)),
    }
}

/// A folder with an image and a mount point.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn new() -> Option<Place> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if let Some(lacking) = lacking() {
            eprintln!("SKIPPED: nothing can be mounted without {lacking}");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("bitline-mount-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("at")).expect("a folder");
        Some(Place { folder })
    }

    fn at(&self) -> PathBuf {
        self.folder.join("at")
    }

    fn image(&self) -> PathBuf {
        self.folder.join("drive.img")
    }

    fn config() -> Config {
        let mut config = ConfigBuilder::preset(DEFAULT_PRESET).expect("it comes along");
        for pair in [
            "data.storage=image",
            "nand.geometry.blocks_per_plane=16",
            "ftl.gc.threshold_blocks=3",
        ] {
            config.set_pair(pair).expect("a key");
        }
        config.build().expect("a drive")
    }

    fn attach(&self, mount: Option<FileSystem>) -> Result<Attachment, AttachError> {
        let (config, image) = (Place::config(), self.image());
        let open = move || Drive::open_image(config, &image);
        let mut options = Options::new(Pace::None);
        options.mount = mount;
        Attachment::start(open, Some(&self.image()), &self.at(), &options)
    }

    /// Nothing is mounted there any more, nor on a loop device.
    fn is_clean(&self) -> bool {
        let mounted = fs::read_to_string("/proc/self/mountinfo").expect("it is there");
        let at = self.at();
        !mounted.contains(at.to_str().expect("a name"))
    }

    /// Has the file system's own checker look at what the image holds.
    fn check(&self, file_system: FileSystem) {
        let mut attachment = self.attach(None).expect("it is attached");
        let file = attachment.file();
        let file = file.to_str().expect("a name");
        let options = [
            "--direct-io=on",
            "--sector-size",
            "4096",
            "--find",
            "--show",
            file,
        ];
        let device = run("losetup", &options);
        match file_system {
            FileSystem::Ext4 => run("e2fsck", &["-fn", device.trim()]),
            _ => run("xfs_repair", &["-n", device.trim()]),
        };
        run("losetup", &["--detach", device.trim()]);
        attachment.stop(Unmount::InOrder).expect("nobody uses it");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !thread::panicking() {
            fs::remove_dir_all(&self.folder).expect("it is ours");
        }
    }
}

fn run(command: &str, arguments: &[&str]) -> String {
    let path = format!(
        "{}:/usr/sbin:/sbin",
        std::env::var("PATH").unwrap_or_default()
    );
    let done = Command::new(command)
        .args(arguments)
        .env("PATH", path)
        .output();
    let done = done.expect("it is installed");
    let (said, failed) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    assert!(
        done.status.success(),
        "{command} {arguments:?}: {said}{failed}"
    );
    said.into_owned()
}

/// Requests of a kind so far.
fn counted(attachment: &Attachment, kind: Kind) -> u64 {
    let snapshot = attachment.snapshot().expect("it is served");
    snapshot.kinds[kind as usize].requests
}

fn keeps_a_tree(file_system: FileSystem) {
    let Some(place) = Place::new() else {
        return;
    };
    let _one = ONE_AT_A_TIME.lock().expect("no test has failed before");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let copy = place.at().join("copy");
    let copy = copy.to_str().expect("a name");
    let mut attachment = place.attach(Some(file_system)).expect("it is mounted");
    let notes = attachment.notes().take();
    assert!(notes.iter().any(|note| note.contains("made")), "{notes:?}");
    run("cp", &["-r", source, copy]);
    run("sync", &[]);
    assert!(counted(&attachment, Kind::Flush) > 0);
    assert_eq!(attachment.state(), State::Attached);
    attachment.stop(Unmount::InOrder).expect("nobody uses it");
    assert!(place.is_clean());
    place.check(file_system);
    let mut attachment = place.attach(Some(file_system)).expect("it is mounted");
    let notes = attachment.notes().take();
    assert!(notes.iter().any(|note| note.contains("found")), "{notes:?}");
    run("diff", &["-r", source, copy]);
    let at = place.at();
    let at = at.to_str().expect("a name");
    run("rm", &["-r", copy]);
    run("sync", &["-f", at]);
    run("fstrim", &[at]);
    // XFS does not wait for it.
    let began = Instant::now();
    while counted(&attachment, Kind::Discard) == 0 {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "nothing is discarded"
        );
        thread::sleep(Duration::from_millis(20));
    }
    // As somebody may do it.
    run("umount", &[at]);
    assert_eq!(attachment.state(), State::Unmounted);
    attachment.stop(Unmount::InOrder).expect("it is unmounted");
    assert!(place.is_clean());
}

#[test]
fn ext4_keeps_a_tree() {
    keeps_a_tree(FileSystem::Ext4);
}

#[test]
fn xfs_keeps_a_tree() {
    keeps_a_tree(FileSystem::Xfs);
}

#[test]
fn what_holds_another_file_system_is_left_as_it_is() {
    let Some(place) = Place::new() else {
        return;
    };
    let _one = ONE_AT_A_TIME.lock().expect("no test has failed before");
    let mut attachment = place.attach(Some(FileSystem::Ext4)).expect("it is mounted");
    fs::write(place.at().join("kept"), "kept").expect("it is written");
    // Somebody works there.
    let open = File::open(place.at().join("kept")).expect("it is there");
    let busy = attachment.stop(Unmount::InOrder).expect_err("it is open");
    assert!(
        matches!(busy, AttachError::Mount(MountError::Busy { .. })),
        "{busy}"
    );
    drop(open);
    attachment.stop(Unmount::InOrder).expect("nobody uses it");
    let refused = place
        .attach(Some(FileSystem::Xfs))
        .err()
        .expect("it is ext4");
    assert!(
        refused
            .to_string()
            .starts_with("the drive holds ext4, not xfs"),
        "{refused}"
    );
    assert!(place.is_clean());
    let mut attachment = place.attach(Some(FileSystem::Ext4)).expect("it is mounted");
    let kept = fs::read_to_string(place.at().join("kept"));
    assert_eq!(kept.expect("it is there"), "kept");
    attachment.stop(Unmount::ByForce).expect("it goes");
    assert!(place.is_clean());
}

/// Data that no file system has written is nobody's to write over.
#[test]
fn a_drive_with_raw_data_is_not_blank() {
    let Some(place) = Place::new() else {
        return;
    };
    let _one = ONE_AT_A_TIME.lock().expect("no test has failed before");
    let open = |attachment: &Attachment| {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(attachment.file());
        file.expect("it is there")
    };
    let mut attachment = place.attach(None).expect("it is attached");
    let file = open(&attachment);
    file.write_all_at(&[7; 5000], 123_456).expect("it fits");
    file.sync_all().expect("it is written");
    drop(file);
    attachment.stop(Unmount::InOrder).expect("nobody uses it");
    for file_system in [FileSystem::Ext4, FileSystem::Xfs] {
        let refused = place.attach(Some(file_system));
        let refused = refused.err().expect("it holds data");
        assert!(
            matches!(refused, AttachError::Mount(MountError::Data { bytes, .. }) if bytes >= 5000),
            "{refused}"
        );
        assert!(place.is_clean());
    }
    let mut attachment = place.attach(None).expect("it is attached");
    let (file, mut read) = (open(&attachment), [0; 5000]);
    file.read_exact_at(&mut read, 123_456).expect("it reads");
    assert_eq!(read, [7; 5000]);
    let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&file, how, 0, attachment.bytes()).expect("it is given back");
    drop(file);
    attachment.stop(Unmount::InOrder).expect("nobody uses it");
    let mut attachment = place.attach(Some(FileSystem::Ext4)).expect("it is blank");
    attachment.stop(Unmount::InOrder).expect("nobody uses it");
    assert!(place.is_clean());
}

/// Removes the records of this process, as nobody should.
fn remove_records() {
    let told = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folders = told.into_iter().chain([PathBuf::from("/run")]);
    let end = format!("{}.attach.json", std::process::id());
    for folder in folders {
        let Ok(entries) = fs::read_dir(folder.join("bitline")) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("it is read").path();
            if path.to_string_lossy().ends_with(&end) {
                fs::remove_file(path).expect("it is ours");
            }
        }
    }
}

#[test]
fn why_it_cannot_be_opened_is_told_first() {
    let Some(place) = Place::new() else {
        return;
    };
    let _one = ONE_AT_A_TIME.lock().expect("no test has failed before");
    let open = || {
        remove_records();
        Drive::open_existing_image(Path::new("/nothing/here.img"))
    };
    let options = Options::new(Pace::None);
    let refused = Attachment::start(open, None, &place.at(), &options);
    let refused = refused.err().expect("there is no image");
    assert!(matches!(refused, AttachError::Engine(_)), "{refused}");
}

#[test]
fn an_image_that_is_not_whole_is_told_first() {
    let Some(place) = Place::new() else {
        return;
    };
    let _one = ONE_AT_A_TIME.lock().expect("no test has failed before");
    let full = place.folder.join("full");
    fs::create_dir(&full).expect("a folder");
    let full_name = full.to_str().expect("a name");
    run(
        "mount",
        &["-t", "tmpfs", "-o", "size=16m", "none", full_name],
    );
    let image = full.join("drive.img");
    let (config, path) = (Place::config(), image.clone());
    let open = move || Drive::open_image(config, &path);
    let options = Options::new(Pace::None);
    let mut attachment = Attachment::start(open, Some(&image), &place.at(), &options)
        .expect("there is room for an empty drive");
    let file = OpenOptions::new().write(true).open(attachment.file());
    let file = file.expect("it is there");
    // What is in the cache is told to be written, and does not fit.
    for at in 0..32 {
        let data: Vec<u8> = (0..1_u32 << 20).map(|byte| (byte * 7 / 3) as u8).collect();
        if file.write_all_at(&data, at << 20).is_err() {
            break;
        }
    }
    drop(file);
    remove_records();
    let told = attachment.stop(Unmount::InOrder);
    let told = told.expect_err("it does not fit");
    assert!(
        matches!(told, AttachError::Engine(EngineError::Drive(_))),
        "{told}"
    );
    drop(attachment);
    run("umount", &[full_name]);
}
