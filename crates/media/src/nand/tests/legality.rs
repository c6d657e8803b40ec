//! What a die refuses, and that the message says what is legal.

use super::*;

fn driver() -> Driver {
    Driver::new(&small(), Storage::Memory)
}

const SLC: ProgramMode = ProgramMode::Slc;

#[test]
fn pages_are_programmed_once_in_ascending_order() {
    let mut d = driver();
    let bytes = [0x5A; 32];
    d.program(page(0, 1), SLC, &bytes, b"");
    for passed in [0, 1] {
        refused(
            d.run(0, &Command::program(page(0, passed), SLC)),
            &[
                "block 0 page",
                "in ascending order",
                "pages 2 to 7 are legal",
            ],
        );
    }
    d.program(page(0, 7), SLC, &bytes, b"");
    refused(
        d.run(0, &Command::program(page(0, 7), SLC)),
        &["the block is full; erase it first"],
    );
    d.must(0, &Command::erase(BlockId(0)));
    d.program(page(0, 0), SLC, &bytes, b"");
}

#[test]
fn a_block_keeps_its_mode_until_erased() {
    let mut d = driver();
    d.must(0, &Command::program(page(0, 0), ProgramMode::Mlc));
    refused(
        d.run(0, &Command::program(page(0, 1), ProgramMode::Esp)),
        &["ESP program of", "page 1", "MLC mode until erased"],
    );
    d.must(0, &Command::erase(BlockId(0)));
    d.must(0, &Command::program(page(0, 0), ProgramMode::Esp));
}

#[test]
fn cells_hold_no_more_bits_than_the_drive_is_for() {
    let mut config = small();
    config.geometry.bits_per_cell_max = 3;
    let mut d = Driver::new(&config, Storage::None);
    refused(
        d.run(0, &Command::program(page(0, 0), ProgramMode::Qlc)),
        &["QLC mode", "at most 3 bits"],
    );
    d.must(0, &Command::program(page(0, 0), ProgramMode::Tlc));
}

#[test]
fn a_block_has_as_many_pages_as_its_mode_has_bits() {
    for (block, mode) in ProgramMode::ALL.into_iter().enumerate() {
        let mut d = driver();
        let block = block as u32;
        let last = 8 * mode.bits_per_cell() - 1;
        refused(
            d.run(0, &Command::program(page(block, last + 1), mode)),
            &[
                &format!("page {} ", last + 1),
                &format!("pages 0 to {last} in {mode} mode"),
            ],
        );
        d.must(0, &Command::program(page(block, last), mode));
        d.must(0, &Command::read(page(block, last)));
        refused(
            d.run(0, &Command::read(page(block, last + 1))),
            &["does not exist"],
        );
    }
}

#[test]
fn a_busy_die_takes_no_command_but_status_suspend_and_reset() {
    let mut d = driver();
    let program = Command::program(page(0, 0), SLC);
    d.nand.begin(DieId(0), &program, Time::ZERO).expect("legal");
    let before = Time::from_ps(199_999_999);
    let end = Time::from_ps(200_000_000);
    let read = Command::read(page(1, 0));
    refused(
        d.nand.begin(DieId(0), &read, before),
        &["read refused: die 0 is busy until 200 us"],
    );
    refused(
        d.nand.begin(DieId(0), &read, end),
        &["finish its last command first"],
    );
    d.nand
        .begin(DieId(0), &Command::ReadStatus, before)
        .expect("always legal");
    d.nand
        .begin(DieId(1), &Command::read(page(12, 0)), before)
        .expect("another die");
    refused(d.nand.data_in(PlaneId(0), 0, &[0]), &["die 0"]);
    refused(d.nand.data_out(PlaneId(1), 0, &mut [0]), &["die 0"]);
    refused(
        d.nand.finish(DieId(0), before),
        &["not ready at 199.999999 us", "it is at 200 us"],
    );
    assert_eq!(d.nand.finish(DieId(0), end).expect("ready"), Outcome::Done);
    refused(d.nand.finish(DieId(0), end), &["no command in progress"]);
}

