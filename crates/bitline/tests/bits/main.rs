//! Bulk bitwise computing on whole drives: results against plain loops, times and
//! counts against formulas, power cuts against what was acknowledged.

mod advised;
mod apart;
mod check;
mod concurrency;
mod estimates;
mod formulas;
mod layout;
mod lent;
#[path = "../support/numbered.rs"]
mod numbered;
mod pieces;
mod placing;
mod power_cuts;
#[path = "../support/random.rs"]
mod random;
mod results;

use bitline::{Config, Drive};

use random::{Random, clear_tail, ones, oracle};

/// A drive so small that vectors of a few kilobytes span stripes, strings and row sets.
const SMALL: [(&str, &str); 12] = [
    ("nand.geometry.channels", "2"),
    ("nand.geometry.chips_per_channel", "2"),
    ("nand.geometry.dies_per_chip", "1"),
    ("nand.geometry.planes_per_die", "2"),
    ("nand.geometry.blocks_per_plane", "32"),
    ("nand.geometry.strings_per_block", "2"),
    ("nand.geometry.cells_per_string", "4"),
    ("nand.geometry.page_bytes", "512"),
    ("frontend.block_bytes", "512"),
    ("ftl.gc.threshold_blocks", "3"),
    ("bits.compute_blocks_percent", "60"),
    ("bits.accelerator_buffer_bytes", "2048"),
];

/// Two full stripes, three pages and part of one, not a whole number of bytes.
const BITS: u64 = 512 * 8 * (8 * 2 + 3) + 77;

fn small(overrides: &[(&str, &str)]) -> Config {
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let small = preset.with(SMALL).expect("a legal drive");
    small
        .with(overrides.iter().copied())
        .expect("a legal drive")
}

fn open(overrides: &[(&str, &str)]) -> Drive {
    Drive::open(small(overrides)).expect("a drive in memory")
}

/// The status that a call ended with.
fn status_of<T: std::fmt::Debug>(result: Result<T, bitline::Error>) -> nvme::Status {
    match result {
        Err(bitline::Error::Host(host::Error::Status(error))) => error.status,
        other => panic!("a status was expected, not {other:?}"),
    }
}
