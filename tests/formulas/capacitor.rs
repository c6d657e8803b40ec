//! What a capacitor must hold, counted anew from the datasheet, and what a power cut takes of it.

use std::cell::RefCell;
use std::rc::Rc;

use bitline::inside::{InsideConfig, InsideHost};
use bitline::{Ageing, Config, Drive};
use nvme::AsyncEvent;
use sim::Span;

use crate::model::Model;

const SLOTS: u64 = 64;
/// Pages on their way from the cache to flash, at most: the preset's.
const FLYING: u64 = 128;

fn config(millijoules: u64) -> Result<Config, String> {
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let capacity = (SLOTS * 16384).to_string();
    let millijoules = millijoules.to_string();
    let changes = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "64"),
        ("cache.mode", "write"),
        ("cache.capacitor", "true"),
        ("cache.capacity_bytes", &capacity),
        ("capacitor.energy_millijoules", &millijoules),
    ];
    preset.with(changes).map_err(|error| error.to_string())
}

/// Energies of the worst case, in picojoules: every slot, and every page evicted and under way, read, with references set and
/// read again as often as can be, merged and programmed, and two programs and a share of 1/32 and more that fail, in dies, on channels, and in the controller
/// meanwhile.
fn needed(model: &Model) -> u64 {
    let device = &model.0;
    let geometry = &device.nand.geometry;
    let pages = SLOTS + FLYING;
    let programs = pages + pages / 32 + 4;
    let (latency, energy) = (&device.nand.latency, &device.nand.energy);
    let array = |ps: u64, percent: u64| {
        energy.read_pj * (ps / 1000) * percent / (latency.read_slc_ns * 100)
    };
    let tries = 1 + u64::from(device.nand.ecc.retries_max);
    let read = tries * model.sense() + (tries * latency.set_feature_ns) * 1000;
    let page =
        array(tries * model.sense(), 100) + array(model.program(), energy.program_power_percent);
    let moved = 2 * programs * model.page_bytes();
    let channels = u64::from(geometry.channels);
    let rounds = programs.div_ceil(u64::from(geometry.planes()));
    let time = rounds * (read + model.program()) + model.channel(moved.div_ceil(channels));
    let cores = u64::from(device.cores.count) * device.cores.active_milliwatts;
    let milliwatts = device.frontend.active_milliwatts + cores;
    let controller = u128::from(time) * u128::from(milliwatts) / 1000;
    let wires = moved * u64::from(device.channel.transfer_pj_per_byte);
    programs * page + wires + controller as u64
}

#[test]
fn the_capacitor_must_hold_what_the_formula_says() {
    let model = Model(config(4000).expect("strong enough").device().clone());
    let millijoules = needed(&model).div_ceil(1_000_000_000);
    assert!(millijoules > 1);
    config(millijoules).expect("just enough");
    let refused = config(millijoules - 1).expect_err("a millijoule less");
    for part in [
        format!(
            "capacitor.energy_millijoules = {} is too little",
            millijoules - 1
        ),
        "the cache (cache.capacity_bytes, cache.back_pressure_pages)".to_owned(),
        format!("{} pages", SLOTS + FLYING),
        format!("takes {millijoules}"),
        "lower cache.capacity_bytes or cache.back_pressure_pages".to_owned(),
    ] {
        assert!(refused.contains(&part), "{refused:?} lacks {part:?}");
    }
    // Where there is nothing to save, nothing is asked of it.
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let none = preset.with([("capacitor.energy_millijoules", "0")]);
    none.expect("no capacitor is needed");
}

/// A full cache of whole pages takes a program each of the flash, and less than the capacitor has.
#[test]
fn a_power_cut_takes_less_than_that() {
    let config = config(4000).expect("strong enough");
    let model = Model(config.device().clone());
    let mut drive = Drive::open(config).expect("a drive");
    drive
        .write(0, &vec![7; (SLOTS * 16384) as usize])
        .expect("room");
    drive.power_cut().expect("no image");
    drive.power_up().expect("recovery");
    let statistics = drive.statistics().expect("power");
    let dump = statistics
        .energy
        .iter()
        .find(|entry| entry.component == "capacitor");
    let spent = dump.expect("pages were saved").energy_pj;
    let device = &model.0;
    let energy = &device.nand.energy;
    let program = energy.read_pj * (model.program() / 1000) * energy.program_power_percent
        / (device.nand.latency.read_slc_ns * 100);
    let geometry = &device.nand.geometry;
    let moved = SLOTS * model.page_bytes();
    let time = SLOTS * model.program() / u64::from(geometry.planes())
        + model.channel(moved / u64::from(geometry.channels));
    let cores = u64::from(device.cores.count) * device.cores.active_milliwatts;
    let controller = time * (device.frontend.active_milliwatts + cores) / 1000;
    let wires = moved * u64::from(device.channel.transfer_pj_per_byte);
    assert_eq!(spent, SLOTS * program + wires + controller);
    assert!(spent < needed(&model));
    let read = drive.read(0, SLOTS * 4).expect("saved");
    assert!(read.iter().all(|byte| *byte == 7));
}

