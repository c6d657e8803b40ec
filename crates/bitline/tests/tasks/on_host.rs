//! Tasks that the host runs itself: what they see and leave is what a run in the drive does; what they take is the host's.

use bitline::{Drive, Ended, Host, Outcome, TaskFile, TaskLimits};

use crate::modules::{copy, echo, fail, module, spin, wait};
use crate::random::Random;
use crate::{drive, write_file};

/// Nothing of the host's takes time or is read ahead but what a test says.
const BARE: [(&str, &str); 7] = [
    ("host.tasks.call_ns", "0"),
    ("host.tasks.request_ns", "0"),
    ("host.tasks.wake_ns", "0"),
    ("host.tasks.page_bytes", "512"),
    ("host.tasks.read_ahead_bytes", "512"),
    ("host.tasks.write_behind_bytes", "512"),
    ("host.stream_megabytes_per_second", "1000000000"),
];

fn run(drive: &mut Drive, module: &[u8], files: &[TaskFile], arguments: &[u8]) -> Outcome {
    let limits = TaskLimits::default();
    let outcome = drive.tasks().run_on_host(module, files, arguments, limits);
    outcome.expect("it is begun")
}

/// Carries out its arguments on file 0, each 12 bytes: whether to write, an offset, and a length. What it writes is what lies at
/// the offset in its memory from 1024 on, where its arguments are; what it reads it returns.
fn steps() -> Vec<u8> {
    module(
        "(drop (call $get_args (i32.const 1024) (i32.const 65536) (i32.const 0)))
         (loop $next
           (local.set $at (i64.load32_u (i32.add (i32.const 1028) (local.get $file))))
           (if (i32.load (i32.add (i32.const 1024) (local.get $file)))
             (then (drop (call $file_write (i32.const 0)
               (i32.add (i32.const 1024) (i32.wrap_i64 (i64.rem_u (local.get $at) (i64.const 2000))))
               (i32.load (i32.add (i32.const 1032) (local.get $file))) (local.get $at))))
             (else (drop (call $put_ret (i32.const 100000) (i32.wrap_i64 (call $file_read (i32.const 0)
               (i32.const 100000) (i32.load (i32.add (i32.const 1032) (local.get $file)))
               (local.get $at)))))))
           (local.set $file (i32.add (local.get $file) (i32.const 12)))
           (br_if $next (i32.lt_u (local.get $file) (call $args_size))))
         (i32.const 0)",
    )
}

fn random_steps(random: &mut Random, file_bytes: u64) -> Vec<(bool, u32, u32)> {
    let mut at = 0;
    let mut step = |_| {
        // Half of them go on where the last one ended.
        if random.below(2) == 0 || at >= file_bytes {
            at = random.below(file_bytes);
        }
        let bytes = (1 + random.below(3000)).min(file_bytes - at);
        let step = (random.below(2) == 0, at as u32, bytes as u32);
        at += bytes;
        step
    };
    (0..60).map(&mut step).collect()
}

#[test]
fn reads_and_writes_do_what_they_do_to_bytes_in_memory() {
    const FILE_BYTES: u64 = 30_123;
    let program = steps();
    for seed in 0..20 {
        let mut random = Random(seed);
        let pages = ["512", "2048"][seed as usize % 2];
        let behind = ["2048", "8192"][seed as usize / 2 % 2];
        let mut drive = drive(&[
            ("host.tasks.page_bytes", pages),
            ("host.tasks.read_ahead_bytes", "4096"),
            ("host.tasks.write_behind_bytes", behind),
        ]);
        let mut expected: Vec<u8> = (0..FILE_BYTES).map(|_| random.bits() as u8).collect();
        write_file(&mut drive, "file", &expected);
        let steps = random_steps(&mut random, FILE_BYTES);
        let arguments: Vec<u8> = steps
            .iter()
            .flat_map(|(is_write, at, bytes)| [u32::from(*is_write), *at, *bytes])
            .flat_map(u32::to_le_bytes)
            .collect();
        let outcome = run(&mut drive, &program, &[TaskFile::write("file")], &arguments);
        assert_eq!(
            outcome.ended,
            Ended::Committed,
            "{seed}: {}",
            outcome.reason
        );
        let mut memory = arguments;
        memory.resize(8000, 0);
        let mut value = Vec::new();
        for (is_write, at, bytes) in steps {
            let range = at as usize..(at + bytes) as usize;
            match is_write {
                true => {
                    let from = at as usize % 2000;
                    expected[range].copy_from_slice(&memory[from..from + bytes as usize]);
                }
                false => value.extend_from_slice(&expected[range]),
            }
        }
        assert!(outcome.value == value, "{seed}: what it read");
        let left = drive.volume().read("file").expect("it is there");
        assert!(left == expected, "{seed}: what it wrote");
    }
}

