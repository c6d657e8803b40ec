//! A server that is killed at random moments while its tasks write files: what was told to be there is whole, and nothing else is there.
//!
//! The server is this program itself, started for one test, which does nothing without a folder; the host that works is the one that runs
//! the tests. A process that is killed while it waits for files of its own mount would not end.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use attach::attachment::{Attachment, Options};
use attach::engine::Pace;
use attach::initiator::Address;
use attach::mount::{FileSystem, for_file_systems};
use attach::mounted::{Mounted, Sharing, control_socket, run};
use attach::unmount::Unmount;
use bitline::{Config, DEFAULT_PRESET, Drive, Ended, TaskRun};

use crate::connected::connect;
use crate::live::{copy, invert};
use crate::place::{data, tool, unmount, write_file};

/// Says where the server is to serve; without it there is none.
const FOLDER: &str = "BITLINE_KILLED_FOLDER";
const FILE_BYTES: u32 = 300_000;

fn attach(folder: &Path, kind: FileSystem) -> Attachment {
    let image = folder.join("drive.img");
    let path = image.clone();
    let open = move || {
        let config = Config::preset(DEFAULT_PRESET)?.with([("data.storage", "image")])?;
        Drive::open_image(for_file_systems(config, &[]), &path)
    };
    let mut options = Options::new(Pace::None);
    options.mount = Some(kind);
    let at = folder.join("mount");
    Attachment::start(open, Some(&image), &at, &options).expect("it is attached")
}

/// What the server does until it is killed.
#[test]
fn serve_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let kind = match folder.join("xfs").exists() {
        true => FileSystem::Xfs,
        false => FileSystem::Ext4,
    };
    let _attachment = attach(&folder, kind);
    println!("SERVING");
    loop {
        thread::park();
    }
}

/// What a host does until its server is gone: each round makes a file, and writes another where it lies.
fn work(at: &Path, told: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    let mut drive = connect(&Address::of_socket(control_socket(at)?))?;
    let mount = Mounted::open(at, drive.block_bytes()?)?;
    for number in 0.. {
        let name = format!("out-{number}");
        if at.join(&name).try_exists()? {
            continue;
        }
        let files = vec![mount.read("from")?, mount.create(&name, FILE_BYTES.into())?];
        let ran = run(files, |files| {
            drive.tasks().run_module(&copy(), &TaskRun::of(files))
        });
        assert_eq!(ran?.ended, Ended::Committed);
        told.push(name);
        let files = vec![mount.write("turned", Sharing::Alone)?];
        let ran = run(files, |files| {
            drive.tasks().run_module(&invert(1), &TaskRun::of(files))
        });
        assert_eq!(ran?.ended, Ended::Committed);
    }
    Ok(())
}

/// Has a server serve, and kills it so many milliseconds after its host began to work; the names of files that were told of.
fn serve_and_kill(folder: &Path, after_ms: u64) -> Vec<String> {
    let mut server = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "killed::serve_until_killed", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it is started");
    let mut lines = BufReader::new(server.stdout.take().expect("it has one")).lines();
    let is_serving = lines.any(|line| line.is_ok_and(|line| line.contains("SERVING")));
    assert!(is_serving, "the server ended by itself");
    let at = folder.join("mount");
    if !at.join("from").exists() {
        write_file(&at.join("from"), &data(FILE_BYTES, 1));
        write_file(&at.join("turned"), &data(FILE_BYTES, 2));
        tool("sync", &["-f", &at.display().to_string()]).expect("it is written");
    }
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(after_ms));
        server.kill().expect("it is killed");
        server.wait().expect("it has ended");
    });
    let mut told = Vec::new();
    let ended = work(&at, &mut told).expect_err("it ends with its server");
    println!("{} files, then: {ended}", told.len());
    killer.join().expect("it killed");
    told
}

#[test]
fn what_was_told_is_there_after_a_kill() {
    if !Path::new("/dev/fuse").exists() || !rustix::process::getuid().is_root() {
        eprintln!("SKIPPED: there is no /dev/fuse here, or these tests do not run as root");
        return;
    }
    for kind in [FileSystem::Ext4, FileSystem::Xfs] {
        let folder =
            std::env::temp_dir().join(format!("bitline-killed-{}-{kind}", std::process::id()));
        fs::create_dir_all(folder.join("mount")).expect("a folder");
        if matches!(kind, FileSystem::Xfs) {
            fs::write(folder.join("xfs"), "").expect("a file");
        }
        let (mut told, mut random) = (Vec::new(), 0x1234_5678_9ABC_DEF1_u64);
        for round in 0..3 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            told.extend(serve_and_kill(&folder, 20 + random % 700));
            let mut attachment = attach(&folder, kind);
            let at = folder.join("mount");
            check(&at, &told, round);
            let device = attachment
                .device()
                .expect("a loop device")
                .display()
                .to_string();
            unmount(&at.display().to_string()).expect("nobody uses it");
            match kind {
                FileSystem::Xfs => tool("xfs_repair", &["-n", &device]),
                _ => tool("e2fsck", &["-fn", &device]),
            }
            .expect("it is sound");
            attachment.stop(Unmount::ByForce).expect("it is detached");
        }
        assert!(
            !told.is_empty(),
            "it was always killed before it had done anything"
        );
        fs::remove_dir_all(&folder).expect("nobody uses it");
    }
}

/// Every file that was told of is there, and every one that is there is whole.
fn check(at: &Path, told: &[String], round: u32) {
    let (mut found, whole) = (Vec::new(), data(FILE_BYTES, 1));
    for entry in fs::read_dir(at).expect("it is mounted") {
        let name = entry.expect("it is read").file_name();
        let name = name.to_string_lossy().into_owned();
        let content = |name: &str| fs::read(at.join(name)).expect("it is read");
        match name.as_str() {
            "lost+found" => {}
            "from" => assert!(content(&name) == whole, "round {round}"),
            "turned" => {
                let (now, one) = (content(&name), data(FILE_BYTES, 2));
                let other: Vec<u8> = one.iter().map(|byte| !byte).collect();
                assert!(now == one || now == other, "round {round}: a part of a run");
            }
            _ => {
                assert!(
                    content(&name) == whole,
                    "round {round}: {name} is not whole"
                );
                found.push(name);
            }
        }
    }
    for name in told {
        assert!(
            found.contains(name),
            "round {round}: {name} was told, and is gone"
        );
    }
}
