//! One legal entry of each command that the drive supports, drawn at random: what the test then spoils.
//!
//! A command that is new needs a line in [`IO`] or [`ADMIN`]; the table of commands says so.

use nvme::command::{
    AdminCommand, BlockCommand, BlockRange, CopyBlocks, CopyRange, DatasetManagement, DatasetRange,
    DirectiveOperation, DirectiveQuery, DirectiveReceive, DirectiveSend, Engine, FcRead,
    HandleAttributes, HandleRecord, Home, PlacedWrite, ReadWrite, WriteZeroes, opcode,
};
use nvme::{BitsCommand, CommandId, DataPointer, IoCommand, MEMORY_PAGE_BYTES, SubmissionEntry};
use sim::Random;
use zerocopy::IntoBytes;

use super::world::{HANDLES, World};
use super::{collectors, memory, programs, search, spare, streams};

/// A command, and a legal entry of it.
pub(crate) struct Shape {
    pub(crate) opcode: u8,
    /// How often it is sent, beside the others.
    pub(crate) weight: u64,
    /// How many of its entries have to be carried out at least, or the test tests little.
    pub(crate) least_percent: u64,
    pub(crate) legal: fn(&mut World, &mut Random) -> SubmissionEntry,
    /// Has an entry that was spoiled spare what the test itself needs.
    pub(crate) spare: fn(&mut SubmissionEntry),
}

pub(super) const fn shape(
    opcode: u8,
    legal: fn(&mut World, &mut Random) -> SubmissionEntry,
) -> Shape {
    Shape {
        opcode,
        weight: 4,
        least_percent: 10,
        legal,
        spare: |_| {},
    }
}

/// A command of which few entries find what they need.
pub(super) const fn rare(
    opcode: u8,
    legal: fn(&mut World, &mut Random) -> SubmissionEntry,
) -> Shape {
    Shape {
        weight: 2,
        least_percent: 2,
        ..shape(opcode, legal)
    }
}

/// I/O commands.
pub(crate) const IO: [Shape; 27] = [
    shape(opcode::FLUSH, flush),
    Shape {
        spare: spare::blocks,
        ..shape(opcode::WRITE, write)
    },
    shape(opcode::READ, read),
    Shape {
        // What is marked cannot be read, compared or copied.
        weight: 1,
        spare: spare::blocks,
        ..shape(opcode::WRITE_UNCORRECTABLE, uncorrectable)
    },
    // Data seldom are equal.
    Shape {
        least_percent: 5,
        ..shape(opcode::COMPARE, compare)
    },
    Shape {
        spare: spare::blocks,
        ..shape(opcode::WRITE_ZEROES, zeroes)
    },
    Shape {
        spare: spare::ranges,
        ..shape(opcode::DATASET_MANAGEMENT, dataset)
    },
    shape(opcode::VERIFY, verify),
    Shape {
        spare: spare::blocks,
        ..shape(opcode::COPY, copy)
    },
    Shape {
        least_percent: 34,
        ..shape(opcode::FC_READ, fc_read)
    },
    Shape {
        weight: 2,
        spare: spare::blocks,
        ..shape(opcode::REGION_ALLOCATE, search::allocate)
    },
    Shape {
        // So that regions come to have entries.
        weight: 1,
        ..shape(opcode::REGION_DEALLOCATE, search::deallocate)
    },
    shape(opcode::APPEND, search::append),
    shape(opcode::UPDATE, search::update),
    shape(opcode::SIMPLE_LOOKUP, search::simple_lookup),
    shape(opcode::LOOKUP, search::lookup),
    Shape {
        // A lookup can be gone on with once, unless others end it or push it out.
        weight: 1,
        least_percent: 5,
        ..shape(opcode::LOOKUP_CONTINUE, search::lookup_continue)
    },
    shape(opcode::DELETE, search::delete),
    shape(opcode::REGION_REPORT, search::report),
    // Runs want a program that is there and active, and files that do not meet.
    Shape {
        // One of the compute namespace may be run in any other, and writes files there.
        spare: spare::namespace,
        ..rare(opcode::EXECUTE_PROGRAM, programs::execute)
    },
    // So do streams, of which there may be eight.
    Shape {
        spare: spare::namespace,
        ..rare(opcode::STREAM_OPEN, streams::open)
    },
    rare(opcode::STREAM_READ, streams::read),
    rare(opcode::STREAM_WRITE, streams::write),
    Shape {
        // So that there are some.
        weight: 1,
        ..rare(opcode::STREAM_CLOSE, streams::close)
    },
    // Each of the few ports has one collection.
    rare(opcode::COLLECTOR_OPEN, collectors::open),
    rare(opcode::COLLECTOR_CLOSE, collectors::close),
    rare(opcode::COLLECTOR_EXTEND, collectors::extend),
];