#[test]
fn addresses_must_exist_in_the_die() {
    let mut d = driver();
    refused(
        d.run(4, &Command::Reset),
        &["die 4 does not exist", "0 to 3"],
    );
    for block in [12, 47, 48, u32::MAX] {
        refused(
            d.run(0, &Command::read(page(block, 0))),
            &[&format!("block {block}"), "its blocks are 0 to 11"],
        );
        refused(d.run(0, &Command::erase(BlockId(block))), &["0 to 11"]);
    }
    refused(
        d.nand.data_in(PlaneId(8), 0, &[0]),
        &["plane 8", "planes 0 to 7"],
    );
    refused(
        d.nand.data_in(PlaneId(0), 30, &[0; 3]),
        &["3 bytes at 30", "has 32"],
    );
    refused(
        d.nand.data_out(PlaneId(0), usize::MAX, &mut [0; 3]),
        &["has 32"],
    );
    refused(d.nand.set_spare(PlaneId(0), &[0; 41]), &["has 40"]);
}

#[test]
fn multi_plane_commands_take_one_page_a_plane() {
    let mut d = driver();
    let twice = PageSet::from_iter([page(0, 0), page(1, 0)]);
    refused(
        d.run(
            0,
            &Command::Read {
                pages: twice.clone(),
                inverse: false,
            },
        ),
        &["channel 0 chip 0 die 0 plane 0 twice"],
    );
    refused(
        d.run(
            0,
            &Command::Program {
                pages: twice,
                mode: SLC,
            },
        ),
        &["twice"],
    );
    refused(
        d.run(
            0,
            &Command::Erase {
                blocks: BlockSet::from_iter([BlockId(7), BlockId(6)]),
            },
        ),
        &["plane 1 twice"],
    );
    refused(
        d.run(
            0,
            &Command::Read {
                pages: PageSet::new(),
                inverse: false,
            },
        ),
        &["some of the 2 planes"],
    );
    for planes in [0, 0b100] {
        refused(
            d.run(
                0,
                &Command::Xor {
                    planes: PlaneMask(planes),
                },
            ),
            &["some of the 2 planes"],
        );
    }
}

#[test]
fn senses_keep_to_the_limits_of_the_cells() {
    let mut d = driver();
    let read = Iscm::READ;
    let full: &[u32] = &[0, 1, 2, 3];
    d.must(
        0,
        &mws(
            read,
            &[(0, 0, full), (1, 1, full), (2, 0, &[2]), (5, 1, &[0])],
        ),
    );
    refused(
        d.run(0, &mws(flags("ict"), &[(0, 0, full)])),
        &["initialize the S-latch"],
    );
    refused(
        d.run(0, &mws(read, &[(0, 0, full), (0, 1, full)])),
        &["block 0 twice"],
    );
    refused(
        d.run(0, &mws(read, &[(0, 0, full), (6, 1, full)])),
        &["plane 0 names", "plane 1 block 0"],
    );
    refused(
        d.run(0, &mws(read, &[(0, 2, full)])),
        &["string 2", "below 2"],
    );
    refused(
        d.run(0, &mws(read, &[(0, 0, &[4])])),
        &["layer 4", "below 4"],
    );
    refused(d.run(0, &mws(read, &[(0, 0, &[])])), &["0 wordlines"]);
    refused(d.run(0, &mws(read, &[])), &["must name some"]);
    d.must(0, &Command::program(page(3, 0), ProgramMode::Tlc));
    refused(
        d.run(0, &mws(read, &[(3, 0, &[0])])),
        &["block 3", "TLC mode; legal are SLC and ESP"],
    );

    let mut config = small();
    config.mws.blocks_max = 2;
    let mut d = Driver::new(&config, Storage::None);
    refused(
        d.run(0, &mws(read, &[(0, 0, full), (1, 0, full), (2, 0, full)])),
        &["3 blocks", "1 to 2", "mws.blocks_max"],
    );
}

