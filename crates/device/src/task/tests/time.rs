//! How long tasks take: alone, beside each other, and waiting for files.

use media::dram::{ScatteredAccess, Toward};

use super::*;

/// Cycles of a nanosecond each in a quantum.
const QUANTUM: u64 = 10_000;

/// How long it takes to move bytes between page buffers and a task.
fn copying_ns(bytes: u64) -> f64 {
    let (simulation, ledger) = (Simulation::new(1), Ledger::default());
    let dram = Dram::new(&simulation.handle(), &dram_config(), &ledger, USER);
    let mut access = ScatteredAccess::default();
    for (address, toward) in [(0, Toward::Reader), (1 << 20, Toward::Cells)] {
        dram.add(&mut access, USER, address, bytes, toward);
    }
    let over = dram.post_scattered(access).expect("there is something");
    over.as_ns()
}

#[test]
fn computing_takes_its_cycles_and_its_tenant_pays() {
    let rig = Rig::new(&config(), 1);
    let files: Rc<dyn Files> = Rc::new(InMemory::new(&rig, 0));
    let program = rig.load(&computing(123_456)).expect("a task");
    let other = Origin::new(Tenant(7), Priority::Low);
    let over = rig.begin(&program, files, other);
    rig.simulation.run();
    let (run, at) = over.take();
    // A tenth of a cycle for a function, rounded up at the end.
    assert_eq!((run.cycles, run.memory_bytes), (123_457, 65536));
    assert_eq!(run.ended, Ended::Returned(Vec::new()));
    assert_eq!(at, Time::from_ps(123_457_000));
    // A watt for a nanosecond is a thousand picojoules.
    assert_eq!(rig.ledger.spent_for(Tenant(7)).as_pj(), 123_457_000);
    assert_eq!(rig.ledger.spent_for(USER).as_pj(), 0);
}

#[test]
fn tasks_take_turns_of_a_quantum_on_the_cores_there_are() {
    for (tasks, cores, quanta) in [
        (1, 1, 3),
        (2, 1, 5),
        (3, 1, 2),
        (4, 2, 3),
        (6, 3, 4),
        (2, 4, 3),
    ] {
        let rig = Rig::new(&config(), cores as u32);
        let files: Rc<dyn Files> = Rc::new(InMemory::new(&rig, 0));
        let program = rig
            .load(&computing((quanta * QUANTUM - 1) as u32))
            .expect("a task");
        let begun: Vec<Over> = (0..tasks)
            .map(|_| rig.begin(&program, files.clone(), origin()))
            .collect();
        rig.simulation.run();
        let ends: Vec<u64> = begun.iter().map(Over::at_ns).collect();
        // In each round every task has a quantum; its turn in the last round is when it ends.
        let round = tasks.max(cores) / cores * QUANTUM;
        let end = |task: u64| (quanta - 1) * round + (task / cores + 1) * QUANTUM;
        let expected: Vec<u64> = (0..tasks).map(end).collect();
        assert_eq!(ends, expected, "{tasks} tasks on {cores} cores");
    }
}

#[test]
fn a_task_that_waits_leaves_its_core_to_others() {
    let rig = Rig::new(&config(), 1);
    let latency = 25_000;
    let files: Rc<dyn Files> = Rc::new(InMemory::new(&rig, latency));
    let reading = "(drop (call $file_read (i32.const 0) (i32.const 0) (i32.const 4096) (i64.const 0))) (i32.const 0)";
    let reading = rig.load(&task("", reading)).expect("a task");
    let computing = rig
        .load(&computing(4 * QUANTUM as u32 - 1))
        .expect("a task");
    let reads = rig.begin(&reading, files.clone(), origin());
    let computes = rig.begin(&computing, files, origin());
    rig.simulation.run();
    // What is read arrives in the third quantum of the other task; then a cycle is charged, before the fourth.
    let arrives = latency as f64 + copying_ns(4096);
    assert!(arrives > 2.0 * QUANTUM as f64 && arrives < 3.0 * QUANTUM as f64);
    assert_eq!(reads.at_ns(), 3 * QUANTUM + 1);
    assert_eq!(computes.at_ns(), 4 * QUANTUM + 1);
}

#[test]
fn reads_take_latency_and_copying_and_what_is_submitted_overlaps() {
    let (latency, bytes) = (50_000, 16384);
    let rig = Rig::new(&config(), 1);
    let files = Rc::new(InMemory::new(&rig, latency));
    let read = format!(
        "(drop (call $file_read (i32.const 0) (i32.const 0) (i32.const {bytes}) (i64.const 0)))"
    );
    let main = format!("{read} {read} {read} (i32.const 0)");
    let in_turn = rig.load(&task("", &main)).expect("a task");
    let over = rig.begin(&in_turn, files.clone(), origin());
    rig.simulation.run();
    let one = latency as f64 + copying_ns(bytes);
    // The rows stay open: later copies begin a little sooner.
    let took = over.take().1.as_ns();
    assert!((took - 3.0 * one).abs() < 100.0, "{took} {one}");
    assert_eq!(files.at_once.get().1, 1);
    let rig = Rig::new(&config(), 1);
    let files = Rc::new(InMemory::new(&rig, latency));
    let submit = |ticket: u32| {
        let at = ticket * 16384;
        format!(
            "(drop (call $submit_read (i32.const 0) (i32.const {at}) (i32.const {bytes}) (i64.const 0)))"
        )
    };
    let wait = |ticket: u32| format!("(drop (call $wait (i32.const {ticket})))");
    let all = |each: &dyn Fn(u32) -> String| (0..3).map(each).collect::<String>();
    let main = format!("{} {} (i32.const 0)", all(&submit), all(&wait));
    let at_once = rig.load(&task("", &main)).expect("a task");
    let over = rig.begin(&at_once, files.clone(), origin());
    rig.simulation.run();
    let took = over.take().1.as_ns();
    let together = latency as f64 + 3.0 * copying_ns(bytes);
    assert!((took - together).abs() < 200.0, "{took} {together}");
    assert_eq!(files.at_once.get().1, 3);
}

