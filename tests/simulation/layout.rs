//! Groups of vectors keep their layout: a drive is aged by host writes until collection and static
//! wear levelling have gone over all its blocks, its power is cut at random events, and still the
//! vectors of a group lie one a wordline in the same strings of the same planes, though blocks have moved.
//!
//! Where they lie is read from the media, record by record, never from the table under test.

use std::collections::BTreeMap;

use bitline::inside::{InsideDrive, InsideHost};
use bitline::{Config, Drive, Expression, Host, Platform, VectorId};
use device::ftl::PageRecord;
use device::region::Placement;
use media::nand::{BlockId, Geometry, PageAddress};
use sim::Random;

use crate::numbered::{self, Numbered};

/// Two full stripes over the eight planes, three pages and part of one.
const BITS: u64 = 512 * 8 * (8 * 2 + 3) + 77;
const CELLS: u32 = 4;
/// Groups that are kept: number, vectors at the beginning, whether stored inverted. The first and
/// the last span several strings.
const KEPT: [(u32, u32, bool); 3] = [(3, 6, false), (8, 3, true), (9, 5, true)];
/// A group whose vectors are overwritten and torn all the time.
const RESTLESS: u32 = 5;
const SEEDS: u64 = 5;
const CUTS: u32 = 8;

/// Where each page of each vector lies: by vector and chunk.
type Places = BTreeMap<(VectorId, u32), (PageAddress, Placement)>;

struct Life {
    seed: u64,
    random: Random,
    drive: Drive,
    /// What every vector that is kept holds.
    contents: BTreeMap<VectorId, Vec<u8>>,
    collected: u64,
    levelled: u64,
    /// Pages of vectors that are elsewhere than before.
    moved: u64,
}

fn config(seed: u64) -> Config {
    let seed = seed.to_string();
    let keys = [
        ("seed", &*seed),
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "2"),
        ("nand.geometry.planes_per_die", "2"),
        ("nand.geometry.blocks_per_plane", "40"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "4"),
        ("nand.geometry.page_bytes", "512"),
        ("frontend.block_bytes", "512"),
        ("ftl.overprovisioning", "0.25"),
        ("ftl.gc.threshold_blocks", "5"),
        ("ftl.wear_levelling.static_threshold", "2"),
        // Of a plane, 18 blocks: seven row sets of two blocks each that are kept, and four of one block for three
        // restless vectors, each of which may have a row set of its own.
        ("bits.compute_blocks_percent", "45"),
    ];
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    preset.with(keys).expect("a legal drive")
}

/// The plane of chunk `chunk`: channels first, then the dies of a channel, then the planes of a
/// die. As (channel, chip, plane).
fn plane_of(chunk: u32) -> (u32, u32, u32) {
    (chunk % 2, chunk / 2 % 2, chunk / 4 % 2)
}

impl Life {
    fn on(seed: u64, config: Config) -> Life {
        Life {
            seed,
            random: Random::named(seed, "layout"),
            drive: Drive::open(config).expect("a drive in memory"),
            contents: BTreeMap::new(),
            collected: 0,
            levelled: 0,
            moved: 0,
        }
    }

    fn new(seed: u64) -> Life {
        let mut life = Life::on(seed, config(seed));
        // Alternately, so that groups could get into each other's strings.
        for number in 0..6 {
            for (group, count, inverse) in KEPT {
                if number < count {
                    life.write(VectorId::new(group, number), inverse);
                }
            }
        }
        life
    }

    fn write(&mut self, id: VectorId, inverse: bool) {
        let mut data = vec![0; BITS.div_ceil(8) as usize];
        self.random.fill(&mut data);
        *data.last_mut().expect("not empty") &= (1 << (BITS % 8)) - 1;
        self.drive
            .write_vector(id, BITS, inverse, &data)
            .unwrap_or_else(|error| panic!("seed {}: {id}: {error}", self.seed));
        self.contents.insert(id, data);
    }

    fn vectors_of(&self, group: u32) -> Vec<VectorId> {
        let ids = self.contents.keys().copied();
        ids.filter(|id| id.group == group).collect()
    }

