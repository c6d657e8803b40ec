//! Runs whose command is aborted (NVMe Base 2.1, 5.1.1).

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;

use bitline::inside::InsideHost;
use bitline::{Drive, Ended, Host, Loading, Status, TaskFile, TaskLimits, TaskRun};
use nvme::{CommandId, QueueId};

use crate::modules::{count, module};
use crate::{drive, drive_status, write_file};

/// Writes 1s over the beginning of its file, and then goes on for ever.
fn write_and_spin() -> Vec<u8> {
    module(
        "(i64.store (i32.const 0) (i64.const 0x0101010101010101))
         (drop (call $file_write (i32.const 0) (i32.const 0) (i32.const 8) (i64.const 0)))
         (loop $more (br $more))
         (i32.const 0)",
    )
}

fn long() -> TaskLimits {
    TaskLimits {
        cycles: 5_000_000_000,
        ..TaskLimits::default()
    }
}

/// Aborts whatever may be under way on the first queue; how much was.
pub(crate) async fn abort_all(host: &Host) -> u32 {
    let mut aborted = 0;
    for command in 0..32 {
        let (queue, command) = (QueueId::new(1), CommandId::new(command));
        let was = host.admin().abort(queue, command).await;
        aborted += u32::from(was.expect("within the limit"));
    }
    aborted
}

fn first_number(drive: &mut Drive, name: &str) -> u64 {
    let data = drive.volume().read(name).expect("it is there");
    u64::from_le_bytes(*data.first_chunk().expect("8 bytes"))
}

#[test]
fn a_run_that_is_aborted_leaves_nothing_and_completes_before_the_abort() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "number", &[7; 8]);
    let spin = drive
        .tasks()
        .load(&write_and_spin(), Loading::default())
        .expect("room");
    let run = TaskRun::of(vec![TaskFile::write("number")]).limits(long());
    let order: Rc<RefCell<Vec<&str>>> = Rc::default();
    let (runs, aborts) = (order.clone(), order.clone());
    let running = drive.submit(async move |host| {
        let outcome = host.run_program(&spin, &run).await;
        runs.borrow_mut().push("run");
        outcome
    });
    let running = running.expect("power");
    while drive.statistics().expect("power").tx.pages_gathered == 0 {
        assert!(drive.simulation().expect("power").step(), "it never writes");
    }
    let aborted = drive.run(async move |host| {
        let aborted = abort_all(&host).await;
        aborts.borrow_mut().push("abort");
        aborted
    });
    assert_eq!(aborted.expect("power"), 1);
    let outcome = drive.wait(&running).expect("power").answer;
    assert_eq!(drive_status(outcome), Status::ABORT_REQUESTED);
    assert_eq!(*order.borrow(), ["run", "abort"]);
    let told = drive.statistics().expect("power").tx;
    assert_eq!((told.begun, told.rolled_back), (1, 1));

    assert_eq!(first_number(&mut drive, "number"), 0x0707_0707_0707_0707);
    let run = TaskRun::of(vec![TaskFile::write("number")]);
    let outcome = drive.tasks().run_module(&count(), &run).expect("begun");
    assert_eq!(outcome.ended, Ended::Committed, "nobody else has the file");
    crate::cut(&mut drive);
    assert_eq!(first_number(&mut drive, "number"), 0x0707_0707_0707_0708);
}

/// A run that waits until there may be another one has not begun, and is aborted too.
#[test]
fn a_run_that_waits_its_turn_is_aborted() {
    let mut drive = drive(&[("task.quota.runs", "1")]);
    write_file(&mut drive, "number", &[0; 8]);
    let spin = drive
        .tasks()
        .load(&write_and_spin(), Loading::default())
        .expect("room");
    let run = TaskRun::of(vec![TaskFile::write("number")]).limits(long());
    let run = || {
        let run = run.clone();
        async move |host: Host| host.run_program(&spin, &run).await
    };
    let runs = [(); 3].map(|()| drive.submit(run()).expect("power"));
    let aborted = drive.run(async move |host| {
        host.sim().sleep(sim::Span::from_us(2000)).await;
        abort_all(&host).await
    });
    assert_eq!(aborted.expect("power"), 3);
    for run in &runs {
        let outcome = drive.wait(run).expect("power").answer;
        assert_eq!(drive_status(outcome), Status::ABORT_REQUESTED);
    }
    assert_eq!(first_number(&mut drive, "number"), 0);
}

/// Whenever the abort comes, what is told of run and abort is what became of the file.
#[test]
fn an_abort_at_any_event_is_told_truly() {
    let (mut aborted, mut committed) = (0, 0);
    for events in 0..150 {
        let mut drive = drive(&[]);
        write_file(&mut drive, "number", &[0; 8]);
        let run = TaskRun::of(vec![TaskFile::write("number")]);
        let told: Rc<RefCell<u32>> = Rc::default();
        let of = told.clone();
        let program = drive.tasks().load(&count(), Loading::default());
        let program = program.expect("room");
        let running = drive.submit(async move |host| host.run_program(&program, &run).await);
        let running = running.expect("power");
        for _ in 0..events {
            drive.simulation().expect("power").step();
        }
        let abort = drive.submit(async move |host| *of.borrow_mut() = abort_all(&host).await);
        drive.wait(&abort.expect("power")).expect("power");
        let was_aborted = match drive.wait(&running).expect("power").answer {
            Ok(outcome) => {
                assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
                false
            }
            Err(error) => {
                let status = drive_status::<()>(Err(error));
                assert_eq!(status, Status::ABORT_REQUESTED);
                true
            }
        };
        assert_eq!(was_aborted, *told.borrow() == 1, "after {events} events");
        let number = first_number(&mut drive, "number");
        assert_eq!(number, u64::from(!was_aborted), "after {events} events");
        aborted += u32::from(was_aborted);
        committed += u32::from(!was_aborted);
    }
    assert!(aborted > 5 && committed > 5, "{aborted} and {committed}");
}

/// Whoever breaks a call off, as Ctrl-C does, has its run aborted: what comes next does not wait for the end of it.
#[test]
fn a_run_that_nobody_awaits_any_more_is_aborted() {
    let looks = Rc::new(Cell::new(u64::MAX));
    let shared = looks.clone();
    let watch = Rc::new(move || {
        shared.set(shared.get() - 1);
        match shared.get() {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    let mut drive = Drive::open_watched(crate::config(&[]), None, watch).expect("a drive");
    write_file(&mut drive, "number", &[7; 8]);
    let spin = drive
        .tasks()
        .load(&write_and_spin(), Loading::default())
        .expect("room");
    for _ in 0..3 {
        looks.set(40);
        let run = TaskRun::of(vec![TaskFile::write("number")]).limits(long());
        let before = drive.now();
        let broken_off = drive.tasks().run(&spin, &run);
        assert!(matches!(broken_off, Err(bitline::Error::Interrupted)));
        looks.set(u64::MAX);
        assert_eq!(first_number(&mut drive, "number"), 0x0707_0707_0707_0707);
        // Its cycles would take seconds.
        let taken = drive.now().since(before);
        assert!(taken < sim::Span::from_us(400_000), "{taken:?}");
    }
    let told = drive.statistics().expect("power").tx;
    assert_eq!((told.begun, told.rolled_back), (3, 3));
    let run = TaskRun::of(vec![TaskFile::write("number")]);
    let outcome = drive.tasks().run_module(&count(), &run).expect("begun");
    assert_eq!(outcome.ended, Ended::Committed);
}
