//! Resources: order, preemption, and release on drop in every state.

use std::cell::Cell;
use std::rc::Rc;

use proptest::prelude::*;
use sim::resource::{
    Access, Pipe, Priority, RangeLock, Semaphore, Server, Signal, channel, oneshot,
};
use sim::{Either, Sim, Simulation, Span, join_all, select};

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

/// When each visitor that comes at 0 ns, 1 ns, ... and holds its ranges for 10 ns has gone.
fn range_visits(visits: &[&[(std::ops::Range<u64>, Access)]]) -> Vec<f64> {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let lock = Rc::new(RangeLock::new(&sim));
    let ends: Vec<_> = visits
        .iter()
        .zip(0..)
        .map(|(ranges, arrival)| {
            let (sim_too, lock, ranges) = (sim.clone(), lock.clone(), ranges.to_vec());
            visitor(&sim, arrival, async move || {
                let _guard = match ranges.as_slice() {
                    [(range, access)] => lock.lock(range.clone(), *access).await,
                    _ => lock.lock_all(ranges).await,
                };
                sim_too.sleep(ns(10)).await;
            })
        })
        .collect();
    simulation.run();
    ends.iter().map(|end| end.get()).collect()
}

#[test]
fn ranges_that_overlap_are_locked_in_turn() {
    use Access::{Exclusive, Shared};
    assert_eq!(
        range_visits(&[
            &[(0..8, Exclusive)],
            &[(7..9, Exclusive)],
            &[(8..9, Exclusive)]
        ]),
        // The third waits for the second, which came first.
        [10.0, 20.0, 30.0]
    );
    assert_eq!(
        range_visits(&[&[(0..8, Exclusive)], &[(8..9, Exclusive)]]),
        [10.0, 11.0],
        "ranges that only touch"
    );
    assert_eq!(
        range_visits(&[
            &[(0..8, Shared)],
            &[(0..8, Shared)],
            &[(3..4, Exclusive)],
            &[(0..8, Shared)]
        ]),
        // Who came after the exclusive claim does not overtake it.
        [10.0, 11.0, 21.0, 31.0]
    );
}

#[test]
fn ranges_locked_together_are_granted_together() {
    use Access::{Exclusive, Shared};
    let crossed = range_visits(&[
        &[(0..1, Exclusive), (5..6, Exclusive)],
        &[(5..6, Exclusive), (0..1, Exclusive)],
        &[(5..6, Shared), (9..10, Exclusive)],
        &[(9..10, Shared)],
    ]);
    assert_eq!(crossed, [10.0, 20.0, 30.0, 40.0]);
    // The two of one lock do not bar each other, nor does one that is no range.
    let own = range_visits(&[
        &[(0..4, Shared), (2..6, Exclusive)],
        &[],
        &[(6..6, Exclusive)],
    ]);
    assert_eq!(own, [10.0, 11.0, 12.0]);
}

/// A part of a range, and for how long it is held.
type Part = (std::ops::Range<u64>, u64);

/// When the parts of visitors are let go that claim their ranges at 0 ns, 1 ns, ... and hold each part for as long as is said.
fn part_visits(visits: &[(std::ops::Range<u64>, &[Part])]) -> Vec<Vec<f64>> {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let lock = Rc::new(RangeLock::new(&sim));
    let mut arrival = 0;
    let ends = visits.iter().map(|(range, parts)| {
        let (sim, lock) = (sim.clone(), lock.clone());
        let (range, parts, at) = (range.clone(), parts.to_vec(), arrival);
        arrival += 1;
        simulation.handle().spawn(async move {
            sim.sleep(ns(at)).await;
            let (sim, claim) = (&sim, &lock.claim_parts(range, Access::Exclusive));
            let parts = parts.into_iter().map(async |(part, span)| {
                let guard = claim.part(part.clone()).await;
                assert!(guard.covers(&part, Access::Exclusive));
                assert!(!guard.covers(&(part.start..part.end + 1), Access::Shared));
                sim.sleep(ns(span)).await;
                drop(guard);
                sim.now().as_ns()
            });
            join_all(parts).await
        })
    });
    let ends: Vec<_> = ends.collect();
    simulation.run();
    let done = ends
        .into_iter()
        .map(|end| end.take().expect("nobody waits for ever"));
    done.collect()
}

