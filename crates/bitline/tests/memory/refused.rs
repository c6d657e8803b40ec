//! Commands that cannot be: each field wrong gives the status that is specified, and nothing is changed.

use bitline::inside::InsideHost;
use bitline::{Drive, Status};
use host::Buffer;
use nvme::command::{
    ComputeCommand, CopyBlocks, ExecuteOverMemory, LoadProgram, MemoryCommand, MemoryCopy,
    MemoryRange, MemoryRangeSets, MemoryTransfer, RangeSetAction, SourceFormat, SourceRange,
    WEB_ASSEMBLY,
};
use nvme::{AdminCommand, CommandId, DataPointer, IoCommand, Lba, NamespaceId, SubmissionEntry};
use zerocopy::IntoBytes;

use crate::{BLOCKS, BYTES, COMPUTE, MEMORY, drive, load, scale, sent};

/// Sends what `entry` makes of a pointer to these bytes.
fn with(
    drive: &mut Drive,
    data: &[u8],
    admin: bool,
    entry: impl FnOnce(DataPointer) -> SubmissionEntry + 'static,
) -> Status {
    let data = data.to_vec();
    let status = drive.run(move |host| async move {
        let queue = host.queue(0).expect("a queue");
        let memory = host::Transport::memory(&queue).clone();
        let buffer = Buffer::holding(&memory, &data).expect("room");
        let entry = entry(buffer.pointer(data.len() as u32));
        let completion = match admin {
            true => host::Transport::admin(&queue, &entry).await,
            false => host::Transport::io(&queue, &entry).await,
        };
        completion.expect("an answer").status()
    });
    status.expect("power")
}

/// A drive whose blocks, memory, sets and programs are known.
fn known() -> Drive {
    let mut drive = drive(&[]);
    drive.write(0, &[3; 512 * 64]).expect("it fits");
    drive.memory().write(0, &[4; 65536]).expect("it fits");
    drive
        .memory()
        .create_ranges(&[0..4096, 8192..12288])
        .expect("a set");
    load(&mut drive, &scale());
    drive
}

/// Nothing of a [`known`] drive has changed.
fn check(drive: &mut Drive) {
    let memory = drive.memory().read(0, BYTES).expect("it is there");
    assert!(memory[..65536].iter().all(|byte| *byte == 4));
    assert!(memory[65536..].iter().all(|byte| *byte == 0));
    let blocks = drive.read(0, 64).expect("it is there");
    assert!(blocks.iter().all(|byte| *byte == 3));
    let sets = drive.memory().range_sets().expect("it says so");
    assert_eq!(sets, [(1, vec![0..4096, 8192..12288])]);
    assert_eq!(drive.tasks().list().expect("it says so").programs.len(), 1);
}

#[test]
fn transfers() {
    let mut drive = known();
    let transfer = |start, bytes| {
        move |data| MemoryTransfer {
            namespace: MEMORY,
            start,
            bytes,
            data,
        }
    };
    for (start, bytes) in [
        (BYTES, 4),
        (BYTES - 4, 8),
        (u64::MAX - 3, 8),
        (2, 4),
        (0, 6),
        (0, 0),
    ] {
        let make = transfer(start, bytes);
        for command in [MemoryCommand::Read, MemoryCommand::Write] {
            let entry = move |data| command(make(data)).encode(CommandId::new(0));
            let status = with(&mut drive, &[9; 64], false, entry);
            assert_eq!(status, Status::INVALID_FIELD, "{bytes} from {start}");
        }
    }
    // A pointer to nowhere, one that is too short, and half of a fused operation.
    let nowhere = DataPointer::Sgl {
        address: u64::MAX - 4095,
        length: 64,
    };
    for command in [MemoryCommand::Read, MemoryCommand::Write] {
        let entry = command(transfer(0, 64)(nowhere)).encode(CommandId::new(0));
        let refused = sent(&mut drive, entry, false).status();
        assert_eq!(refused, Status::DATA_TRANSFER_ERROR);
        let short = move |data| command(transfer(0, 128)(data)).encode(CommandId::new(0));
        let refused = with(&mut drive, &[9; 64], false, short);
        assert_eq!(refused, Status::DATA_SGL_LENGTH_INVALID);
        let fused = move |data| {
            let mut entry = command(transfer(0, 64)(data)).encode(CommandId::new(0));
            entry.flags |= 1;
            entry
        };
        let refused = with(&mut drive, &[9; 64], false, fused);
        assert_eq!(refused, Status::INVALID_FIELD);
    }
    for (namespace, opcode) in [
        (MEMORY, 0x00),
        (MEMORY, 0x04),
        (MEMORY, 0x09),
        (COMPUTE, 0x02),
        (COMPUTE, 0xA3),
    ] {
        let entry = SubmissionEntry::new(opcode, CommandId::new(0), namespace);
        let refused = sent(&mut drive, entry, false).status();
        assert_eq!(refused, Status::INVALID_OPCODE, "{opcode:02X}h");
    }
    check(&mut drive);
}

