//! Who goes before whom.

use super::*;

#[test]
fn programs_of_a_block_stay_in_order_whatever_their_priorities() {
    let mut config = config();
    config.policy = Policy::PriorityClasses;
    let bench = Bench::new(&config);
    let outcomes: Vec<_> = (0..4)
        .map(|page| {
            let priority = Priority::ALL[3 - page as usize];
            let program = bench.program(0, page, user(priority));
            bench.at(0, 0, program)
        })
        .collect();
    bench.run();
    let ends: Vec<_> = outcomes.iter().map(ended).collect();
    assert!(ends.is_sorted(), "{ends:?}");
}

#[test]
fn an_urgent_collection_goes_before_the_host_and_fills_its_commands_otherwise() {
    for (urgent, first) in [(false, "host"), (true, "collection")] {
        let bench = Bench::new(&config());
        bench.schedule.set_collection_urgent(PlaneId(1), urgent);
        // Something in the way, so that both wait together.
        bench.read_at(0, 0, 0);
        let host = bench.read_at(100, 1, 1);
        let collection = bench.at(100, 2, bench.read(2, 2, Origin::own(tenants::COLLECTION)));
        // The same page offset as the host's, in the other plane.
        let filling = bench.at(100, 9, bench.read(9, 1, Origin::own(tenants::COLLECTION)));
        bench.run();
        let host_first = ended(&host) < ended(&collection);
        assert_eq!(host_first, first == "host", "urgent: {urgent}");
        assert_eq!(bench.schedule.counts().multi_plane_reads, 1);
        assert_eq!(bench.schedule.counts().collection_reads, 2);
        let apart = ended(&host).abs_diff(ended(&filling));
        assert_eq!(apart, OUT, "one command, the pages one after the other");
    }
}

#[test]
fn nothing_is_overtaken_more_often_than_allowed() {
    for (bypass_max, overtaking) in [(0, 40), (3, 3), (10, 10)] {
        let mut config = config();
        config.bypass_max = bypass_max;
        let bench = Bench::new(&config);
        let program = bench.program(0, 0, Origin::default());
        let reads: Vec<_> = (0..40).map(|_| bench.read_at(0, 3, 0)).collect();
        // Arrives behind all of these and before all of the others.
        let programmed = bench.at(0, 0, program);
        let late: Vec<_> = (0..40).map(|n| bench.read_at(n * READ + 1, 3, 1)).collect();
        bench.run();
        let over = ended(&programmed);
        let before = late.iter().filter(|read| ended(read) < over).count();
        assert!(reads.iter().all(|read| ended(read) < over));
        assert_eq!(before, overtaking, "bypass_max = {bypass_max}");
    }
}

#[test]
fn an_urgent_erase_goes_before_the_host_but_not_before_a_read_of_its_block() {
    for (read_block, erase_first) in [(1, true), (2, false)] {
        let bench = Bench::new(&config());
        bench.schedule.set_collection_urgent(PlaneId(0), true);
        // Something in the way, so that both wait together.
        bench.read_at(0, 0, 0);
        let host = bench.read_at(100, read_block, 1);
        let erased = bench.at(200, 2, erase(2));
        bench.run();
        let first = ended(&erased) < ended(&host);
        assert_eq!(first, erase_first, "read of block {read_block}");
    }
}

/// In which order computations of these priorities, queued behind a read, are over.
fn order(policy: Policy, priorities: &[Priority]) -> Vec<usize> {
    let mut config = config();
    config.policy = policy;
    let bench = Bench::new(&config);
    bench.read_at(0, 0, 0);
    let outcomes: Vec<_> = (1..)
        .zip(priorities)
        .map(|(ns, &priority)| bench.at(ns, 1, bench.compute(1, 2, priority)))
        .collect();
    bench.run();
    let mut order: Vec<usize> = (0..priorities.len()).collect();
    order.sort_by_key(|&index| ended(&outcomes[index]));
    order
}

#[test]
fn computations_have_the_priority_of_their_command() {
    use Priority::{High, Low, Medium, Urgent};
    let priorities = [Low, Medium, High, Urgent];
    for policy in [Policy::FirstCome, Policy::ReadPriority] {
        assert_eq!(order(policy, &priorities), [0, 1, 2, 3], "{policy:?}");
    }
    let classes = Policy::PriorityClasses;
    assert_eq!(order(classes, &priorities), [3, 2, 1, 0]);
    // Weights 4, 2, 1: high, high, high and medium, high, medium and low.
    let shares = [Low, Low, Medium, Medium, High, High, High, High];
    assert_eq!(order(classes, &shares), [4, 5, 6, 2, 7, 3, 0, 1]);
}

#[test]
fn computations_go_behind_reads_and_before_programs_whatever_their_priority() {
    for policy in [Policy::ReadPriority, Policy::PriorityClasses] {
        let mut config = config();
        config.policy = policy;
        let bench = Bench::new(&config);
        bench.read_at(0, 0, 0);
        let program = bench.program(8, 0, user(Priority::Urgent));
        let programmed = bench.at(1, 8, program);
        let computed = bench.at(2, 1, bench.compute(1, 1, Priority::Low));
        let read = bench.at(3, 3, bench.read(3, 0, user(Priority::Low)));
        bench.run();
        let ends = [&read, &computed, &programmed].map(ended);
        assert!(ends.is_sorted(), "{policy:?}: {ends:?}");
    }
}
