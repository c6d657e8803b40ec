//! Many runs in flight, and others who change what they work on.

use bitline::{Drive, Ended, Loading, Outcome, Pending, TaskFile, TaskRun};

use crate::modules::count;
use crate::{cut, drive, write_file};

type Run = Pending<Result<Outcome, bitline::Error>>;

fn ended(drive: &mut Drive, run: &Run) -> Outcome {
    let finished = drive.wait(run).expect("power");
    finished.answer.expect("it was begun")
}

fn number(drive: &mut Drive, name: &str) -> u64 {
    let bytes = drive.volume().read_at(name, 0, 8).expect("it is there");
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

/// Of runs that add 1 to the same number, each that committed is counted once, and nobody else; those that are begun anew
/// often enough all commit.
#[test]
fn no_update_is_lost() {
    for (retries, least) in [(0, 1), (100, 12)] {
        let mut drive = drive(&[]);
        write_file(&mut drive, "number", &[0; 8]);
        let program = drive
            .tasks()
            .load(&count(), Loading::default())
            .expect("room");
        let run = TaskRun::of(vec![TaskFile::write("number")]).retries(retries);
        let runs: Vec<Run> = (0..12)
            .map(|_| drive.tasks().submit(&program, &run).expect("power"))
            .collect();
        let ends: Vec<Outcome> = runs.iter().map(|run| ended(&mut drive, run)).collect();
        let committed = ends
            .iter()
            .filter(|end| end.ended == Ended::Committed)
            .count();
        let conflicts = ends.iter().filter(|end| end.ended == Ended::Conflict);
        assert!(
            conflicts
                .clone()
                .all(|end| { end.reason.contains("bytes 0 to 8 of file 0") })
        );
        assert_eq!(committed + conflicts.count(), 12);
        assert!(
            committed >= least,
            "{committed} of 12 with {retries} retries"
        );
        assert_eq!(number(&mut drive, "number"), committed as u64);
        if retries == 0 {
            assert!(committed < 12, "they were not together");
            assert!(ends.iter().all(|end| end.attempts == 1));
        } else {
            assert!(ends.iter().any(|end| end.attempts > 1));
        }
    }
}

/// A run over other files goes on beside.
#[test]
fn runs_over_other_files_do_not_meet() {
    let mut drive = drive(&[("task.quota.runs", "3")]);
    let program = drive
        .tasks()
        .load(&count(), Loading::default())
        .expect("room");
    let names: Vec<String> = (0..8).map(|number| format!("number {number}")).collect();
    for name in &names {
        write_file(&mut drive, name, &[0; 8]);
    }
    let runs: Vec<Run> = names
        .iter()
        .map(|name| {
            let run = TaskRun::of(vec![TaskFile::write(name)]);
            drive.tasks().submit(&program, &run).expect("power")
        })
        .collect();
    for run in &runs {
        assert_eq!(ended(&mut drive, run).ended, Ended::Committed);
    }
    for name in &names {
        assert_eq!(number(&mut drive, name), 1, "{name}");
    }
}

/// Commits that wait for the journal at the same time have one page of it together.
#[test]
fn commits_at_the_same_time_share_a_page_of_the_journal() {
    let journal_pages = |together: usize| {
        let mut drive = drive(&[("tx.capacitor", "false"), ("task.quota.runs", "16")]);
        let program = drive.tasks().load(&count(), Loading::default());
        let program = program.expect("room");
        let names: Vec<String> = (0..16).map(|number| format!("number {number}")).collect();
        names
            .iter()
            .for_each(|name| write_file(&mut drive, name, &[0; 8]));
        let before = drive.statistics().expect("power");
        for names in names.chunks(together) {
            let runs = names.iter().map(|name| {
                let run = TaskRun::of(vec![TaskFile::write(name)]);
                drive.tasks().submit(&program, &run).expect("power")
            });
            let runs: Vec<Run> = runs.collect();
            for run in &runs {
                assert_eq!(ended(&mut drive, run).ended, Ended::Committed);
            }
        }
        let after = drive.statistics().expect("power");
        cut(&mut drive);
        for name in &names {
            assert_eq!(number(&mut drive, name), 1, "{name}");
        }
        let programs = after.flash.page_programs - before.flash.page_programs;
        programs - (after.ftl.tentative_page_writes - before.ftl.tentative_page_writes)
    };
    let (alone, together) = (journal_pages(1), journal_pages(16));
    assert_eq!(alone, 16, "one each");
    // Some come while the page of others is being programmed, and have the next one.
    assert!(together <= 11, "{together} pages for 16 commits");
}

/// Also where its module is still to be loaded.
#[test]
fn objects_stay_where_they_are_for_a_run_that_loads_its_module_first() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "number", &[0; 8]);
    let run = TaskRun::of(vec![TaskFile::write("number")]);
    let module = count();
    let pending = drive.submit(async move |host| host.run_module(&module, &run).await);
    let pending = pending.expect("power");
    drive.volume().remove("number").expect("it is there");
    assert!(pending.is_finished(), "the change did not wait");
    assert_eq!(ended(&mut drive, &pending).ended, Ended::Committed);
}

