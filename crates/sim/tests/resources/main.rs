//! Resources: order, preemption, and release on drop in every state.

mod range_lock;

use std::cell::Cell;
use std::rc::Rc;

use proptest::prelude::*;
use sim::resource::{Pipe, Priority, Semaphore, Server, Signal, channel, oneshot};
use sim::{Either, Sim, Simulation, Span, select};

const URGENT: Priority = Priority(0);
const NORMAL: Priority = Priority(1);

fn ns(nanoseconds: u64) -> Span {
    Span::from_ns(nanoseconds)
}

/// Spawns a visit that arrives at `arrival` and gives the instant of its end, in ns.
fn visitor<F>(sim: &Sim, arrival: u64, visit: F) -> Rc<Cell<f64>>
where
    F: AsyncFnOnce() + 'static,
{
    let end = Rc::new(Cell::new(f64::NAN));
    let (sim, ended) = (sim.clone(), end.clone());
    sim.clone().spawn(async move {
        sim.sleep(ns(arrival)).await;
        visit().await;
        ended.set(sim.now().as_ns());
    });
    end
}

#[test]
fn the_urgent_go_first_and_equals_in_order() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let server = Rc::new(Server::new(&sim));
    let ends: Vec<_> = [
        (0, NORMAL),
        (1, NORMAL),
        (2, URGENT),
        (3, NORMAL),
        (4, URGENT),
    ]
    .map(|(arrival, priority)| {
        let server = server.clone();
        visitor(&sim, arrival, async move || {
            server.serve(priority, ns(10)).await
        })
    })
    .into();
    simulation.run();
    let ends: Vec<f64> = ends.iter().map(|end| end.get()).collect();
    assert_eq!(ends, [10.0, 40.0, 20.0, 50.0, 30.0]);
    assert_eq!(server.busy(), ns(50));
}

#[test]
fn chunks_let_the_urgent_in_at_their_borders_only() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let server = Rc::new(Server::new(&sim));
    let (a, b, c) = (server.clone(), server.clone(), server.clone());
    let long = visitor(&sim, 0, async move || {
        a.serve_in_chunks(NORMAL, ns(100), ns(30)).await
    });
    let equal = visitor(&sim, 5, async move || b.serve(NORMAL, ns(10)).await);
    let urgent = visitor(&sim, 35, async move || c.serve(URGENT, ns(7)).await);
    simulation.run();
    // The urgent one waits for the border at 60; the equal one for the end.
    assert_eq!(
        (urgent.get(), long.get(), equal.get()),
        (67.0, 107.0, 117.0)
    );
    assert_eq!(server.busy(), ns(117));
}

#[test]
fn suspension_costs_what_it_says() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let server = Rc::new(Server::new(&sim));
    let (a, b) = (server.clone(), server.clone());
    let erase = visitor(&sim, 0, async move || {
        a.serve_suspendable(NORMAL, ns(1000), ns(20), ns(5)).await
    });
    let read = visitor(&sim, 300, async move || b.serve(URGENT, ns(60)).await);
    simulation.run();
    assert_eq!(read.get(), 300.0 + 20.0 + 60.0);
    assert_eq!(erase.get(), 1000.0 + 20.0 + 60.0 + 5.0);
    assert_eq!(server.suspensions(), 1);
}

#[test]
fn an_equal_does_not_suspend() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let server = Rc::new(Server::new(&sim));
    let (a, b) = (server.clone(), server.clone());
    let first = visitor(&sim, 0, async move || {
        a.serve_suspendable(NORMAL, ns(100), ns(20), ns(5)).await
    });
    let second = visitor(&sim, 30, async move || b.serve(NORMAL, ns(10)).await);
    simulation.run();
    assert_eq!((first.get(), second.get()), (100.0, 110.0));
}

