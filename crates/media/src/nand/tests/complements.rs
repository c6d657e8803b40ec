//! Programs of the complement of what was programmed before (ANVIL 5.2).

use super::*;
use sim::Random;

fn complement(page: PageAddress, mode: ProgramMode) -> Command {
    Command::ProgramComplement {
        pages: PageSet::from_iter([page]),
        mode,
    }
}

#[test]
fn cells_are_those_of_two_plain_programs() {
    let mut random = Random::named(1, "complements");
    for mode in [ProgramMode::Slc, ProgramMode::Esp] {
        let [mut one, mut other] = [(); 2].map(|()| Driver::new(&small(), Storage::Memory));
        for pair in 0..4 {
            let mut data = [0; 32];
            random.fill(&mut data);
            let inverse = data.map(|byte| !byte);
            one.program(page(0, 2 * pair), mode, &data, b"first");
            one.nand.set_spare(PlaneId(0), b"second").expect("idle");
            one.must(0, &complement(page(0, 2 * pair + 1), mode));
            assert_eq!(
                one.register(0),
                inverse,
                "the register holds what was programmed"
            );
            other.program(page(0, 2 * pair), mode, &data, b"first");
            other.program(page(0, 2 * pair + 1), mode, &inverse, b"second");
        }
        assert_eq!(
            one.now, other.now,
            "the array takes as long as for a program with data"
        );
        for number in 0..8 {
            let ppa = Ppa(number);
            assert_eq!(one.nand.spare(ppa), other.nand.spare(ppa));
            assert_eq!(one.read(page(0, number)), other.read(page(0, number)));
        }
    }
}

#[test]
fn planes_are_inverted_together_and_the_complement_of_a_complement_is_the_data() {
    let mut d = Driver::new(&small(), Storage::Memory);
    d.nand.data_in(PlaneId(0), 0, &[0x12; 32]).expect("idle");
    d.nand.data_in(PlaneId(1), 0, &[0x34; 32]).expect("idle");
    let mode = ProgramMode::Esp;
    let both = |number| PageSet::from_iter([page(0, number), page(6, number)]);
    d.must(
        0,
        &Command::Program {
            pages: both(0),
            mode,
        },
    );
    for number in 1..3 {
        let pages = both(number);
        d.must(0, &Command::ProgramComplement { pages, mode });
    }
    for (number, data) in [(0, [0x12, 0x34]), (1, [0xED, 0xCB]), (2, [0x12, 0x34])] {
        assert_eq!(d.read(page(0, number)), Some(vec![data[0]; 32]));
        assert_eq!(d.read(page(6, number)), Some(vec![data[1]; 32]));
    }
}

/// What is done to a drive.
type Then = fn(&mut Driver);

#[test]
fn it_is_refused_when_the_register_holds_something_else() {
    let mode = ProgramMode::Slc;
    let planes = PlaneMask(1);
    // What is done after the program, and whether the register holds the data still.
    let cases: [(&str, Then, bool); 8] = [
        ("nothing", |_| {}, true),
        (
            "sense",
            |d| {
                d.must(0, &Command::read(page(1, 0)));
            },
            false,
        ),
        (
            "sense into S",
            |d| {
                d.must(0, &mws(flags("s"), &[(1, 0, &[0])]));
            },
            true,
        ),
        (
            "sense added to C",
            |d| {
                d.must(0, &mws(flags("st"), &[(1, 0, &[0])]));
            },
            false,
        ),
        (
            "new data",
            |d| d.nand.data_in(PlaneId(0), 0, &[1; 4]).expect("idle"),
            false,
        ),
        (
            "restored",
            |d| {
                d.nand
                    .restore(PlaneId(0), None, PageStatus::Ok)
                    .expect("idle")
            },
            false,
        ),
        (
            "sense in the other plane",
            |d| {
                d.must(0, &Command::read(page(6, 0)));
            },
            true,
        ),
        (
            "reset",
            |d| {
                d.must(0, &Command::Reset);
            },
            false,
        ),
    ];
    for (what, then, holds) in cases {
        let mut d = Driver::new(&small(), Storage::Memory);
        d.program(page(0, 0), mode, &[0x3C; 32], b"");
        then(&mut d);
        let result = d.run(0, &complement(page(0, 1), mode));
        if holds {
            assert_eq!(result.expect(what), Outcome::Done);
            assert_eq!(d.read(page(0, 1)), Some(vec![0xC3; 32]), "{what}");
        } else {
            refused(result, &["complement program", "does not hold what was"]);
            let state = d.nand.page_state(Ppa(1));
            assert_eq!(state, PageState::Erased, "{what}");
        }
    }
    // A copyback changed the register, too, and a suspended program is not over.
    let mut d = Driver::new(&small(), Storage::Memory);
    refused(
        d.run(0, &complement(page(0, 0), mode)),
        &["does not hold what was programmed last"],
    );
    d.program(page(0, 0), mode, &[0x3C; 32], b"");
    d.must(0, &mws(flags("s"), &[(1, 0, &[0])]));
    d.must(0, &Command::LatchTransfer { planes });
    refused(d.run(0, &complement(page(0, 1), mode)), &["does not hold"]);
    refused(
        d.run(0, &complement(page(0, 0), mode)),
        &["ascending order"],
    );
}

#[test]
fn its_order_failures_and_time_are_those_of_a_program() {
    let mode = ProgramMode::Esp;
    for storage in [Storage::None, Storage::Memory] {
        let mut d = Driver::new(&small(), storage);
        let program = Command::program(page(0, 0), mode);
        let programmed = d.nand.begin(DieId(0), &program, d.now).expect("legal");
        d.now += programmed.span;
        d.nand.finish(DieId(0), d.now).expect("it is over");
        let inverse = complement(page(0, 1), mode);
        let busy = d.nand.begin(DieId(0), &inverse, d.now).expect("legal");
        assert_eq!(busy, programmed);
        d.nand.power_cut(d.now).expect("no file behind");
        assert_eq!(d.nand.page_state(Ppa(1)), PageState::Torn);
        assert_eq!(
            d.nand.command_span(&inverse),
            d.nand.command_span(&program),
            "cycles, and tADL, in which the latches invert"
        );
    }
}
