//! Programs and erases that are suspended for reads.

use super::*;

fn suspending() -> ScheduleConfig {
    let mut config = config();
    config.suspend.programs = true;
    config.suspend.erases = true;
    config
}

#[test]
fn a_read_behind_an_erase_waits_for_its_end_or_has_it_suspended() {
    const ARRIVAL: u64 = 1_000_000;
    for (config, latency, total) in [
        (config(), ERASE - ARRIVAL + READ, ERASE),
        (
            suspending(),
            SUSPEND + READ,
            ERASE + SUSPEND - CYCLE + READ + RESUME,
        ),
    ] {
        let bench = Bench::new(&config);
        let erased = bench.at(0, 0, erase(0));
        let read = bench.read_at(ARRIVAL, 3, 0);
        // Not before, and then.
        bench
            .simulation
            .run_until(Time::ZERO + Span::from_ns(ARRIVAL + latency - 1));
        assert_eq!(read.get(), None);
        bench.run();
        assert_eq!(ended(&read), ARRIVAL + latency);
        assert_eq!(ended(&erased), total);
        let busy: Span = bench
            .schedule
            .dies_busy()
            .fold(Span::ZERO, |sum, die| sum + die);
        let suspensions = bench.schedule.counts().erase_suspensions;
        let array = 3_500_000 + 22_500 + suspensions * 25_000;
        assert_eq!(busy.as_ps() / 1000, array, "the array's own time");
    }
}

#[test]
fn a_read_behind_a_program_has_it_suspended_unless_little_is_left() {
    for (arrival, suspends) in [
        (100_000, true),
        (PROGRAM - 50_000, true),
        (PROGRAM - 49_999, false),
    ] {
        let bench = Bench::new(&suspending());
        let program = bench.program(0, 0, Origin::default());
        let programmed = bench.at(0, 0, program);
        let read = bench.read_at(arrival, 3, 0);
        bench.run();
        let (read_ends, program_ends) = if suspends {
            (
                arrival + SUSPEND + READ,
                PROGRAM + SUSPEND - CYCLE + READ + RESUME,
            )
        } else {
            (PROGRAM + READ, PROGRAM)
        };
        assert_eq!(ended(&read), read_ends, "arrival at {arrival}");
        assert_eq!(ended(&programmed), program_ends, "arrival at {arrival}");
    }
}

#[test]
fn a_read_of_a_block_that_is_changed_waits() {
    let bench = Bench::new(&suspending());
    let first = bench.program(0, 0, Origin::default());
    let second = bench.program(0, 1, Origin::default());
    bench.at(0, 0, first);
    let programmed = bench.at(0, 0, second);
    let read = bench.read_at(PROGRAM + 1000, 0, 0);
    bench.run();
    assert_eq!(ended(&programmed), 2 * PROGRAM);
    assert_eq!(ended(&read), 2 * PROGRAM + READ);
}

#[test]
fn an_operation_is_suspended_so_often_and_no_more() {
    let mut config = suspending();
    config.suspend.times_max = 2;
    let bench = Bench::new(&config);
    let erased = bench.at(0, 0, erase(0));
    let reads: Vec<_> = (1..=3).map(|n| bench.read_at(n * 500_000, 3, 0)).collect();
    bench.run();
    assert_eq!(bench.schedule.counts().erase_suspensions, 2);
    let total = ERASE + 2 * (SUSPEND - CYCLE + READ + RESUME);
    assert_eq!(ended(&erased), total);
    assert_eq!(ended(&reads[2]), total + READ);
}

#[test]
fn a_power_cut_tears_what_is_suspended() {
    let bench = Bench::new(&suspending());
    let program = bench.program(20, 0, Origin::default());
    let outcomes = [bench.at(0, 0, erase(0)), bench.at(0, 20, program)];
    bench.read_at(100_000, 3, 0);
    bench.read_at(100_000, 23, 0);
    let cut = Time::ZERO + Span::from_ns(100_000 + SUSPEND + 5_000);
    bench.simulation.run_until(cut);
    let counts = bench.schedule.counts();
    assert_eq!(
        (counts.erase_suspensions, counts.program_suspensions),
        (1, 1)
    );
    bench.simulation.cut();
    let nand = &mut *bench.schedule.nand.borrow_mut();
    nand.power_cut(cut).expect("a cut");
    assert_eq!(
        nand.block_state(BlockId(0)).condition,
        BlockCondition::NeedsErase
    );
    let page = nand.geometry().ppa(address(20, 0));
    assert_eq!(nand.page_state(page), PageState::Torn);
    assert!(
        outcomes.iter().all(|outcome| outcome.get().is_none()),
        "acknowledged"
    );
}
