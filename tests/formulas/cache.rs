//! What a data cache makes of single commands on a drive at rest, and how much it holds
//! back: closed forms again.

use bitline::Drive;
use bitline::inside::{InsideDrive, InsideHost};

use crate::latency::{BLOCK, timed, timed_read, timed_write};
use crate::model::{Model, drive};

/// A drive with a cache, in a DRAM whose rows are closed after each access and never refreshed.
fn cached(preset: &str, mode: &str, more: &[(&str, &str)]) -> Drive {
    let mut changes = vec![
        ("cache.mode", mode),
        ("cache.write_back", "lazy"),
        ("dram.row_policy", "closed"),
        ("dram.t_refi_ns", "0"),
    ];
    changes.extend(more);
    drive(preset, &changes)
}

#[test]
fn cached_writes_and_reads_take_the_link_and_dram() {
    for preset in ["flash-cosmos", "anvil-ssd-b", "mqsim-default"] {
        let mut drive = cached(preset, "write", &[]);
        let model = Model::of(&drive);
        let begin = model.fetch() + model.host_read(BLOCK);
        let written = timed_write(&mut drive, 3, 1);
        let in_dram = begin + model.dram(BLOCK) + model.completion();
        assert_eq!(written, in_dram, "{preset}: a write");
        let read = timed_read(&mut drive, 3, 1);
        let from_dram = model.fetch() + model.dram(BLOCK) + model.link(BLOCK);
        assert_eq!(read, from_dram + model.completion(), "{preset}: a read");
        let counts = drive.statistics().expect("power").cache;
        assert_eq!((counts.write_misses, counts.read_hits), (1, 1), "{preset}");
    }
}

#[test]
fn a_read_of_which_a_part_is_cached_takes_the_rest_from_flash() {
    let mut drive = cached("flash-cosmos", "write", &[]);
    let model = Model::of(&drive);
    drive.write(0, &vec![0; 16384]).expect("a write");
    drive.flush().expect("a flush");
    drive.write(0, &vec![1; 4096]).expect("a write");
    let flash = model.page_read(3 * BLOCK);
    let expected = model.fetch() + flash + model.link(4 * BLOCK) + model.completion();
    assert_eq!(timed_read(&mut drive, 0, 4), expected);
    assert_eq!(
        drive.statistics().expect("power").cache.read_partial_hits,
        1
    );
}

#[test]
fn what_was_read_is_found_again() {
    for (mode, again) in [("read", 1), ("read_write", 1), ("write", 0)] {
        let mut drive = cached("flash-cosmos", mode, &[]);
        let model = Model::of(&drive);
        drive.write(0, &vec![0; 4096]).expect("a write");
        drive.flush().expect("a flush");
        let before = drive.statistics().expect("power").cache.read_hits;
        let first = timed_read(&mut drive, 0, 1);
        let second = timed_read(&mut drive, 0, 1);
        let cached = model.fetch() + model.dram(BLOCK) + model.link(BLOCK) + model.completion();
        assert_eq!(
            second == cached,
            again == 1,
            "{mode}: {first}, then {second}"
        );
        let hits = drive.statistics().expect("power").cache.read_hits - before;
        // Read and write cache: the write left it there, so the first read finds it, too.
        let expected = if mode == "read_write" { 2 } else { again };
        assert_eq!(hits, expected, "{mode}");
    }
}

#[test]
fn forced_writes_and_flushes_wait_for_flash() {
    let mut drive = cached("flash-cosmos", "write", &[]);
    let model = Model::of(&drive);
    let page = model.page_bytes();
    let blocks = (page / BLOCK) as usize;
    timed_write(&mut drive, 0, blocks as u64);
    let flushed = timed(&mut drive, |host| async move { host.block().flush().await });
    assert_eq!(
        flushed,
        model.fetch() + model.page_program() + model.completion(),
        "one page of a lazy cache"
    );
    let data = vec![7; page as usize];
    let forced = timed(&mut drive, move |host| async move {
        host.block().write_durably(0, &data).await
    });
    let flash = model.fetch() + model.host_read(page) + model.page_program();
    assert_eq!(forced, flash + model.completion());
}

#[test]
fn eager_pages_go_once_and_lazy_ones_when_their_slot_is_needed() {
    let pages = 24;
    for (write_back, programs) in [("eager", pages), ("lazy", pages - 8)] {
        let slots = (8 * 16384).to_string();
        let more = [
            ("cache.capacity_bytes", slots.as_str()),
            ("cache.write_back", write_back),
        ];
        let mut drive = cached("flash-cosmos", "write", &more);
        let blocks = 4 * pages as usize;
        drive.write(0, &vec![0; blocks * 4096]).expect("a write");
        drive.simulation().expect("power").run();
        let statistics = drive.statistics().expect("power");
        assert_eq!(statistics.flash.page_programs, programs, "{write_back}");
        assert_eq!(statistics.cache.write_backs, programs, "{write_back}");
    }
}

#[test]
fn writers_wait_while_too_much_is_on_its_way() {
    // One page at a time, to planes of their own: without the limit they would overlap.
    let more = [
        ("cache.back_pressure_pages", "1"),
        ("cache.write_back", "eager"),
    ];
    let mut drive = cached("flash-cosmos", "write", &more);
    let model = Model::of(&drive);
    let page = model.page_bytes();
    let took = timed_write(&mut drive, 0, 3 * page / BLOCK);
    let begin = model.fetch() + model.host_read(3 * page);
    let expected = begin + 2 * model.page_program() + model.dram(page) + model.completion();
    assert_eq!(took, expected);
    assert_eq!(
        drive.statistics().expect("power").cache.back_pressure_waits,
        2
    );
}

/// Two pages at a time, which arrive at one instant: the first makes room for one that has waited, the second for one that
/// need not.
#[test]
fn a_wait_counts_if_there_was_something_to_wait_for() {
    let more = [
        ("cache.back_pressure_pages", "2"),
        ("cache.write_back", "eager"),
    ];
    let mut drive = cached("flash-cosmos", "write", &more);
    let page = Model::of(&drive).page_bytes();
    timed_write(&mut drive, 0, 6 * page / BLOCK);
    let counts = drive.statistics().expect("power").cache;
    assert_eq!(counts.back_pressure_waits, 2);
}

#[test]
fn a_capacitor_saves_what_is_cached_and_pays_for_it() {
    for (capacitor, energy) in [("true", true), ("false", false)] {
        let more = [
            ("cache.capacitor", capacitor),
            ("nand.geometry.blocks_per_plane", "64"),
        ];
        let mut drive = cached("flash-cosmos", "write", &more);
        assert_eq!(
            drive.identify().expect("power").volatile_write_cache,
            !energy
        );
        drive.write(0, &vec![1; 65536]).expect("a write");
        drive.power_cut().expect("no image");
        drive.power_up().expect("recovery");
        assert_eq!(
            drive.inventory().expect("power").mapped_pages,
            if energy { 4 } else { 0 }
        );
        let statistics = drive.statistics().expect("power");
        let dumped = statistics
            .energy
            .iter()
            .find(|entry| entry.component == "capacitor");
        let program = drive.nand().borrow().config().energy.read_pj;
        assert_eq!(
            dumped.is_some_and(|entry| entry.energy_pj > 4 * program),
            energy
        );
    }
}
