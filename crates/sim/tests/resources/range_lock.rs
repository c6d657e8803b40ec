//! Locks on ranges: order of arrival, parts, and release on drop.

use std::rc::Rc;

use sim::resource::{Access, RangeLock};
use sim::{Either, Simulation, join_all, select};

use crate::{ns, visitor};

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
