//! Decisions of the firmware that hardly ever matter, each brought about on purpose: flash that cannot be read or
//! programmed, a power cut right then, a drive with hardly a free page. A whole life under seeds may never meet them.

use bitline::inside::{InsideDrive, InsideHost};
use bitline::{Drive, Host, Status};
use device::ftl::PageRecord;
use host::bits::PlacementHandle;
use media::nand::{Ageing, BlockCondition, BlockId, Failures, PageAddress, PageState};
use nvme::command::Home;

use crate::{blocks, drive, forced_read, status};

/// Logical blocks of a page.
const PAGE: u64 = 8;

/// A drive of two planes of 16 blocks of 24 pages.
fn tiny(changes: &[(&str, &str)]) -> Drive {
    const TINY: [(&str, &str); 4] = [
        ("nand.geometry.channels", "1"),
        ("nand.geometry.dies_per_chip", "1"),
        ("nand.geometry.blocks_per_plane", "16"),
        ("nand.geometry.cells_per_string", "4"),
    ];
    drive(&[&TINY[..], changes].concat())
}

fn restart(drive: &mut Drive) {
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
}

/// Writes a logical page, different each time.
fn write_page(drive: &mut Drive, page: u64, round: u64) -> Status {
    status(drive.write(page * PAGE, &blocks(page + 1000 * round, PAGE)))
}

/// An erased page that a mapping still names reads as zeroes, or as somebody else's data once it is programmed
/// again, and after a power cut as what it was before: a loss that nobody is told of.
#[test]
fn a_block_with_a_needed_page_that_cannot_be_read_is_not_erased() {
    for copyback in ["false", "true"] {
        // The block that was filled first is emptied first.
        let mut drive = tiny(&[
            ("ftl.gc.policy", "fifo"),
            ("ftl.gc.copyback", copyback),
            // Enough for what was just written, by far, and too few for what is old.
            ("nand.ecc.correctable_bits", "24"),
            ("nand.ecc.retries_max", "0"),
        ]);
        for page in 0..48 {
            assert_eq!(write_page(&mut drive, page, 0), Status::SUCCESS);
        }
        let centuries = Ageing::new(8_000_000.0, 30.0).after_cycles(1_500);
        drive.grow_older(&centuries).expect("it can");
        let lost = Status::UNRECOVERED_READ_ERROR;
        assert_eq!(status(drive.read(0, PAGE)), lost, "it is too old");
        for round in 1..5 {
            for page in 1..400 {
                let written = write_page(&mut drive, page, round);
                assert_eq!(written, Status::SUCCESS, "page {page} in round {round}");
            }
            let found = drive.statistics().expect("power").ftl.pages_lost;
            assert!(round == 1 || found > 0, "its block was never emptied");
            assert_eq!(status(drive.read(0, PAGE)), lost, "in round {round}");
        }
        restart(&mut drive);
        assert_eq!(status(drive.read(0, PAGE)), lost, "after a power cut");
        let other = drive.read(399 * PAGE, PAGE).expect("it is new");
        assert_eq!(other, blocks(399 + 4000, PAGE));
    }
}

/// Lets the next program fail, and no other.
fn fail_next_program(drive: &Drive) {
    let mut draws = std::iter::once(0).chain(std::iter::repeat(999_999));
    drive.nand().borrow_mut().set_failures(Some(Failures {
        program_per_million: 500_000,
        erase_per_million: 0,
        draw: Box::new(move || draws.next().expect("they do not end")),
    }));
}

/// Blocks with a page whose program failed.
fn failed_blocks(drive: &Drive) -> Vec<BlockId> {
    let nand = drive.nand().borrow();
    let has_failed = |block: &BlockId| {
        let pages = 0..nand.block_state(*block).next_page;
        let mut states = pages.map(|page| {
            let page = PageAddress {
                block: *block,
                page,
            };
            nand.page_state(nand.geometry().ppa(page))
        });
        states.any(|state| state == PageState::Failed)
    };
    let all = (0..nand.geometry().blocks()).map(BlockId);
    all.filter(has_failed).collect()
}

/// Pages with one bit a cell, of the region.
const HANDLE: PlacementHandle = PlacementHandle {
    number: 1,
    anchor: 0,
    pitch: PAGE,
    home: Home::ALL,
};

/// Writes a logical page, with the handle if it is to be `placed`.
async fn write_somewhere(host: Host, page: u64, placed: bool) -> Result<(), host::Error> {
    let data = blocks(page, PAGE);
    match placed {
        true => {
            let bits = host.bits();
            bits.write(HANDLE.number, false, page * PAGE, &data).await
        }
        false => host.block().write(page * PAGE, &data).await,
    }
}