    /// Lets the host write, overwrite and tear until the power goes at a random event.
    fn age(&mut self, round: u32) -> Result<(), String> {
        let host = self.drive.host().expect("power");
        let blocks = self.drive.data_blocks().expect("power");
        for client in 0..3 {
            let random = Random::named(self.seed, &format!("{round}: {client}"));
            host.sim()
                .spawn_detached(overwrite(host.clone(), random, blocks));
        }
        let random = Random::named(self.seed, &format!("{round}: restless"));
        host.sim().spawn_detached(be_restless(host.clone(), random));
        let events = 40_000 + self.random.below(40_000);
        let simulation = self.drive.simulation().expect("power");
        for _ in 0..events {
            if !simulation.step() {
                return Err("the drive hangs".into());
            }
        }
        let counts = self.drive.statistics().expect("power").ftl;
        self.collected += counts.gc_blocks;
        self.levelled += counts.wear_levelling_blocks;
        self.drive.power_cut().expect("memory does not fail");
        self.drive.power_up().map_err(|error| error.to_string())
    }

    /// The records of the kept vectors' pages, as the media has them: of copies the last.
    fn places(&mut self) -> Places {
        let mut names: BTreeMap<u32, (VectorId, u32)> = BTreeMap::new();
        for stored in self.drive.vectors(None).expect("a list") {
            if self.contents.contains_key(&stored.id) {
                // Blocks are as long as pages here.
                let extent = stored.vector.extents[0];
                let chunks = 0..extent.blocks as u32;
                let name = |chunk| (extent.first as u32 + chunk, (stored.id, chunk));
                names.extend(chunks.map(name));
            }
        }
        let nand = self.drive.nand().borrow();
        let geometry = nand.geometry();
        let mut found: Vec<((VectorId, u32), u64, PageAddress, Placement)> = Vec::new();
        for block in (0..geometry.blocks()).map(BlockId) {
            for page in 0..geometry.wordlines_per_block() {
                let address = PageAddress { block, page };
                let record = nand.spare(geometry.ppa(address));
                let Some(record) = record.and_then(PageRecord::decode) else {
                    continue;
                };
                if let Some((lpn, placement)) = record.placed
                    && let Some(name) = names.get(&lpn.0)
                {
                    found.push((*name, record.sequence, address, placement));
                }
            }
        }
        // A block that is being moved has numbers that its copy has, too, which has fewer pages until it is whole.
        let mut pages: BTreeMap<u32, u32> = BTreeMap::new();
        for (_, _, address, _) in &found {
            *pages.entry(address.block.0).or_default() += 1;
        }
        let rank = |sequence: u64, address: &PageAddress| {
            (sequence, pages[&address.block.0], address.block.0)
        };
        let mut places: BTreeMap<(VectorId, u32), (u64, PageAddress, Placement)> = BTreeMap::new();
        for (name, sequence, address, placement) in found {
            let kept = places.entry(name).or_insert((sequence, address, placement));
            if rank(kept.0, &kept.1) < rank(sequence, &address) {
                *kept = (sequence, address, placement);
            }
        }
        let places = places.into_iter();
        places
            .map(|(name, (_, address, placement))| (name, (address, placement)))
            .collect()
    }

    /// Holds the places against the promise: the vectors of a group, in the order of writing, take
    /// one wordline after another of one string for each chunk, then of another.
    fn check_layout(&self, places: &Places) -> Result<(), String> {
        let nand = self.drive.nand().borrow();
        let geometry = nand.geometry();
        for (group, _, inverse) in KEPT {
            let mut strings: BTreeMap<(u32, u32), (BlockId, u32)> = BTreeMap::new();
            for id in self.vectors_of(group) {
                for chunk in 0..BITS.div_ceil(512 * 8) as u32 {
                    let (address, record) = places
                        .get(&(id, chunk))
                        .ok_or(format!("{id}: chunk {chunk} is not on flash"))?;
                    let (string, layer) = string_and_layer(geometry, *address);
                    let place = geometry.plane_place(geometry.plane_of_block(address.block));
                    let plane = (place.channel, place.chip, place.plane);
                    let home = *strings
                        .entry((id.vector / CELLS, chunk))
                        .or_insert((address.block, string));
                    let keeps = layer == id.vector % CELLS
                        && plane == plane_of(chunk)
                        && home == (address.block, string)
                        && record.inverse == inverse;
                    if !keeps {
                        return Err(format!("{id}: chunk {chunk} is at {address:?}"));
                    }
                }
            }
            let mut distinct: Vec<_> = strings.values().collect();
            distinct.sort_unstable_by_key(|(block, string)| (block.0, *string));
            distinct.dedup();
            if distinct.len() != strings.len() {
                return Err(format!("group {group}: chunks share a string"));
            }
        }
        Ok(())
    }

