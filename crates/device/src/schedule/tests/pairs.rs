//! Pages programmed with their complements: what is in the cells, what crosses the channel, and what comes between.

use media::nand::Failures;

use super::*;

/// The complement program: its command alone, for its data is there.
const COMPLEMENT: u64 = PROGRAM - 64;

impl Bench {
    /// Page `page` of a block, and the one after it.
    fn pair(&self, block: u32, page: u32, origin: Origin) -> ProgramPair {
        ProgramPair {
            program: self.program(block, page, origin),
            complement: address(block, page + 1),
            spare: SpareBytes::from_iter([5; 8]).into(),
        }
    }

    fn spare(&self, block: u32, page: u32) -> Option<Vec<u8>> {
        let nand = self.schedule.nand();
        let page = nand.geometry().ppa(address(block, page));
        nand.spare(page).map(<[u8]>::to_vec)
    }

    fn read_back(&self, block: u32, page: u32) -> Vec<u8> {
        let read = self.read(block, page, Origin::default());
        let into = read.into;
        let over = self.at(0, block, read);
        self.run();
        ended(&over);
        let bytes = self.buffers.with(into, |bytes| bytes.to_vec());
        bytes.expect("a buffer that was read into")
    }
}

#[test]
fn cells_are_those_of_two_programs_and_half_the_data_crosses_the_channel() {
    for interleave in [Interleave::Die, Interleave::Chip] {
        let mut config = config();
        config.interleave = interleave;
        let plain = Bench::new(&config);
        let first = plain.program(3, 0, Origin::default());
        let mut second = plain.program(3, 1, Origin::default());
        second.from = plain.filled(!3);
        second.spare = SpareBytes::from_iter([5; 8]).into();
        plain.at(0, 3, first);
        let programmed = plain.at(0, 3, second);
        plain.run();
        assert_eq!(ended(&programmed), 2 * PROGRAM);

        let bench = Bench::new(&config);
        let pair = bench.pair(3, 0, Origin::default());
        let programmed = bench.at(0, 3, pair);
        bench.run();
        assert_eq!(ended(&programmed), PROGRAM + COMPLEMENT, "{interleave:?}");
        assert_eq!(bench.channel.bytes() * 2, plain.channel.bytes());
        assert_eq!(bench.ledger.total(), plain.ledger.total());
        let counts = bench.schedule.counts();
        assert_eq!((counts.page_programs, counts.page_complements), (2, 1));
        let tenant = Origin::default().tenant;
        assert_eq!(bench.schedule.served(tenant).programs.count(), 2);
        for page in 0..2 {
            assert_eq!(bench.spare(3, page), plain.spare(3, page));
            assert_eq!(bench.read_back(3, page), plain.read_back(3, page));
        }
        assert_eq!(bench.read_back(3, 1), [!3; 64]);
    }
}

#[test]
fn pairs_of_two_planes_go_together_and_not_with_single_programs() {
    let bench = Bench::new(&config());
    // Something in the way, so that all wait together.
    bench.read_at(0, 1, 0);
    let pairs = [0, 8].map(|block| {
        let pair = bench.pair(block, 0, Origin::default());
        bench.at(100, block, pair)
    });
    bench.run();
    assert_eq!(ended(&pairs[0]), ended(&pairs[1]));
    assert_eq!(bench.schedule.counts().multi_plane_programs, 2);
    assert_eq!(bench.read_back(8, 1), [!8; 64]);
    assert_eq!(bench.read_back(0, 1), [!0; 64]);

    let bench = Bench::new(&config());
    bench.read_at(0, 1, 0);
    let pair = bench.pair(0, 0, Origin::default());
    let program = bench.program(8, 0, Origin::default());
    let outcomes = [bench.at(100, 0, pair), bench.at(100, 8, program)];
    bench.run();
    assert!(outcomes.iter().map(ended).is_sorted());
    assert_eq!(bench.schedule.counts().multi_plane_programs, 0);
    assert_eq!(bench.spare(8, 1), None, "no complement was asked for");
}

#[test]
fn nothing_comes_between_the_two_though_reads_suspend_programs() {
    let mut config = config();
    config.suspend.programs = true;
    for (arrival, suspensions) in [(10_000, 1), (PROGRAM + 10_000, 1)] {
        let bench = Bench::new(&config);
        let pair = bench.pair(3, 0, Origin::default());
        let programmed = bench.at(0, 3, pair);
        let read = bench.read_at(arrival, 1, 0);
        bench.run();
        // A read that comes during the first program waits until the second has begun.
        let stood_back = arrival.max(PROGRAM + 220 + 61);
        assert!(ended(&read) >= stood_back + SUSPEND, "{}", ended(&read));
        assert!(ended(&read) < ended(&programmed));
        assert_eq!(bench.schedule.counts().program_suspensions, suspensions);
        assert_eq!(bench.read_back(3, 1), [!3; 64]);
    }
}

#[test]
fn a_failure_names_its_page_and_what_would_follow_is_left_out() {
    for (draws, failed) in [([0, 9], 0), ([9, 0], 1)] {
        let bench = Bench::new(&config());
        let mut draws = draws.into_iter().chain(std::iter::repeat(9));
        let failures = Failures {
            program_per_million: 1,
            erase_per_million: 0,
            draw: Box::new(move || draws.next().expect("without end")),
        };
        bench
            .schedule
            .nand
            .borrow_mut()
            .set_failures(Some(failures));
        let pair = bench.pair(3, 0, Origin::default());
        let programmed = bench.at(0, 3, pair);
        bench.run();
        let fault = programmed.get().and_then(|(_, fault)| fault);
        assert_eq!(fault, Some(Fault::ProgramFailed(address(3, failed))));
        let state = |page| {
            let nand = bench.schedule.nand();
            nand.page_state(nand.geometry().ppa(address(3, page)))
        };
        let expected = match failed {
            0 => [PageState::Failed, PageState::Erased],
            _ => [PageState::Programmed, PageState::Failed],
        };
        assert_eq!([state(0), state(1)], expected);
        let counts = bench.schedule.counts();
        assert_eq!(counts.page_programs, u64::from(failed) + 1);
    }
}