/// Admin commands.
pub(crate) const ADMIN: [Shape; 17] = [
    Shape {
        spare: spare::queue,
        ..shape(opcode::DELETE_SUBMISSION_QUEUE, queue)
    },
    Shape {
        spare: spare::queue,
        ..shape(opcode::CREATE_SUBMISSION_QUEUE, queue)
    },
    shape(opcode::GET_LOG_PAGE, log_page),
    Shape {
        spare: spare::queue,
        ..shape(opcode::DELETE_COMPLETION_QUEUE, queue)
    },
    Shape {
        spare: spare::queue,
        ..shape(opcode::CREATE_COMPLETION_QUEUE, queue)
    },
    shape(opcode::IDENTIFY, identify),
    shape(opcode::ABORT, abort),
    shape(opcode::SET_FEATURES, feature),
    shape(opcode::GET_FEATURES, feature),
    // Those that are held until there is an event are not carried out yet.
    Shape {
        weight: 1,
        least_percent: 0,
        ..shape(opcode::ASYNC_EVENT_REQUEST, plain)
    },
    shape(opcode::DIRECTIVE_SEND, send_directive),
    shape(opcode::DIRECTIVE_RECEIVE, receive_directive),
    Shape {
        weight: 1,
        spare: spare::namespace,
        ..shape(opcode::FORMAT_NVM, format)
    },
    Shape {
        weight: 1,
        spare: spare::everything,
        ..shape(opcode::SANITIZE, plain)
    },
    // An index that is taken is refused, and one that is not there cannot be unloaded.
    Shape {
        least_percent: 5,
        spare: programs::spare_first,
        ..shape(opcode::LOAD_PROGRAM, programs::load)
    },
    Shape {
        least_percent: 5,
        ..shape(opcode::PROGRAM_ACTIVATION, programs::activate)
    },
    rare(opcode::MEMORY_RANGE_SETS, memory::range_sets),
];

/// The id is the driver's to give.
const ID: CommandId = CommandId::new(0);

pub(super) fn of(command: IoCommand) -> SubmissionEntry {
    command.encode(ID)
}

/// A pointer to `bytes` of data: an SGL, or PRP entries with a list where one is needed.
pub(super) fn data(world: &mut World, random: &mut Random, bytes: u64) -> DataPointer {
    let address = world.data(random, bytes);
    pointer(world, random, address, bytes)
}

pub(super) fn pointer(
    world: &mut World,
    random: &mut Random,
    address: u64,
    bytes: u64,
) -> DataPointer {
    if random.chance(0.5) {
        let length = bytes as u32;
        return DataPointer::Sgl { address, length };
    }
    let pages = bytes.div_ceil(MEMORY_PAGE_BYTES);
    let entries: Vec<u8> = (1..pages)
        .flat_map(|page| (address + page * MEMORY_PAGE_BYTES).to_le_bytes())
        .collect();
    DataPointer::Prp {
        prp1: address,
        prp2: match pages {
            0 | 1 => 0,
            2 => address + MEMORY_PAGE_BYTES,
            _ => world.page_list(&entries),
        },
    }
}

fn flush(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let namespace = world.space(random).id;
    of(IoCommand::Flush { namespace })
}

fn read_write(world: &mut World, random: &mut Random, read: bool) -> ReadWrite {
    let space = world.space(random);
    let (start, count) = world.blocks(random, space, read);
    ReadWrite {
        namespace: space.id,
        blocks: BlockRange::new(start, count as u32),
        force_unit_access: random.chance(0.2),
        limited_retry: random.chance(0.1),
        data: data(world, random, count * space.block_bytes),
    }
}

