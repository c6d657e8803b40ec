//! The bright bytes of a file, picked inside the drive while they are read, as stream_host.c has it in C and stream.py in Python.
//!
//! `cargo run --release --example stream_host`

use bitline::{Config, Content, Drive, Error, Loading, StreamRun, TaskFile, TaskRun};

/// The drive's half, as streams/bright.c: of each piece, the bytes that are at least as bright as the parameter. In text here, so that
/// this needs no compiler.
const TASK: &str = r#"(module
  (import "isc" "get_args" (func $get_args (param i32 i32 i32) (result i32)))
  (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
  (import "isc" "stream_emit" (func $emit (param i32 i32) (result i64)))
  (memory (export "memory") 3)
  (func (export "isc_main") (result i32)
    (local $bytes i32) (local $at i32) (local $kept i32) (local $byte i32)
    (drop (call $get_args (i32.const 16) (i32.const 1) (i32.const 0)))
    (loop $pieces
      (local.set $bytes (i32.wrap_i64
        (call $next (i32.const 65536) (i32.const 131072) (i32.const 0))))
      (if (i32.le_s (local.get $bytes) (i32.const 0)) (then (return (i32.const 0))))
      (local.set $at (i32.const 65536))
      (local.set $kept (i32.const 65536))
      (loop $next_byte
        (local.set $byte (i32.load8_u (local.get $at)))
        (if (i32.ge_u (local.get $byte) (i32.load8_u (i32.const 16))) (then
          (i32.store8 (local.get $kept) (local.get $byte))
          (local.set $kept (i32.add (local.get $kept) (i32.const 1)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br_if $next_byte (i32.lt_u (local.get $at) (i32.add (i32.const 65536) (local.get $bytes)))))
      (drop (call $emit (i32.const 65536) (i32.sub (local.get $kept) (i32.const 65536))))
      (br $pieces))
    (i32.const 0)))"#;

const LEAST: u8 = 250;

fn main() -> Result<(), Error> {
    let module = wat::parse_str(TASK).expect("it is a module");
    let frame: Vec<u8> = (0..640_000_u32)
        .map(|at| (at * 7 + at / 256) as u8)
        .collect();
    let bright = frame.iter().copied().filter(|byte| *byte >= LEAST);
    let expected: Vec<u8> = bright.collect();

    let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
    let content = |bytes: usize| Content::File {
        bytes: bytes as u64,
    };
    drive
        .volume()
        .write("frame", content(frame.len()), &frame)?;
    let program = drive.tasks().load(&module, Loading::default())?;

    // From a file: its bright bytes come as they are found.
    let run = TaskRun::of(vec![TaskFile::read("frame")]).arguments([LEAST]);
    let mut stream = drive
        .streams()
        .open(&program, &StreamRun::of(run).from_file(0))?;
    let mut found = Vec::new();
    loop {
        let block = drive.streams().read(&mut stream, 65_536)?;
        if block.is_empty() {
            break;
        }
        found.extend(block);
    }
    let outcome = drive.streams().outcome(&mut stream)?;
    drive.streams().close(stream)?;
    assert_eq!(found, expected);
    println!(
        "{} of {} bytes are bright; read in {} us",
        found.len(),
        frame.len(),
        outcome.nanoseconds / 1000
    );

    // Into a file: what is written passes through the task, and is there as a whole when it is finished.
    let empty = vec![0; expected.len()];
    drive
        .volume()
        .write("picked", content(empty.len()), &empty)?;
    let run = TaskRun::of(vec![TaskFile::write("picked")]).arguments([LEAST]);
    let mut stream = drive
        .streams()
        .open(&program, &StreamRun::of(run).into_file(0))?;
    for part in frame.chunks(64_000) {
        drive.streams().write(&mut stream, part)?;
    }
    drive.streams().finish(&mut stream)?;
    drive.streams().close(stream)?;
    assert_eq!(drive.volume().read("picked")?, expected);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_runs() {
        super::main().expect("it runs");
    }
}