    /// Evaluates over every group and over all, with the fewest senses.
    fn check_results(&mut self) -> Result<(), String> {
        let chunks = BITS.div_ceil(512 * 8);
        let mut any_of_all = Vec::new();
        for (group, _, inverse) in KEPT {
            let ids = self.vectors_of(group);
            let senses = (ids.len() as u64).div_ceil(u64::from(CELLS));
            let (expression, expected) = if inverse {
                (Expression::any(ids.clone()), self.fold(&ids, |a, b| a | b))
            } else {
                (Expression::all(ids.clone()), self.fold(&ids, |a, b| a & b))
            };
            let expression = expression.expect("operands");
            self.evaluate(&expression, &expected, senses * chunks)?;
            any_of_all.push(ids[0]);
        }
        // One row of each group: two stored inverted, one not.
        let expected = self.fold(&any_of_all, |a, b| a & b);
        let all = Expression::all(any_of_all).expect("operands");
        self.evaluate(&all, &expected, 2 * chunks)
    }

    fn evaluate(&mut self, asked: &Expression, expected: &[u8], senses: u64) -> Result<(), String> {
        let before = self.drive.statistics().expect("power").bits;
        let result = self.drive.evaluate(asked, Platform::FlashCosmos);
        let result = result.map_err(|error| format!("{asked}: {error}"))?;
        let after = self.drive.statistics().expect("power").bits;
        if result != expected {
            return Err(format!("{asked}: wrong bits"));
        }
        match after.flash_cosmos_senses - before.flash_cosmos_senses {
            taken if taken == senses => Ok(()),
            taken => Err(format!("{asked}: {taken} senses instead of {senses}")),
        }
    }

    fn fold(&self, ids: &[VectorId], apply: fn(u8, u8) -> u8) -> Vec<u8> {
        let vectors = ids.iter().map(|id| self.contents[id].clone());
        let both = |a: Vec<u8>, b: Vec<u8>| a.iter().zip(b).map(|(a, b)| apply(*a, b)).collect();
        vectors.reduce(both).expect("a group has vectors")
    }

    /// Ages the drive, cuts the power, checks; every now and then a group grows.
    fn live(&mut self) -> Result<(), String> {
        for round in 0..CUTS {
            let before = self.places();
            self.check_layout(&before)?;
            let told = |wrong| format!("after cut {round}: {wrong}");
            self.age(round).map_err(told)?;
            let after = self.places();
            self.check_layout(&after).map_err(told)?;
            let moved = before
                .iter()
                .filter(|(name, place)| after[name].0 != place.0);
            self.moved += moved.count() as u64;
            let (group, _, inverse) = KEPT[round as usize % KEPT.len()];
            let next = self.vectors_of(group).len() as u32;
            self.write(VectorId::new(group, next), inverse);
            self.check_results().map_err(told)?;
        }
        let places = self.places();
        self.check_layout(&places)
    }
}

/// String and layer of a page: pages go through the strings of a block, layer by layer.
fn string_and_layer(geometry: &Geometry, address: PageAddress) -> (u32, u32) {
    let strings = geometry.strings_per_block;
    (address.page % strings, address.page / strings)
}

/// Overwrites blocks for ever, most of them at the beginning, so that wear is uneven.
async fn overwrite(host: Host, mut random: Random, blocks: u64) {
    loop {
        let hot = random.chance(0.9);
        let lba = random.below(if hot { blocks / 8 } else { blocks });
        let mut data = vec![0; 512];
        random.fill(&mut data);
        // A drive that is full refuses now and then; what matters is that it works.
        let _ = host.block().write(lba, &data).await;
    }
}

