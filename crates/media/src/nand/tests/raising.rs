//! Single cells of programmed pages that are raised: what changes, what does not, and what cuts it short.

use super::*;

const MODES: [ProgramMode; 2] = [ProgramMode::Slc, ProgramMode::Esp];
const BEFORE: [u8; 32] = [0b1101_1011; 32];

/// Which cells are to be raised: one in four, others in every byte.
fn register() -> [u8; 32] {
    std::array::from_fn(|at| !(0b0001_0001 << (at % 4)))
}

fn and(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a & b).collect()
}

/// Page 1 of block 0 programmed between two others, and what is to be raised in the register.
fn loaded(storage: Storage, mode: ProgramMode) -> Driver {
    let mut d = Driver::new(&small(), storage);
    for number in 0..3 {
        d.program(page(0, number), mode, &BEFORE, &[number as u8 + 1; 7]);
    }
    d.nand.data_in(PlaneId(0), 0, &register()).expect("idle");
    d
}

#[test]
fn zeros_of_the_register_become_zeros_and_all_else_stays() {
    for mode in MODES {
        let mut d = loaded(Storage::Memory, mode);
        let (state, rate) = (
            d.nand.block_state(BlockId(0)),
            d.nand.raw_bit_error_rate(Ppa(1)),
        );
        assert_eq!(d.must(0, &Command::raise(page(0, 1))), Outcome::Done);
        assert_eq!(d.register(0), register(), "the register keeps what it had");
        assert_eq!(d.read(page(0, 1)), Some(and(&BEFORE, &register())));
        assert_eq!(d.nand.spare_out(PlaneId(0)).expect("idle"), [2; 7]);
        assert_eq!(d.read(page(0, 0)), Some(BEFORE.to_vec()));
        assert_eq!(d.read(page(0, 2)), Some(BEFORE.to_vec()));
        assert_eq!(d.nand.block_state(BlockId(0)), state);
        assert_eq!(d.nand.raw_bit_error_rate(Ppa(1)), rate);
        // Again, with others; and the next page is programmed as if nothing had been.
        d.nand.data_in(PlaneId(0), 4, &[0; 8]).expect("idle");
        d.must(0, &Command::raise(page(0, 1)));
        let mut expected = and(&BEFORE, &register());
        expected[4..12].fill(0);
        assert_eq!(d.read(page(0, 1)), Some(expected));
        d.program(page(0, 3), mode, &BEFORE, b"next");
        assert_eq!(d.read(page(0, 3)), Some(BEFORE.to_vec()));
    }
}

#[test]
fn a_register_that_was_not_loaded_raises_nothing() {
    let mut d = loaded(Storage::Memory, ProgramMode::Slc);
    d.must(0, &Command::read(page(0, 0)));
    d.must(0, &Command::raise(page(0, 1)));
    assert_eq!(d.register(0), [0xFF; 32], "as a program command fills it");
    assert_eq!(d.read(page(0, 1)), Some(BEFORE.to_vec()));
}

#[test]
fn it_takes_and_spends_what_a_program_of_its_block_does() {
    for mode in MODES {
        let mut d = loaded(Storage::Memory, mode);
        let raise = Command::raise(page(0, 1));
        let raised = d.nand.begin(DieId(0), &raise, d.now).expect("legal");
        d.now += raised.span;
        d.nand.finish(DieId(0), d.now).expect("it is over");
        let program = Command::program(page(0, 3), mode);
        let programmed = d.nand.begin(DieId(0), &program, d.now).expect("legal");
        assert_eq!(raised, programmed, "{mode}");
        // A program names its mode besides, in a command cycle of its own.
        let cycle = Span::from_ns(d.nand.config().bus.command_cycle_ns);
        let spans = [&raise, &program].map(|command| d.nand.command_span(command));
        assert_eq!(spans[0] + cycle, spans[1]);
    }
}

#[test]
fn planes_are_raised_together() {
    let mut d = loaded(Storage::Memory, ProgramMode::Slc);
    d.program(page(6, 0), ProgramMode::Esp, &BEFORE, b"");
    d.nand.data_in(PlaneId(0), 0, &[0xF0; 32]).expect("idle");
    d.nand.data_in(PlaneId(1), 0, &[0x0F; 32]).expect("idle");
    let pages = PageSet::from_iter([page(0, 2), page(6, 0)]);
    d.must(0, &Command::Raise { pages });
    assert_eq!(d.read(page(0, 2)), Some(and(&BEFORE, &[0xF0; 32])));
    assert_eq!(d.read(page(6, 0)), Some(and(&BEFORE, &[0x0F; 32])));
}

