//! What a capacitor must hold, counted anew from the datasheet, and what a power cut takes of it.

use bitline::{Config, Drive};

use crate::model::Model;

const SLOTS: u64 = 64;

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

/// Energies of the worst case, in picojoules: every slot read, merged and programmed, and two programs
/// and a share of 1/32 and more that fail, in dies, on channels, and in the controller meanwhile.
fn needed(model: &Model) -> u64 {
    let device = &model.0.device;
    let geometry = &device.nand.geometry;
    let programs = SLOTS + SLOTS / 32 + 4;
    let (latency, energy) = (&device.nand.latency, &device.nand.energy);
    let array = |ps: u64, percent: u64| {
        energy.read_pj * (ps / 1000) * percent / (latency.read_slc_ns * 100)
    };
    let page = array(model.sense(), 100) + array(model.program(), energy.program_power_percent);
    let moved = 2 * programs * model.page_bytes();
    let channels = u64::from(geometry.channels);
    let rounds = programs.div_ceil(u64::from(geometry.planes()));
    let time = rounds * (model.sense() + model.program()) + model.channel(moved.div_ceil(channels));
    let cores = u64::from(device.cores.count) * device.cores.active_milliwatts;
    let milliwatts = device.frontend.active_milliwatts + cores;
    let controller = u128::from(time) * u128::from(milliwatts) / 1000;
    let wires = moved * u64::from(device.channel.transfer_pj_per_byte);
    programs * page + wires + controller as u64
}

#[test]
fn the_capacitor_must_hold_what_the_formula_says() {
    let model = Model(config(4000).expect("strong enough"));
    let millijoules = needed(&model).div_ceil(1_000_000_000);
    assert!(millijoules > 1);
    config(millijoules).expect("just enough");
    let refused = config(millijoules - 1).expect_err("a millijoule less");
    for part in [
        format!(
            "capacitor.energy_millijoules = {} is too little",
            millijoules - 1
        ),
        "the cache (cache.capacity_bytes)".to_owned(),
        format!("{SLOTS} pages"),
        format!("takes {millijoules}"),
        "lower cache.capacity_bytes".to_owned(),
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
    let model = Model(config.clone());
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
    let device = &model.0.device;
    let energy = &device.nand.energy;
    let program = energy.read_pj * (model.program() / 1000) * energy.program_power_percent
        / (device.nand.latency.read_slc_ns * 100);
    assert_eq!(spent, SLOTS * program);
    assert!(spent < needed(&model));
    let read = drive.read(0, SLOTS * 4).expect("saved");
    assert!(read.iter().all(|byte| *byte == 7));
}