/// Overwrites vectors of a group for ever and deletes it now and then.
async fn be_restless(host: Host, mut random: Random) {
    loop {
        let id = VectorId::new(RESTLESS, random.below(3) as u32);
        let data = vec![random.bits() as u8 | 1; 1000];
        // As above.
        let _ = match random.below(12) {
            0 => numbered::delete(&host, RESTLESS, None).await,
            _ => numbered::write(&host, id, 8000, random.chance(0.5), &data).await,
        };
    }
}

#[test]
fn groups_keep_their_layout_through_collection_levelling_and_power_cuts() {
    let (mut collected, mut levelled, mut moved) = (0, 0, 0);
    for seed in 0..SEEDS {
        let mut life = Life::new(seed);
        if let Err(wrong) = life.live() {
            panic!("seed {seed}: {wrong}");
        }
        collected += life.collected;
        levelled += life.levelled;
        moved += life.moved;
    }
    println!("{collected} blocks collected, {levelled} levelled, {moved} pages of vectors moved");
    let rounds = SEEDS * u64::from(CUTS);
    assert!(collected > 10 * rounds, "{collected} blocks collected");
    assert!(levelled > rounds, "{levelled} blocks levelled");
    assert!(moved > rounds, "{moved} pages of vectors moved");
}

/// Overwrites vectors of a group at random on a share of the drive that hardly holds them, and cuts the power: compaction
/// keeps each page's plane, column and string. Gives how many pages it copied.
fn compact(seed: u64) -> Result<u64, String> {
    let config = config(seed).with([("bits.compute_blocks_percent", "20")]);
    let mut life = Life::on(seed, config.expect("a legal drive"));
    let mut copied = 0;
    for _ in 0..CUTS {
        for _ in 0..40 {
            let number = life.random.below(9) as u32;
            let inverse = life.random.chance(0.5);
            life.write(VectorId::new(1, number), inverse);
        }
        copied += life
            .drive
            .statistics()
            .expect("power")
            .ftl
            .compute_page_copies;
        life.drive.power_cut().expect("memory does not fail");
        life.drive.power_up().map_err(|error| error.to_string())?;
        for ((id, chunk), (address, record)) in life.places() {
            let nand = life.drive.nand().borrow();
            let geometry = nand.geometry();
            let place = geometry.plane_place(geometry.plane_of_block(address.block));
            let (string, _) = string_and_layer(geometry, address);
            let stripe = chunk / 8;
            let is = (
                place.channel,
                place.chip,
                place.plane,
                string,
                record.column,
            );
            let (channel, chip, plane) = plane_of(chunk);
            let column = stripe / 2 * 8 + chunk % 8;
            if is != (channel, chip, plane, stripe % 2, column) {
                return Err(format!("{id}: chunk {chunk} is at {address:?}"));
            }
        }
        let ids = life.vectors_of(1);
        let expected = life.fold(&ids, |a, b| a ^ b);
        let all = Expression::parity(ids).expect("operands");
        let result = life.drive.evaluate(&all, Platform::FlashCosmos);
        if result.map_err(|error| error.to_string())? != expected {
            return Err("wrong bits".into());
        }
    }
    Ok(copied)
}

#[test]
fn compaction_keeps_planes_columns_and_strings() {
    for seed in 0..SEEDS {
        let copied = compact(seed).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        println!("seed {seed}: {copied} pages copied");
        assert!(copied > 100, "seed {seed}: {copied} pages copied");
    }
}

/// The tests find what they are for.
#[cfg(feature = "planted-bugs")]
#[test]
fn bugs_that_spoil_the_layout_are_caught() {
    use device::planted::{Bug, plant};

    for bug in Bug::OF_LAYOUT {
        let planted = plant(bug);
        let caught = (0..SEEDS).find_map(|seed| {
            let outcome = std::panic::catch_unwind(|| {
                Life::new(seed).live()?;
                compact(seed).map(|_| ())
            });
            outcome
                .unwrap_or_else(|_| Err("an assertion fails".into()))
                .err()
        });
        drop(planted);
        let wrong = caught.unwrap_or_else(|| panic!("{bug:?} was not caught"));
        println!("{bug:?}: {wrong}");
    }
}
