//! What transactions are counted as.

use bitline::{Drive, Ended, Host, Isolation, Loading, Outcome, TaskFile, TaskRun, TxCounts};

use crate::modules::{count, fail, module, wait};
use crate::{drive, write_file};

fn counts(drive: &Drive) -> TxCounts {
    drive.statistics().expect("power").tx
}

/// Reads the first byte of each page of its file, which is `pages` long, computes, and then adds 1 to the number at the beginning.
fn slow(pages: u32) -> Vec<u8> {
    let waiting = wait(5_000_000);
    let bytes = pages * 4096;
    module(&format!(
        "(loop $next
           (drop (call $file_read (i32.const 0) (i32.const 8) (i32.const 1) (local.get $at)))
           (local.set $at (i64.add (local.get $at) (i64.const 4096)))
           (br_if $next (i64.lt_u (local.get $at) (i64.const {bytes}))))
         {waiting}
         (drop (call $file_read (i32.const 0) (i32.const 0) (i32.const 8) (i64.const 0)))
         (i64.store (i32.const 0) (i64.add (i64.load (i32.const 0)) (i64.const 1)))
         (drop (call $file_write (i32.const 0) (i32.const 0) (i32.const 8) (i64.const 0)))
         (i32.const 0)"
    ))
}

#[test]
fn each_end_is_counted_once() {
    let mut drive = drive(&[]);
    assert_eq!(counts(&drive), TxCounts::default());
    write_file(&mut drive, "number", &[0; 8]);
    let run = TaskRun::of(vec![TaskFile::write("number")]);
    for _ in 0..3 {
        drive.tasks().run_module(&count(), &run).expect("begun");
    }
    let failed = drive.tasks().run_module(&fail(), &run);
    assert_eq!(failed.expect("begun").ended, Ended::Failed(7));
    for isolation in [Isolation::File, Isolation::Block] {
        let run = run.clone().isolation(isolation);
        let outcome = drive.tasks().run_module(&count(), &run).expect("begun");
        assert_eq!(outcome.ended, Ended::Committed);
    }
    let told = counts(&drive);
    let ends = (told.begun, told.committed, told.conflicts, told.rolled_back);
    assert_eq!(ends, (4, 3, 0, 1));
    assert_eq!(told.entries_most, 1, "one page at a time");
    let pages = (told.pages_read, told.pages_written, told.pages_gathered);
    // The one that fails writes beyond the end; without transactions nothing is gathered.
    assert_eq!(pages, (5, 2, 3));
    assert_eq!(
        (told.host_pages_diverted, told.commit_pages_diverted),
        (0, 0)
    );

    let program = drive.tasks().load(&count(), Loading::default());
    let program = program.expect("room");
    let runs: Vec<_> = (0..10)
        .map(|_| drive.tasks().submit(&program, &run).expect("power"))
        .collect();
    let mut committed = 0;
    for run in &runs {
        let outcome = drive.wait(run).expect("power").answer.expect("begun");
        committed += u64::from(outcome.ended == Ended::Committed);
    }
    let told = counts(&drive);
    let ends = (told.begun, told.committed, told.conflicts, told.rolled_back);
    assert_eq!(ends, (14, 3 + committed, 10 - committed, 1));
    assert!(committed < 10, "they were not together");
}

/// Runs a slow task over pages of a file; when it has looked at all of them, and computes, somebody else does something.
fn meanwhile(drive: &mut Drive, pages: u32, other: impl AsyncFnOnce(&Host) + 'static) -> Outcome {
    let program = drive.tasks().load(&slow(pages), Loading::default());
    let run = TaskRun::of(vec![TaskFile::write("pages")]);
    let seen = counts(drive).pages_read + u64::from(pages);
    let run = drive.tasks().submit(&program.expect("room"), &run);
    while counts(drive).pages_read < seen {
        assert!(drive.simulation().expect("power").step());
    }
    let other = drive.submit(async move |host: Host| other(&host).await);
    drive.wait(&other.expect("power")).expect("power");
    let run = run.expect("power");
    assert!(!run.is_finished(), "they were not together");
    drive.wait(&run).expect("power").answer.expect("begun")
}

#[test]
fn what_the_host_changes_under_a_run_is_diverted() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "pages", &[1; 5 * 4096]);
    let outcome = meanwhile(&mut drive, 5, async |host| {
        for number in [2, 3] {
            for page in 1..4 {
                let data = [number; 4096];
                let written = host.write_object_at("pages", page * 4096, &data).await;
                written.expect("it is there");
            }
        }
    });
    assert_eq!(outcome.ended, Ended::Committed, "the pages are others");
    let told = counts(&drive);
    assert_eq!(
        (told.host_pages_diverted, told.commit_pages_diverted),
        (3, 0)
    );
    assert_eq!(
        told.entries_most, 4,
        "three former pages and a tentative one"
    );

    let outcome = meanwhile(&mut drive, 5, async |host| {
        let written = host.write_object_at("pages", 0, &[7; 8]).await;
        written.expect("it is there");
    });
    assert_eq!(outcome.ended, Ended::Conflict);
    let told = counts(&drive);
    assert_eq!((told.host_pages_diverted, told.conflicts), (4, 1));
}

#[test]
fn what_a_commit_changes_under_a_run_is_diverted() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "pages", &[1; 2 * 4096]);
    let program = drive.tasks().load(&count(), Loading::default());
    let program = program.expect("room");
    let other = TaskRun::of(vec![TaskFile::write("pages")]);
    let outcome = meanwhile(&mut drive, 2, async move |host| {
        let outcome = host.run_program(&program, &other).await.expect("begun");
        assert_eq!(outcome.ended, Ended::Committed);
    });
    assert_eq!(outcome.ended, Ended::Conflict);
    let told = counts(&drive);
    assert_eq!(
        (told.host_pages_diverted, told.commit_pages_diverted),
        (0, 1)
    );
    assert_eq!((told.committed, told.conflicts), (1, 1));
}

/// Entries are noted whoever makes them: here there are none but of what the host changes.
#[test]
fn entries_that_the_host_makes_are_noted() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "pages", &[1; 5 * 4096]);
    let outcome = meanwhile(&mut drive, 5, async |host| {
        let written = host.write_object_at("pages", 0, &[2; 5 * 4096]).await;
        written.expect("it is there");
    });
    assert_eq!(outcome.ended, Ended::Conflict);
    let told = counts(&drive);
    assert_eq!((told.host_pages_diverted, told.entries_most), (5, 5));
}