#[test]
fn what_was_sensed_before_stays_in_the_latches() {
    let mut d = loaded(Storage::Memory, ProgramMode::Slc);
    d.must(0, &mws(flags("sct"), &[(0, 1, &[0])]));
    d.nand.data_in(PlaneId(0), 0, &[0; 32]).expect("idle");
    d.must(0, &Command::raise(page(0, 1)));
    let planes = PlaneMask(1);
    d.must(0, &Command::CacheReadEnd { planes });
    assert_eq!(d.register(0), BEFORE, "the S-latch has the page as it was");
}

#[test]
fn only_programmed_pages_of_one_bit_a_cell_are_raised() {
    let mut d = loaded(Storage::Memory, ProgramMode::Slc);
    d.program(page(1, 0), ProgramMode::Mlc, &BEFORE, b"");
    let pair = |a, b| Command::Raise {
        pages: PageSet::from_iter([a, b]),
    };
    refused(
        d.run(0, &Command::raise(page(0, 5))),
        &["raise of", "block 0 page 5", "it is erased", "SLC and ESP"],
    );
    refused(d.run(0, &Command::raise(page(2, 0))), &["it is erased"]);
    refused(d.run(0, &Command::raise(page(0, 8))), &["page 8", "0 to 7"]);
    refused(d.run(0, &Command::raise(page(1, 0))), &["several bits"]);
    refused(d.run(1, &Command::raise(page(0, 1))), &["raise", "die 1"]);
    refused(d.run(0, &pair(page(0, 1), page(0, 2))), &["twice"]);
    let none = PageSet::new();
    refused(d.run(0, &Command::Raise { pages: none }), &["raise"]);
    d.nand
        .lease(DieId(0), PlaneMask(1), Latches { s: false, c: true })
        .expect("it holds");
    refused(d.run(0, &Command::raise(page(0, 1))), &["leased"]);
    d.nand.end_lease(DieId(0), PlaneMask(1));
    let torn = Command::program(page(0, 4), ProgramMode::Slc);
    d.nand.begin(DieId(0), &torn, d.now).expect("legal");
    d.nand.power_cut(d.now).expect("no file behind");
    refused(d.run(0, &Command::raise(page(0, 4))), &["interrupted"]);
    d.nand.mark_bad(BlockId(0)).expect("no file behind");
    refused(d.run(0, &Command::raise(page(0, 1))), &["marked bad"]);
}

#[test]
fn it_stands_back_for_reads_of_other_blocks() {
    let mut d = loaded(Storage::Memory, ProgramMode::Slc);
    d.program(page(1, 0), ProgramMode::Slc, &[7; 32], b"");
    d.nand.data_in(PlaneId(0), 0, &register()).expect("idle");
    let raise = Command::raise(page(0, 1));
    let busy = d.nand.begin(DieId(0), &raise, d.now).expect("legal");
    d.now += busy.span / 2;
    d.must(0, &Command::Suspend);
    assert_eq!(d.read(page(1, 0)), Some(vec![7; 32]));
    refused(d.run(0, &Command::read(page(0, 0))), &["suspended"]);
    refused(d.run(0, &Command::raise(page(1, 0))), &["suspended"]);
    d.must(0, &Command::Resume);
    assert_eq!(d.read(page(0, 1)), Some(and(&BEFORE, &register())));
}

/// What is left of a page whose raise did not complete: some of the cells are raised, no other.
fn assert_partly(left: &[u8]) {
    let after = and(&BEFORE, &register());
    let ones = |bytes: &[u8]| -> u32 { bytes.iter().map(|byte| byte.count_ones()).sum() };
    assert_eq!(and(left, &after), after, "no other cell is");
    assert_eq!(and(left, &BEFORE), left, "none falls");
    let raised = ones(&BEFORE) - ones(left);
    let wanted = ones(&BEFORE) - ones(&after);
    assert!(
        (wanted / 4..wanted).contains(&raised),
        "{raised} of {wanted}"
    );
}

