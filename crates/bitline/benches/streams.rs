//! `cargo bench -p bitline --bench streams`: how many bytes of a stream are simulated in a second of the computer's own time, timing
//! only and with data; and beside that how many the same task takes from memory, without a drive.

use std::cell::Cell;
use std::future::ready;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bitline::inside::InsideDrive;
use bitline::{Config, Content, Drive, Loading, StreamRun, TaskFile, TaskRun};
use device::schedule::Origin;
use device::task::{Data, Ended, FileError, Files, LocalBoxFuture, Piece};

/// Bytes of the file.
const BYTES: usize = 256 << 20;
/// Bytes of a piece.
const PIECE: usize = 64 << 10;
/// Measurements, of which the fastest counts.
const TIMES: u32 = 5;

/// What is measured: tasks that look at nothing, or add up all numbers of 64 bits with vectors.
const TASKS: [(&str, &str); 2] = [
    ("looks at nothing", ""),
    (
        "adds up",
        "(local.set $at (i32.const 65536))
         (loop $more
           (local.set $sum (i64x2.add (local.get $sum) (v128.load (local.get $at))))
           (br_if $more (i32.lt_u
             (local.tee $at (i32.add (local.get $at) (i32.const 16)))
             (i32.add (i32.const 65536) (local.get $bytes)))))",
    ),
];

fn module(each: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
          (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
          (memory (export "memory") 3 3)
          (func (export "isc_main") (result i32) (local $bytes i32) (local $at i32) (local $sum v128)
            (loop $pieces
              (local.set $bytes (i32.wrap_i64
                (call $next (i32.const 65536) (i32.const 131072) (i32.const 0))))
              (if (i32.gt_s (local.get $bytes) (i32.const 0)) (then {each} (br $pieces))))
            (i32.const 0)))"#
    );
    wat::parse_str(&text).expect("a module")
}

/// A file in memory, whose pieces are there at once.
struct InMemory {
    data: Rc<Vec<u8>>,
    next: Cell<usize>,
}

impl Files for InMemory {
    fn count(&self) -> u32 {
        0
    }

    fn bytes(&self, _: u32) -> Option<u64> {
        None
    }

    fn writable(&self, _: u32) -> bool {
        false
    }

    fn has_data(&self) -> bool {
        true
    }

    fn read<'a>(
        &'a self,
        _: u32,
        _: u64,
        bytes: u32,
    ) -> LocalBoxFuture<'a, Result<Data, FileError>> {
        Box::pin(ready(Ok(Data::Untold(bytes))))
    }

    fn write<'a>(&'a self, _: u32, _: u64, _: Data) -> LocalBoxFuture<'a, Result<(), FileError>> {
        Box::pin(ready(Ok(())))
    }

    fn next_piece<'a>(
        &'a self,
        capacity: u32,
    ) -> LocalBoxFuture<'a, Result<Option<Piece>, FileError>> {
        let begin = self.next.get();
        let end = self.data.len().min(begin + PIECE.min(capacity as usize));
        self.next.set(end);
        let piece = (begin < end).then(|| Piece {
            offset: begin as u64,
            begins: true,
            data: Data::Bytes(self.data[begin..end].to_vec()),
        });
        Box::pin(ready(Ok(piece)))
    }
}

/// The shortest of several measurements.
fn shortest(mut measure: impl FnMut() -> Duration) -> f64 {
    let times = (0..TIMES).map(|_| measure().as_secs_f64());
    times.fold(f64::INFINITY, f64::min)
}

fn drive(storage: &str) -> Drive {
    let config = Config::preset("txisc").expect("a preset");
    let config = config.with([("data.storage", storage)]);
    let mut drive = Drive::open(config.expect("a possible drive")).expect("a drive");
    let bytes = BYTES as u64;
    let written = drive
        .volume()
        .write("file", Content::File { bytes }, &vec![1; BYTES]);
    written.expect("there is room");
    drive
}

/// How long a stream of the file takes, from its beginning to its end.
fn streamed(drive: &mut Drive, module: &[u8]) -> Duration {
    let program = drive.tasks().load(module, Loading::default());
    let program = program.expect("room");
    let run = TaskRun::of(vec![TaskFile::read("file")]);
    let asked = StreamRun::of(run).from_file(0).piece_bytes(PIECE as u32);
    let begin = Instant::now();
    let mut stream = drive.streams().open(&program, &asked).expect("room");
    let read = drive.streams().read(&mut stream, 4096).expect("it ends");
    assert!(read.is_empty(), "nothing is emitted");
    let took = begin.elapsed();
    drive.streams().close(stream).expect("it is open");
    took
}

/// How long the same task takes with the same bytes in memory, one piece after the other.
fn from_memory(drive: &mut Drive, module: &[u8], data: &Rc<Vec<u8>>) -> Duration {
    let tasks = drive.device().expect("power").tasks.clone();
    let program = tasks.load(module).expect("a task");
    let files: Rc<dyn Files> = Rc::new(InMemory {
        data: data.clone(),
        next: Cell::new(0),
    });
    let begin = Instant::now();
    let run = drive.run(|_| async move {
        let limits = tasks.limits();
        let run = tasks.run(&program, files, &[], limits, Origin::default());
        run.await
    });
    assert_eq!(run.expect("power").ended, Ended::Returned(Vec::new()));
    begin.elapsed()
}

fn main() {
    let data = Rc::new(vec![1; BYTES]);
    let [mut with, mut without] = ["memory", "none"].map(drive);
    for (name, each) in TASKS {
        let module = module(each);
        let speed = |seconds: f64| BYTES as f64 / seconds / 1e9;
        let timing = speed(shortest(|| streamed(&mut without, &module)));
        let streamed = speed(shortest(|| streamed(&mut with, &module)));
        let memory = speed(shortest(|| from_memory(&mut with, &module, &data)));
        println!("a task that {name}: timing only {timing:.1} GB/s");
        println!(
            "  with data {streamed:.1} GB/s, from memory {memory:.1} GB/s: {:.0} %",
            100.0 * streamed / memory
        );
    }
}
