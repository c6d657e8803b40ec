//! The executor: order, determinism, cancellation, power cuts.

use std::cell::RefCell;
use std::rc::Rc;

use sim::resource::{Pipe, Priority, Server};
use sim::{Either, Keep, Name, Simulation, Span, Stalled, Time, join, join_all, select};

const NS: fn(u64) -> Span = Span::from_ns;

/// A log that tasks write to.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<(u64, u32)>>>);

impl Log {
    fn note(&self, at: Time, what: u32) {
        self.0.borrow_mut().push((at.as_ps() / 1000, what));
    }

    fn take(&self) -> Vec<(u64, u32)> {
        self.0.take()
    }
}

#[test]
fn equal_times_happen_in_the_order_of_their_setting() {
    let simulation = Simulation::new(0);
    let log = Log::default();
    for (number, span) in [(0, 5), (1, 3), (2, 5), (3, 3)] {
        let (sim, log) = (simulation.handle(), log.clone());
        simulation.handle().spawn(async move {
            sim.sleep(NS(span)).await;
            log.note(sim.now(), number);
        });
    }
    simulation.run();
    assert_eq!(log.take(), [(3, 1), (3, 3), (5, 0), (5, 2)]);
}

#[test]
fn timers_of_an_instant_come_before_wake_ups_in_it() {
    let simulation = Simulation::new(0);
    let log = Log::default();
    let sim = simulation.handle();
    let (a, b) = (sim.clone(), sim.clone());
    let (log_a, log_b) = (log.clone(), log.clone());
    sim.spawn(async move {
        a.sleep(NS(1)).await;
        a.yield_now().await;
        log_a.note(a.now(), 1);
    });
    sim.spawn(async move {
        b.sleep(NS(1)).await;
        log_b.note(b.now(), 2);
    });
    simulation.run();
    assert_eq!(log.take(), [(1, 2), (1, 1)]);
}

#[test]
fn a_dropped_sleep_does_not_hold_the_clock() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let won = simulation.block_on(async move {
        let won = select(sim.sleep(NS(10)), sim.sleep(NS(1_000_000))).await;
        matches!(won, Either::Left(()))
    });
    assert_eq!(won, Ok(true));
    simulation.run();
    assert_eq!(simulation.now(), Time::from_ps(10_000));
}

#[test]
fn joins_end_with_their_last_task() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let times = simulation.block_on(async move {
        join(sim.sleep(NS(7)), sim.sleep(NS(3))).await;
        let seven = sim.now();
        let outputs = join_all([5u64, 1, 3].map(|span| {
            let sim = sim.clone();
            async move {
                sim.sleep(NS(span)).await;
                span
            }
        }))
        .await;
        (seven.as_ns(), sim.now().as_ns(), outputs)
    });
    assert_eq!(times, Ok((7.0, 12.0, vec![5, 1, 3])));
}

#[test]
fn a_stall_is_reported_not_waited_for() {
    let simulation = Simulation::new(0);
    let outcome = simulation.block_on(std::future::pending::<()>());
    assert_eq!(outcome, Err(Stalled { at: Time::ZERO }));
}

#[test]
fn an_aborted_task_is_dropped_and_its_name_wakes_nobody() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let witness = Rc::new(());
    let held = witness.clone();
    let sleeper = sim.clone();
    let handle = sim.spawn(async move {
        sleeper.sleep(NS(50)).await;
        drop(held);
    });
    simulation.run_until(Time::from_ps(1));
    handle.abort();
    assert_eq!(Rc::strong_count(&witness), 1);
    // The successor in the same slot is not woken by the dead task's timer.
    let log = Log::default();
    let (sleeper, notes) = (sim.clone(), log.clone());
    sim.spawn(async move {
        sleeper.sleep(NS(70)).await;
        notes.note(sleeper.now(), 1);
    });
    simulation.run();
    assert_eq!(log.take(), [(70, 1)]);
}

#[test]
fn a_power_cut_drops_every_task_and_event() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let server = Rc::new(Server::new(&sim));
    let witness = Rc::new(());
    for _ in 0..10 {
        let (sim, server, held) = (sim.clone(), server.clone(), witness.clone());
        simulation.handle().spawn(async move {
            let _hold = server.acquire(Priority(0)).await;
            sim.sleep(NS(5)).await;
            drop(held);
        });
    }
    simulation.run_until(Time::from_ps(12_000));
    assert!(Rc::strong_count(&witness) > 1);
    simulation.cut();
    assert_eq!(Rc::strong_count(&witness), 1);
    assert!(!simulation.step());
    assert!(server.is_idle());
}

/// A small system with contention, randomness and a trace.
fn traced_run(seed: u64, extra_part: bool) -> (Vec<u8>, Vec<u64>) {
    let simulation = Simulation::new(seed);
    let sim = simulation.handle();
    sim.trace().start(sim.now(), Keep::All);
    let server = Rc::new(Server::new(&sim));
    let wire = Rc::new(Pipe::new(&sim, 1_000_000_000));
    let drawn = Rc::new(RefCell::new(Vec::new()));
    if extra_part {
        let mut random = sim.random("newcomer");
        let sim = sim.clone();
        simulation.handle().spawn(async move {
            for _ in 0..50 {
                sim.sleep(Span::from_ps(random.below(100))).await;
            }
        });
    }
    for worker in 0..8u8 {
        let (sim, server, wire, drawn) = (sim.clone(), server.clone(), wire.clone(), drawn.clone());
        let mut random = sim.random(&format!("worker {worker}"));
        let track = sim
            .trace()
            .track("workers", Name::numbered("worker", worker.into()));
        simulation.handle().spawn(async move {
            for _ in 0..20 {
                let number = random.below(1000);
                let begin = sim.now();
                server
                    .serve(Priority(worker % 3), Span::from_ps(number))
                    .await;
                wire.transfer(number).await;
                sim.trace().slice(track, "visit", begin, sim.now());
                if worker == 5 {
                    drawn.borrow_mut().push(number);
                }
            }
        });
    }
    simulation.run();
    let mut bytes = Vec::new();
    sim.trace()
        .write_json(sim.now(), &mut bytes)
        .expect("a vector takes all bytes");
    (bytes, drawn.take())
}

#[test]
fn same_seed_same_trace_bytes() {
    let (bytes, _) = traced_run(7, false);
    assert_eq!(bytes, traced_run(7, false).0);
    assert_ne!(bytes, traced_run(8, false).0);
    let parsed: serde_json::Value = serde_json::from_slice(&bytes).expect("the trace is JSON");
    assert_eq!(
        parsed["traceEvents"].as_array().map(Vec::len),
        Some(1 + 8 + 160)
    );
}

#[test]
fn a_new_part_changes_no_other_part_s_numbers() {
    assert_eq!(traced_run(7, false).1, traced_run(7, true).1);
}