/// Sixteen logical pages a flash page, each in the cache in part and the rest of each in another flash page: sixteen reads
/// for every program.
#[test]
fn parts_of_small_pages_take_less_than_the_drive_says() {
    const UNITS: u64 = 16;
    let small = |millijoules: u64| {
        let config = config(4000).expect("strong enough");
        let millijoules = millijoules.to_string();
        let changes = [
            ("frontend.block_bytes", "512"),
            ("ftl.mapping_unit_bytes", "1024"),
            ("capacitor.energy_millijoules", &millijoules),
        ];
        config.with(changes).map_err(|error| error.to_string())
    };
    let (told, enough) = strong_enough(small);
    let mut drive = Drive::open(enough).expect("a drive");
    // Blocks of a flash page, and as many of these as there are slots.
    let (page, slots) = (32, SLOTS * UNITS);
    drive
        .write(0, &vec![1; (slots * page * 512) as usize])
        .expect("room");
    drive.flush().expect("room");
    let before = drive.statistics().expect("power").flash;
    for slot in 0..slots {
        drive.write(slot * page, &[2; 512]).expect("room");
    }
    drive.power_cut().expect("no image");
    drive.power_up().expect("recovery");
    let statistics = drive.statistics().expect("power");
    let dump = statistics.energy.iter();
    let mut dump = dump.filter(|entry| entry.component == "capacitor");
    let spent = dump.next().expect("pages were saved").energy_pj;
    assert!(before.page_programs > 0);
    // Sixteen reads a program, and no less, or the case is none.
    let model = Model(config(4000).expect("strong enough").device().clone());
    let array_time = SLOTS * (UNITS * model.sense() + model.program());
    let least = array_time / u64::from(model.0.nand.geometry.planes())
        * model.0.frontend.active_milliwatts
        / 1000;
    assert!(spent > least, "{spent} of the {least} of the controller");
    assert!(spent <= told * 1_000_000_000, "{spent} of {told} mJ");
    for slot in 0..slots {
        let read = drive.read(slot * page, 2).expect("saved");
        assert!(read[..512].iter().all(|byte| *byte == 2), "{slot}");
        assert!(read[512..].iter().all(|byte| *byte == 1), "{slot}");
    }
}

/// The energy that a drive asks for, in millijoules, and its configuration with that.
fn strong_enough(config: impl Fn(u64) -> Result<Config, String>) -> (u64, Config) {
    let refused = config(1).expect_err("a millijoule");
    let told = refused.split("which takes ").nth(1);
    let told = told.and_then(|rest| rest.split(';').next());
    let told: u64 = told.and_then(|told| told.parse().ok()).expect("a need");
    (told, config(told).expect("what it asks for"))
}

/// Begins `count` writes at once and lets time pass until `enough` are acknowledged, but no more than a program takes; gives
/// those that are.
fn write_for(
    drive: &mut Drive,
    count: u64,
    data: impl Fn(u64) -> (u64, Vec<u8>),
    enough: usize,
) -> Vec<u64> {
    let acknowledged = Rc::new(RefCell::new(Vec::new()));
    let seen = acknowledged.clone();
    let writes: Vec<_> = (0..count).map(|page| (page, data(page))).collect();
    let run = drive.run(|host| async move {
        for (page, (first, bytes)) in writes {
            let (block, seen) = (host.block().clone(), seen.clone());
            host.sim().spawn_detached(async move {
                block.write(first, &bytes).await.expect("room");
                seen.borrow_mut().push(page);
            });
        }
        for _ in 0..1000 {
            if seen.borrow().len() >= enough {
                break;
            }
            host.sim().sleep(Span::from_us(1)).await;
        }
    });
    run.expect("power");
    acknowledged.take()
}