#[test]
fn latches_that_hold_nothing_cannot_be_combined_with() {
    for storage in [Storage::None, Storage::Memory] {
        let mut d = Driver::new(&small(), storage);
        let planes = PlaneMask(1);
        refused(
            d.run(0, &Command::Xor { planes }),
            &["S-latch", "holds nothing"],
        );
        refused(d.run(0, &Command::LatchTransfer { planes }), &["S-latch"]);
        refused(d.run(0, &Command::CacheReadEnd { planes }), &["S-latch"]);
        refused(d.run(0, &mws(flags("ct"), &[(0, 0, &[0])])), &["S-latch"]);
        refused(d.run(0, &mws(flags("st"), &[(0, 0, &[0])])), &["C-latch"]);
        let pages = PageSet::from_iter([page(0, 0)]);
        refused(
            d.run(
                0,
                &Command::CacheRead {
                    pages: pages.clone(),
                },
            ),
            &["S-latch"],
        );
        refused(
            d.run(0, &Command::CopybackProgram { pages, mode: SLC }),
            &["C-latch"],
        );
        d.must(0, &mws(flags("s"), &[(0, 0, &[0])]));
        refused(d.run(0, &Command::Xor { planes }), &["C-latch"]);
        d.must(0, &mws(flags("c"), &[(0, 0, &[0])]));
        d.must(0, &Command::Xor { planes });
        d.must(0, &Command::Reset);
        refused(d.run(0, &Command::Xor { planes }), &["S-latch"]);
    }
}

#[test]
fn a_suspended_block_is_left_alone() {
    let mut d = driver();
    refused(
        d.run(0, &Command::Suspend),
        &["no program or erase in progress"],
    );
    refused(
        d.run(0, &Command::Resume),
        &["no suspended program or erase"],
    );
    d.nand
        .begin(DieId(0), &Command::erase(BlockId(0)), d.now)
        .expect("legal");
    d.must(0, &Command::Suspend);
    refused(d.run(0, &Command::Suspend), &["suspend refused"]);
    refused(
        d.run(0, &Command::read(page(0, 0))),
        &["block 0 refused", "resume it first"],
    );
    refused(
        d.run(0, &mws(Iscm::READ, &[(1, 0, &[0]), (0, 0, &[0])])),
        &["resume it first"],
    );
    refused(
        d.run(0, &Command::program(page(1, 0), SLC)),
        &["suspended program or erase"],
    );
    refused(d.run(0, &Command::erase(BlockId(1))), &["suspended"]);
    d.must(0, &Command::read(page(1, 0)));
    d.must(0, &Command::Resume);
    d.must(0, &Command::read(page(0, 0)));
}

#[test]
fn bad_blocks_stay_bad() {
    let mut d = driver();
    d.nand.mark_bad(BlockId(2)).expect("no file behind");
    for command in [
        Command::program(page(2, 0), SLC),
        Command::erase(BlockId(2)),
    ] {
        refused(d.run(0, &command), &["block 2", "marked bad"]);
    }
    assert_eq!(
        d.nand.block_state(BlockId(2)).condition,
        BlockCondition::Bad
    );
    d.must(0, &Command::read(page(2, 0)));
}

#[test]
fn what_a_bad_block_holds_can_be_erased_and_it_stays_bad() {
    let mut d = driver();
    d.program(page(2, 0), SLC, &[1; 32], b"old");
    d.nand.mark_bad(BlockId(2)).expect("no file behind");
    assert!(!d.nand.is_erased(BlockId(2)));
    d.must(0, &Command::erase(BlockId(2)));
    assert!(d.nand.is_erased(BlockId(2)));
    assert_eq!(
        d.nand.block_state(BlockId(2)).condition,
        BlockCondition::Bad
    );
    refused(
        d.run(0, &Command::program(page(2, 0), SLC)),
        &["block 2", "marked bad"],
    );
}

#[test]
fn features_have_ranges() {
    let mut d = driver();
    let feature = Feature::EspEffort;
    for value in [1, 99, 1001] {
        refused(
            d.run(0, &Command::SetFeature { feature, value }),
            &["ESP effort", "100 to 1000"],
        );
    }
}