#[test]
fn what_a_run_writes_is_there_whatever_becomes_of_it_and_after_a_power_cut() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "file", &[0xAB; 9000]);
    let failed = run(&mut drive, &fail(), &[TaskFile::write("file")], &[]);
    assert_eq!(failed.ended, Ended::Failed(7));
    crate::cut(&mut drive);
    let left = drive.volume().read("file").expect("it is there");
    assert_eq!((&left[..5], &left[5..69]), (&[0xAB; 5][..], &[0; 64][..]));
    assert_eq!(left[69..], [0xAB; 9000 - 69]);
}

/// A run that the power goes under is over: each block that it was to write has what was there, or what it wrote.
#[test]
fn a_power_cut_leaves_blocks_of_before_or_after() {
    let mut seen = [false; 2];
    for events in [0, 30, 100, 300, 500, 1000, 2000, 4000] {
        let mut drive = drive(&[("host.tasks.write_behind_bytes", "4096")]);
        let (old, new) = ([0xAB; 40_000], [0xCD; 40_000]);
        write_file(&mut drive, "from", &new);
        write_file(&mut drive, "to", &old);
        let files = [TaskFile::read("from"), TaskFile::write("to")];
        let run = async move |host: Host| {
            let limits = TaskLimits::default();
            host.run_on_host(&copy(), &files, &[], limits).await
        };
        let run = drive.submit(run).expect("power");
        for _ in 0..events {
            drive.simulation().expect("power").step();
        }
        crate::cut(&mut drive);
        drop(run);
        let left = drive.volume().read("to").expect("it is there");
        for block in left.chunks(512) {
            let is_new = block[0] == new[0];
            assert!(
                block.iter().all(|byte| *byte == block[0]),
                "after {events} events"
            );
            assert!(is_new || block[0] == old[0]);
            seen[usize::from(is_new)] = true;
        }
        // Nobody holds the files any more.
        drive.volume().remove("to").expect("it is there");
    }
    assert_eq!(seen, [true; 2]);
}

/// One read of one page: what the program computes, what the drive takes for the block, and what the operating system does.
#[test]
fn a_read_takes_what_the_drive_takes_and_what_the_host_does() {
    let read = module(
        "(drop (call $file_read (i32.const 0) (i32.const 0) (i32.const 512) (i64.const 8192)))
         (i32.const 0)",
    );
    let taken = |key: &str, value: &str| {
        let others = BARE.into_iter().filter(|(other, _)| *other != key);
        let mut changes: Vec<_> = others.collect();
        changes.push(("host.tasks.clock_megahertz", "1000"));
        changes.push((key, value));
        let mut drive = drive(&changes);
        write_file(&mut drive, "file", &[1; 3 * 4096]);
        let object = drive.volume().get("file").expect("power").expect("there");
        let first = object.extents[0].first;
        // The same page twice: its entry of the mapping is at hand.
        drive.read(first + 16, 1).expect("it is there");
        let begun = drive.now();
        drive.read(first + 16, 1).expect("it is there");
        let of_drive = drive.now().since(begun).as_ns();
        let outcome = run(&mut drive, &read, &[TaskFile::read("file")], &[]);
        assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
        // A cycle is a nanosecond.
        outcome.nanoseconds as f64 - of_drive - outcome.cycles as f64
    };
    // Where the link and the DRAM are in their cycles differs by some nanoseconds.
    let close = |found: f64, wanted: f64| (found - wanted).abs() < 20.0;
    assert!(close(taken("host.tasks.cores", "1"), 0.0));
    for (key, value) in [
        ("call_ns", "700"),
        ("request_ns", "3000"),
        ("wake_ns", "2000"),
    ] {
        let found = taken(&format!("host.tasks.{key}"), value);
        let wanted: f64 = value.parse().expect("a number");
        assert!(close(found, wanted), "{key}: {found}");
    }
    // 512 bytes are read and written at 1 MB/s.
    let copied = taken("host.stream_megabytes_per_second", "1");
    assert!(close(copied, 2.0 * 512e3), "{copied}");
}