/// Cuts the power; what saving took, in picojoules.
fn saved(drive: &mut Drive) -> u64 {
    drive.power_cut().expect("no image");
    drive.power_up().expect("recovery");
    let statistics = drive.statistics().expect("power");
    let mut dump = statistics.energy.iter();
    let dump = dump.find(|entry| entry.component == "capacitor");
    dump.expect("pages were saved").energy_pj
}

/// A small lazy cache, all of it dirty, with as many evicted pages on their way to flash as may be: they have to be saved
/// as well, of what the capacitor was checked for.
#[test]
fn evicted_pages_that_still_fly_are_saved_too() {
    let lazy = |millijoules: u64| {
        let config = config(4000).expect("strong enough");
        let millijoules = millijoules.to_string();
        let changes = [
            ("cache.write_back", "lazy"),
            ("capacitor.energy_millijoules", &millijoules),
        ];
        config.with(changes).map_err(|error| error.to_string())
    };
    let (told, config) = strong_enough(lazy);
    let model = Model(config.device().clone());
    let mut drive = Drive::open(config).expect("a drive");
    let all = SLOTS + FLYING;
    let page = |page| (4 * page, vec![page as u8; 16384]);
    let acknowledged = write_for(&mut drive, 4 * all, page, all as usize);
    let spent = saved(&mut drive);
    let device = &model.0;
    let program = device.nand.energy.read_pj
        * (model.program() / 1000)
        * device.nand.energy.program_power_percent
        / (device.nand.latency.read_slc_ns * 100);
    // More than the slots, or the case is none.
    assert!(spent > (SLOTS + FLYING / 2) * program, "{spent}");
    assert!(spent <= told * 1_000_000_000, "{spent} pJ of {told} mJ");
    assert!(acknowledged.len() as u64 >= all);
    for page in acknowledged {
        let read = drive.read(4 * page, 4).expect("saved");
        assert!(read.iter().all(|byte| *byte == page as u8), "page {page}");
    }
}

/// Writes of a block each: data on its way counts in bytes, pages to save do not. What the capacitor has no energy for is
/// not acknowledged before it is on flash.
#[test]
fn what_is_taken_in_is_what_can_be_saved() {
    let small = |millijoules: u64| {
        let config = config(4000).expect("strong enough");
        let millijoules = millijoules.to_string();
        let changes = [
            ("frontend.block_bytes", "512"),
            ("cache.capacity_bytes", "65536"),
            ("cache.back_pressure_pages", "2"),
            ("capacitor.energy_millijoules", &millijoules),
        ];
        config.with(changes).map_err(|error| error.to_string())
    };
    let (told, config) = strong_enough(small);
    let mut drive = Drive::open(config).expect("a drive");
    let acknowledged = write_for(
        &mut drive,
        64,
        |page| (32 * page, vec![page as u8; 512]),
        64,
    );
    let spent = saved(&mut drive);
    assert!(spent <= told * 1_000_000_000, "{spent} pJ of {told} mJ");
    assert!(!acknowledged.is_empty());
    for page in acknowledged {
        let read = drive.read(32 * page, 1).expect("saved");
        assert!(read.iter().all(|byte| *byte == page as u8), "page {page}");
    }
}

/// A page of which the cache has a part, and flash lost the rest since.
#[test]
fn what_a_capacitor_did_not_save_is_told() {
    for storage in ["memory", "none"] {
        let lazy = [("cache.write_back", "lazy"), ("data.storage", storage)];
        let config = config(4000).expect("strong enough").with(lazy);
        let mut drive = Drive::open(config.expect("a legal value")).expect("a drive");
        drive.write(0, &vec![1; 65536]).expect("room");
        drive.flush().expect("room");
        drive.power_cut().expect("no image");
        drive.power_up().expect("recovery");
        let warnings = |drive: &mut Drive| drive.health().expect("a page").critical_warnings;
        assert!(warnings(&mut drive).is_empty(), "{storage}");
        let centuries = Ageing::new(8_000_000.0, 30.0).after_cycles(20_000);
        drive.grow_older(&centuries).expect("it can");
        drive.write(0, &[2; 4096]).expect("room");
        drive.write(4, &[3; 16384]).expect("room");
        for life in 0..3 {
            drive.power_cut().expect("no image");
            drive.power_up().expect("recovery");
            let warned = warnings(&mut drive);
            assert!(warned.contains(&"backup"), "{storage}, {life}: {warned:?}");
            let told = drive.run(|host| async move { host.admin().next_event().await });
            assert_eq!(told.expect("power").expect("one"), AsyncEvent::RELIABILITY);
        }
    }
}
