//! What is left of programs and runs when the power is cut.

use bitline::{Ended, Loading, Program, ProgramState, TaskFile, TaskRun};

use crate::modules::{count, echo};
use crate::{config, cut, drive, write_file};

const KEPT: Loading = Loading {
    index: None,
    persistent: true,
    identifier: 0,
};

#[test]
fn programs_are_kept_that_are_to_be() {
    let mut drive = drive(&[]);
    let kept = drive.tasks().load(&echo(), KEPT).expect("room");
    let other = drive
        .tasks()
        .load(&count(), Loading::default())
        .expect("room");
    assert_ne!(kept.index, other.index);
    cut(&mut drive);
    let list = drive.tasks().list().expect("a list");
    let [program] = &list.programs[..] else {
        panic!("one program: {list:?}");
    };
    assert_eq!(
        (program.index.get(), program.identifier.get()),
        (kept.index, kept.identifier)
    );
    assert_eq!(
        program.state(),
        Some(ProgramState::Loaded),
        "to be activated anew"
    );
    let outcome = drive
        .tasks()
        .run_module(&echo(), &TaskRun::default().arguments("x"));
    assert_eq!(outcome.expect("it runs").value, b"x");
    assert_eq!(
        drive.tasks().list().expect("a list").programs.len(),
        1,
        "not loaded again"
    );
    drive.tasks().unload(kept.index).expect("it is there");
    cut(&mut drive);
    assert_eq!(drive.tasks().list().expect("a list").programs, []);
}

/// A program of many pages, which is asked for in one life and there in the next, or was never acknowledged.
#[test]
fn a_cut_while_a_program_is_kept_leaves_all_of_it_or_nothing() {
    let filler = "A".repeat(40_000);
    let text = format!(
        r#"(module (memory (export "memory") 1) (data (i32.const 0) "{filler}")
            (func (export "isc_main") (result i32) (i32.load8_u (i32.const 39999))))"#
    );
    let module = wat::parse_str(text).expect("a module");
    let (mut there, mut not_there) = (0, 0);
    for events in (0..400).step_by(25) {
        let mut drive = drive(&[]);
        let loaded = module.clone();
        let pending = drive.submit(async move |host| host.load_program(&loaded, KEPT).await);
        let pending = pending.expect("power");
        for _ in 0..events {
            drive.simulation().expect("power").step();
        }
        let acknowledged = pending.is_finished();
        cut(&mut drive);
        let list = drive.tasks().list().expect("a list");
        match &list.programs[..] {
            [] => {
                assert!(!acknowledged, "a program that was acknowledged is gone");
                not_there += 1;
            }
            [program] => {
                there += 1;
                assert_eq!(program.bytes.get() as usize, module.len());
                let program = Program::new(program.index.get(), program.identifier.get());
                let loaded = drive.tasks().load(&module, KEPT).expect("it is a module");
                assert_eq!(loaded, program);
                let outcome = drive.tasks().run(&loaded, &TaskRun::default());
                assert_eq!(outcome.expect("it runs").ended, Ended::Failed(65));
            }
            more => panic!("{more:?}"),
        }
    }
    assert!(there > 0 && not_there > 0, "{there} there, {not_there} not");
}

/// What committed is there after a cut, and what did not is not, wherever the cut falls.
#[test]
fn a_run_is_there_as_a_whole_or_not_at_all() {
    let (mut before, mut after) = (0, 0);
    for events in (0..600).step_by(12) {
        let mut drive = bitline::Drive::open(config(&[])).expect("it opens");
        write_file(&mut drive, "one", &[0; 8]);
        write_file(&mut drive, "other", &[0; 8]);
        drive.flush().expect("room");
        let program = drive
            .tasks()
            .load(&count(), Loading::default())
            .expect("room");
        let run = TaskRun::of(vec![TaskFile::write("one"), TaskFile::write("other")]);
        let pending = drive.submit(async move |host| host.run_program(&program, &run).await);
        let pending = pending.expect("power");
        for _ in 0..events {
            drive.simulation().expect("power").step();
        }
        let acknowledged = pending.is_finished();
        cut(&mut drive);
        let mut read = |name: &str| drive.volume().read(name).expect("it is there");
        let numbers = (read("one")[0], read("other")[0]);
        match numbers {
            (0, 0) => {
                assert!(!acknowledged, "a commit that was acknowledged is gone");
                before += 1;
            }
            (1, 1) => after += 1,
            torn => panic!("{torn:?} after {events} events"),
        }
    }
    assert!(before > 0 && after > 0, "{before} before, {after} after");
}
