//! Names on whole drives: groups, vectors and objects, one after the other and together.

mod groups;
mod parts;
mod together;

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use bitline::{Config, Content, Drive};

/// A drive so small that it does little besides.
fn small(overrides: &[(&str, &str)]) -> Config {
    let keys = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "40"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "8"),
        ("nand.geometry.page_bytes", "2048"),
        ("frontend.block_bytes", "512"),
        ("ftl.gc.threshold_blocks", "3"),
        ("bits.compute_blocks_percent", "40"),
    ];
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let keys = keys.iter().chain(overrides).copied();
    preset.with(keys).expect("a possible drive")
}

/// A drive whose calls are broken off when the number that is shared gets to zero.
fn interruptible(overrides: &[(&str, &str)]) -> (Drive, Rc<Cell<u64>>) {
    let looks = Rc::new(Cell::new(u64::MAX));
    let shared = looks.clone();
    let watch = Rc::new(move || {
        shared.set(shared.get().saturating_sub(1));
        match shared.get() {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    let drive = Drive::open_watched(small(overrides), None, watch);
    (drive.expect("a drive"), looks)
}

fn file(data: &[u8]) -> Content {
    Content::File {
        bytes: data.len() as u64,
    }
}

const BITS: u64 = 5000 * 8;

fn row(byte: u8) -> Vec<u8> {
    vec![byte; BITS as usize / 8]
}

/// What the drive holds: of each vector its name and first byte, and of a file its first byte. All bytes of one are the same.
fn held(drive: &mut Drive) -> Vec<(String, u8)> {
    let mut held = Vec::new();
    for group in drive.groups().expect("a catalogue") {
        let vectors = drive.group(&group.name).expect("a name").vectors();
        for vector in vectors.expect("a catalogue") {
            let bits = drive.query(&(&vector).into()).read();
            let bits = bits.expect("what is listed is read");
            let extent = vector.extents[0];
            let blocks = drive.read(extent.first, extent.blocks).expect("its blocks");
            assert_eq!(bits, blocks[..bits.len()], "by query and by blocks");
            assert!(bits.iter().all(|byte| *byte == bits[0]), "whole");
            held.push((format!("{}:{}", group.name, vector.name), bits[0]));
        }
    }
    if let Some(file) = drive.volume().get("file").expect("a catalogue") {
        let bytes = drive.volume().read(&file.name).expect("it is there");
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "whole");
        held.push((file.name, bytes[0]));
    }
    held
}

/// Logical blocks that objects and free space of the volume have together.
fn accounted(drive: &mut Drive) -> u64 {
    let mut blocks = drive.volume().usage().expect("a volume").free;
    for object in drive.volume().objects().expect("a catalogue") {
        blocks += object
            .extents
            .iter()
            .map(|extent| extent.blocks)
            .sum::<u64>();
    }
    for group in drive.groups().expect("a catalogue") {
        let vectors = drive.group(&group.name).expect("a name").vectors();
        let vectors = vectors.expect("a catalogue");
        assert_eq!(vectors.len(), group.vectors);
        let extents = vectors.iter().flat_map(|vector| &vector.extents);
        blocks += extents.map(|extent| extent.blocks).sum::<u64>();
    }
    blocks
}
