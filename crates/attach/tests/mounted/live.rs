//! The whole: a drive that is served as a file, a file system on it, and tasks on files of that, while others read and write them.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use attach::attachment::{Attachment, Options};
use attach::engine::Pace;
use attach::mount::{FileSystem, for_file_systems};
use attach::mounted::{Mounted, MountedFile, Rows, Sharing, run};
use attach::unmount::Unmount;
use bitline::inside::InsideHost;
use bitline::inside::host::bits::{PlacementHandle, Request};
use bitline::inside::nvme::Lba;
use bitline::inside::nvme::command::{Engine, Home};
use bitline::{
    Attach, Config, DEFAULT_PRESET, Drive, Ended, Expression, Loading, Outcome, Pace as Sending,
    StreamRun, TaskFile, TaskRun,
};

use crate::place::{data, tool, unmount, write_file};

/// A drive in memory with a file system, until this is dropped.
pub(crate) struct Rig {
    pub(crate) attachment: Attachment,
    pub(crate) folder: PathBuf,
    kind: FileSystem,
}

impl Rig {
    fn new(kind: FileSystem, pace: Pace) -> Option<Rig> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !Path::new("/dev/fuse").exists() || !rustix::process::getuid().is_root() {
            eprintln!("SKIPPED: there is no /dev/fuse here, or these tests do not run as root");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("bitline-live-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let open = || Drive::open(for_file_systems(Config::preset(DEFAULT_PRESET)?, &[]));
        let mut options = Options::new(pace);
        options.mount = Some(kind);
        match Attachment::start(open, None, &folder, &options) {
            Ok(attachment) => Some(Rig {
                attachment,
                folder,
                kind,
            }),
            Err(why) => {
                eprintln!("SKIPPED, as {kind} cannot be mounted here: {why}");
                None
            }
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn open(&self) -> Mounted {
        let mount = Mounted::open(&self.folder, 4096).expect("it is ext4 or xfs");
        let handle = self.attachment.handle();
        let read = |first, blocks| {
            let read =
                handle.run(move |served| async move { served.host().read(first, blocks).await });
            read.expect("it is served")
        };
        mount.check(read).expect("it is on this drive");
        mount
    }

    fn run(&self, module: &[u8], asked: TaskRun) -> Result<Outcome, bitline::Error> {
        let module = module.to_vec();
        let ran = self
            .attachment
            .handle()
            .run(move |served| async move { served.host().run_module(&module, &asked).await });
        ran.expect("it is served")
    }

    /// Runs a module over files, and settles them.
    fn run_over(&self, module: &[u8], files: Vec<MountedFile>) -> Outcome {
        let ran = run(files, |files| self.run(module, TaskRun::of(files)));
        ran.expect("it is begun, and the files are where they were")
    }

    /// Has fsck look at it.
    fn end(mut self) {
        let device = self.attachment.device().expect("a loop device");
        let device = device.display().to_string();
        let folder = self.folder.display().to_string();
        unmount(&folder).expect("nobody uses it");
        match self.kind {
            FileSystem::Xfs => tool("xfs_repair", &["-n", &device]),
            _ => tool("e2fsck", &["-fn", &device]),
        }
        .expect("it is sound");
        self.attachment
            .stop(Unmount::ByForce)
            .expect("it is detached");
        fs::remove_dir(&self.folder).expect("it is empty");
    }
}

pub(crate) fn on_each(pace: Pace, test: impl Fn(&Rig)) {
    for kind in [FileSystem::Ext4, FileSystem::Xfs] {
        if let Some(rig) = Rig::new(kind, pace) {
            test(&rig);
            rig.end();
        }
    }
}

/// A module that first reads the whole file, then computes for so many rounds, and writes it with every byte inverted.
pub(crate) fn invert(rounds: u32) -> Vec<u8> {
    let text = format!(
        r#"(module
          (import "isc" "file_size" (func $size (param i32) (result i64)))
          (import "isc" "file_read" (func $read (param i32 i32 i32 i64) (result i64)))
          (import "isc" "file_write" (func $write (param i32 i32 i32 i64) (result i64)))
          (memory (export "memory") 64)
          (func (export "isc_main") (result i32) (local $bytes i32) (local $at i32) (local $left i32)
            (local.set $bytes (i32.wrap_i64 (call $size (i32.const 0))))
            (drop (call $read (i32.const 0) (i32.const 0) (local.get $bytes) (i64.const 0)))
            (local.set $left (i32.const {rounds}))
            (loop $again
              (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
            (loop $bytes
              (i32.store8 (local.get $at)
                (i32.xor (i32.const 255) (i32.load8_u (local.get $at))))
              (br_if $bytes (i32.lt_u
                (local.tee $at (i32.add (local.get $at) (i32.const 1))) (local.get $bytes))))
            (drop (call $write (i32.const 0) (i32.const 0) (local.get $bytes) (i64.const 0)))
            (i32.const 0)))"#
    );
    wat::parse_str(text).expect("a module")
}

/// Copies the first file to the second.
pub(crate) fn copy() -> Vec<u8> {
    let text = r#"(module
      (import "isc" "file_read" (func $read (param i32 i32 i32 i64) (result i64)))
      (import "isc" "file_write" (func $write (param i32 i32 i32 i64) (result i64)))
      (memory (export "memory") 2)
      (func (export "isc_main") (result i32) (local $at i64) (local $count i64)
        (loop $more
          (local.set $count
            (call $read (i32.const 0) (i32.const 0) (i32.const 65536) (local.get $at)))
          (drop (call $write (i32.const 1) (i32.const 0)
            (i32.wrap_i64 (local.get $count)) (local.get $at)))
          (local.set $at (i64.add (local.get $at) (local.get $count)))
          (br_if $more (i64.gt_s (local.get $count) (i64.const 0))))
        (i32.const 0)))"#;
    wat::parse_str(text).expect("a module")
}

/// Gives on what it takes.
fn echo() -> Vec<u8> {
    let text = r#"(module
      (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
      (import "isc" "stream_emit" (func $emit (param i32 i32) (result i64)))
      (memory (export "memory") 4)
      (func (export "isc_main") (result i32) (local $bytes i32)
        (loop $pieces
          (local.set $bytes
            (i32.wrap_i64 (call $next (i32.const 1024) (i32.const 131072) (i32.const 0))))
          (if (i32.eqz (local.get $bytes)) (then (return (i32.const 0))))
          (drop (call $emit (i32.const 1024) (local.get $bytes)))
          (br $pieces))
        (i32.const 0)))"#;
    wat::parse_str(text).expect("a module")
}

pub(crate) fn inverted(data: &[u8]) -> Vec<u8> {
    data.iter().map(|byte| !byte).collect()
}

#[test]
fn a_task_transforms_a_file_where_it_lies() {
    on_each(Pace::None, |rig| {
        let (path, written) = (rig.path("file"), data(1_234_567, 1));
        write_file(&path, &written);
        let mount = rig.open();
        for round in 0..2 {
            let file = mount.write("file", Sharing::Alone).expect("it is alone");
            let outcome = rig.run_over(&invert(1), vec![file]);
            assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
            let now = fs::read(&path).expect("it is there");
            let wanted = match round {
                0 => inverted(&written),
                _ => written.clone(),
            };
            assert!(now == wanted);
        }
        let (one, other) = (rig.path("file"), rig.path("other"));
        write_file(&other, &written);
        let (one, other) = (one.display().to_string(), other.display().to_string());
        tool("cmp", &[&one, &other]).expect("they are the same");
    });
}

#[test]
fn an_output_is_there_if_its_run_commits() {
    on_each(Pace::None, |rig| {
        let written = data(5_000_000, 1);
        write_file(&rig.path("from"), &written);
        let mount = rig.open();
        let files = || {
            let to = mount.create("to", 5_000_000).expect("there is room");
            vec![mount.read("from").expect("it is whole"), to]
        };
        // A run that fails: the file has more bytes than it may take cycles for.
        let mut short = TaskRun::default();
        short.limits.cycles = 1000;
        let stopped = run(files(), |files| {
            let mut asked = TaskRun::of(files);
            asked.limits = short.limits;
            rig.run(&copy(), asked)
        });
        let stopped = stopped.expect("it is begun");
        assert_ne!(stopped.ended, Ended::Committed);
        assert!(!rig.path("to").exists());
        let outcome = rig.run_over(&copy(), files());
        assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
        assert!(fs::read(rig.path("to")).expect("it is there") == written);
    });
}

/// The host writes half of a file, by the kernel and past its cache, while a run is at all of it.
#[test]
fn a_host_write_meanwhile_is_a_conflict() {
    on_each(Pace::Real(1.0), |rig| {
        let (path, before, late) = (rig.path("file"), data(1 << 20, 1), data(1 << 19, 2));
        write_file(&path, &before);
        let mount = rig.open();
        let mut expected = before.clone();
        expected[..1 << 19].copy_from_slice(&late);
        for (retries, wanted) in [(0, Ended::Conflict), (3, Ended::Committed)] {
            write_file(&path, &before);
            let file = mount.write("file", Sharing::Shared).expect("it may be");
            let host = open_past_cache(&path);
            let outcome = thread::scope(|scope| {
                let write = scope.spawn(|| {
                    thread::sleep(Duration::from_millis(400));
                    write_past_cache(&host, &late);
                });
                let ran = run(vec![file], |files| {
                    rig.run(&invert(400_000_000), TaskRun::of(files).retries(retries))
                });
                write.join().expect("it is written");
                ran.expect("the file is where it was")
            });
            assert_eq!(outcome.ended, wanted, "{}", outcome.reason);
            let now = fs::read(&path).expect("it is there");
            match wanted {
                Ended::Committed => {
                    assert!(outcome.attempts > 1);
                    assert!(now == inverted(&expected), "a mix of both");
                }
                _ => assert!(now == expected, "a mix of both"),
            }
        }
    });
}

fn open_past_cache(path: &Path) -> File {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_DIRECT);
    options.open(path).expect("it is there")
}

/// Writes from a place that direct I/O can read.
fn write_past_cache(file: &File, data: &[u8]) {
    let mut map = memmap2::MmapMut::map_anon(data.len()).expect("memory");
    map.copy_from_slice(data);
    file.write_all_at(&map, 0).expect("it is written");
}

#[test]
fn a_stream_reads_a_file_and_a_collector_fills_one() {
    on_each(Pace::None, |rig| {
        let written = data(777_777, 1);
        write_file(&rig.path("from"), &written);
        let mount = rig.open();
        let file = mount.read("from").expect("it is whole");
        let task_file: TaskFile = file.task_file();
        let read = rig.attachment.handle().ask(move |drive, _| {
            let program = drive.tasks().load(&echo(), Loading::default())?;
            let asked = StreamRun::of(TaskRun::of(vec![task_file])).from_file(0);
            let mut stream = drive.streams().open(&program, &asked)?;
            let read = drive.streams().read(&mut stream, 1 << 20)?;
            drive.streams().close(stream)?;
            Ok::<_, bitline::Error>(read)
        });
        assert!(read.expect("it is served").expect("it is read") == written);
        drop(file);

        let frames = mount.create("frames", 300_000).expect("there is room");
        let placed = frames.placed();
        let collected = rig.attachment.handle().ask(move |drive, _| {
            let asked = Attach::to(0, "frames").at(placed);
            let collector = drive.collectors().attach(&asked)?;
            let sending = Sending::even(100e6);
            drive
                .collectors()
                .generate(&collector, sending, 1000, 250_000)?;
            drive.collectors().run(&collector)?;
            drive.collectors().detach(collector)
        });
        let collected = collected.expect("it is served").expect("it is collected");
        assert_eq!(collected, 250_000);
        frames.settle(true).expect("it is where it was");
        let filled = fs::read(rig.path("frames")).expect("it is there");
        assert_eq!(filled.len(), 300_000);
        let zeroes = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == 0).count();
        assert!(zeroes(&filled[..250_000]) < 5_000);
        assert!(filled[250_000..].iter().all(|byte| *byte == 0));
    });
}

/// Bitmaps of a file are written with a placement handle, and meet in one sense.
#[test]
fn a_file_of_bitmaps_is_combined_in_the_array() {
    on_each(Pace::None, |rig| {
        const COUNT: u64 = 8;
        let mount = rig.open();
        let page_bytes = rig.attachment.handle().ask(|_, served| {
            let block = served.host().block();
            u64::from(block.preferred_write_blocks()) * u64::from(block.block_bytes())
        });
        let page_bytes = page_bytes.expect("it is served");
        let row_bytes = 4 * page_bytes;
        // Whatever lies before it takes blocks of its own.
        write_file(&rig.path("before"), &data(5000, 1));
        let file = mount.create_aligned("bitmaps", COUNT * row_bytes, page_bytes);
        let file = file.expect("there is room");
        let rows = Rows::of(&file, row_bytes, page_bytes).expect("one piece of whole pages");
        assert_eq!(rows.count, COUNT);
        // Most bits are set, so that the AND of all has some.
        let bitmap = move |number: u64| -> Vec<u8> {
            let words = data(row_bytes as u32, number as u32).into_iter();
            words
                .map(|byte| byte | byte.rotate_left(3) | 0x11)
                .collect()
        };
        let bits = row_bytes * 8;
        let evaluated = rig.attachment.handle().run(move |served| async move {
            let device = served.host().bits().clone();
            let handle = PlacementHandle {
                number: 77,
                anchor: rows.anchor,
                pitch: rows.pitch,
                home: Home::ALL,
            };
            device.open_handle(&handle).await?;
            for number in 0..COUNT {
                let lba = rows.block(number);
                device.write(77, false, lba, &bitmap(number)).await?;
            }
            let all = (0..COUNT).map(|number| Lba::new(rows.block(number)));
            let all: Expression<Lba> = Expression::all(all).expect("operands");
            let request = Request::new(&all, Engine::FlashCosmos, bits);
            device.evaluate(request).await
        });
        let evaluated = evaluated.expect("it is served").expect("it is legal");
        let both = |a: Vec<u8>, b: Vec<u8>| a.iter().zip(b).map(|(a, b)| a & b).collect();
        let expected = (0..COUNT).map(bitmap).reduce(both).expect("bitmaps");
        assert!(evaluated.result == expected);
        let counts = rig
            .attachment
            .handle()
            .ask(|drive, _| drive.statistics().map(|all| all.bits));
        let counts = counts.expect("it is served").expect("it has power");
        assert_eq!(counts.controller_fallbacks, 0);
        // One sense a page of a row, whatever the number of operands.
        assert_eq!(counts.flash_cosmos_senses, 4);
        file.settle(true).expect("it is where it was");
        let read = fs::read(rig.path("bitmaps")).expect("it is there");
        assert!(read == (0..COUNT).flat_map(bitmap).collect::<Vec<u8>>());
    });
}

/// fio writes and verifies files while tasks work on another.
#[test]
fn fio_verifies_beside_tasks() {
    if let Err(why) = tool("fio", &["--version"]) {
        eprintln!("SKIPPED: {why}");
        return;
    }
    on_each(Pace::None, |rig| {
        let (path, written) = (rig.path("file"), data(1_000_000, 1));
        write_file(&path, &written);
        let mount = rig.open();
        let folder = format!("--directory={}", rig.folder.display());
        let jobs = [
            "--name=verified",
            "--rw=randwrite",
            "--bsrange=4k-64k",
            "--size=4m",
            "--verify=crc32c",
            "--verify_state_save=0",
            "--verify_fatal=1",
            "--direct=1",
            "--ioengine=psync",
            "--numjobs=2",
            folder.as_str(),
        ];
        thread::scope(|scope| {
            let fio = scope.spawn(|| tool("fio", &jobs));
            for _ in 0..10 {
                let file = mount.write("file", Sharing::Alone).expect("it is alone");
                let outcome = rig.run_over(&invert(1), vec![file]);
                assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
            }
            let ran = fio.join().expect("it ends");
            ran.unwrap_or_else(|why| panic!("{why}"));
        });
        assert!(fs::read(&path).expect("it is there") == written);
    });
}
