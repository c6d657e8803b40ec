//! Name-value lookup on whole drives: stores of names, and maps made of them.

mod again;
mod deletions;
mod estimates;
mod key_value;
mod levelling;
mod limits;
mod moments;
#[path = "../support/random.rs"]
mod random;
mod rows;
mod storages;
mod stores;
mod switches;

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use bitline::{Config, Drive};

/// A drive with small pages: a row has 16,384 names.
fn small() -> Config {
    let keys = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "200"),
        ("nand.geometry.page_bytes", "2048"),
        ("frontend.block_bytes", "512"),
        ("bits.compute_blocks_percent", "40"),
    ];
    let preset = Config::preset("flash-cosmos").expect("a preset");
    preset.with(keys).expect("a possible drive")
}

/// A drive with tiny pages and few planes, and what is set besides: a row has 4,096 names, of strings with 48 cells, 23 bits of a
/// name each.
fn tiny(more: &[(&str, &str)]) -> Drive {
    let tiny = [("nand.geometry.page_bytes", "512")];
    let config = small().with(tiny).expect("a possible drive");
    let config = config.with(more.iter().copied()).expect("likewise");
    Drive::open(config).expect("a drive")
}

fn drive() -> Drive {
    Drive::open(small()).expect("a drive")
}

/// A drive whose calls are broken off when the number that is shared gets to zero.
fn interruptible() -> (Drive, Rc<Cell<u64>>) {
    let looks = Rc::new(Cell::new(u64::MAX));
    let shared = looks.clone();
    let watch = Rc::new(move || {
        shared.set(shared.get().saturating_sub(1));
        match shared.get() {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    let drive = Drive::open_watched(small(), None, watch);
    (drive.expect("a drive"), looks)
}

fn cut(drive: &mut Drive) {
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
}