/// Drops a visit to `server` after `patience`, and says when a later visit ends.
fn visit_after_drop(patience: u64, kind: u8) -> f64 {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let server = Rc::new(Server::new(&sim));
    let occupant = server.clone();
    visitor(&sim, 0, async move || occupant.serve(NORMAL, ns(50)).await);
    let (dropped, sim_of_dropped) = (server.clone(), sim.clone());
    visitor(&sim, 1, async move || {
        let patience = sim_of_dropped.sleep(ns(patience));
        let gave_up = match kind {
            0 => select(dropped.serve(NORMAL, ns(100)), patience).await,
            1 => select(dropped.serve_in_chunks(NORMAL, ns(100), ns(10)), patience).await,
            2 => {
                select(
                    dropped.serve_suspendable(NORMAL, ns(100), ns(1), ns(1)),
                    patience,
                )
                .await
            }
            _ => {
                let hold = async {
                    let _hold = dropped.acquire(NORMAL).await;
                    std::future::pending::<()>().await;
                };
                select(hold, patience).await
            }
        };
        assert!(matches!(gave_up, Either::Right(())));
    });
    let last = server.clone();
    let end = visitor(&sim, 2, async move || last.serve(NORMAL, ns(10)).await);
    simulation.run();
    assert!(server.is_idle());
    end.get()
}

#[test]
fn visits_release_on_drop_in_every_state() {
    for kind in 0..4 {
        assert_eq!(
            visit_after_drop(20, kind),
            60.0,
            "dropped while queued, kind {kind}"
        );
        assert_eq!(
            visit_after_drop(74, kind),
            85.0,
            "dropped while served, kind {kind}"
        );
    }
}

#[test]
fn a_posted_visit_keeps_others_out_until_it_ends() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let server = Rc::new(Server::new(&sim));
    let (a, b, c) = (server.clone(), server.clone(), server.clone());
    let posted = visitor(&sim, 0, async move || {
        assert_eq!(a.post(ns(50)).map(|end| end.as_ns()), Some(50.0));
        assert_eq!(a.post(ns(5)), None);
    });
    let normal = visitor(&sim, 10, async move || b.serve(NORMAL, ns(10)).await);
    let urgent = visitor(&sim, 20, async move || {
        let hold = c.acquire(URGENT).await;
        drop(hold);
        c.serve(URGENT, ns(3)).await;
    });
    simulation.run();
    // The hold ends in its instant, and the normal visit is next in line.
    assert_eq!(
        (posted.get(), normal.get(), urgent.get()),
        (0.0, 60.0, 63.0)
    );
    assert_eq!(server.busy(), ns(63));
}

#[test]
fn pipes_serialize_messages() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let wire = Rc::new(Pipe::new(&sim, 2_000_000_000));
    let (a, b) = (wire.clone(), wire.clone());
    let first = visitor(&sim, 0, async move || a.transfer(4096).await);
    let second = visitor(&sim, 100, async move || b.transfer(64).await);
    simulation.run();
    assert_eq!((first.get(), second.get()), (2048.0, 2080.0));
    assert_eq!((wire.bytes(), wire.busy()), (4160, ns(2080)));
}

#[test]
fn permits_go_in_order_and_come_back() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let permits = Rc::new(Semaphore::new(&sim, 3));
    let spend = |arrival, count, time| {
        let (permits, inner) = (permits.clone(), sim.clone());
        visitor(&sim, arrival, async move || {
            let _permit = permits.acquire(count).await;
            inner.sleep(ns(time)).await;
        })
    };
    let first = spend(0, 2, 100);
    let large = spend(1, 3, 10);
    let small = spend(2, 1, 10);
    let impatient_permits = permits.clone();
    let inner = sim.clone();
    visitor(&sim, 3, async move || {
        select(impatient_permits.acquire(3), inner.sleep(ns(5))).await;
    });
    simulation.run();
    assert_eq!(
        (first.get(), large.get(), small.get()),
        (100.0, 110.0, 120.0)
    );
    assert_eq!(permits.available(), 3);
}

#[test]
fn a_place_in_line_is_kept_from_when_it_was_taken() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let permits = Rc::new(Semaphore::new(&sim, 1));
    let taken = permits.reserve(1);
    let given_up = permits.reserve(1);
    let shared = permits.clone();
    let inner = sim.clone();
    let other = visitor(&sim, 1, async move || {
        let _permit = shared.acquire(1).await;
        inner.sleep(ns(10)).await;
    });
    let shared = permits.clone();
    let inner = sim.clone();
    // Looks for its permit long after it stood in line, and gives it back by hand.
    let first = visitor(&sim, 50, async move || {
        taken.await;
        inner.sleep(ns(10)).await;
        drop(given_up);
        shared.release(1);
    });
    simulation.run();
    assert_eq!((first.get(), other.get()), (60.0, 70.0));
    assert_eq!(permits.available(), 1);
}

