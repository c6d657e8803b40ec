//! Who gets room for page buffers when, and what of the DRAM is whose.

use std::cell::RefCell;
use std::rc::Rc;

use media::dram::{DramConfig, DramTiming, Interleave, RowPolicy};
use sim::{Simulation, Span, Time};

use super::{BufferSizes, Buffers, Purpose, Quotas, RESERVED};

/// The memory of `base.toml`.
pub(crate) fn dram() -> DramConfig {
    DramConfig {
        timing: DramTiming::Banks,
        capacity_bytes: 1 << 34,
        channels: 1,
        ranks: 1,
        banks: 8,
        row_bytes: 8192,
        interleave: Interleave::Banks,
        row_policy: RowPolicy::Open,
        clock_megahertz: 1600,
        transfer_bytes: 4,
        burst_transfers: 16,
        t_rcd_ns: 18,
        t_cl_ns: 18,
        t_rp_ns: 18,
        t_ras_ns: 42,
        t_refi_ns: 3904,
        t_rfc_ns: 280,
        activate_pj: 0,
        read_pj_per_byte: 0,
        write_pj_per_byte: 0,
        refresh_pj: 0,
    }
}

/// Buffers with so many that are anybody's.
fn buffers(simulation: &Simulation, common: u32) -> Rc<Buffers> {
    Rc::new(Buffers::new(
        &simulation.handle(),
        RESERVED + common,
        BufferSizes::of_pages(64),
        true,
    ))
}

