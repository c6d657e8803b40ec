//! How fast a drive is as a file of Linux, beside a bare file that FUSE serves from memory with the same settings: fio with
//! 1-MiB sequential and 4-KiB random requests at depth 32. Needs root, /dev/fuse and fio.
//!
//! The drive in memory is small and in the state that lasts; the one in an image is new, as `bitline attach` makes it. All of them are
//! there at the same time and take turns, as machines differ from one second to the next: a ratio is the median of those of each
//! round. `cargo bench -p bitline-attach`; `BITLINE_FIO_SECONDS` is the length of each measurement, `BITLINE_ROUNDS` how many there
//! are.

#![allow(clippy::unwrap_used, reason = "a measurement that fails says where")]

mod bare;
#[path = "../common/mod.rs"]
mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use attach::attachment::{Attachment, Options};
use attach::engine::Pace;
use attach::mount::for_file_systems;
use attach::unmount::Unmount;
use bitline::{Config, ConfigBuilder, DEFAULT_PRESET, Drive};
use common::median;

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

/// A file that is measured. The first one is what the others are compared with.
struct Measured {
    name: &'static str,
    file: PathBuf,
    /// What has to be on the disk before another one is measured.
    image: Option<PathBuf>,
    /// Megabytes a second, of each job in each round.
    rates: [Vec<f64>; JOBS.len()],
}

fn main() {
    let is_able = Path::new("/dev/fuse").exists() && rustix::process::getuid().is_root();
    if !is_able || Command::new("fio").arg("--version").output().is_err() {
        println!("SKIPPED: this needs root, /dev/fuse and fio");
        return;
    }
    let folder = std::env::temp_dir().join(format!("bitline-bench-{}", std::process::id()));
    let at = |name: &str| {
        let at = folder.join(name);
        fs::create_dir_all(&at).unwrap();
        at
    };
    let session = bare::mount(&at("bare"), BYTES).unwrap();
    let in_memory = attach(|| Drive::open(steady()), None, &at("memory"));
    let image = folder.join("drive.img");
    let path = image.clone();
    let open = move || Drive::open_image(fresh(), &path);
    let in_image = attach(open, Some(&image), &at("image"));
    let mut all = [
        Measured::new("bare file", folder.join("bare/file"), None),
        Measured::new("drive in memory", in_memory.file(), None),
        Measured::new("drive in an image", in_image.file(), Some(image)),
    ];
    measure(&mut all);
    session.umount_and_join().unwrap();
    for mut attachment in [in_memory, in_image] {
        for line in attachment.notes().take() {
            println!("{line}");
        }
        attachment.stop(Unmount::InOrder).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
    print(&all);
}

impl Measured {
    fn new(name: &'static str, file: PathBuf, image: Option<PathBuf>) -> Measured {
        Measured {
            name,
            file,
            image,
            rates: Default::default(),
        }
    }

    fn settle(&self) {
        if let Some(image) = &self.image {
            File::open(image).unwrap().sync_data().unwrap();
        }
    }
}

/// The default drive, in units of the blocks of file systems, and as small as four times the file: its flash blocks are erased and
/// used again, so that it is not measured how fast the machine gives memory.
fn steady() -> Config {
    let mut config = ConfigBuilder::preset(DEFAULT_PRESET).unwrap();
    for (key, value) in [
        ("ftl.gc.threshold_blocks", "3"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "16"),
    ] {
        config.set(key, value).unwrap();
    }
    for_file_systems(config.build().unwrap(), &[])
}

/// The drive that `bitline attach` makes, whose blocks are far more than what is written here.
fn fresh() -> Config {
    for_file_systems(Config::preset(DEFAULT_PRESET).unwrap(), &[])
}

fn attach(
    open: impl FnOnce() -> Result<Drive, bitline::Error> + Send + 'static,
    image: Option<&Path>,
    at: &Path,
) -> Attachment {
    Attachment::start(open, image, at, &Options::new(Pace::None)).unwrap()
}

fn measure(all: &mut [Measured]) {
    let of = |name: &str, otherwise: &str| std::env::var(name).unwrap_or(otherwise.into());
    let timed = format!("--runtime={}", of("BITLINE_FIO_SECONDS", "3"));
    let rounds: usize = of("BITLINE_ROUNDS", "5").parse().unwrap();
    for one in &*all {
        // Several times: its blocks are in the state that lasts.
        let loops = if one.image.is_some() {
            "--loops=1"
        } else {
            "--loops=6"
        };
        fio(&one.file, &["--rw=write", "--bs=1M", loops]);
        if one.image.is_none() {
            // Nor is it measured how fast the machine gives memory for what the drive caches.
            fio(&one.file, &["--rw=randwrite", "--bs=4k"]);
        }
        one.settle();
    }
    for _ in 0..rounds {
        for (number, (_, job)) in JOBS.iter().enumerate() {
            let job: Vec<&str> = [*job, &["--time_based", &timed]].concat();
            for one in &mut *all {
                let rate = fio(&one.file, &job);
                one.rates[number].push(rate);
                one.settle();
            }
        }
    }
}

fn print(all: &[Measured]) {
    let [bare, drives @ ..] = all else {
        return;
    };
    print!("{:<16} {:>14}", "MB/s", bare.name);
    drives
        .iter()
        .for_each(|drive| print!(" {:>22}", drive.name));
    println!();
    let mut is_slow = false;
    for (number, (job, _)) in JOBS.iter().enumerate() {
        print!(
            "{job:<16} {:>14.0}",
            median(bare.rates[number].iter().copied())
        );
        for drive in drives {
            let rates = drive.rates[number].iter();
            let ratio = median(rates.zip(&bare.rates[number]).map(|(rate, of)| rate / of));
            let rate = median(drive.rates[number].iter().copied());
            print!(" {rate:>12.0} ({:>4.0} %)", ratio * 100.0);
            is_slow |= ratio < TARGET;
        }
        println!();
    }
    println!("medians of {} rounds", bare.rates[0].len());
    if is_slow {
        println!("less than {:.0} % of a bare file somewhere", TARGET * 100.0);
    }
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
