//! Raises of single cells, among all else that waits for a die.

use media::nand::Failures;

use super::*;

/// As a program.
const RAISE: u64 = PROGRAM;

impl Bench {
    /// Raises what is zero in `stays`, in each byte.
    fn raise(&self, block: u32, page: u32, stays: u8, origin: Origin) -> Raise {
        Raise {
            page: address(block, page),
            from: self.filled(stays),
            origin,
        }
    }

    /// What a page holds, read when all else is over.
    fn held(&self, block: u32, page: u32) -> u8 {
        let read = self.read(block, page, Origin::default());
        let into = read.into;
        let over = self.at(0, block, read);
        self.run();
        ended(&over);
        let byte = self.buffers.with(into, |bytes| {
            assert!(bytes.iter().all(|byte| *byte == bytes[0]));
            bytes[0]
        });
        byte.expect("a buffer that was read into")
    }
}

#[test]
fn cells_are_raised_in_the_time_of_a_program_and_counted() {
    for transfer in [ProgramTransfer::Page, ProgramTransfer::Written] {
        let mut config = config();
        config.program_transfer = transfer;
        let bench = Bench::new(&config);
        let tenant = user(Priority::High);
        let program = bench.program(3, 0, tenant);
        let programmed = bench.at(0, 3, program);
        bench.run();
        let (begin, bytes) = (ended(&programmed), bench.channel.bytes());
        let raise = bench.raise(3, 0, 0b0000_0001, tenant);
        let raised = bench.at(begin, 3, raise);
        bench.run();
        assert_eq!(ended(&raised), begin + RAISE, "{transfer:?}");
        assert_eq!(bench.channel.bytes(), bytes + 64, "all of the page crosses");
        let counts = bench.schedule.counts();
        assert_eq!((counts.page_programs, counts.page_raises), (2, 1));
        let served = bench.schedule.served(tenants::namespace(0)).programs;
        assert_eq!(served.count(), 2);
        // A raise spends what a program does.
        let spent = bench.ledger.spent_for(tenants::namespace(0)).as_pj();
        assert_eq!(spent % 2, 0);
        assert_eq!(bench.held(3, 0), 3 & 1);
        let nand = bench.schedule.nand();
        let spare = nand.spare(nand.geometry().ppa(address(3, 0)));
        assert_eq!(spare, Some(&[9; 8][..]));
    }
}

#[test]
fn a_raise_waits_for_the_program_of_its_page_whoever_asks_for_either() {
    let collection = Origin::own(tenants::COLLECTION);
    let origins = [user(Priority::Low), user(Priority::Urgent), collection];
    for policy in [
        Policy::FirstCome,
        Policy::ReadPriority,
        Policy::PriorityClasses,
        Policy::PriorityAware,
    ] {
        for (first, second) in [(0, 1), (1, 0), (2, 1), (1, 2)] {
            let mut config = config();
            config.policy = policy;
            let bench = Bench::new(&config);
            // Something in the way, so that both wait together.
            bench.read_at(0, 1, 0);
            let program = bench.program(3, 0, origins[first]);
            let programmed = bench.at(100, 3, program);
            let raise = bench.raise(3, 0, 0b0000_0010, origins[second]);
            let raised = bench.at(200, 3, raise);
            let next = bench.program(3, 1, origins[first]);
            let after = bench.at(300, 3, next);
            bench.run();
            let ends = [&programmed, &raised, &after].map(ended);
            assert!(ends.is_sorted(), "{policy:?}, {first}, {second}: {ends:?}");
            assert_eq!(bench.held(3, 0), 3 & 2);
        }
    }
}

#[test]
fn an_erase_never_overtakes_a_raise_of_its_block() {
    for urgent in [false, true] {
        let bench = Bench::new(&config());
        let program = bench.program(3, 0, Origin::default());
        bench.at(0, 3, program);
        bench.run();
        bench.schedule.set_collection_urgent(PlaneId(0), urgent);
        bench.read_at(0, 1, 0);
        let raise = bench.raise(3, 0, 0, Origin::default());
        let raised = bench.at(100, 3, raise);
        let erased = bench.at(200, 3, erase(3));
        bench.run();
        assert!(ended(&raised) < ended(&erased), "urgent: {urgent}");
    }
}

#[test]
fn raises_of_two_planes_go_together_but_not_with_programs() {
    let bench = Bench::new(&config());
    for block in [0, 8] {
        let program = bench.program(block, 0, Origin::default());
        bench.at(0, block, program);
    }
    bench.run();
    let together = bench.schedule.counts().multi_plane_programs;
    bench.read_at(0, 1, 3);
    let raises = [0, 8].map(|block| {
        let raise = bench.raise(block, 0, 0b1000, Origin::default());
        bench.at(100, block, raise)
    });
    let program = bench.program(1, 0, Origin::default());
    let programmed = bench.at(100, 1, program);
    bench.run();
    let [one, other] = [&raises[0], &raises[1]].map(ended);
    assert_eq!(one, other);
    assert!(ended(&programmed) > one);
    assert_eq!(bench.schedule.counts().multi_plane_programs, together + 1);
    assert_eq!((bench.held(0, 0), bench.held(8, 0)), (0, 8));
}

#[test]
fn a_raise_stands_back_for_reads_of_other_blocks() {
    let mut config = config();
    config.suspend.programs = true;
    let bench = Bench::new(&config);
    let program = bench.program(3, 0, Origin::default());
    bench.at(0, 3, program);
    bench.run();
    let raise = bench.raise(3, 0, 0b0000_0001, Origin::default());
    let begin = bench.simulation.handle().now().as_ps() / 1000;
    let raised = bench.at(begin, 3, raise);
    let other = bench.read_at(begin + 100_000, 1, 0);
    let same = bench.read_at(begin + 100_000, 3, 0);
    bench.run();
    assert_eq!(ended(&other), begin + 100_000 + SUSPEND + READ);
    let over = begin + RAISE + SUSPEND - CYCLE + READ + RESUME;
    assert_eq!(ended(&raised), over);
    assert_eq!(ended(&same), over + READ, "its own block waits");
    assert_eq!(bench.schedule.counts().program_suspensions, 1);
}

#[test]
fn a_raise_that_fails_says_so_and_the_page_can_be_read() {
    let bench = Bench::new(&config());
    let program = bench.program(3, 0, Origin::default());
    bench.at(0, 3, program);
    bench.run();
    let failures = Failures {
        program_per_million: 1_000_000,
        erase_per_million: 0,
        draw: Box::new(|| 0),
    };
    bench
        .schedule
        .nand
        .borrow_mut()
        .set_failures(Some(failures));
    let raise = bench.raise(3, 0, 0, Origin::default());
    let raised = bench.at(0, 3, raise);
    bench.run();
    let fault = raised.get().and_then(|(_, fault)| fault);
    assert_eq!(fault, Some(Fault::ProgramFailed(address(3, 0))));
    let read = bench.at(0, 3, bench.read(3, 0, Origin::default()));
    bench.run();
    ended(&read);
}
