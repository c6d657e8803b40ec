//! Legal entries of the commands of name-value lookup.

use nvme::command::{
    Append, Delete, Lookup, LookupContinue, RegionAllocate, RegionDeallocate, RegionRecord,
    RegionReport, Returned, SimpleLookup, Update,
};
use nvme::query::{Part, Pattern, Query, Term};
use nvme::{DataPointer, IoCommand, NamespaceId, RegionId, SearchCommand, SubmissionEntry};
use sim::Random;

use super::shapes::{data, of, pointer};
use super::world::{PAGE_BYTES, Space, World};

/// Names of a row: bits of a flash page.
const ROW_NAMES: u64 = 8 * PAGE_BYTES;
/// Bytes of records of an append, at most.
const RECORDS_BYTES_MAX: u64 = 1 << 17;

fn search(command: SearchCommand) -> SubmissionEntry {
    of(IoCommand::Search(command))
}

fn number(region: &RegionRecord) -> RegionId {
    RegionId::new(region.region.get())
}

/// A data region that is there, or else one that is not.
fn region(world: &World, random: &mut Random) -> (Space, Vec<RegionRecord>) {
    world.region(random).unwrap_or_else(|| {
        let nothing = RegionRecord {
            name_bits: 1.into(),
            value_bytes: 1.into(),
            ..RegionRecord::default()
        };
        (world.space(random), vec![nothing])
    })
}

/// Bytes of a name and its mask in a record.
fn name_bytes(bits: u32, ternary: bool) -> u64 {
    u64::from(bits.div_ceil(8)) << u32::from(ternary)
}

fn record_bytes(regions: &[RegionRecord]) -> u64 {
    let names = regions.iter().map(|region| {
        let bits = u32::from(region.name_bits.get());
        name_bytes(bits, region.ternary.get() != 0)
    });
    names.sum::<u64>() + u64::from(regions[0].value_bytes.get())
}

pub(super) fn allocate(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let there = world.region(random).filter(|_| random.chance(0.2));
    let linked = there.is_some();
    let (space, start, entries, value_bytes, records) = match &there {
        Some((space, regions)) => {
            let region = regions[0];
            let start = nvme::Lba::new(region.start.get());
            let (capacity, records) = (region.capacity.get(), region.entries.get());
            (*space, start, capacity, region.value_bytes.get(), records)
        }
        None => {
            let space = world.space(random);
            let (start, _) = world.pages(random, space);
            let entries = 1 + random.below(2 * ROW_NAMES) as u32;
            let records = [0, random.below(9) as u32][random.below(2) as usize];
            (space, start, entries, 1 + random.below(8) as u32, records)
        }
    };
    let name_bits = 1 + random.below(8) as u32;
    let ternary = random.chance(0.3);
    let value = if linked { 0 } else { u64::from(value_bytes) };
    let bytes = u64::from(records) * (name_bytes(name_bits, ternary) + value);
    search(SearchCommand::Allocate(RegionAllocate {
        namespace: space.id,
        start,
        entries,
        name_bits,
        ternary,
        linked,
        value_bytes,
        records,
        data: data(world, random, bytes),
    }))
}

pub(super) fn deallocate(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, regions) = region(world, random);
    search(SearchCommand::Deallocate(RegionDeallocate {
        namespace: space.id,
        region: number(&regions[random.below(regions.len() as u64) as usize]),
    }))
}

/// Some records; now and then so many that rows are full soon.
fn append_to(
    world: &mut World,
    random: &mut Random,
    namespace: NamespaceId,
    regions: &[RegionRecord],
) -> Append {
    let each = record_bytes(regions);
    let most = if random.chance(0.2) { 6000 } else { 40 };
    let records = 1 + random.below(most.min(RECORDS_BYTES_MAX / each));
    Append {
        namespace,
        region: number(&regions[0]),
        records: records as u32,
        data: data(world, random, records * each),
    }
}

pub(super) fn append(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, regions) = region(world, random);
    search(SearchCommand::Append(append_to(
        world, random, space.id, &regions,
    )))
}