#[test]
fn copies_to_memory() {
    let mut drive = known();
    let memory = |start, bytes| SourceRange::memory(MEMORY, start, bytes);
    let blocks = |id, first, count| SourceRange::blocks(id, Lba::new(first), count);
    let of_memory = SourceFormat::Memory;
    let of_blocks = SourceFormat::Blocks;
    let beyond = NamespaceId::new(4);
    let cases = [
        (
            "length",
            of_memory,
            memory(0, 64),
            128,
            65536,
            Status::INVALID_FIELD,
        ),
        (
            "end",
            of_memory,
            memory(0, 64),
            64,
            BYTES,
            Status::INVALID_FIELD,
        ),
        (
            "source",
            of_memory,
            memory(BYTES, 64),
            64,
            0,
            Status::INVALID_FIELD,
        ),
        (
            "part",
            of_memory,
            memory(2, 64),
            64,
            65536,
            Status::INVALID_FIELD,
        ),
        (
            "part",
            of_memory,
            memory(0, 64),
            64,
            65538,
            Status::INVALID_FIELD,
        ),
        (
            "fast",
            of_memory,
            memory(0, 64).fast_only(),
            64,
            65536,
            Status::FAST_COPY_NOT_POSSIBLE,
        ),
        (
            "itself",
            of_memory,
            memory(0, 64),
            64,
            60,
            Status::OVERLAPPING_IO_RANGE,
        ),
        (
            "blocks",
            of_memory,
            SourceRange::memory(BLOCKS, 0, 64),
            64,
            65536,
            Status::INVALID_NAMESPACE_OR_FORMAT,
        ),
        (
            "program",
            of_memory,
            SourceRange::memory(COMPUTE, 0, 64),
            64,
            65536,
            Status::NAMESPACE_NOT_REACHABLE,
        ),
        (
            "memory",
            of_blocks,
            blocks(MEMORY, 0, 1),
            512,
            65536,
            Status::INCOMPATIBLE_NAMESPACE_OR_FORMAT,
        ),
        (
            "program",
            of_blocks,
            blocks(COMPUTE, 0, 1),
            512,
            65536,
            Status::NAMESPACE_NOT_REACHABLE,
        ),
        (
            "nobody",
            of_blocks,
            blocks(beyond, 0, 1),
            512,
            65536,
            Status::INVALID_NAMESPACE_OR_FORMAT,
        ),
        (
            "last",
            of_blocks,
            blocks(BLOCKS, 1 << 40, 1),
            512,
            65536,
            Status::LBA_OUT_OF_RANGE,
        ),
        (
            "length",
            of_blocks,
            blocks(BLOCKS, 0, 1),
            1024,
            65536,
            Status::INVALID_FIELD,
        ),
        (
            "many",
            of_blocks,
            blocks(BLOCKS, 0, 4096),
            512,
            65536,
            Status::COMMAND_SIZE_LIMIT_EXCEEDED,
        ),
    ];
    for (what, format, range, bytes, destination, expected) in cases {
        let copy = move |data| {
            let copy = MemoryCopy {
                namespace: MEMORY,
                bytes,
                destination,
                range_count: 1,
                format,
                data,
            };
            MemoryCommand::Copy(copy).encode(CommandId::new(0))
        };
        let status = with(&mut drive, range.as_bytes(), false, copy);
        assert_eq!(status, expected, "{what}");
    }
    check(&mut drive);
}

