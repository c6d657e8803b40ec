//! What is left of programs and runs when the power is cut.

use bitline::{Drive, Ended, Loading, Program, ProgramState, TaskFile, TaskRun};

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

/// A process that is killed has no capacitor. What its image says then is what some commit left, of all files alike, although the
/// mapping and checkpoints were written in the meantime and blocks were collected.
#[test]
fn an_image_of_a_process_that_was_killed_has_whole_commits() {
    let directory = std::env::temp_dir();
    let [path, left] = ["runs", "left"]
        .map(|name| directory.join(format!("bitline-{}-{name}.img", std::process::id())));
    let config = config(&[
        ("tx.capacitor", "true"),
        ("data.storage", "image"),
        ("ftl.mapping.kind", "cached"),
        ("ftl.mapping.cache_entries", "64"),
        ("ftl.checkpoint.interval_pages", "40"),
    ]);
    let mut drive = Drive::open_image(config.clone(), &path).expect("a new image");
    let names = ["a", "b", "c"];
    for name in names {
        write_file(&mut drive, name, &[0; 8]);
    }
    let filler = vec![0x5A; 300_000];
    write_file(&mut drive, "filler", &filler);
    drive.flush().expect("there is room");
    let run = TaskRun::of(names.map(TaskFile::write).to_vec());
    let count = drive.tasks().load(&count(), Loading::default());
    let count = count.expect("room");
    let number = |drive: &mut Drive, name: &str| {
        let data = drive.volume().read(name).expect("it is there");
        u64::from_le_bytes(*data.first_chunk().expect("8 bytes"))
    };
    let (mut last, mut behind) = (0, 0);
    for committed in 1..=120_u64 {
        let outcome = drive.tasks().run(&count, &run).expect("begun");
        assert_eq!(outcome.ended, Ended::Committed);
        // No flush: what follows is on flash because there was no room for it elsewhere.
        let more = filler[..4096 * (1 + committed as usize * 7 % 40)].to_vec();
        let wrote = drive.run(async move |host| host.write_object_at("filler", 0, &more).await);
        wrote.expect("power").expect("room");
        let events = committed * 37 % 200;
        for _ in 0..events {
            drive.simulation().expect("power").step();
        }
        std::fs::copy(&path, &left).expect("a copy");
        let mut other = Drive::open_image(config.clone(), &left).expect("an image");
        let found = names.map(|name| number(&mut other, name));
        assert!(
            found.iter().all(|number| *number == found[0]),
            "after {committed} commits: {found:?}"
        );
        assert!(
            (last..=committed).contains(&found[0]),
            "after {committed} commits: {found:?}, and {last} before"
        );
        last = found[0];
        behind += u32::from(last < committed);
    }
    let counts = drive.statistics().expect("power").ftl;
    assert!(counts.checkpoints > 3, "{counts:?}");
    assert!(last > 0 && behind > 0, "{last}, {behind} times behind");
    for path in [path, left] {
        std::fs::remove_file(path).expect("it was made");
    }
}