#[test]
fn parts_of_a_range_are_waited_for_one_by_one() {
    // The second waits for page 3 alone, with page 3 alone, and the third for page 5 alone.
    let chain = part_visits(&[
        (0..4, &[(0..1, 10), (1..3, 10), (3..4, 10)]),
        (3..6, &[(3..4, 10), (4..5, 10), (5..6, 10)]),
        (5..7, &[(5..6, 10), (6..7, 10)]),
    ]);
    assert_eq!(
        chain,
        [
            vec![10.0, 10.0, 10.0],
            vec![20.0, 11.0, 11.0],
            vec![21.0, 12.0]
        ]
    );
    // A part that was let go from the middle is free, those beside it are not.
    let middle = part_visits(&[
        (0..3, &[(1..2, 5), (0..1, 20), (2..3, 30)]),
        (0..3, &[(0..1, 1), (1..2, 1), (2..3, 1)]),
    ]);
    assert_eq!(middle, [vec![5.0, 20.0, 30.0], vec![21.0, 6.0, 31.0]]);
    // Who is done with a part before another claims it bars nobody.
    let after = part_visits(&[
        (0..2, &[(0..1, 1), (1..2, 9)]),
        (8..9, &[(8..9, 1)]),
        (0..1, &[(0..1, 1)]),
    ]);
    assert_eq!(after[2], [3.0]);
}

#[test]
fn claims_on_the_same_parts_are_served_in_the_order_of_their_arrival() {
    // Whoever waits for a part waits for all who came before: the third gets neither part first.
    let both: &[Part] = &[(0..1, 10), (1..2, 20)];
    let reversed: &[Part] = &[(1..2, 20), (0..1, 10)];
    assert_eq!(
        part_visits(&[(0..2, both), (0..2, reversed), (0..2, both)]),
        [vec![10.0, 20.0], vec![40.0, 20.0], vec![30.0, 60.0]]
    );
}

#[test]
fn a_claim_that_is_dropped_lets_go_what_was_not_waited_for() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let lock = Rc::new(RangeLock::new(&sim));
    let (sim_too, lock_too) = (sim.clone(), lock.clone());
    visitor(&sim, 0, async move || {
        let claim = lock_too.claim_parts(0..4, Access::Exclusive);
        let first = claim.part(0..1).await;
        sim_too.sleep(ns(5)).await;
        drop(first);
        sim_too.sleep(ns(5)).await;
    });
    let after = visitor(&sim, 1, async move || {
        drop(lock.lock(0..4, Access::Exclusive).await);
    });
    simulation.run();
    assert_eq!(after.get(), 10.0);
}

#[test]
fn who_stops_waiting_for_a_range_bars_nobody() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    let lock = Rc::new(RangeLock::new(&sim));
    let hold = |arrival, span, access| {
        let (sim_too, lock) = (sim.clone(), lock.clone());
        visitor(&sim, arrival, async move || {
            let guard = lock.lock(0..4, access).await;
            assert!(guard.covers(&(1..4), access) && guard.covers(&(0..4), Access::Shared));
            assert!(!guard.covers(&(3..5), Access::Shared));
            assert_eq!(
                guard.covers(&(0..1), Access::Exclusive),
                access == Access::Exclusive
            );
            sim_too.sleep(ns(span)).await;
        })
    };
    let first = hold(0, 10, Access::Shared);
    let (sim_too, lock_too) = (sim.clone(), lock.clone());
    let gives_up = visitor(&sim, 1, async move || {
        let waiting = lock_too.lock(0..4, Access::Exclusive);
        let given_up = select(waiting, sim_too.sleep(ns(3))).await;
        assert!(matches!(given_up, Either::Right(())));
    });
    let third = hold(2, 10, Access::Shared);
    let last = hold(3, 1, Access::Exclusive);
    simulation.run();
    assert_eq!(gives_up.get(), 4.0);
    assert_eq!(
        (first.get(), third.get()),
        (10.0, 14.0),
        "granted when the wait was given up"
    );
    assert_eq!(last.get(), 15.0);
}