#[test]
fn channels_bound_their_queue_and_end() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let (sender, mut receiver) = channel(&sim, 2);
    let inner = sim.clone();
    sim.spawn(async move {
        for number in 0..5 {
            sender.send(number).await.expect("the receiver lives");
            inner.sleep(ns(1)).await;
        }
    });
    let inner = sim.clone();
    let received = simulation.block_on(async move {
        let mut received = Vec::new();
        inner.sleep(ns(100)).await;
        while let Some(number) = receiver.receive().await {
            received.push(number);
        }
        received
    });
    assert_eq!(received, Ok(vec![0, 1, 2, 3, 4]));
}

#[test]
fn a_send_to_nobody_gives_the_value_back() {
    let simulation = Simulation::new(0);
    let (sender, receiver) = channel(&simulation.handle(), 1);
    drop(receiver);
    assert_eq!(
        simulation.block_on(async move { sender.send(5).await }),
        Ok(Err(5))
    );
}

#[test]
fn a_oneshot_tells_of_a_dropped_sender() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let (sender, receiver) = oneshot::<u32>(&sim);
    drop(sender);
    assert_eq!(simulation.block_on(receiver), Ok(None));
    let (sender, receiver) = oneshot(&sim);
    sender.send(3);
    assert_eq!(simulation.block_on(receiver), Ok(Some(3)));
}

#[test]
fn a_ring_before_the_wait_is_heard() {
    let simulation = Simulation::new(0);
    let signal = Signal::new(&simulation.handle());
    signal.ring();
    signal.ring();
    let heard = simulation.block_on(async move {
        signal.heard().await;
        matches!(select(signal.heard(), async {}).await, Either::Right(()))
    });
    assert_eq!(heard, Ok(true));
}

proptest! {
    /// Whatever the arrivals, the server is never idle while somebody waits, and
    /// serves everybody: it is over when a work-conserving server would be.
    #[test]
    fn servers_conserve_work(visits in prop::collection::vec((0u64..200, 0u8..3, 1u64..50, 0u8..3), 1..40)) {
        let simulation = Simulation::new(0);
        let sim = simulation.handle();
        let server = Rc::new(Server::new(&sim));
        let mut ends = Vec::new();
        for &(arrival, priority, span, chunked) in &visits {
            let server = server.clone();
            ends.push(visitor(&sim, arrival, async move || match chunked {
                0 => server.serve(Priority(priority), ns(span)).await,
                1 if server.post(ns(span)).is_some() => {}
                1 => server.serve(Priority(priority), ns(span)).await,
                _ => server.serve_in_chunks(Priority(priority), ns(span), ns(7)).await,
            }));
        }
        simulation.run();
        let mut arrivals = visits.clone();
        arrivals.sort();
        let over = arrivals.iter().fold(0, |free_at: u64, visit| free_at.max(visit.0) + visit.2);
        let last = ends.iter().map(|end| end.get()).fold(0.0, f64::max);
        // A posted visit that nobody waits for may end later than the last waiter.
        prop_assert!(last <= over as f64);
        if visits.iter().all(|visit| visit.3 != 1) {
            prop_assert_eq!(last, over as f64);
        }
        prop_assert_eq!(server.busy(), visits.iter().map(|visit| ns(visit.2)).sum());
    }
}

#[test]
fn an_announcement_wakes_all_who_waited_before_it() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let news = Rc::new(sim::resource::Broadcast::new(&sim));
    let ends: Vec<_> = [0, 5, 11]
        .map(|arrival| {
            let news = news.clone();
            visitor(&sim, arrival, async move || news.next().await)
        })
        .into();
    let (announcer, inner) = (news.clone(), sim.clone());
    sim.spawn(async move {
        inner.sleep(ns(10)).await;
        announcer.announce();
        inner.sleep(ns(10)).await;
        announcer.announce();
    });
    simulation.run();
    let ends: Vec<f64> = ends.iter().map(|end| end.get()).collect();
    assert_eq!(ends, [10.0, 10.0, 20.0]);
}