#[test]
fn tasks_wait_for_room_in_memory() {
    // Room for two tasks of three.
    let small = TaskConfig {
        dram_bytes: 5 << 16,
        memory_bytes: 2 << 16,
        ..config()
    };
    let rig = Rig::new(&small, 4);
    let files: Rc<dyn Files> = Rc::new(InMemory::new(&rig, 0));
    let program = computing(29_999).replace("1 1)", "1)");
    let program = rig.load(&program).expect("a task");
    let begun = [(); 3].map(|()| rig.begin(&program, files.clone(), origin()));
    rig.simulation.run();
    assert_eq!(begun.map(|over| over.at_ns()), [30_000, 30_000, 60_000]);
    let limits = Limits {
        memory_bytes: 1 << 16,
        ..rig.tasks.limits()
    };
    let large = computing(1).replace("1 1)", "2 2)");
    let large = rig.load(&large).expect("a task");
    let over = rig.simulation.block_on({
        let tasks = rig.tasks.clone();
        async move { tasks.run(&large, files, &[], limits, origin()).await }
    });
    let reason = "the program needs 131072 bytes of memory to begin with, more than the 65536 that this run may have";
    assert_eq!(
        over.expect("it ends").ended,
        Ended::Rejected {
            reason: reason.to_owned()
        }
    );
}

#[test]
fn runs_of_the_same_are_the_same() {
    let mixed = r#"
        (drop (call $submit_read (i32.const 0) (i32.const 1000) (i32.const 300) (i64.const 77)))
        (local.set $i (i32.const 30000))
        (loop $again (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
        (drop (call $wait (i32.const 0)))
        (drop (call $file_write (i32.const 0) (i32.const 1000) (i32.const 300) (i64.const 5)))
        (f64.store (i32.const 8) (f64.div (f64.const 0) (f64.const 0)))
        (drop (call $put_ret (i32.const 8) (i32.const 8)))
        (drop (call $put_ret (i32.const 1000) (i32.const 8)))
        (drop (call $log (i32.const 0) (i32.const 5)))
        (i32.const 0)"#;
    let live = || {
        let rig = Rig::new(&config(), 1);
        let files = Rc::new(InMemory::new(&rig, 1234));
        let program = rig.load(&task("hello", mixed)).expect("a task");
        let begun = [(); 3].map(|()| rig.begin(&program, files.clone(), origin()));
        rig.simulation.run();
        let content = files.files[0].borrow().clone();
        let spent = rig.ledger.total().as_pj();
        (
            begun.map(|over| over.take()),
            content,
            spent,
            rig.simulation.events(),
        )
    };
    let (first, second) = (live(), live());
    assert_eq!(first, second);
    let Ended::Returned(bytes) = &first.0[0].0.ended else {
        panic!("{:?}", first.0[0]);
    };
    // The one NaN there is, whatever the processor makes.
    assert_eq!(bytes[..8], 0x7FF8_0000_0000_0000_u64.to_le_bytes());
    assert_eq!(bytes[8..], [77, 78, 79, 80, 81, 82, 83, 84]);
    assert_eq!(first.0[0].0.log, "hello");
    assert_eq!(first.1[5..9], [77, 78, 79, 80]);
}

#[test]
fn time_is_the_same_without_data() {
    let main = r#"
        (drop (call $file_read (i32.const 0) (i32.const 0) (i32.const 5000) (i64.const 10)))
        (drop (call $submit_write (i32.const 0) (i32.const 0) (i32.const 5000) (i64.const 60000)))
        (drop (call $put_ret (i32.const 0) (i32.const 4)))
        (i32.const 0)"#;
    let live = |has_data| {
        let rig = Rig::new(&config(), 1);
        let files = InMemory::new(&rig, 1234);
        let files = Rc::new(InMemory { has_data, ..files });
        let program = rig.load(&task("hello", main)).expect("a task");
        let over = rig.begin(&program, files, origin());
        rig.simulation.run();
        over.take()
    };
    let ((with, at), (without, at_without)) = (live(true), live(false));
    assert_eq!((at, with.cycles), (at_without, without.cycles));
    assert_eq!(with.ended, Ended::Returned(vec![10, 11, 12, 13]));
    assert_eq!(without.ended, Ended::Returned(vec![0; 4]), "zeros are read");
}

#[test]
fn a_run_that_is_dropped_stops_with_what_it_submitted() {
    let rig = Rig::new(&config(), 1);
    let files = Rc::new(InMemory::new(&rig, 1000));
    let main = r#"
        (drop (call $submit_write (i32.const 0) (i32.const 0) (i32.const 5) (i64.const 0)))
        (loop $again (br $again)) (i32.const 0)"#;
    let program = rig.load(&task("hello", main)).expect("a task");
    let (tasks, given) = (rig.tasks.clone(), files.clone());
    let handle = rig.simulation.handle().spawn(async move {
        let limits = tasks.limits();
        tasks.run(&program, given, &[], limits, origin()).await
    });
    rig.simulation.run_until(Time::from_ps(500_000));
    assert_eq!(files.at_once.get(), (1, 1), "it is being written");
    handle.abort();
    rig.simulation.run();
    assert_eq!(files.files[0].borrow()[..5], [0, 1, 2, 3, 4]);
    assert_eq!(rig.tasks.room.available(), 1 << 20);
}
