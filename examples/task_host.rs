//! The sum of a file's bytes, calculated inside the drive: the host's half of Listing 1 of TxISC (DATE 2025), as
//! task_host.c has it in C.
//!
//! `cargo run --release --example task_host`

use bitline::{Config, Content, Drive, Ended, Error, Loading, TaskFile, TaskRun};

/// The drive's half: adds the bytes of the file whose number is its first argument up, returns the sum and writes it to the
/// file whose number is the second. In text here, so that this needs no compiler; `bitline cc` makes the same of C.
const TASK: &str = r#"(module
  (import "isc" "get_args" (func $get_args (param i32 i32 i32) (result i32)))
  (import "isc" "put_ret" (func $put_ret (param i32 i32) (result i32)))
  (import "isc" "file_read" (func $file_read (param i32 i32 i32 i64) (result i64)))
  (import "isc" "file_write" (func $file_write (param i32 i32 i32 i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "isc_main") (result i32)
    (local $at i64) (local $count i64) (local $byte i32) (local $sum i64)
    (drop (call $get_args (i32.const 0) (i32.const 8) (i32.const 0)))
    (loop $more
      (local.set $count
        (call $file_read (i32.load (i32.const 0)) (i32.const 1024) (i32.const 4096) (local.get $at)))
      (local.set $byte (i32.const 0))
      (block $over
        (loop $next
          (br_if $over (i64.ge_s (i64.extend_i32_u (local.get $byte)) (local.get $count)))
          (local.set $sum (i64.add (local.get $sum)
            (i64.load8_u (i32.add (i32.const 1024) (local.get $byte)))))
          (local.set $byte (i32.add (local.get $byte) (i32.const 1)))
          (br $next)))
      (local.set $at (i64.add (local.get $at) (local.get $count)))
      (br_if $more (i64.gt_s (local.get $count) (i64.const 0))))
    (i64.store (i32.const 8) (local.get $sum))
    (drop (call $file_write (i32.load (i32.const 4)) (i32.const 8) (i32.const 8) (i64.const 0)))
    (call $put_ret (i32.const 8) (i32.const 8))))"#;

/// What a run is asked for: to put the sum of "in" into "out".
fn prepared() -> TaskRun {
    let mut run = TaskRun::default();
    let id = [
        run.register_file(TaskFile::read("in")),
        run.register_file(TaskFile::write("out")),
    ];
    for number in id {
        run.put_args(&number.to_le_bytes());
    }
    run
}

fn main() -> Result<(), Error> {
    let module = wat::parse_str(TASK).expect("it is a module");
    let data: Vec<u8> = (0..100_000_u32).map(|byte| (byte % 251) as u8).collect();
    let expected: u64 = data.iter().map(|byte| u64::from(*byte)).sum();

    let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
    let (bytes, sum_bytes) = (data.len() as u64, 8);
    drive.volume().write("in", Content::File { bytes }, &data)?;
    drive
        .volume()
        .write("out", Content::File { bytes: sum_bytes }, &[0; 8])?;
    let program = drive.tasks().load(&module, Loading::default())?;

    let outcome = drive.tasks().run(&program, &prepared())?;
    assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
    assert_eq!(outcome.value, expected.to_le_bytes());
    println!("{expected}, attempts: {}", outcome.attempts);

    // Many in flight: they write the same bytes, so that all but the first one conflict, and are begun anew.
    let mut runs = Vec::new();
    for _ in 0..4 {
        runs.push(drive.tasks().submit(&program, &prepared().retries(100))?);
    }
    for run in &runs {
        let outcome = drive.wait(run)?.answer?;
        assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
        println!("{expected}, attempts: {}", outcome.attempts);
    }
    assert_eq!(drive.volume().read("out")?, expected.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_runs() {
        super::main().expect("it runs");
    }
}