/// The power goes between a failed program and the retirement of its block: the next life retires it, whoever's it is.
#[test]
fn a_block_with_a_failed_page_is_retired_after_a_power_cut() {
    let slc_cache = [("ftl.slc_cache.blocks_per_plane", "2")];
    let checkpoints = [
        ("ftl.mapping.kind", "cached"),
        ("ftl.checkpoint.interval_pages", "10"),
    ];
    for (changes, placed) in [
        (&[][..], false),
        (&slc_cache, false),
        (&checkpoints, false),
        (&[("bits.compute_blocks_percent", "40")], true),
    ] {
        let mut drive = tiny(changes);
        let written = drive.run(move |host| async move {
            host.bits().open_handle(&HANDLE).await?;
            for page in 0..5 {
                write_somewhere(host.clone(), page, placed).await?;
            }
            Ok::<_, host::Error>(())
        });
        written.expect("power").expect("room");
        fail_next_program(&drive);
        let host = drive.host().expect("power");
        host.sim().clone().spawn_detached(async move {
            let written = write_somewhere(host, 5, placed).await;
            unreachable!("the power goes before: {written:?}");
        });
        let simulation = drive.simulation().expect("power");
        while failed_blocks(&drive).is_empty() {
            assert!(simulation.step(), "{changes:?}: no program failed");
        }
        let failed = failed_blocks(&drive)[0];
        let condition = |drive: &Drive| drive.nand().borrow().block_state(failed).condition;
        assert_eq!(condition(&drive), BlockCondition::Good, "{changes:?}");
        restart(&mut drive);
        rest(&mut drive);
        assert_eq!(condition(&drive), BlockCondition::Bad, "{changes:?}");
        assert_eq!(failed_blocks(&drive), [], "{changes:?}: it was erased");
        for page in 0..5 {
            let read = drive.read(page * PAGE, PAGE).expect("acknowledged");
            assert_eq!(read, blocks(page, PAGE), "{changes:?}");
        }
    }
}

/// What a read with Force Unit Access returned, no power cut takes back (NVM 1.1, 3.3.4: it is on the medium first).
#[test]
fn a_read_with_force_unit_access_saves_what_it_returns() {
    for blocks_read in [1, PAGE as u32, 3 * PAGE as u32] {
        let mut drive = drive(&[("cache.mode", "write"), ("cache.write_back", "lazy")]);
        let data = blocks(7, 3 * PAGE);
        drive.write(0, &data).expect("room");
        let read = drive.run(move |host| async move { forced_read(&host, blocks_read).await });
        let (status, read) = read.expect("power");
        assert_eq!(status, Status::SUCCESS);
        assert!(read == data[..read.len()], "other data");
        restart(&mut drive);
        let left = drive.read(0, u64::from(blocks_read)).expect("written");
        assert!(
            left == read,
            "{blocks_read} blocks are not as they were read"
        );
    }
}

/// Blocks that are emptied side by side need room for the copies of all of them: with less, each takes a part of it, none
/// is emptied, and the drive says that it is full though it is not.
#[test]
fn blocks_are_emptied_side_by_side_only_where_there_is_room_for_their_copies() {
    for policy in ["greedy", "random", "fifo"] {
        let mut drive = tiny(&[
            ("ftl.gc.policy", policy),
            // So many side by side, a page of each at a time, that nothing is kept back for others.
            ("ftl.gc.concurrent_blocks", "8"),
            ("ftl.gc.concurrent_copies", "1"),
            ("bits.compute_blocks_percent", "0"),
            ("ftl.gc.threshold_blocks", "8"),
            ("ftl.gc.hard_threshold_blocks", "2"),
            ("ftl.overprovisioning", "0.16"),
            ("nand.geometry.blocks_per_plane", "60"),
            ("nand.geometry.planes_per_die", "1"),
        ]);
        let pages = drive.blocks().expect("power") / PAGE;
        for page in 0..pages {
            assert_eq!(write_page(&mut drive, page, 0), Status::SUCCESS);
        }
        let mut random = sim::Random::named(7, "pages to write");
        let mut write = |drive: &mut Drive, round| {
            let page = random.below(pages);
            write_page(drive, page, round)
        };
        for round in 1..6 {
            // Until there is hardly a free page, with needed ones everywhere; then all that may begins at once.
            let ftl = drive.device().expect("power").ftl.clone();
            ftl.hold_collection();
            while write(&mut drive, round) == Status::SUCCESS {}
            ftl.release_collection();
            for count in 0..100 {
                let written = write(&mut drive, round);
                assert_eq!(written, Status::SUCCESS, "{policy}: {round}, {count}");
            }
        }
    }
}

