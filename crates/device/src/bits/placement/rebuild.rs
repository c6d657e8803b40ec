//! Recovery of the groups from the records in the pages' spare areas.

use std::collections::BTreeMap;

use media::nand::{BlockId, Geometry, PageAddress};
use nvme::VectorId;
use nvme::command::Home;

use super::group::{Group, Layer, RowSet, Stored};
use super::layout::Layout;
use super::spare::VectorSpare;
use super::{Groups, TEMPORARY};
use crate::planted::{Bug, is_planted};

/// One version of a vector, as far as its pages were found.
struct Version {
    record: VectorSpare,
    layer: u32,
    chunks_found: u64,
    consistent: bool,
}

/// Strings of a row set, as far as its pages were found.
#[derive(Default)]
struct Strings {
    blocks: Vec<Option<BlockId>>,
    bits: u64,
    home: Home,
    layers: u32,
}

type Versions = BTreeMap<VectorId, BTreeMap<u64, Version>>;

/// The groups as the readable records tell: a vector exists if all chunks of a version of it are
/// found and agree, the latest such version counting, and if that is not a deletion. `next_page`
/// gives the first page of a block that can still be programmed.
///
/// Records that contradict their page's address are ignored. What is left of dead row sets comes
/// back from [`Groups::reclaim`]; blocks without any record are not the groups'.
pub fn rebuild(
    geometry: Geometry,
    found: impl IntoIterator<Item = (PageAddress, VectorSpare)>,
    next_page: impl Fn(BlockId) -> u32,
) -> Groups {
    let mut groups = Groups::new(geometry.clone());
    let layout = Layout::new(geometry);
    let mut strings: BTreeMap<(u32, u32), Strings> = BTreeMap::new();
    let mut versions = Versions::new();
    for (address, record) in found {
        groups.next_version = groups.next_version.max(record.version + 1);
        let owned = layout_of(&layout, address, &record).is_some_and(|layout| {
            let strings = strings.entry((record.group, record.row_set)).or_default();
            claim(&layout, strings, address, &record)
        });
        if owned {
            note(&mut versions, layout.layer(address.page), record);
        }
    }
    for (&(group, row_set), strings) in &strings {
        let frontier = strings
            .blocks
            .iter()
            .flatten()
            .map(|&block| next_page(block))
            .max();
        let (strings_per_block, cells) = {
            let geometry = layout.geometry();
            (geometry.strings_per_block, geometry.cells_per_string)
        };
        let used = frontier
            .unwrap_or(0)
            .div_ceil(strings_per_block)
            .max(strings.layers);
        let full = is_planted(Bug::RecoveryOpensNewStrings);
        let used = if full { cells } else { used.min(cells) };
        let layers = vec![Layer::Void; used as usize];
        let row_set_of = RowSet {
            blocks: strings.blocks.clone(),
            layers,
            erasing: false,
        };
        let group = groups
            .groups
            .entry(group)
            .or_insert_with(|| Group::new(group, strings.bits, at(&layout, strings.home)));
        group.row_sets.insert(row_set, row_set_of);
    }
    for (vector, versions) in versions {
        if let Some(group) = groups.groups.get_mut(&vector.group) {
            settle(&layout, &strings, group, vector.vector, versions);
        }
    }
    close_former_shapes(&mut groups, &strings);
    groups
}

/// The layout of a home that a record named.
fn at(layout: &Layout, home: Home) -> Layout {
    layout
        .at(home)
        .expect("records of homes that are not there were ignored")
}

/// The layout that the page is part of, if it can be what its record says.
fn layout_of(whole: &Layout, address: PageAddress, record: &VectorSpare) -> Option<Layout> {
    let chunk = u64::from(record.chunk);
    let plane = whole.geometry().plane_of_block(address.block);
    let layout = whole.at(whole.home_of(plane, chunk, record.dies)?)?;
    let fits = record.group != TEMPORARY
        && chunk < layout.chunks(record.bits)
        && layout.blocks(layout.chunks(record.bits)) <= layout.geometry().blocks() as usize
        && address == layout.page(address.block, chunk, layout.layer(address.page));
    fits.then_some(layout)
}

/// Enters the page's block into its row set; whether it is the one that the other pages say.
fn claim(
    layout: &Layout,
    strings: &mut Strings,
    address: PageAddress,
    record: &VectorSpare,
) -> bool {
    if strings.blocks.is_empty() {
        strings.bits = record.bits;
        strings.home = layout.home();
        strings.blocks = vec![None; layout.blocks(layout.chunks(record.bits))];
    }
    if strings.bits != record.bits || strings.home != layout.home() {
        return false;
    }
    let block = &mut strings.blocks[layout.block_index(u64::from(record.chunk))];
    strings.layers = strings.layers.max(layout.layer(address.page) + 1);
    *block.get_or_insert(address.block) == address.block
}

fn note(versions: &mut Versions, layer: u32, record: VectorSpare) {
    let vector = VectorId {
        group: record.group,
        vector: record.vector,
    };
    let new = Version {
        record,
        layer,
        chunks_found: 0,
        consistent: true,
    };
    let version = versions
        .entry(vector)
        .or_default()
        .entry(record.version)
        .or_insert(new);
    let same = VectorSpare {
        chunk: record.chunk,
        ..version.record
    };
    version.consistent &= same == record && version.layer == layer;
    version.chunks_found += 1;
}

/// Decides which version of a vector is current and enters all of them into the layers.
fn settle(
    layout: &Layout,
    strings: &BTreeMap<(u32, u32), Strings>,
    group: &mut Group,
    vector: u32,
    versions: BTreeMap<u64, Version>,
) {
    let mut decided = false;
    for (number, version) in versions.into_iter().rev() {
        let Version {
            record,
            layer,
            chunks_found,
            consistent,
        } = version;
        let expected = if record.deleted {
            1
        } else {
            layout.chunks(record.bits)
        };
        let current = !decided && consistent && chunks_found == expected;
        decided |= current;
        let holds = match (current, record.deleted) {
            (false, _) => Layer::Dead(vector),
            (true, true) => Layer::Tombstone(vector),
            (true, false) => Layer::Live(vector),
        };
        group.set_layer(record.row_set, layer, holds);
        if holds == Layer::Live(vector) {
            let VectorSpare {
                row_set,
                inverse,
                bits,
                ..
            } = record;
            group.bits = bits;
            group.layout = at(layout, strings[&(group.id, row_set)].home);
            group.vectors.insert(
                vector,
                Stored {
                    row_set,
                    layer,
                    inverse,
                    version: number,
                },
            );
        }
    }
}

/// Row sets left over from a group's former length or home take no more vectors.
fn close_former_shapes(groups: &mut Groups, strings: &BTreeMap<(u32, u32), Strings>) {
    let cells = groups.layout().geometry().cells_per_string as usize;
    for (&(id, row_set), strings) in strings {
        if let Some(group) = groups.groups.get_mut(&id)
            && (group.bits, group.layout.home()) != (strings.bits, strings.home)
            && let Some(row_set) = group.row_sets.get_mut(&row_set)
        {
            row_set.layers.resize(cells, Layer::Void);
        }
    }
}