#[test]
fn copies_from_memory() {
    let mut drive = known();
    let memory = |start, bytes| SourceRange::memory(MEMORY, start, bytes);
    for (range, destination, expected) in [
        (memory(0, 508), 64, Status::INVALID_FIELD),
        (memory(BYTES, 512), 64, Status::INVALID_FIELD),
        (memory(0, 512), 1 << 40, Status::LBA_OUT_OF_RANGE),
        (
            memory(0, 512).fast_only(),
            64,
            Status::FAST_COPY_NOT_POSSIBLE,
        ),
        (
            SourceRange::memory(COMPUTE, 0, 512),
            64,
            Status::NAMESPACE_NOT_REACHABLE,
        ),
        (
            SourceRange::memory(BLOCKS, 0, 512),
            64,
            Status::INVALID_NAMESPACE_OR_FORMAT,
        ),
    ] {
        let copy = move |data| {
            let copy = CopyBlocks {
                namespace: BLOCKS,
                destination: Lba::new(destination),
                range_count: 1,
                from_memory: true,
                force_unit_access: false,
                limited_retry: false,
                data,
            };
            IoCommand::Copy(copy).encode(CommandId::new(0))
        };
        let status = with(&mut drive, range.as_bytes(), false, copy);
        assert_eq!(status, expected, "{range:?}");
    }
    check(&mut drive);
}

#[test]
fn range_sets() {
    let mut drive = known();
    let range = |start, bytes| MemoryRange::new(MEMORY, start, bytes);
    let invalid = Status::INVALID_MEMORY_RANGE_SET;
    let cases = [
        (COMPUTE, vec![range(0, 0)], invalid),
        (COMPUTE, vec![range(0, 2)], invalid),
        (COMPUTE, vec![range(2, 4)], invalid),
        (COMPUTE, vec![range(BYTES, 4)], invalid),
        (COMPUTE, vec![range(u64::MAX - 3, 8)], invalid),
        (
            COMPUTE,
            vec![range(0, 8), range(4, 8)],
            Status::OVERLAPPING_MEMORY_RANGES,
        ),
        (
            COMPUTE,
            vec![range(0, 4); 5],
            Status::MAXIMUM_MEMORY_RANGES_EXCEEDED,
        ),
        (
            COMPUTE,
            vec![MemoryRange::new(BLOCKS, 0, 4)],
            Status::INVALID_MEMORY_NAMESPACE,
        ),
        (COMPUTE, Vec::new(), Status::INVALID_FIELD),
        (
            MEMORY,
            vec![range(0, 4)],
            Status::INVALID_NAMESPACE_OR_FORMAT,
        ),
        (
            BLOCKS,
            vec![range(0, 4)],
            Status::INVALID_NAMESPACE_OR_FORMAT,
        ),
    ];
    for (namespace, ranges, expected) in cases {
        let count = ranges.len() as u8;
        let create = move |data| {
            let sets = MemoryRangeSets {
                namespace,
                action: RangeSetAction::Create { ranges: count },
                data,
            };
            AdminCommand::MemoryRangeSets(sets).encode(CommandId::new(0))
        };
        let mut data = ranges.as_bytes().to_vec();
        data.resize(data.len().max(32), 0);
        let status = with(&mut drive, &data, true, create);
        assert_eq!(status, expected, "{ranges:?}");
    }
    let mut entry = SubmissionEntry::new(0x89, CommandId::new(0), COMPUTE);
    entry.cdw10.set(2);
    assert_eq!(
        sent(&mut drive, entry, true).status(),
        Status::INVALID_FIELD
    );
    check(&mut drive);
}