/// What happened, and when, in nanoseconds.
type Log = Rc<RefCell<Vec<(&'static str, u64)>>>;

/// Has somebody ask for room at `at` and keep it for `keep`, both in nanoseconds.
fn user(
    simulation: &Simulation,
    buffers: &Rc<Buffers>,
    log: &Log,
    name: &'static str,
    (purpose, count): (Purpose, u32),
    (at, keep): (u64, u64),
) {
    let (sim, buffers, log) = (simulation.handle(), buffers.clone(), log.clone());
    simulation.handle().spawn_detached(async move {
        sim.sleep_until(Time::ZERO + Span::from_ns(at)).await;
        let _room = match purpose {
            Purpose::Command => buffers.rooms(count).await,
            purpose => buffers.room(purpose).await,
        };
        log.borrow_mut().push((name, sim.now().as_ps() / 1000));
        sim.sleep(Span::from_ns(keep)).await;
    });
}

#[test]
fn commands_wait_in_turn_for_as_many_as_they_need() {
    let simulation = Simulation::new(1);
    let (buffers, log) = (buffers(&simulation, 4), Log::default());
    let command = |name, count, at, keep| {
        let what = (Purpose::Command, count);
        user(&simulation, &buffers, &log, name, what, (at, keep));
    };
    command("three", 3, 0, 100);
    command("four", 4, 10, 50);
    // One is free, but who asked before goes before.
    command("one", 1, 20, 10);
    simulation.run();
    assert_eq!(*log.borrow(), [("three", 0), ("four", 100), ("one", 150)]);
    assert!(buffers.try_room(Purpose::Command).is_some());
}

#[test]
fn each_purpose_of_the_firmware_has_one_that_commands_cannot_take() {
    let simulation = Simulation::new(1);
    let (buffers, log) = (buffers(&simulation, 2), Log::default());
    let all = (Purpose::Command, 2);
    user(&simulation, &buffers, &log, "all", all, (0, 1000));
    let firmware = [
        ("write-back", Purpose::WriteBack),
        ("rest", Purpose::Rest),
        ("record", Purpose::Record),
        ("copy", Purpose::Copy),
    ];
    for (name, purpose) in firmware {
        user(&simulation, &buffers, &log, name, (purpose, 1), (10, 100));
    }
    let second = (Purpose::Copy, 1);
    user(&simulation, &buffers, &log, "second copy", second, (20, 5));
    simulation.run();
    let expected = [
        ("all", 0),
        ("write-back", 10),
        ("rest", 10),
        ("record", 10),
        ("copy", 10),
        ("second copy", 110),
    ];
    assert_eq!(*log.borrow(), expected);
}

#[test]
fn whoever_stops_waiting_gives_up_its_turn() {
    let simulation = Simulation::new(1);
    let (buffers, log) = (buffers(&simulation, 2), Log::default());
    let all = (Purpose::Command, 2);
    user(&simulation, &buffers, &log, "all", all, (0, 100));
    let (sim, waited) = (simulation.handle(), buffers.clone());
    simulation.handle().spawn_detached(async move {
        let timeout = sim.sleep(Span::from_ns(50));
        let either = sim::select(waited.rooms(2), timeout).await;
        assert!(matches!(either, sim::Either::Right(())));
    });
    let one = (Purpose::Command, 1);
    user(&simulation, &buffers, &log, "one", one, (10, 10));
    simulation.run();
    assert_eq!(*log.borrow(), [("all", 0), ("one", 100)]);
}

#[test]
#[should_panic(expected = "1 page buffers in use, and room was taken for 0")]
fn a_buffer_without_room_for_it_is_noticed() {
    let simulation = Simulation::new(1);
    let buffers = buffers(&simulation, 2);
    let _buffer = buffers.take();
}

#[test]
fn buffers_that_share_a_frame_part_when_one_is_written() {
    let simulation = Simulation::new(1);
    let buffers = buffers(&simulation, 2);
    let (one, other) = (buffers.take_slot(), buffers.take_slot());
    buffers.with_mut(one, |bytes| bytes.fill(1));
    let frame = buffers.frame(one).expect("a page");
    assert!(buffers.share(other, &frame));
    drop(frame);
    let place = |id| buffers.with(id, |bytes| bytes.as_ptr());
    assert_eq!(place(one), place(other), "nothing was copied");
    buffers.with_mut(other, |bytes| bytes[0] = 2);
    assert_eq!(buffers.with(one, <[u8]>::to_vec), Some(vec![1; 64]));
    let other = buffers.with(other, <[u8]>::to_vec).expect("it is there");
    assert_eq!((other[0], &other[1..]), (2, &[1; 63][..]));
}

#[test]
fn the_name_of_a_buffer_ends_with_its_use() {
    let simulation = Simulation::new(1);
    let buffers = buffers(&simulation, 2);
    let before = buffers.take_slot();
    buffers.give_back_slot(before);
    let now = buffers.take_slot();
    assert_eq!(before.index(), now.index());
    buffers.with_mut(now, |bytes| bytes.fill(7));
    assert_eq!(buffers.with_mut(before, |bytes| bytes.fill(0)), None);
    let frame = buffers.frame(now).expect("a page");
    assert!(!buffers.share(before, &frame) && buffers.frame(before).is_none());
    buffers.with_pair(now, before, |_, _| panic!("it is nobody's"));
    assert_eq!(buffers.with(now, <[u8]>::to_vec), Some(vec![7; 64]));
}

#[test]
fn partitions_lie_one_after_another_and_must_fit() {
    let dram = DramConfig {
        capacity_bytes: 1 << 20,
        ..dram()
    };
    let quotas = Quotas {
        tx: 16,
        streams: 8,
        collectors: 24,
        local: 4096,
        mapping: 100,
        cache: 2 * 8192 + 1,
        buffers: 1 << 19,
        search: 8193,
        link_table: 4096,
        tasks: 65536,
    };
    let map = quotas.lay_out(&dram).expect("they fit");
    assert_eq!(map.mapping.address(99), 99);
    assert_eq!(map.cache.address(0), 8192);
    assert_eq!(map.buffers.address(5), 4 * 8192 + 5);
    assert_eq!(map.link_table.address(0), map.search.address(0) + 2 * 8192);
    assert_eq!(map.tasks.address(0), map.link_table.address(0) + 8192);
    let more = Quotas {
        buffers: 1 << 20,
        ..quotas
    };
    let refused = more.lay_out(&dram).expect_err("too much").to_string();
    assert_eq!(
        refused,
        "dram.capacity_bytes = 1048576 is too small: the mapping table takes 100 bytes, the data cache \
         16385, the page buffers 1048576, names to be looked up 8193 and their link table 4096, the memories of \
         tasks 65536, transactions 16, streams 8, collectors 24, local memory 4096, with whole rows 1204224 in all"
    );
}