/// Who removes, replaces or cuts what a run works on waits until the run is over: it writes to nobody else's blocks.
#[test]
fn objects_stay_where_they_are_while_a_run_works_on_them() {
    for what in 0..3 {
        let mut drive = drive(&[]);
        write_file(&mut drive, "number", &[0; 8]);
        let program = drive
            .tasks()
            .load(&count(), Loading::default())
            .expect("room");
        let run = TaskRun::of(vec![TaskFile::write("number")]);
        let pending = drive.tasks().submit(&program, &run).expect("power");
        // The run has begun, and holds the object.
        let now = drive.now();
        while drive.now() == now {
            assert!(drive.simulation().expect("power").step());
        }
        match what {
            0 => drive.volume().remove("number").expect("it is there"),
            1 => write_file(&mut drive, "number", &[9; 8]),
            _ => drive.volume().truncate("number", 4).expect("it is there"),
        }
        assert!(pending.is_finished(), "the change did not wait");
        assert_eq!(ended(&mut drive, &pending).ended, Ended::Committed);
        match what {
            0 => assert!(drive.volume().get("number").expect("power").is_none()),
            1 => assert_eq!(drive.volume().read("number").expect("there"), [9; 8]),
            _ => assert_eq!(drive.volume().read("number").expect("there"), [1, 0, 0, 0]),
        }
    }
}

/// A run that waits for one of its objects holds none of the others, for which whoever changes all of them would wait.
#[test]
fn who_removes_several_objects_of_a_run_does_not_wait_for_ever() {
    let mut drive = drive(&[]);
    let group = drive.group("some").expect("a group");
    group.write(64, [[1u8; 8], [2; 8]]).expect("room");
    drive.flush().expect("power");
    // The volume is opened anew by the run, before which the removal comes to wait.
    cut(&mut drive);
    let program = drive
        .tasks()
        .load(&count(), Loading::default())
        .expect("room");
    let files = ["some/0", "some/1"].map(TaskFile::write).to_vec();
    let run = drive
        .tasks()
        .submit(&program, &TaskRun::of(files))
        .expect("power");
    drive.volume().remove("some").expect("it is there");
    assert_eq!(ended(&mut drive, &run).ended, Ended::Committed);
    assert!(drive.volume().get("some").expect("power").is_none());
}

/// A program is not unloaded or deactivated while it runs.
#[test]
fn a_program_stays_while_it_runs() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "number", &[0; 8]);
    let program = drive
        .tasks()
        .load(&count(), Loading::default())
        .expect("room");
    let run = TaskRun::of(vec![TaskFile::write("number")]);
    let pending = drive.tasks().submit(&program, &run).expect("power");
    loop {
        let list = drive.tasks().list().expect("a list");
        if list.programs[0].running.get() > 0 {
            break;
        }
        assert!(!pending.is_finished(), "it was never seen running");
    }
    let unload = drive.tasks().unload(program.index);
    let in_use = crate::drive_status(unload);
    assert!(
        in_use.is(bitline::Status::PROGRAM_IN_USE) || pending.is_finished(),
        "{in_use}"
    );
    assert_eq!(ended(&mut drive, &pending).ended, Ended::Committed);
}