#[test]
fn a_power_cut_leaves_the_page_readable_and_cells_raised_or_not() {
    let cut = || {
        let mut d = loaded(Storage::Memory, ProgramMode::Esp);
        let raise = Command::raise(page(0, 1));
        let busy = d.nand.begin(DieId(0), &raise, d.now).expect("legal");
        let just_before = d.now + (busy.span - Span::from_ps(1));
        d.nand.power_cut(just_before).expect("no file behind");
        assert_eq!(d.nand.page_state(Ppa(1)), PageState::Programmed);
        assert_eq!(d.nand.spare(Ppa(1)), Some(&[2; 7][..]));
        assert_eq!(d.read(page(0, 2)), Some(BEFORE.to_vec()));
        d.read(page(0, 1)).expect("it stays readable")
    };
    assert_partly(&cut());
    assert_eq!(cut(), cut(), "always the same cells");
    // Suspended is not over.
    let mut d = loaded(Storage::Memory, ProgramMode::Esp);
    d.nand
        .begin(DieId(0), &Command::raise(page(0, 1)), d.now)
        .expect("legal");
    d.must(0, &Command::Suspend);
    d.nand.power_cut(d.now).expect("no file behind");
    assert_eq!(d.read(page(0, 1)), Some(cut()));
    // What had its time is complete.
    let mut d = loaded(Storage::Memory, ProgramMode::Esp);
    let raise = Command::raise(page(0, 1));
    let busy = d.nand.begin(DieId(0), &raise, d.now).expect("legal");
    d.nand.power_cut(d.now + busy.span).expect("no file behind");
    assert_eq!(d.read(page(0, 1)), Some(and(&BEFORE, &register())));
}

#[test]
fn a_raise_that_fails_leaves_the_page_readable() {
    let mut d = loaded(Storage::Memory, ProgramMode::Slc);
    d.nand.set_failures(Some(Failures {
        program_per_million: 1_000_000,
        erase_per_million: 0,
        draw: Box::new(|| 0),
    }));
    let planes = PlaneMask(1);
    let outcome = d.must(0, &Command::raise(page(0, 1)));
    assert_eq!(outcome, Outcome::ProgramFailed { planes });
    assert_eq!(d.nand.page_state(Ppa(1)), PageState::Programmed);
    assert_partly(&d.read(page(0, 1)).expect("it stays readable"));
    // Once more, and well.
    d.nand.set_failures(None);
    d.nand.data_in(PlaneId(0), 0, &register()).expect("idle");
    assert_eq!(d.must(0, &Command::raise(page(0, 1))), Outcome::Done);
    assert_eq!(d.read(page(0, 1)), Some(and(&BEFORE, &register())));
}

#[test]
fn pages_of_the_firmware_are_raised_where_no_data_is_kept() {
    for (cut, complete) in [(true, false), (false, true)] {
        let mut d = loaded(Storage::None, ProgramMode::Slc);
        let raise = Command::raise(page(0, 1));
        let busy = d.nand.begin(DieId(0), &raise, d.now).expect("legal");
        if cut {
            d.nand.power_cut(d.now).expect("no file behind");
        } else {
            d.now += busy.span;
            d.nand.finish(DieId(0), d.now).expect("it is over");
        }
        let read = d.read(page(0, 1)).expect("readable");
        match complete {
            true => assert_eq!(read, and(&BEFORE, &register())),
            false => assert_partly(&read),
        }
    }
}

#[test]
fn an_image_keeps_what_was_raised() {
    let disk = std::env::temp_dir().join(format!("bitline-nand-{}-raise.img", std::process::id()));
    let _ = std::fs::remove_file(&disk);
    let image = Image::create(&disk, &small().geometry, 7, "").expect("it is new");
    let mut d = loaded(Storage::Image(image), ProgramMode::Slc);
    for _ in 0..5 {
        d.nand.data_in(PlaneId(0), 0, &register()).expect("idle");
        d.must(0, &Command::raise(page(0, 1)));
        d.nand.data_in(PlaneId(0), 0, &[0xFE; 32]).expect("idle");
        d.must(0, &Command::raise(page(0, 1)));
        d.nand.sync().expect("there is room");
    }
    drop(d);
    let image = Image::open(&disk, 7).expect("it is whole");
    let mut d = Driver::new(&small(), Storage::Image(image));
    let expected = and(&and(&BEFORE, &register()), &[0xFE; 32]);
    assert_eq!(d.read(page(0, 1)), Some(expected));
    assert_eq!(d.nand.spare(Ppa(1)), Some(&[2; 7][..]));
    assert_eq!(d.read(page(0, 2)), Some(BEFORE.to_vec()));
    drop(d);
    let checked = Image::check(&disk, 7, true).expect("it is whole");
    assert_eq!((checked.pages, checked.damaged_copies), (3, 0));
    assert!(checked.damaged_pages.is_empty() && !checked.rolled_back);
    let _ = std::fs::remove_file(&disk);
}
