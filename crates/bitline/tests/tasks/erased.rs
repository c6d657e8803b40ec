//! Programs and runs of a namespace that is erased.

use bitline::{Drive, Ended, Loading, TaskLimits, TaskRun};

use crate::modules::{echo, spin};
use crate::{COMPUTE, cut, drive};

const KEPT: Loading = Loading {
    index: None,
    persistent: true,
    identifier: 0,
};

/// A run that would go on for seconds, and a program that is kept.
fn busy() -> (
    Drive,
    bitline::Pending<Result<bitline::Outcome, bitline::Error>>,
) {
    let mut drive = drive(&[]);
    drive.tasks().load(&echo(), KEPT).expect("room");
    let spin = drive
        .tasks()
        .load(&spin(), Loading::default())
        .expect("room");
    let limits = TaskLimits {
        cycles: 5_000_000_000,
        ..TaskLimits::default()
    };
    let run = TaskRun::default().limits(limits);
    let pending = drive.submit(async move |host| host.run_program(&spin, &run).await);
    let pending = pending.expect("power");
    let begun = |drive: &mut Drive| {
        let list = drive.tasks().list().expect("a list");
        list.programs
            .iter()
            .any(|program| program.running.get() > 0)
    };
    while !begun(&mut drive) {
        assert!(!pending.is_finished(), "it is over already");
    }
    (drive, pending)
}

fn stopped(drive: &mut Drive, run: &bitline::Pending<Result<bitline::Outcome, bitline::Error>>) {
    let outcome = drive
        .wait(run)
        .expect("power")
        .answer
        .expect("it was begun");
    assert_eq!(outcome.ended, Ended::Stopped, "{}", outcome.reason);
    assert!(outcome.reason.contains("erased"), "{}", outcome.reason);
}

fn without_programs(drive: &mut Drive) {
    assert_eq!(drive.tasks().list().expect("a list").programs, []);
    cut(drive);
    assert_eq!(
        drive.tasks().list().expect("a list").programs,
        [],
        "nor in the next life"
    );
}

#[test]
fn a_format_of_blocks_ends_runs_over_them() {
    let (mut drive, run) = busy();
    drive.format(1, 4096).expect("it is formatted");
    stopped(&mut drive, &run);
    let programs = drive.tasks().list().expect("a list").programs;
    assert_eq!(programs.len(), 2, "they are of another namespace");
}

#[test]
fn a_format_of_programs_ends_runs_and_takes_them() {
    let (mut drive, run) = busy();
    drive.format(COMPUTE.get(), 512).expect("it is formatted");
    stopped(&mut drive, &run);
    without_programs(&mut drive);
    let outcome = drive
        .tasks()
        .run_module(&echo(), &TaskRun::default().arguments("x"));
    assert_eq!(outcome.expect("programs can be loaded again").value, b"x");
}

#[test]
fn a_sanitize_ends_runs_and_takes_programs() {
    let (mut drive, run) = busy();
    drive.sanitize().expect("it is sanitized");
    stopped(&mut drive, &run);
    without_programs(&mut drive);
}
