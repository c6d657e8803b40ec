//! Power cuts, resets, and programs and erases that fail.

use super::*;

const SLC: ProgramMode = ProgramMode::Slc;

fn both(a: PageAddress, b: PageAddress) -> Command {
    Command::Program {
        pages: PageSet::from_iter([a, b]),
        mode: SLC,
    }
}

#[test]
fn a_power_cut_tears_programs_in_all_their_planes() {
    for storage in [Storage::None, Storage::Memory] {
        let mut d = Driver::new(&small(), storage);
        d.program(page(0, 0), SLC, &[1; 32], b"before");
        let command = both(page(0, 1), page(6, 0));
        d.nand.begin(DieId(0), &command, d.now).expect("legal");
        d.nand
            .power_cut(d.now + Span::from_us(199))
            .expect("no file behind");
        for torn in [page(0, 1), page(6, 0)] {
            let ppa = d.nand.geometry().ppa(torn);
            assert_eq!(d.nand.page_state(ppa), PageState::Torn);
            assert_eq!(d.nand.spare(ppa), None);
            assert_eq!(d.read(torn), None);
        }
        let ppa = d.nand.geometry().ppa(page(0, 0));
        assert_eq!(d.nand.spare(ppa), Some(&b"before"[..]));
        assert!(d.read(page(0, 0)).is_some());
        assert_eq!(d.nand.block_state(BlockId(0)).next_page, 2);
        d.program(page(0, 2), SLC, &[2; 32], b"");
    }
}

#[test]
fn what_ended_before_the_power_cut_is_complete() {
    let mut d = Driver::new(&small(), Storage::Memory);
    d.nand.data_in(PlaneId(0), 0, &[3; 32]).expect("idle");
    let command = Command::program(page(0, 0), SLC);
    let busy = d.nand.begin(DieId(0), &command, d.now).expect("legal");
    d.nand.power_cut(d.now + busy.span).expect("no file behind");
    assert_eq!(d.read(page(0, 0)), Some(vec![3; 32]));
}

#[test]
fn a_torn_erase_must_be_repeated() {
    let mut d = Driver::new(&small(), Storage::Memory);
    d.program(page(0, 0), SLC, &[1; 32], b"x");
    d.nand
        .begin(DieId(0), &Command::erase(BlockId(0)), d.now)
        .expect("legal");
    d.nand.power_cut(d.now).expect("no file behind");
    let state = d.nand.block_state(BlockId(0));
    assert_eq!(
        (state.condition, state.erase_count),
        (BlockCondition::NeedsErase, 1)
    );
    assert_eq!((d.read(page(0, 0)), d.read(page(0, 5))), (None, None));
    refused(
        d.run(0, &Command::program(page(0, 0), SLC)),
        &["block 0", "erase it first"],
    );
    d.must(0, &Command::erase(BlockId(0)));
    assert_eq!(d.read(page(0, 5)), Some(vec![0xFF; 32]));
    d.must(0, &Command::program(page(0, 0), SLC));
}

#[test]
fn suspended_operations_and_latches_do_not_survive() {
    let mut d = Driver::new(&small(), Storage::Memory);
    let value = 200;
    d.must(
        0,
        &Command::SetFeature {
            feature: Feature::EspEffort,
            value,
        },
    );
    d.nand
        .begin(DieId(0), &Command::program(page(0, 0), SLC), d.now)
        .expect("legal");
    d.must(0, &Command::Suspend);
    d.must(0, &Command::read(page(1, 0)));
    d.nand.power_cut(d.now).expect("no file behind");
    let ppa = d.nand.geometry().ppa(page(0, 0));
    assert_eq!(d.nand.page_state(ppa), PageState::Torn);
    refused(
        d.run(0, &Command::Resume),
        &["no suspended program or erase"],
    );
    refused(
        d.run(
            0,
            &Command::Xor {
                planes: PlaneMask(1),
            },
        ),
        &["S-latch"],
    );
    let esp = Command::program(page(1, 0), ProgramMode::Esp);
    let busy = d.nand.begin(DieId(0), &esp, d.now).expect("legal");
    assert_eq!(busy.span, Span::from_us(400), "as configured again");
}

#[test]
fn a_reset_tears_what_is_in_progress_on_its_die_only() {
    let mut d = Driver::new(&small(), Storage::Memory);
    for (die, block) in [(0, 0), (1, 12)] {
        d.nand
            .begin(DieId(die), &Command::program(page(block, 0), SLC), d.now)
            .expect("legal");
    }
    let end = d.now + Span::from_us(200);
    d.must(0, &Command::Reset);
    d.nand.finish(DieId(1), end).expect("undisturbed");
    let state = |block| d.nand.page_state(d.nand.geometry().ppa(page(block, 0)));
    assert_eq!(
        (state(0), state(12)),
        (PageState::Torn, PageState::Programmed)
    );
}

