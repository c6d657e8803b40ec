//! How fast a drive is as a file of Linux, beside a bare file that FUSE serves from memory with the same settings: fio with
//! 1-MiB sequential and 4-KiB random requests at depth 32. Needs root, /dev/fuse and fio.
//!
//! `cargo bench -p bitline-attach`; `BITLINE_FIO_SECONDS` is the length of each measurement.

#![allow(clippy::unwrap_used, reason = "a measurement that fails says where")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use attach::attachment::{Attachment, Options};
use attach::engine::Pace;
use attach::mount::for_file_systems;
use attach::unmount::Unmount;
use bitline::{Config, ConfigBuilder, DEFAULT_PRESET, Drive};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, WriteFlags,
};

/// Bytes that requests go to.
const BYTES: usize = 512 << 20;
/// Of what a bare file does, what a drive is to reach.
const TARGET: f64 = 0.7;

/// Measurements: name, and what fio is told.
const JOBS: [(&str, &[&str]); 4] = [
    ("1M write", &["--rw=write", "--bs=1M"]),
    ("1M read", &["--rw=read", "--bs=1M"]),
    ("4K random write", &["--rw=randwrite", "--bs=4k"]),
    ("4K random read", &["--rw=randread", "--bs=4k"]),
];

fn main() {
    let is_able = Path::new("/dev/fuse").exists() && rustix::process::getuid().is_root();
    if !is_able || Command::new("fio").arg("--version").output().is_err() {
        println!("SKIPPED: this needs root, /dev/fuse and fio");
        return;
    }
    let folder = std::env::temp_dir().join(format!("bitline-bench-{}", std::process::id()));
    let (at, image) = (folder.join("at"), folder.join("drive.img"));
    std::fs::create_dir_all(&at).unwrap();
    let bare = measure_bare(&at);
    let in_memory = measure_drive(|| Drive::open(config("memory")), None, &at);
    let path = image.clone();
    let open = move || Drive::open_image(config("image"), &path);
    let in_image = measure_drive(open, Some(&image), &at);
    std::fs::remove_dir_all(&folder).unwrap();
    println!(
        "{:<16} {:>14} {:>22} {:>22}",
        "MB/s", "bare file", "drive in memory", "drive in an image"
    );
    let mut is_slow = false;
    for (name, _) in JOBS {
        let base = bare[name];
        let ratio = |of: f64| format!("{of:>12.0} ({:>4.0} %)", of / base * 100.0);
        println!(
            "{name:<16} {base:>14.0} {:>22} {:>22}",
            ratio(in_memory[name]),
            ratio(in_image[name])
        );
        is_slow |= in_memory[name].min(in_image[name]) < TARGET * base;
    }
    if is_slow {
        println!("less than {:.0} % of a bare file somewhere", TARGET * 100.0);
    }
}

/// The default drive, in units of the blocks of file systems, and as small as four times the file: its flash blocks are erased and
/// used again, so that it is not measured how fast the machine gives memory.
fn config(storage: &str) -> Config {
    let mut config = ConfigBuilder::preset(DEFAULT_PRESET).unwrap();
    for (key, value) in [
        ("data.storage", storage),
        ("ftl.gc.threshold_blocks", "3"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "16"),
    ] {
        config.set(key, value).unwrap();
    }
    for_file_systems(config.build().unwrap(), &[])
}

/// Megabytes a second of each measurement.
type Rates = BTreeMap<&'static str, f64>;

fn measure_drive(
    open: impl FnOnce() -> Result<Drive, bitline::Error> + Send + 'static,
    image: Option<&Path>,
    at: &Path,
) -> Rates {
    let options = Options::new(Pace::None);
    let mut attachment = Attachment::start(open, image, at, &options).unwrap();
    let rates = measure(&attachment.file());
    for line in attachment.notes().take() {
        println!("{line}");
    }
    attachment.stop(Unmount::InOrder).unwrap();
    rates
}

fn measure_bare(at: &Path) -> Rates {
    let mut options = fuser::Config::default();
    options.mount_options = vec![MountOption::FSName("bare".into()), MountOption::NoDev];
    let bare = Bare(Mutex::new(vec![0; BYTES]));
    let session = fuser::spawn_mount(bare, at, &options).unwrap();
    let rates = measure(&at.join("file"));
    session.umount_and_join().unwrap();
    rates
}

fn measure(file: &Path) -> Rates {
    let seconds = std::env::var("BITLINE_FIO_SECONDS").unwrap_or("5".into());
    // Several times: its blocks are in the state that lasts.
    let fill = ["--rw=write", "--bs=1M", "--loops=6"];
    fio(file, &fill);
    let timed = format!("--runtime={seconds}");
    let measured = JOBS.iter().map(|(name, job)| {
        let job: Vec<&str> = [*job, &["--time_based", &timed]].concat();
        (*name, fio(file, &job))
    });
    measured.collect()
}

/// Megabytes a second.
fn fio(file: &Path, job: &[&str]) -> f64 {
    let ended = Command::new("fio")
        .args([
            "--name=job",
            "--ioengine=libaio",
            "--direct=1",
            "--iodepth=32",
        ])
        .args(["--output-format=json", "--randrepeat=1", "--norandommap"])
        .arg(format!("--size={BYTES}"))
        .arg(format!("--filename={}", file.display()))
        .args(job)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    let start = said.find('{').unwrap();
    let report: serde_json::Value = serde_json::from_str(&said[start..]).unwrap();
    let of = |way: &str| report["jobs"][0][way]["bw_bytes"].as_f64().unwrap();
    (of("read") + of("write")) / 1e6
}

/// One file whose bytes are in memory.
struct Bare(Mutex<Vec<u8>>);

fn attributes(node: INodeNo) -> FileAttr {
    let is_root = node == INodeNo(1);
    let time = SystemTime::UNIX_EPOCH;
    FileAttr {
        ino: node,
        size: if is_root { 0 } else { BYTES as u64 },
        blocks: 0,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind: if is_root {
            FileType::Directory
        } else {
            FileType::RegularFile
        },
        perm: 0o700,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Bare {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // As a drive's file is served.
        let wanted = InitFlags::FUSE_ASYNC_DIO | InitFlags::FUSE_PARALLEL_DIROPS;
        config.add_capabilities(wanted).unwrap();
        config.set_max_write(1 << 20).unwrap();
        config.set_max_background(128).unwrap();
        Ok(())
    }

    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == "file" {
            true => reply.entry(
                &Duration::from_secs(1),
                &attributes(INodeNo(2)),
                Generation(0),
            ),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&Duration::from_secs(1), &attributes(node));
    }

    fn open(&self, _request: &Request, _node: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _request: &Request,
        _node: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let bytes = self.0.lock().unwrap();
        let start = bytes.len().min(offset as usize);
        let end = bytes.len().min(start + size as usize);
        reply.data(&bytes[start..end]);
    }

    fn write(
        &self,
        _request: &Request,
        _node: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut bytes = self.0.lock().unwrap();
        let start = offset as usize;
        bytes[start..start + data.len()].copy_from_slice(data);
        reply.written(data.len() as u32);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}