/// A drive that makes a checkpoint after every so many pages.
fn with_checkpoints(interval: u32) -> Drive {
    let interval = interval.to_string();
    tiny(&[("ftl.checkpoint.interval_pages", &interval)])
}

/// Lets so much time pass that nothing is under way any more.
fn rest(drive: &mut Drive) {
    let slept = drive.run(|host| async move {
        host.sim().sleep(sim::Span::from_us(200_000)).await;
    });
    slept.expect("power");
}

/// The block of the newest root, and how often it was erased before.
fn block_of_root(drive: &Drive) -> (BlockId, u32) {
    let nand = drive.nand().borrow();
    let pages = (0..nand.geometry().blocks())
        .map(BlockId)
        .flat_map(|block| {
            (0..nand.block_state(block).next_page).map(move |page| PageAddress { block, page })
        });
    let roots = pages.filter_map(|page| {
        let spare = nand.spare(nand.geometry().ppa(page))?;
        // First bytes of the spare bytes of a root.
        let record = PageRecord::decode(spare).filter(|_| spare[0] == b'R')?;
        Some((record.sequence, page.block))
    });
    let (_, block) = roots.max_by_key(|(sequence, _)| *sequence).expect("a root");
    (block, nand.block_state(block).erase_count)
}

/// Otherwise each life takes a block from the drive.
#[test]
fn the_root_of_the_life_before_makes_room() {
    let mut drive = with_checkpoints(10);
    for page in 0..40 {
        assert_eq!(write_page(&mut drive, page, 0), Status::SUCCESS);
    }
    rest(&mut drive);
    restart(&mut drive);
    let (block, erases) = block_of_root(&drive);
    for page in (0..200).cycle().take(2000) {
        assert_eq!(write_page(&mut drive, page, 1), Status::SUCCESS);
    }
    let erased = drive.nand().borrow().block_state(block).erase_count;
    assert!(erased > erases, "it still has the old root");
}

/// Mapping pages that a checkpoint writes while a record of deallocation is on its way have the entries of before: they do not
/// vouch for the record.
#[test]
fn a_checkpoint_beside_a_deallocation_brings_nothing_back() {
    const INTERVAL: u32 = 6;
    // The block of the page is full by then, so that recovery looks into it only if it has to.
    for before in 60..60 + 2 * u64::from(INTERVAL) {
        let mut drive = with_checkpoints(INTERVAL);
        for page in 0..before {
            assert_eq!(write_page(&mut drive, page, 0), Status::SUCCESS);
            rest(&mut drive);
        }
        let deallocated = drive.run(|host| async move { host.block().deallocate(0, PAGE).await });
        deallocated.expect("power").expect("room");
        rest(&mut drive);
        let checkpoints = drive.statistics().expect("power").ftl.checkpoints;
        assert!(checkpoints > 5, "{checkpoints} checkpoints");
        restart(&mut drive);
        let read = drive.read(0, PAGE).expect("zeroes");
        assert!(read == vec![0; 8 * 512], "with {before} pages");
    }
}

/// Zero means never.
#[test]
fn checkpoints_are_made_only_where_they_are_asked_for() {
    for (interval, some) in [(0, false), (20, true)] {
        let mut drive = with_checkpoints(interval);
        for page in 0..60 {
            assert_eq!(write_page(&mut drive, page, 0), Status::SUCCESS);
        }
        rest(&mut drive);
        let made = drive.statistics().expect("power").ftl.checkpoints;
        assert_eq!(made > 0, some, "{made} with an interval of {interval}");
    }
}

/// Whatever the pace, collection is over when there is room: it does not go on for its own sake.
#[test]
fn collection_ends_when_there_is_room() {
    for pace in ["refill", "per_block"] {
        let mut drive = tiny(&[("compatibility.gc_pace", pace)]);
        let mut random = sim::Random::named(8, "pages to write");
        for round in 0..2000 {
            let written = write_page(&mut drive, random.below(200), round);
            assert_eq!(written, Status::SUCCESS);
        }
        rest(&mut drive);
        let collected = |drive: &Drive| drive.statistics().expect("power").ftl.gc_blocks;
        let before = collected(&drive);
        assert!(before > 20, "{pace}: {before} blocks");
        rest(&mut drive);
        assert_eq!(collected(&drive), before, "{pace}: an idle drive collects");
        // Two planes, of which each is to have four free blocks.
        let nand = drive.nand().borrow();
        let blocks = (0..nand.geometry().blocks()).map(BlockId);
        let blank = blocks.filter(|block| nand.is_erased(*block)).count();
        assert!((8..12).contains(&blank), "{pace}: {blank} blocks are free");
    }
}