#[test]
fn garbage_of_a_torn_page_is_always_the_same() {
    let garbage = || {
        let mut d = Driver::new(&small(), Storage::Memory);
        d.nand
            .begin(DieId(0), &Command::program(page(0, 0), SLC), d.now)
            .expect("legal");
        d.nand.power_cut(d.now).expect("no file behind");
        assert_eq!(d.read(page(0, 0)), None);
        let single = d.register(0);
        d.must(0, &mws(Iscm::READ, &[(0, 0, &[0, 1])]));
        assert_eq!(
            d.nand.page_status(PlaneId(0)).expect("idle"),
            PageStatus::Uncorrectable
        );
        d.must(0, &mws(flags("s"), &[(0, 1, &[0])]));
        d.must(
            0,
            &Command::LatchTransfer {
                planes: PlaneMask(1),
            },
        );
        assert_eq!(
            d.nand.page_status(PlaneId(0)).expect("idle"),
            PageStatus::Uncorrectable,
            "what it went into stays so"
        );
        d.must(0, &mws(flags("sc"), &[(0, 0, &[0])]));
        d.must(0, &mws(flags("ct"), &[(1, 0, &[0])]));
        assert_eq!(
            d.nand.page_status(PlaneId(0)).expect("idle"),
            PageStatus::Uncorrectable,
            "also through an AND in the S-latch"
        );
        d.must(0, &Command::read(page(1, 0)));
        assert_eq!(
            d.nand.page_status(PlaneId(0)).expect("idle"),
            PageStatus::Ok
        );
        single
    };
    assert_eq!(garbage(), garbage());
    assert_ne!(garbage(), vec![0; 32]);
}

#[test]
fn failures_hit_the_planes_drawn() {
    let mut d = Driver::new(&small(), Storage::Memory);
    let mut draws = [0, 400_000, 299_999, 300_000, 5, 999_999].into_iter();
    d.nand.set_failures(Some(Failures {
        program_per_million: 300_000,
        erase_per_million: 10,
        draw: Box::new(move || draws.next().expect("six draws")),
    }));
    let outcome = |planes| Outcome::ProgramFailed {
        planes: PlaneMask(planes),
    };
    assert_eq!(d.must(0, &both(page(0, 0), page(6, 0))), outcome(0b01));
    assert_eq!(d.must(0, &both(page(6, 1), page(0, 1))), outcome(0b10));
    assert_eq!((d.read(page(0, 0)), d.read(page(6, 1))), (None, None));
    assert!(d.read(page(0, 1)).is_some() && d.read(page(6, 0)).is_some());
    let ppa = d.nand.geometry().ppa(page(0, 0));
    assert_eq!(d.nand.page_state(ppa), PageState::Failed);
    let erase = Command::Erase {
        blocks: BlockSet::from_iter([BlockId(0), BlockId(6)]),
    };
    assert_eq!(
        d.must(0, &erase),
        Outcome::EraseFailed {
            planes: PlaneMask(0b01)
        }
    );
    assert_eq!(
        d.nand.block_state(BlockId(0)).condition,
        BlockCondition::NeedsErase
    );
    d.nand.set_failures(None);
    assert_eq!(d.must(0, &erase), Outcome::Done);
    assert_eq!(d.nand.block_state(BlockId(0)).erase_count, 2);
}

/// A full disk.
struct Full {
    /// Whether data still fits, but not the record of a page.
    takes_data: bool,
}

impl BitStore for Full {
    fn holds_data(&self) -> bool {
        true
    }

    fn write(&mut self, _: PageAddress, _: &[u64]) -> Result<(), StorageError> {
        if self.takes_data { Ok(()) } else { full() }
    }

    fn words(&self, _: PageAddress, _: std::ops::Range<usize>) -> Option<&[u64]> {
        unreachable!("nothing was ever programmed")
    }

    fn read(
        &self,
        _: PageAddress,
        _: std::ops::Range<usize>,
        _: &mut [u64],
    ) -> Result<(), StorageError> {
        Ok(())
    }

    fn raise(&mut self, _: PageAddress, _: &[u64]) -> Result<(), StorageError> {
        full()
    }

    fn erase(&mut self, _: BlockId) -> Result<(), StorageError> {
        Ok(())
    }

    fn record_page(
        &mut self,
        _: &storage::PageRecord<'_>,
        _: &BlockState,
    ) -> Result<(), StorageError> {
        full()
    }
}

fn full() -> Result<(), StorageError> {
    Err(StorageError::Io {
        path: "x.img".into(),
        what: "write a page".to_owned(),
        source: std::io::ErrorKind::StorageFull.into(),
    })
}

#[test]
fn a_full_disk_is_an_error_and_leaves_the_page_erased() {
    for takes_data in [false, true] {
        let mut d = Driver::new(&small(), Storage::Memory);
        let memory = std::mem::replace(&mut d.nand.store, Box::new(Full { takes_data }));
        refused(
            d.run(0, &Command::program(page(0, 0), SLC)),
            &["x.img: cannot write a page: no storage space"],
        );
        assert_eq!(d.nand.page_state(Ppa(0)), PageState::Erased);
        d.nand.store = memory;
        d.program(page(0, 0), SLC, &[5; 32], b"");
        assert_eq!(d.read(page(0, 0)), Some(vec![5; 32]));
    }
}