fn write(world: &mut World, random: &mut Random) -> SubmissionEntry {
    if random.chance(0.4) {
        return write_placed(world, random);
    }
    of(IoCommand::Write(read_write(world, random, false)))
}

/// A write of whole pages with a placement handle, which may be open.
fn write_placed(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, handle) = world.handle(random);
    let (start, count) = world.pages(random, space);
    of(IoCommand::WritePlaced(PlacedWrite {
        write: ReadWrite {
            namespace: space.id,
            blocks: BlockRange::new(start, count as u32),
            force_unit_access: random.chance(0.2),
            limited_retry: false,
            data: data(world, random, count * space.block_bytes),
        },
        handle,
        inverse: random.chance(0.3),
    }))
}

fn read(world: &mut World, random: &mut Random) -> SubmissionEntry {
    of(IoCommand::Read(read_write(world, random, true)))
}

fn compare(world: &mut World, random: &mut Random) -> SubmissionEntry {
    of(IoCommand::Compare(read_write(world, random, true)))
}

fn blocks(world: &mut World, random: &mut Random, read: bool) -> BlockCommand {
    let space = world.space(random);
    let (start, count) = world.blocks(random, space, read);
    BlockCommand {
        namespace: space.id,
        blocks: BlockRange::new(start, count as u32),
    }
}

fn verify(world: &mut World, random: &mut Random) -> SubmissionEntry {
    of(IoCommand::Verify(blocks(world, random, true)))
}

fn uncorrectable(world: &mut World, random: &mut Random) -> SubmissionEntry {
    of(IoCommand::WriteUncorrectable(blocks(world, random, false)))
}

fn zeroes(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let BlockCommand { namespace, blocks } = blocks(world, random, false);
    of(IoCommand::WriteZeroes(WriteZeroes {
        namespace,
        blocks,
        deallocate: random.chance(0.5),
        force_unit_access: random.chance(0.2),
    }))
}

fn dataset(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let space = world.space(random);
    let ranges: Vec<DatasetRange> = (0..1 + random.below(4))
        .map(|_| {
            let (start, count) = world.blocks(random, space, false);
            DatasetRange::new(start, count as u32)
        })
        .collect();
    let address = world.list(ranges.as_bytes());
    let bytes = ranges.as_bytes().len() as u64;
    of(IoCommand::DatasetManagement(DatasetManagement {
        namespace: space.id,
        range_count: ranges.len() as u16,
        deallocate: true,
        integral_read: random.chance(0.5),
        integral_write: random.chance(0.5),
        data: pointer(world, random, address, bytes),
    }))
}

fn copy(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let space = world.space(random);
    let mut copied = 0;
    let ranges: Vec<CopyRange> = (0..1 + random.below(3))
        .map(|_| {
            let (start, count) = world.blocks(random, space, true);
            copied += count;
            CopyRange::new(start, count as u32)
        })
        .collect();
    let first = space.first_free();
    let room = space.blocks.saturating_sub(first + copied);
    let address = world.list(ranges.as_bytes());
    let bytes = ranges.as_bytes().len() as u64;
    of(IoCommand::Copy(CopyBlocks {
        from_memory: false,
        namespace: space.id,
        destination: nvme::Lba::new(first + random.below(room + 1)),
        range_count: ranges.len() as u16,
        force_unit_access: random.chance(0.2),
        limited_retry: false,
        data: pointer(world, random, address, bytes),
    }))
}

fn fc_read(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, expression, bits) = world.expression(random);
    let bytes = expression.encode().expect("a small one");
    let count_only = random.chance(0.3);
    let result = if count_only { 8 } else { bits.div_ceil(8) };
    let engines = [
        Engine::FlashCosmos,
        Engine::ParaBit,
        Engine::InStorage,
        Engine::Fastest,
        Engine::Thriftiest,
    ];
    of(IoCommand::Bits(BitsCommand::FcRead(FcRead {
        namespace: space.id,
        expression_address: world.list(&bytes),
        expression_bytes: bytes.len() as u32,
        engine: engines[random.below(5) as usize],
        bits,
        count_only,
        check: random.chance(0.2),
        data: data(world, random, result),
    })))
}