/// A query over the search regions of a data region.
fn query(random: &mut Random, regions: &[RegionRecord], parts: bool) -> Vec<u8> {
    let mut term = || {
        let region = &regions[random.below(regions.len() as u64) as usize];
        let bits = match random.chance(0.8) {
            true => u32::from(region.name_bits.get()),
            false => 1 + random.below(24) as u32,
        };
        let mut name = vec![0; bits.div_ceil(8) as usize];
        let mut mask = name.clone();
        if random.chance(0.7) {
            random.fill(&mut name);
        }
        random.fill(&mut mask);
        if random.chance(0.5) {
            mask.fill(u8::MAX);
        }
        Term {
            region: number(region),
            pattern: Pattern::new(bits, &name, &mask).expect("a pattern"),
        }
    };
    let groups = [
        vec![term()],
        vec![term(), term()],
        vec![term(), term(), term()],
    ];
    let first = random.below(3) as usize;
    let groups = match random.chance(0.3) {
        true => groups.to_vec(),
        false => vec![groups[first].clone()],
    };
    let value_bytes = regions[0].value_bytes.get();
    let parts = (0..u64::from(parts) * random.below(3)).map(|_| {
        let first = random.below(value_bytes.into()) as u32;
        let bytes = 1 + random.below((value_bytes - first).into()) as u32;
        Part { first, bytes }
    });
    let query = Query::new(groups, parts.collect());
    query.and_then(|query| query.encode()).expect("a query")
}

pub(super) fn update(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, regions) = region(world, random);
    let append = append_to(world, random, space.id, &regions);
    let query = match random.chance(0.5) {
        true => query(random, &regions, false),
        false => Vec::new(),
    };
    search(SearchCommand::Update(Update {
        append,
        query_address: world.list(&query),
        query_bytes: query.len() as u32,
    }))
}

fn returned(random: &mut Random) -> Returned {
    Returned {
        pages: random.chance(0.2),
        numbers: random.chance(0.5),
        count_only: random.chance(0.3),
    }
}

pub(super) fn simple_lookup(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, regions) = region(world, random);
    let region = &regions[random.below(regions.len() as u64) as usize];
    let buffer_bytes = 2056 + random.below(1 << 17);
    let (mut name, mut mask) = ([0; 16], [0; 16]);
    random.fill(&mut name);
    random.fill(&mut mask);
    mask[15] &= 0x7F;
    search(SearchCommand::SimpleLookup(SimpleLookup {
        namespace: space.id,
        region: number(region),
        returned: returned(random),
        buffer_bytes: buffer_bytes as u32,
        name,
        mask,
        data: data(world, random, buffer_bytes),
    }))
}

pub(super) fn lookup(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, regions) = region(world, random);
    let returned = returned(random);
    let query = query(random, &regions, !returned.pages);
    let buffer_bytes = 2056 + random.below(1 << 17);
    search(SearchCommand::Lookup(Lookup {
        namespace: space.id,
        region: number(&regions[0]),
        returned,
        query_address: world.list(&query),
        query_bytes: query.len() as u32,
        buffer_bytes: buffer_bytes as u32,
        data: data(world, random, buffer_bytes),
    }))
}

pub(super) fn lookup_continue(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, region, cursor) = match world.cursor(random) {
        Some(cursor) => cursor,
        None => (world.space(random), RegionId::new(1), 1),
    };
    let buffer_bytes = 8 + random.below(1 << 14);
    search(SearchCommand::LookupContinue(LookupContinue {
        namespace: space.id,
        region,
        cursor,
        buffer_bytes: buffer_bytes as u32,
        data: data(world, random, buffer_bytes),
    }))
}

pub(super) fn delete(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, regions) = region(world, random);
    let query = query(random, &regions, false);
    let address = world.list(&query);
    search(SearchCommand::Delete(Delete {
        namespace: space.id,
        region: number(&regions[0]),
        query_bytes: query.len() as u32,
        data: pointer(world, random, address, query.len() as u64),
    }))
}

pub(super) fn report(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let records = 1 + random.below(16);
    let bytes = records * RegionRecord::BYTES as u64;
    let data: DataPointer = data(world, random, bytes);
    search(SearchCommand::Report(RegionReport {
        namespace: world.space(random).id,
        records: records as u32,
        data,
    }))
}
