//! A task that takes the result of vectors, appends to a table and rewrites a file: all of that is there, or nothing of it.

use bitline::{Content, Drive, Ended, TaskFile, TaskRun};

use crate::modules::with_data;
use crate::{config, cut, write_file};

/// Bytes of the vectors, and of what they give.
const BYTES: usize = 9000;
/// Rows of the table of which there is room, each of two numbers of 8 bytes behind the number of rows.
const ROWS: usize = 1000;
/// Bytes of the file that is rewritten.
const SUMMARY: usize = 10_000;

/// Files: two vectors, the bits that both have, the table, the summary. The table's new row has its number and how many bits
/// that are; every byte of the summary is the number of rows then.
fn task() -> Vec<u8> {
    // Two files, and their AND.
    let expression = r"\01\00\00\00\00\00\00\00\00\01\01\00\00\00\00\00\00\00\03\02\00";
    let body = format!(
        r#"(drop (call $evaluate (i32.const 1024) (i32.const 21) (i64.const 0) (i32.const 2)))
         (local.set $count
           (call $evaluate (i32.const 1024) (i32.const 21) (i64.const 0) (i32.const -1)))
         (drop (call $file_read (i32.const 3) (i32.const 0) (i32.const 8) (i64.const 0)))
         (local.set $at (i64.load (i32.const 0)))
         (i64.store (i32.const 8) (local.get $at))
         (i64.store (i32.const 16) (local.get $count))
         (drop (call $file_write (i32.const 3) (i32.const 8) (i32.const 16)
           (i64.add (i64.const 8) (i64.mul (i64.const 16) (local.get $at)))))
         (local.set $at (i64.add (local.get $at) (i64.const 1)))
         (i64.store (i32.const 0) (local.get $at))
         (drop (call $file_write (i32.const 3) (i32.const 0) (i32.const 8) (i64.const 0)))
         (memory.fill (i32.const 4096) (i32.wrap_i64 (local.get $at)) (i32.const {SUMMARY}))
         (drop (call $file_write (i32.const 4) (i32.const 4096) (i32.const {SUMMARY}) (i64.const 0)))
         (i32.const 0)"#
    );
    with_data(expression, &body)
}

/// The vectors, the table with one row, and the summary.
fn drive(changes: &[(&str, &str)]) -> (Drive, TaskRun) {
    let mut drive = Drive::open(config(changes)).expect("it opens");
    let vectors = [vec![0xF5u8; BYTES], vec![0x3Cu8; BYTES]];
    let group = drive.group("g").expect("a name");
    group.write(BYTES as u64 * 8, vectors).expect("room");
    write_file(&mut drive, "both", &[0; BYTES]);
    let mut table = vec![0; 8 + 16 * ROWS];
    table[0] = 1;
    let content = Content::Table {
        schema: b"number, bits".to_vec(),
        bytes: table.len() as u64,
    };
    let written = drive.volume().write("table", content, &table);
    written.expect("room");
    write_file(&mut drive, "summary", &[1; SUMMARY]);
    drive.flush().expect("power");
    let read = ["g/0", "g/1"].map(TaskFile::read);
    let written = ["both", "table", "summary"].map(TaskFile::write);
    let files = read.into_iter().chain(written);
    (drive, TaskRun::of(files.collect()))
}

/// How often the task is seen to have run; it must be the same everywhere.
fn seen(drive: &mut Drive) -> u64 {
    let mut read = |name: &str| drive.volume().read(name).expect("it is there");
    let (both, table, summary) = (read("both"), read("table"), read("summary"));
    let runs = u64::from(summary[0]) - 1;
    assert!(
        summary.iter().all(|byte| *byte == summary[0]),
        "half a summary"
    );
    let expected = if runs > 0 { 0xF5 & 0x3C } else { 0 };
    assert!(
        both.iter().all(|byte| *byte == expected),
        "{runs} runs, other bits"
    );
    let number = |at: usize| {
        let bytes = table[at..at + 8].try_into();
        u64::from_le_bytes(bytes.expect("8 bytes"))
    };
    assert_eq!(number(0), 1 + runs, "rows of the table");
    let ones = u64::from((0xF5u8 & 0x3C).count_ones()) * BYTES as u64;
    for row in 1..=runs as usize {
        assert_eq!(
            (number(8 + 16 * row), number(16 + 16 * row)),
            (row as u64, ones)
        );
    }
    assert!(
        table[8 + 16 * (1 + runs as usize)..]
            .iter()
            .all(|byte| *byte == 0)
    );
    runs
}

#[test]
fn a_vectors_result_a_row_of_a_table_and_a_file_are_there_together() {
    let (mut drive, run) = drive(&[]);
    for runs in 1..4 {
        let outcome = drive.tasks().run_module(&task(), &run).expect("begun");
        assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
        assert_eq!(seen(&mut drive), runs);
    }
    cut(&mut drive);
    assert_eq!(seen(&mut drive), 3);
}

#[test]
fn a_power_cut_leaves_all_of_it_or_nothing() {
    let module = task();
    for capacitor in ["true", "false"] {
        let (mut there, mut not_there) = (0, 0);
        for events in (0..2400).step_by(16) {
            let (mut drive, run) = drive(&[("tx.capacitor", capacitor)]);
            let task = module.clone();
            let pending = drive.submit(async move |host| host.run_module(&task, &run).await);
            let pending = pending.expect("power");
            for _ in 0..events {
                drive.simulation().expect("power").step();
            }
            let acknowledged = pending.is_finished();
            cut(&mut drive);
            let runs = seen(&mut drive);
            assert!(
                runs == 1 || !acknowledged,
                "told and not there, {events} events"
            );
            *(if runs > 0 { &mut there } else { &mut not_there }) += 1;
        }
        assert!(there > 3 && not_there > 3, "{there} and {not_there}");
    }
}