fn send_directive(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let space = world.space(random);
    let (start, _) = world.pages(random, space);
    let pitch = (1 + random.below(6)) * space.blocks_per_page();
    let attributes = HandleAttributes::new(start, pitch, Home::ALL);
    let address = world.list(attributes.as_bytes());
    let command = AdminCommand::DirectiveSend(DirectiveSend {
        namespace: space.id,
        operation: match random.below(5) {
            0 => DirectiveOperation::Release,
            _ => DirectiveOperation::Open,
        },
        handle: random.below(HANDLES) as u16,
        data: pointer(world, random, address, HandleAttributes::BYTES as u64),
    });
    command.encode(ID)
}

fn receive_directive(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let queries = [DirectiveQuery::Parameters, DirectiveQuery::Handles];
    let records = 1 + random.below(64);
    let bytes = records * HandleRecord::BYTES as u64;
    let command = AdminCommand::DirectiveReceive(DirectiveReceive {
        namespace: world.space(random).id,
        query: queries[random.below(2) as usize],
        dwords: bytes / 4,
        data: data(world, random, bytes),
    });
    command.encode(ID)
}

/// An admin entry whose first dword and data are given.
fn admin(pointer: DataPointer, namespace: nvme::NamespaceId, cdw10: u32) -> SubmissionEntry {
    let mut entry = SubmissionEntry::new(0, ID, namespace);
    pointer.encode_into(&mut entry);
    entry.cdw10.set(cdw10);
    entry
}

fn plain(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let nothing = DataPointer::Prp { prp1: 0, prp2: 0 };
    // Exits a failure that there is none of, if it is a Sanitize.
    admin(nothing, world.space(random).id, 1)
}

/// Queues 2 to 7, of 2 to 16 entries: whether there is such a queue, others decide.
fn queue(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let number = 2 + random.below(6) as u32;
    let base = DataPointer::Prp {
        prp1: world.data(random, 16 * SubmissionEntry::BYTES as u64),
        prp2: 0,
    };
    let last = 1 + random.below(15) as u32;
    let mut entry = admin(base, nvme::NamespaceId::new(0), number | last << 16);
    entry.cdw11.set(number << 16 | 1);
    entry
}

fn log_page(world: &mut World, random: &mut Random) -> SubmissionEntry {
    const PAGES: [u32; 8] = [0, 1, 2, 3, 4, 5, 0x81, 0x82];
    let page = PAGES[random.below(8) as usize];
    let dwords = 1 + random.below(0x1000) as u32;
    let pointer = data(world, random, u64::from(dwords) * 4);
    let cdw10 = page | (dwords - 1) << 16 | (random.below(2) as u32) << 15;
    let namespace = match page {
        0x82 => world.space(random).id,
        _ => nvme::BROADCAST_NAMESPACE,
    };
    let mut entry = admin(pointer, namespace, cdw10);
    entry.cdw12.set(random.below(2) as u32 * 64);
    entry
}

fn identify(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let pointer = data(world, random, 4096);
    let cns = [0, 1, 2, 3][random.below(4) as usize];
    admin(pointer, world.space(random).id, cns)
}

fn abort(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let mut entry = plain(world, random);
    entry
        .cdw10
        .set(random.below(3) as u32 | (random.below(1024) as u32) << 16);
    entry
}

fn feature(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let pointer = data(world, random, 4096);
    // Arbitration, power, temperature, error recovery, atomicity, events.
    const FEATURES: [u32; 6] = [0x01, 0x02, 0x04, 0x05, 0x0A, 0x0B];
    let cdw10 = FEATURES[random.below(6) as usize];
    let mut entry = admin(pointer, nvme::NamespaceId::new(0), cdw10);
    entry.cdw11.set(random.below(2) as u32);
    entry
}

fn format(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let mut entry = plain(world, random);
    entry.namespace_id.set(2 + random.below(2) as u32);
    entry.cdw10.set(random.below(2) as u32 | 1 << 9);
    entry
}