#[test]
fn executions() {
    let mut drive = known();
    let usual = ExecuteOverMemory {
        namespace: COMPUTE,
        program: 0,
        set: 1,
        ranges: 0,
        data_bytes: 4,
        parameters: [1, 0],
        data: DataPointer::NONE,
    };
    let inline = ExecuteOverMemory {
        set: 0,
        ranges: 1,
        data_bytes: 36,
        ..usual
    };
    let cases = [
        (
            ExecuteOverMemory {
                program: 64,
                ..usual
            },
            Status::INVALID_PROGRAM_INDEX,
        ),
        (
            ExecuteOverMemory {
                program: 1,
                ..usual
            },
            Status::NO_PROGRAM,
        ),
        (
            ExecuteOverMemory { set: 2, ..usual },
            Status::INVALID_MEMORY_RANGE_SET_IDENTIFIER,
        ),
        (
            ExecuteOverMemory { set: 1, ..inline },
            Status::INVALID_FIELD,
        ),
        (
            ExecuteOverMemory {
                data_bytes: 31,
                ..inline
            },
            Status::INVALID_FIELD,
        ),
        (
            ExecuteOverMemory {
                ranges: 5,
                data_bytes: 160,
                ..inline
            },
            Status::MAXIMUM_MEMORY_RANGES_EXCEEDED,
        ),
        // The data is all ones: of namespace FFFFFFFFh.
        (inline, Status::INVALID_MEMORY_NAMESPACE),
        (
            ExecuteOverMemory {
                data_bytes: 1 << 30,
                ..usual
            },
            Status::INVALID_FIELD,
        ),
        (
            ExecuteOverMemory {
                data_bytes: 200,
                ..usual
            },
            Status::DATA_SGL_LENGTH_INVALID,
        ),
    ];
    for (command, expected) in cases {
        let execute = move |data| {
            let command = ExecuteOverMemory { data, ..command };
            ComputeCommand::Execute(command).encode(CommandId::new(0))
        };
        let status = with(&mut drive, &[0xFF; 160], false, execute);
        assert_eq!(status, expected, "{command:?}");
    }
    let index = drive.tasks().list().expect("it says so").programs[0]
        .index
        .get();
    let deactivated = drive.run(move |host| async move {
        let device = host::tasks::TaskDevice::new(host.block().clone());
        device.with_programs_of(COMPUTE).deactivate(index).await
    });
    deactivated.expect("power").expect("it was active");
    let execute = move |data| {
        let command = ExecuteOverMemory { data, ..usual };
        ComputeCommand::Execute(command).encode(CommandId::new(0))
    };
    let status = with(&mut drive, &[0; 4], false, execute);
    assert_eq!(status, Status::PROGRAM_NOT_ACTIVATED);
    check(&mut drive);
}

#[test]
fn programs_are_of_namespaces_that_have_some() {
    let mut drive = known();
    for (namespace, expected) in [
        (MEMORY, Status::INVALID_NAMESPACE_OR_FORMAT),
        (NamespaceId::new(4), Status::INVALID_NAMESPACE_OR_FORMAT),
    ] {
        let load = move |data| {
            AdminCommand::LoadProgram(LoadProgram {
                namespace,
                program: 1,
                program_type: WEB_ASSEMBLY,
                unload: false,
                persistent: false,
                program_bytes: 64,
                identifier: 1,
                chunk_bytes: 64,
                offset: 0,
                data,
            })
            .encode(CommandId::new(0))
        };
        assert_eq!(with(&mut drive, &[0; 64], true, load), expected);
    }
    check(&mut drive);
}
