//! A server that is killed at random moments while its tasks write files: what was told to be there is whole, and nothing else is there.
//!
//! The server is this program itself, started for one test, which does nothing without a folder.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use attach::attachment::{Attachment, Options};
use attach::engine::Pace;
use attach::mount::FileSystem;
use attach::mounted::{Mounted, Sharing, run};
use attach::unmount::Unmount;
use bitline::{Config, DEFAULT_PRESET, Drive, Ended, TaskRun};

use crate::live::{copy, invert};
use crate::place::{data, tool, write_file};

/// Says where the server is to serve; without it there is none.
const FOLDER: &str = "BITLINE_KILLED_FOLDER";
const FILE_BYTES: u32 = 300_000;

fn attach(folder: &Path, kind: FileSystem) -> Attachment {
    let image = folder.join("drive.img");
    let path = image.clone();
    let open = move || {
        let config = Config::preset(DEFAULT_PRESET)?.with([
            ("data.storage", "image"),
            ("ftl.mapping_unit_bytes", "4096"),
        ])?;
        Drive::open_image(config, &path)
    };
    let mut options = Options::new(Pace::None);
    options.mount = Some(kind);
    let at = folder.join("mount");
    Attachment::start(open, Some(&image), &at, &options).expect("it is attached")
}

/// What the server does until it is killed: each round makes a file, and writes another where it lies.
#[test]
fn serve_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let kind = match folder.join("xfs").exists() {
        true => FileSystem::Xfs,
        false => FileSystem::Ext4,
    };
    let attachment = attach(&folder, kind);
    let at = folder.join("mount");
    if !at.join("from").exists() {
        write_file(&at.join("from"), &data(FILE_BYTES, 1));
        write_file(&at.join("turned"), &data(FILE_BYTES, 2));
        tool("sync", &[]).expect("it is written");
    }
    let handle = attachment.handle();
    let begun = |module: Vec<u8>, asked: TaskRun| {
        let ran = handle
            .run(move |served| async move { served.host().run_module(&module, &asked).await });
        ran.expect("it is served")
    };
    let mount = Mounted::open(&at, 4096).expect("it is mounted");
    println!("SERVING");
    for number in 0.. {
        let name = format!("out-{number}");
        if at.join(&name).exists() {
            continue;
        }
        let from = mount.read("from").expect("it is whole");
        let to = mount
            .create(&name, FILE_BYTES.into())
            .expect("there is room");
        let ran = run(vec![from, to], |files| begun(copy(), TaskRun::of(files)));
        assert_eq!(ran.expect("it is begun").ended, Ended::Committed);
        println!("TOLD {name}");
        let turned = mount.write("turned", Sharing::Alone).expect("it is alone");
        let ran = run(vec![turned], |files| begun(invert(1), TaskRun::of(files)));
        assert_eq!(ran.expect("it is begun").ended, Ended::Committed);
        println!("TURNED");
    }
}

/// Serves, and kills that so many milliseconds after it began to work; the names of files that were told of, and how often the other was turned.
fn serve_and_kill(folder: &Path, after_ms: u64) -> (Vec<String>, u64) {
    let mut server = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "killed::serve_until_killed", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it is started");
    let lines = BufReader::new(server.stdout.take().expect("it has one")).lines();
    let (mut told, mut turned) = (Vec::new(), 0);
    let mut killer = None;
    for line in lines.map_while(Result::ok) {
        if line.contains("SERVING") {
            let number = server.id().to_string();
            killer = Some(thread::spawn(move || {
                thread::sleep(Duration::from_millis(after_ms));
                tool("kill", &["-9", &number]).expect("it is killed");
            }));
        } else if let Some((_, name)) = line.split_once("TOLD ") {
            told.push(name.to_owned());
        } else if line.contains("TURNED") {
            turned += 1;
        }
    }
    // It was killed, and is waited for so that none is left.
    let status = server.wait().expect("it has ended");
    let killer = killer.unwrap_or_else(|| panic!("the server ended by itself: {status}"));
    killer.join().expect("it killed");
    (told, turned)
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
        for round in 0..5 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let (names, _) = serve_and_kill(&folder, 20 + random % 700);
            told.extend(names);
            let mut attachment = attach(&folder, kind);
            let at = folder.join("mount");
            check(&at, &told, round);
            let device = attachment
                .device()
                .expect("a loop device")
                .display()
                .to_string();
            tool("umount", &[&at.display().to_string()]).expect("nobody uses it");
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
