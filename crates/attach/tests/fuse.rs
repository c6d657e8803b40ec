//! A drive as a file of Linux. Where there is no /dev/fuse, or no right to mount, these tests say so and pass.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use attach::attachment::{AttachError, Attachment, Options, State};
use attach::engine::{Kind, Pace};
use attach::fuse::FuseError;
use attach::unmount::Unmount;
use bitline::{Config, DEFAULT_PRESET, Drive};
use rustix::fs::{FallocateFlags, fallocate};

/// An attached drive in memory, and its folder.
struct Rig {
    attachment: Attachment,
    folder: PathBuf,
}

impl Rig {
    /// None, with a word about it, where nothing can be mounted.
    fn new(options: &Options) -> Option<Rig> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !Path::new("/dev/fuse").exists() || !rustix::process::getuid().is_root() {
            eprintln!("SKIPPED: there is no /dev/fuse here, or these tests do not run as root");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("bitline-fuse-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let open = || Drive::open(Config::preset(DEFAULT_PRESET)?);
        let attachment = Attachment::start(open, None, &folder, options).expect("it is mounted");
        Some(Rig { attachment, folder })
    }

    fn open(&self, flags: i32) -> File {
        let mut open = OpenOptions::new();
        open.read(true).write(true).custom_flags(flags);
        open.open(self.attachment.file()).expect("it is there")
    }

    fn requests(&self, kind: Kind) -> u64 {
        let snapshot = self.attachment.snapshot().expect("it is served");
        snapshot.kinds[kind as usize].requests
    }

    /// Logical pages that hold data.
    fn mapped_pages(&self) -> u64 {
        let mapped = self.attachment.handle().ask(|drive, _| drive.inventory());
        let mapped = mapped.expect("it is served");
        mapped.expect("it has power").mapped_pages
    }

    fn end(mut self) {
        self.attachment
            .stop(Unmount::InOrder)
            .expect("nobody uses it");
        std::fs::remove_dir(&self.folder).expect("it is empty again");
    }
}

/// Numbers that look random, the same every time.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[test]
fn bytes_anywhere_are_what_was_written_last() {
    let Some(rig) = Rig::new(&Options::new(Pace::None)) else {
        return;
    };
    let (file, mut number) = (rig.open(0), numbers(1));
    let mut expected = vec![0_u8; 1 << 20];
    for round in 0..400 {
        let start = number(expected.len() as u64);
        let length = number(match round % 3 {
            0 => 20_000,
            1 => 200,
            _ => 300_000,
        });
        let (start, mut end) = (start as usize, (start + length) as usize);
        end = end.min(expected.len());
        match number(4) {
            0 => {
                let mut read = vec![0; end - start];
                file.read_exact_at(&mut read, start as u64)
                    .expect("it reads");
                assert_eq!(read, expected[start..end], "round {round}");
            }
            1 if end > start => {
                let how = match number(2) {
                    0 => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                    _ => FallocateFlags::ZERO_RANGE,
                };
                fallocate(&file, how, start as u64, (end - start) as u64).expect("it does");
                expected[start..end].fill(0);
            }
            _ => {
                expected[start..end].fill_with(|| number(256) as u8);
                file.write_all_at(&expected[start..end], start as u64)
                    .expect("it writes");
            }
        }
    }
    let mut read = vec![0; expected.len()];
    file.read_exact_at(&mut read, 0).expect("it reads");
    assert!(read == expected);
    for kind in [Kind::Read, Kind::Write, Kind::Discard, Kind::WriteZeroes] {
        assert!(rig.requests(kind) > 20, "{kind:?}");
    }
    drop(file);
    rig.end();
}

/// Threads that write parts of the same blocks, each its own bytes: none takes back what another has written.
#[test]
fn parts_of_blocks_are_written_side_by_side() {
    let Some(rig) = Rig::new(&Options::new(Pace::None)) else {
        return;
    };
    let file = rig.open(0);
    std::thread::scope(|scope| {
        for part in 0..8_u8 {
            let file = &file;
            scope.spawn(move || {
                for round in 0..200_u64 {
                    let at = round % 5 * 4096 + u64::from(part) * 512;
                    file.write_all_at(&[part + 1; 512], at).expect("it writes");
                }
            });
        }
    });
    let mut read = vec![0; 5 * 4096];
    file.read_exact_at(&mut read, 0).expect("it reads");
    for (at, byte) in read.iter().enumerate() {
        assert_eq!(*byte, (at % 4096 / 512) as u8 + 1, "byte {at}");
    }
    drop(file);
    rig.end();
}

#[test]
fn what_is_discarded_is_the_drives_again() {
    let Some(rig) = Rig::new(&Options::new(Pace::None)) else {
        return;
    };
    let file = rig.open(0);
    file.write_all_at(&vec![7; 16 << 20], 0).expect("it writes");
    file.sync_all().expect("it is durable");
    let before = rig.mapped_pages();
    fallocate(
        &file,
        FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        4096,
        12 << 20,
    )
    .expect("it does");
    let after = rig.mapped_pages();
    let page = (16 << 20) / before;
    assert!(
        before - after >= (12 << 20) / page - 1,
        "{before} pages, then {after}"
    );
    assert!(rig.requests(Kind::Flush) >= 1);
    drop(file);
    rig.end();
}

#[test]
fn a_drive_has_the_size_that_it_has() {
    let Some(rig) = Rig::new(&Options::new(Pace::None)) else {
        return;
    };
    let (file, bytes) = (rig.open(0), rig.attachment.bytes());
    assert_eq!(file.metadata().expect("it is there").len(), bytes);
    file.write_all_at(&[9; 100], bytes - 100).expect("it fits");
    let mut read = [0; 200];
    assert_eq!(file.read_at(&mut read, bytes - 100).expect("it reads"), 100);
    assert_eq!(file.read_at(&mut read, bytes).expect("it reads"), 0);
    let beyond = file.write_at(&[9; 100], bytes).expect_err("no room");
    assert_eq!(beyond.kind(), io::ErrorKind::StorageFull);
    assert_eq!(
        file.set_len(0).expect_err("no").kind(),
        io::ErrorKind::PermissionDenied
    );
    let about = std::fs::read_to_string(rig.folder.join("about")).expect("it is there");
    assert!(about.contains(&format!("\"bytes\":{bytes}")), "{about}");
    drop(file);
    rig.end();
}

#[test]
fn a_file_that_is_open_keeps_its_drive() {
    let Some(mut rig) = Rig::new(&Options::new(Pace::None)) else {
        return;
    };
    let file = rig.open(0);
    let busy = rig
        .attachment
        .stop(Unmount::InOrder)
        .expect_err("a file is open");
    assert!(
        matches!(busy, AttachError::Fuse(FuseError::Busy { .. })),
        "{busy}"
    );
    assert_eq!(rig.attachment.state(), State::Attached);
    file.write_all_at(&[1; 4096], 0)
        .expect("it is served still");
    rig.attachment.stop(Unmount::ByForce).expect("it goes");
    assert!(file.write_all_at(&[1; 4096], 0).is_err());
    std::fs::remove_dir(&rig.folder).expect("it is empty again");
}

/// Somebody has unmounted the drive lazily, while its file is open, and mounted something else there.
#[test]
fn what_others_mount_in_its_place_stays() {
    let Some(mut rig) = Rig::new(&Options::new(Pace::None)) else {
        return;
    };
    let run = |program: &str, arguments: &[&str]| {
        let done = Command::new(program)
            .args(arguments)
            .arg(&rig.folder)
            .status();
        assert!(done.expect("it is installed").success(), "{program}");
    };
    let file = rig.open(0);
    run("umount", &["--lazy"]);
    assert_eq!(rig.attachment.state(), State::Unmounted);
    run("mount", &["-t", "tmpfs", "other"]);
    let others = rig.folder.join("others");
    std::fs::write(&others, "precious").expect("it is mounted");
    let busy = (rig.attachment).stop(Unmount::InOrderSoon);
    let busy = busy.expect_err("its file is open");
    assert!(
        matches!(busy, AttachError::Fuse(FuseError::Busy { .. })),
        "{busy}"
    );
    file.write_all_at(&[1; 4096], 0)
        .expect("it is served still");
    drop(file);
    rig.attachment
        .stop(Unmount::InOrder)
        .expect("nobody uses it");
    assert_eq!(
        std::fs::read_to_string(&others).expect("it is there"),
        "precious"
    );
    run("umount", &[]);
    std::fs::remove_dir(&rig.folder).expect("it is empty again");
}

/// Somebody has the kernel abort the connection, and the folder is still busy: it is not left there for good.
#[test]
fn what_somebody_aborts_is_unmounted() {
    let Some(mut rig) = Rig::new(&Options::new(Pace::None)) else {
        return;
    };
    let file = rig.open(0);
    let forced = Command::new("umount").arg("-f").arg(&rig.folder).output();
    assert!(!forced.expect("it is installed").status.success());
    assert!(file.write_all_at(&[1; 4096], 0).is_err());
    assert_eq!(rig.attachment.state(), State::Aborted);
    let busy = rig.attachment.stop(Unmount::InOrderSoon);
    let busy = busy.expect_err("its file is open");
    assert!(
        matches!(busy, AttachError::Fuse(FuseError::Busy { .. })),
        "{busy}"
    );
    drop(file);
    rig.end();
}

/// At a thousandth of real time, a write of some microseconds takes some milliseconds.
#[test]
fn a_pace_holds_completions_back() {
    let Some(rig) = Rig::new(&Options::new(Pace::Real(0.001))) else {
        return;
    };
    let file = rig.open(0);
    let began = Instant::now();
    file.write_all_at(&[5; 4096], 0).expect("it writes");
    let took = began.elapsed().as_secs_f64() * 1e6;
    let snapshot = rig.attachment.snapshot().expect("it is served");
    let simulated = snapshot.kinds[Kind::Write as usize].latency.max_us;
    assert!(simulated > 1.0);
    assert!(took >= simulated * 999.0, "{took} us for {simulated} us");
    assert!(snapshot.drift.max_us > 0.0);
    drop(file);
    rig.end();
}

/// Says where a user attaches a drive; without it nobody does.
const USER_FOLDER: &str = "BITLINE_FUSE_USER_FOLDER";
/// The user, as it is called everywhere, and the status of a script that says that this cannot be.
const NOBODY: u32 = 65534;
const CANNOT: i32 = 77;

/// What the user does who is not root.
#[test]
fn attach_as_a_user() {
    let Some(folder) = std::env::var_os(USER_FOLDER).map(PathBuf::from) else {
        return;
    };
    assert!(!rustix::process::getuid().is_root());
    let at = folder.join("at");
    let is_mounted = || {
        let all = std::fs::read_to_string("/proc/self/mountinfo").expect("it is there");
        all.contains(at.to_str().expect("a name"))
    };
    for how in [Unmount::InOrder, Unmount::ByForce] {
        let open = || Drive::open(Config::preset(DEFAULT_PRESET)?);
        let options = Options::new(Pace::None);
        let mut attachment =
            Attachment::start(open, None, &at, &options).expect("fusermount3 mounts it");
        assert!(is_mounted());
        let file = OpenOptions::new().write(true).open(attachment.file());
        let file = file.expect("it is there");
        file.write_all_at(&[1; 4096], 0).expect("it is served");
        if how == Unmount::InOrder {
            let busy = attachment.stop(how).expect_err("a file is open");
            assert!(
                matches!(busy, AttachError::Fuse(FuseError::Busy { .. })),
                "{busy}"
            );
            file.write_all_at(&[1; 4096], 0).expect("it is served");
            drop(file);
            attachment.stop(how).expect("nobody uses it");
        } else {
            attachment.stop(how).expect("it goes");
            assert!(file.write_all_at(&[1; 4096], 0).is_err());
        }
        assert!(!is_mounted());
    }
}

/// A user needs /dev/fuse, which this machine may give to root alone: there is another in a mount namespace for this test.
#[test]
fn a_user_attaches_and_detaches() {
    if !rustix::process::getuid().is_root() {
        eprintln!("SKIPPED: only root becomes another user");
        return;
    }
    let name = format!("bitline-user-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    for part in ["", "at", "run"] {
        let part = folder.join(part);
        std::fs::create_dir_all(&part).expect("a folder");
        std::os::unix::fs::chown(&part, Some(NOBODY), Some(NOBODY)).expect("we are root");
    }
    // Where this program lies, others may have no right to look.
    let program = std::env::current_exe().expect("this program");
    std::fs::copy(program, folder.join("test")).expect("there is room");
    let script = r#"
        mknod "$1/fuse" c 10 229 && chmod 666 "$1/fuse" && mount --bind "$1/fuse" /dev/fuse || exit 77
        user="setpriv --reuid 65534 --regid 65534 --clear-groups"
        $user sh -c 'command -v fusermount3 && : <>/dev/fuse' || exit 77
        exec timeout 60 $user "$1/test" --exact attach_as_a_user --nocapture
    "#;
    let ran = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(&folder)
        .env(USER_FOLDER, &folder)
        .env("XDG_RUNTIME_DIR", folder.join("run"))
        .output();
    let ran = ran.expect("util-linux is installed");
    let said = String::from_utf8_lossy(&ran.stderr);
    match ran.status.code() {
        Some(CANNOT) => eprintln!("SKIPPED: a user cannot mount here: {said}"),
        code => assert_eq!(code, Some(0), "{said}"),
    }
    std::fs::remove_dir_all(&folder).expect("nobody uses it");
}