#[test]
fn reading_ahead_and_writing_behind_overlap_with_the_program() {
    let read = module(
        "(loop $more
           (local.set $count
             (call $file_read (i32.const 0) (i32.const 0) (i32.const 1000) (local.get $at)))
           (local.set $at (i64.add (local.get $at) (local.get $count)))
           (br_if $more (i64.gt_s (local.get $count) (i64.const 0))))
         (i32.const 0)",
    );
    let took = |module: &[u8], ahead: &str, behind: &str| {
        let mut drive = drive(&[
            ("host.tasks.read_ahead_bytes", ahead),
            ("host.tasks.write_behind_bytes", behind),
        ]);
        write_file(&mut drive, "from", &[1; 100 << 10]);
        write_file(&mut drive, "to", &[0; 100 << 10]);
        let files = [TaskFile::read("from"), TaskFile::write("to")];
        let outcome = run(&mut drive, module, &files, &[]);
        assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
        outcome.nanoseconds
    };
    let (apart, ahead) = (took(&read, "4096", "4096"), took(&read, "32768", "4096"));
    assert!(ahead * 3 < apart * 2, "{ahead} of {apart}");
    // A program that computes for longer than it takes to write: only its last pages are waited for.
    let compute = module(&format!(
        "(loop $more
           (local.set $count
             (call $file_read (i32.const 0) (i32.const 0) (i32.const 4096) (local.get $at)))
           (drop (call $file_write (i32.const 1) (i32.const 0)
             (i32.wrap_i64 (local.get $count)) (local.get $at)))
           (local.set $at (i64.add (local.get $at) (local.get $count)))
           {}
           (br_if $more (i64.gt_s (local.get $count) (i64.const 0))))
         (i32.const 0)",
        wait(5_000_000)
    ));
    let last = took(&compute, "4096", "1048576");
    let behind = took(&compute, "4096", "16384");
    assert!(behind + 5_000_000 < last, "{behind} of {last}");
}

#[test]
fn time_is_the_same_where_no_data_is_kept() {
    let took = |storage: &str| {
        let mut drive = drive(&[("data.storage", storage)]);
        write_file(&mut drive, "from", &[0; 50_000]);
        write_file(&mut drive, "to", &[0; 50_000]);
        let files = [TaskFile::read("from"), TaskFile::write("to")];
        let outcome = run(&mut drive, &copy(), &files, &[]);
        assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
        (outcome.nanoseconds, outcome.cycles)
    };
    assert_eq!(took("none"), took("memory"));
}

#[test]
fn the_host_draws_its_power_while_it_works() {
    let mut drive = drive(&[]);
    let spent = |drive: &mut Drive| {
        let statistics = drive.statistics().expect("power");
        let mut entries = statistics.energy.iter();
        let entry = entries.find(|entry| entry.component == "host" && entry.cause == "tasks");
        let host = statistics.tenants.iter().find(|of| of.tenant == "host");
        entry.map(|entry| (entry.energy_pj, host.expect("it spent").energy_pj))
    };
    assert_eq!(spent(&mut drive), None);
    let outcome = run(&mut drive, &echo(), &[], b"word");
    assert_eq!(
        (outcome.ended, &outcome.value[..]),
        (Ended::Committed, &b"word"[..])
    );
    // 45 W at 4 GHz are 11250 pJ a cycle.
    let pj = outcome.cycles * 11_250;
    assert_eq!(spent(&mut drive), Some((pj, pj)));
}

#[test]
fn what_a_run_on_the_host_may_not_have_or_do_is_told() {
    let mut drive = drive(&[]);
    let broken = drive
        .tasks()
        .run_on_host(b"no module", &[], &[], TaskLimits::default());
    assert!(broken.is_err());
    let limits = TaskLimits {
        cycles: 100_000,
        ..TaskLimits::default()
    };
    let stopped = drive.tasks().run_on_host(&spin(), &[], &[], limits);
    assert_eq!(stopped.expect("begun").ended, Ended::Trapped);
    let missing =
        drive
            .tasks()
            .run_on_host(&echo(), &[TaskFile::read("no")], &[], TaskLimits::default());
    assert!(missing.is_err_and(|error| error.to_string().contains("no")));
    let limits = TaskLimits {
        memory_bytes: 1 << 16,
        ..TaskLimits::default()
    };
    let rejected = drive.tasks().run_on_host(&echo(), &[], &[], limits);
    let rejected = rejected.expect("told");
    assert_eq!((rejected.ended, rejected.attempts), (Ended::Rejected, 0));
}
