//! Legal entries of the commands of the memory and the compute namespace, and of range sets.

use nvme::command::{
    ComputeCommand, ExecuteOverMemory, MemoryCommand, MemoryCopy, MemoryRange, MemoryRangeSets,
    MemoryTransfer, RangeSetAction, SourceFormat, SourceRange, opcode,
};
use nvme::{AdminCommand, CommandId, NamespaceId, SubmissionEntry};
use sim::Random;
use zerocopy::IntoBytes;

use super::programs::PROGRAMS;
use super::shapes::{Shape, data, pointer, rare, shape};
use super::world::World;

/// The namespaces behind those of blocks.
pub(super) const MEMORY: NamespaceId = NamespaceId::new(4);
pub(super) const COMPUTE: NamespaceId = NamespaceId::new(5);
/// Bytes of the memory.
pub(super) const BYTES: u64 = 1 << 20;

/// Commands of the memory namespace.
pub(super) const MEMORY_IO: [Shape; 3] = [
    Shape {
        spare: spare_blocks,
        ..shape(opcode::MEMORY_COPY, copy)
    },
    shape(opcode::MEMORY_READ, read),
    shape(opcode::MEMORY_WRITE, write),
];

/// Commands of the compute namespace.
pub(super) const COMPUTE_IO: [Shape; 1] = [Shape {
    spare: spare_blocks,
    ..rare(opcode::EXECUTE_OVER_MEMORY, execute)
}];

/// What was Memory Copy or Execute Program is no write to blocks that are kept.
fn spare_blocks(entry: &mut SubmissionEntry) {
    if entry.namespace_id.get() == 1 {
        entry.namespace_id.set(2);
    }
}

/// A place in memory for so many bytes.
fn place(random: &mut Random, bytes: u64) -> u64 {
    random.below((BYTES - bytes) / 4 + 1) * 4
}

fn bytes(random: &mut Random) -> u64 {
    let most = if random.chance(0.1) { 65536 } else { 1024 };
    (1 + random.below(most / 4)) * 4
}

fn transfer(world: &mut World, random: &mut Random) -> MemoryTransfer {
    let bytes = bytes(random);
    MemoryTransfer {
        namespace: MEMORY,
        start: place(random, bytes),
        bytes: bytes as u32,
        data: data(world, random, bytes),
    }
}

fn read(world: &mut World, random: &mut Random) -> SubmissionEntry {
    MemoryCommand::Read(transfer(world, random)).encode(CommandId::new(0))
}

fn write(world: &mut World, random: &mut Random) -> SubmissionEntry {
    MemoryCommand::Write(transfer(world, random)).encode(CommandId::new(0))
}

fn copy(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let mut copied = 0;
    let format = match random.chance(0.5) {
        true => SourceFormat::Memory,
        false => SourceFormat::Blocks,
    };
    let ranges = (0..1 + random.below(3)).map(|_| match format {
        SourceFormat::Memory => {
            let bytes = bytes(random);
            copied += bytes;
            SourceRange::memory(MEMORY, place(random, bytes), bytes as u32)
        }
        SourceFormat::Blocks => {
            let space = world.space(random);
            let (start, count) = world.blocks(random, space, true);
            copied += count * space.block_bytes;
            SourceRange::blocks(space.id, start, count as u32)
        }
    });
    let ranges: Vec<SourceRange> = ranges.collect();
    let address = world.list(ranges.as_bytes());
    let copy = MemoryCopy {
        namespace: MEMORY,
        bytes: copied,
        destination: place(random, copied),
        range_count: ranges.len() as u16,
        format,
        data: pointer(world, random, address, ranges.as_bytes().len() as u64),
    };
    MemoryCommand::Copy(copy).encode(CommandId::new(0))
}

/// One range, or two that do not meet.
fn ranges(random: &mut Random) -> Vec<MemoryRange> {
    let halves = [0, BYTES / 2];
    let taken = halves.into_iter().take(1 + random.below(2) as usize);
    let range = |half| {
        let bytes = bytes(random);
        let start = half + random.below((BYTES / 2 - bytes) / 4 + 1) * 4;
        MemoryRange::new(MEMORY, start, bytes as u32)
    };
    taken.map(range).collect()
}

pub(super) fn range_sets(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let ranges = ranges(random);
    let address = world.list(ranges.as_bytes());
    let action = match random.chance(0.5) {
        true => RangeSetAction::Delete {
            set: 1 + random.below(4) as u16,
        },
        false => RangeSetAction::Create {
            ranges: ranges.len() as u8,
        },
    };
    let sets = MemoryRangeSets {
        namespace: COMPUTE,
        action,
        data: pointer(world, random, address, ranges.as_bytes().len() as u64),
    };
    AdminCommand::MemoryRangeSets(sets).encode(CommandId::new(0))
}

fn execute(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let ranges = match random.chance(0.5) {
        true => ranges(random),
        false => Vec::new(),
    };
    let mut list = ranges.as_bytes().to_vec();
    list.resize(list.len() + random.below(9) as usize, 7);
    let set = if ranges.is_empty() {
        random.below(4)
    } else {
        0
    };
    let address = world.list(&list);
    let execute = ExecuteOverMemory {
        namespace: COMPUTE,
        program: random.below(PROGRAMS) as u16,
        set: set as u16,
        ranges: ranges.len() as u32,
        data_bytes: list.len() as u32,
        parameters: [random.bits(), random.bits()],
        data: pointer(world, random, address, list.len() as u64),
    };
    ComputeCommand::Execute(execute).encode(CommandId::new(0))
}
