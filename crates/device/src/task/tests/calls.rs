//! What the calls of a task do, and what it is told.

use super::*;

fn returned(text: &str) -> Vec<u8> {
    let rig = Rig::new(&config(), 1);
    let run = rig.run_text(text, Rc::new(InMemory::new(&rig, 100)));
    match run.ended {
        Ended::Returned(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

/// A task that returns the numbers that these expressions, of 64 bits, have.
fn values(expressions: &[&str]) -> Vec<i64> {
    let store = |(number, expression): (usize, &&str)| {
        format!("(i64.store (i32.const {}) {expression})", 1024 + 8 * number)
    };
    let main: String = expressions.iter().enumerate().map(store).collect();
    let bytes = 8 * expressions.len();
    let main =
        format!("{main} (drop (call $put_ret (i32.const 1024) (i32.const {bytes}))) (i32.const 0)");
    let bytes = returned(&task("hello", &main));
    let numbers = bytes.chunks_exact(8);
    numbers
        .map(|bytes| i64::from_le_bytes(bytes.try_into().expect("eight")))
        .collect()
}

#[test]
fn arguments_and_files_are_there() {
    let values = values(&[
        "(i64.extend_i32_s (call $args_size))",
        "(i64.extend_i32_s (call $file_count))",
        "(call $file_size (i32.const 0))",
        "(call $file_size (i32.const 1))",
        "(call $file_size (i32.const 2))",
        "(call $file_size (i32.const -1))",
    ]);
    assert_eq!(values, [9, 2, 65536, 100, -9, -9]);
    let main = r#"
        (drop (call $get_args (i32.const 100) (i32.const 4) (i32.const 2)))
        (drop (call $get_args (i32.const 104) (i32.const 100) (i32.const 7)))
        (i32.store (i32.const 106) (call $get_args (i32.const 200) (i32.const 100) (i32.const 9)))
        (drop (call $put_ret (i32.const 100) (i32.const 10)))
        (i32.const 0)"#;
    assert_eq!(returned(&task("", main)), b"gumets\0\0\0\0");
}

#[test]
fn reads_end_with_the_file_and_writes_stay_in_it() {
    let values = values(&[
        "(call $file_read (i32.const 1) (i32.const 0) (i32.const 64) (i64.const 0))",
        "(call $file_read (i32.const 1) (i32.const 0) (i32.const 64) (i64.const 90))",
        "(call $file_read (i32.const 1) (i32.const 0) (i32.const 64) (i64.const 100))",
        "(call $file_read (i32.const 1) (i32.const 0) (i32.const 64) (i64.const -1))",
        "(call $file_read (i32.const 7) (i32.const 0) (i32.const 64) (i64.const 0))",
        "(call $file_write (i32.const 0) (i32.const 0) (i32.const 64) (i64.const 65472))",
        "(call $file_write (i32.const 0) (i32.const 0) (i32.const 64) (i64.const 65473))",
    ]);
    assert_eq!(values, [64, 10, 0, -22, -9, 64, -27]);
    let values = self::values(&[
        "(call $file_write (i32.const 1) (i32.const 0) (i32.const 64) (i64.const 0))",
        "(call $file_write (i32.const 0) (i32.const 0) (i32.const 1) (i64.const 9223372036854775807))",
        "(i64.extend_i32_s (call $submit_write (i32.const 1) (i32.const 0) (i32.const 64) (i64.const 0)))",
        "(call $evaluate (i32.const 0) (i32.const 4) (i64.const 0) (i32.const -1))",
        "(call $evaluate (i32.const 0) (i32.const 4) (i64.const 0) (i32.const 1))",
        "(call $look_up (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 8) (i32.const 8))",
    ]);
    assert_eq!(values, [-13, -27, -13, -38, -13, -38]);
}

#[test]
fn a_ticket_is_waited_for_once_and_there_are_so_many() {
    let read = "(i64.extend_i32_s (call $submit_read (i32.const 0) (i32.const 0) (i32.const 64) (i64.const 0)))";
    let write = "(i64.extend_i32_s (call $submit_write (i32.const 0) (i32.const 0) (i32.const 32) (i64.const 0)))";
    let wait = |ticket| format!("(call $wait (i32.const {ticket}))");
    let (first, second, third) = (wait(0), wait(1), wait(-1));
    let values = values(&[read, write, read, read]);
    assert_eq!(values, [0, 1, 2, 3]);
    let values = self::values(&[read, &first, &first, &second, &third, write]);
    assert_eq!(values, [0, 64, -22, -22, -22, 1]);
    let values = self::values(&[read, read, read, write, read]);
    assert_eq!(values, [0, 1, 2, 3, -11]);
}

#[test]
fn what_is_submitted_has_its_bytes_then_and_brings_them_at_the_end() {
    let main = r#"
        (drop (call $submit_write (i32.const 0) (i32.const 0) (i32.const 5) (i64.const 0)))
        (i32.store (i32.const 0) (i32.const 0))
        (drop (call $submit_read (i32.const 0) (i32.const 100) (i32.const 5) (i64.const 300)))
        (local.set $i (i32.const 5000))
        (loop $again (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
        (drop (call $put_ret (i32.const 100) (i32.const 5)))
        (drop (call $wait (i32.const 1)))
        (drop (call $put_ret (i32.const 100) (i32.const 5)))
        (i32.const 0)"#;
    let rig = Rig::new(&config(), 1);
    let files = Rc::new(InMemory::new(&rig, 100));
    let run = rig.run_text(&task("hello", main), files.clone());
    assert_eq!(
        run.ended,
        Ended::Returned(vec![0, 0, 0, 0, 0, 49, 50, 51, 52, 53])
    );
    assert_eq!(files.files[0].borrow()[..6], *b"hello\x05");
}

#[test]
fn a_write_that_fails_ends_the_run_waited_for_or_not() {
    let main = |write: &str, end: &str| {
        format!(
            "(drop (call ${write} (i32.const 0) (i32.const 0) (i32.const 5) (i64.const 1000)))
             (drop (call $log (i32.const 0) (i32.const 5))) {end}"
        )
    };
    let reason = "somebody wrote to file 0 first".to_owned();
    let conflict = Ended::File(FileError::Conflict { reason });
    for (write, end, ended, log) in [
        ("file_write", "(i32.const 0)", conflict.clone(), ""),
        ("submit_write", "(i32.const 0)", conflict.clone(), "hello"),
        (
            "submit_write",
            "(i32.wrap_i64 (call $wait (i32.const 0)))",
            conflict,
            "hello",
        ),
        (
            "submit_write",
            "(i32.const 3)",
            Ended::Failed { code: 3 },
            "hello",
        ),
    ] {
        let rig = Rig::new(&config(), 1);
        let files = InMemory::new(&rig, 100);
        let files = Rc::new(InMemory {
            fails_from: 1000,
            ..files
        });
        let run = rig.run_text(&task("hello", &main(write, end)), files);
        assert_eq!((run.ended, run.log.as_str()), (ended, log), "{write} {end}");
    }
}

#[test]
fn a_program_of_another_drive_is_not_run() {
    let (rig, other) = (Rig::new(&config(), 1), Rig::new(&config(), 1));
    let program = other.load(&computing(1)).expect("a task");
    let run = rig.run(&program, Rc::new(InMemory::new(&rig, 0)));
    let Ended::Rejected { reason } = run.ended else {
        panic!("{run:?}");
    };
    assert!(
        reason.starts_with("the program was loaded into another drive"),
        "{reason}"
    );
}

#[test]
fn limits_that_are_not_granted_are_told() {
    let rig = Rig::new(&config(), 1);
    let program = rig.load(&computing(1)).expect("a task");
    let most = rig.tasks.limits();
    for (limits, arguments, expected) in [
        (
            Limits {
                cycles: 1_000_001,
                ..most
            },
            0,
            "1000001 cycles are more than task.cycles_max = 1000000",
        ),
        (
            Limits { tickets: 5, ..most },
            0,
            "5 tickets are more than task.tickets = 4",
        ),
        (
            most,
            65,
            "65 bytes of arguments are more than task.arguments_bytes = 64",
        ),
    ] {
        let (tasks, program) = (rig.tasks.clone(), program.clone());
        let files = Rc::new(InMemory::new(&rig, 0));
        let run = rig.simulation.block_on(async move {
            let arguments = vec![0; arguments];
            tasks
                .run(&program, files, &arguments, limits, origin())
                .await
        });
        let reason = expected.to_owned();
        assert_eq!(run.expect("it ends").ended, Ended::Rejected { reason });
    }
}
