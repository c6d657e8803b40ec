//! Commands: bytes against the standard's tables, and what is refused with which status.

use nvme::command::{
    Abort, BlockRange, CreateCompletionQueue, CreateSubmissionQueue, DatasetManagement,
    DirectiveOperation, DirectiveQuery, DirectiveReceive, DirectiveSend, Engine, FcRead, FeatureId,
    GetLogPage, HandleAttributes, HandleRecord, Home, Identify, LogPageId, PlacedWrite, ReadWrite,
    SetFeatures, WriteZeroes,
};
use nvme::identify::Cns;
use nvme::{
    AdminCommand, BitsCommand, CommandId, ControllerId, DataPointer, DataTransfer, IoCommand, Lba,
    NamespaceId, QueueId, QueuePriority, Status, SubmissionEntry,
};

const COMMAND: CommandId = CommandId::new(0x1234);

/// An entry of the given dwords, the rest zero.
fn entry(dwords: &[(usize, u32)]) -> SubmissionEntry {
    let mut bytes = [0; 64];
    for (index, value) in dwords {
        bytes[index * 4..index * 4 + 4].copy_from_slice(&value.to_le_bytes());
    }
    SubmissionEntry::from_bytes(bytes)
}

fn prp(prp1: u64, prp2: u64) -> DataPointer {
    DataPointer::Prp { prp1, prp2 }
}

#[test]
fn read_is_laid_out_as_specified() {
    let expected = entry(&[
        (0, 0x1234_0002),
        (1, 5),
        (6, 0x1000),
        (8, 0x2000),
        (10, 0x89AB_CDEF),
        (11, 0x0123_4567),
        (12, 0xC000_0007),
    ]);
    let read = IoCommand::Read(ReadWrite {
        namespace: NamespaceId::new(5),
        blocks: BlockRange::new(Lba::new(0x0123_4567_89AB_CDEF), 8),
        force_unit_access: true,
        limited_retry: true,
        data: prp(0x1000, 0x2000),
    });
    assert_eq!(read.encode(COMMAND), expected);
    assert_eq!(IoCommand::decode(&expected), Ok(read));
}

#[test]
fn write_by_sgl_is_laid_out_as_specified() {
    let expected = entry(&[
        (0, 0x1234_4001),
        (1, 1),
        (6, 0x5566_7788),
        (7, 0x1122_3344),
        (8, 4096),
        (10, 9),
    ]);
    let write = IoCommand::Write(ReadWrite {
        namespace: NamespaceId::new(1),
        blocks: BlockRange::new(Lba::new(9), 1),
        force_unit_access: false,
        limited_retry: false,
        data: DataPointer::Sgl {
            address: 0x1122_3344_5566_7788,
            length: 4096,
        },
    });
    assert_eq!(write.encode(COMMAND), expected);
    assert_eq!(IoCommand::decode(&expected), Ok(write));
}

#[test]
fn other_io_commands_are_laid_out_as_specified() {
    let zeroes = entry(&[(0, 0x1234_0008), (1, 1), (10, 3), (12, 0x4200_FFFF)]);
    let expected = IoCommand::WriteZeroes(WriteZeroes {
        namespace: NamespaceId::new(1),
        blocks: BlockRange::new(Lba::new(3), 65_536),
        deallocate: true,
        force_unit_access: true,
    });
    assert_eq!(IoCommand::decode(&zeroes), Ok(expected));
    assert_eq!(expected.encode(COMMAND), zeroes);

    let dataset = entry(&[
        (0, 0x1234_0009),
        (1, 1),
        (6, 0x1000),
        (10, 255),
        (11, 0b100),
    ]);
    let expected = DatasetManagement {
        namespace: NamespaceId::new(1),
        range_count: 256,
        deallocate: true,
        integral_read: false,
        integral_write: false,
        data: prp(0x1000, 0),
    };
    assert_eq!(expected.data_bytes(), 4096);
    assert_eq!(
        IoCommand::decode(&dataset),
        Ok(IoCommand::DatasetManagement(expected))
    );

    let flush = entry(&[(0, 0x1234_0000), (1, u32::MAX)]);
    let namespace = nvme::BROADCAST_NAMESPACE;
    assert_eq!(
        IoCommand::decode(&flush),
        Ok(IoCommand::Flush { namespace })
    );
}

#[test]
fn vendor_commands_are_laid_out_as_documented() {
    let write = entry(&[
        (0, 0x1234_0001),
        (1, 1),
        (6, 0x1000),
        (10, 64),
        (12, 0x00F0_0007),
        (13, 0x8005_0000),
    ]);
    let expected = PlacedWrite {
        write: ReadWrite {
            namespace: NamespaceId::new(1),
            blocks: BlockRange::new(Lba::new(64), 8),
            force_unit_access: false,
            limited_retry: false,
            data: prp(0x1000, 0),
        },
        handle: 5,
        inverse: true,
    };
    let expected = IoCommand::WritePlaced(expected);
    assert_eq!(IoCommand::decode(&write), Ok(expected));
    let streams = entry(&[(0, 0x1234_0001), (1, 1), (12, 0x0010_0007)]);
    assert_eq!(IoCommand::decode(&streams), Err(Status::INVALID_FIELD));

    let read = entry(&[
        (0, 0x1234_0082),
        (1, 1),
        (4, 0x7000),
        (6, 0x1000),
        (10, 21),
        (11, 2),
        (13, 1),
        (14, 5),
    ]);
    let expected = FcRead {
        namespace: NamespaceId::new(1),
        expression_address: 0x7000,
        expression_bytes: 21,
        engine: Engine::InStorage,
        bits: 1 << 32,
        count_only: true,
        check: true,
        data: prp(0x1000, 0),
    };
    assert_eq!(expected.data_bytes(), 8);
    assert_eq!(
        FcRead {
            count_only: false,
            ..expected
        }
        .data_bytes(),
        1 << 29
    );
    assert_eq!(
        IoCommand::decode(&read),
        Ok(IoCommand::Bits(BitsCommand::FcRead(expected)))
    );
}

#[test]
fn directives_are_laid_out_as_documented() {
    let dword11 = 0x0005_0F01;
    let send = entry(&[
        (0, 0x1234_0019),
        (1, 1),
        (6, 0x1000),
        (10, 7),
        (11, dword11),
    ]);
    let expected = DirectiveSend {
        namespace: NamespaceId::new(1),
        operation: DirectiveOperation::Open,
        handle: 5,
        data: prp(0x1000, 0),
    };
    assert_eq!(
        AdminCommand::decode(&send),
        Ok(AdminCommand::DirectiveSend(expected))
    );
    let receive = entry(&[
        (0, 0x1234_001A),
        (1, 1),
        (6, 0x1000),
        (10, 15),
        (11, 0x0F01),
    ]);
    let expected = DirectiveReceive {
        namespace: NamespaceId::new(1),
        query: DirectiveQuery::Handles,
        dwords: 16,
        data: prp(0x1000, 0),
    };
    assert_eq!(
        AdminCommand::decode(&receive),
        Ok(AdminCommand::DirectiveReceive(expected))
    );
    let too_large = entry(&[(0, 0x1234_0019), (1, 1), (11, 0x8000_0F01)]);
    assert_eq!(AdminCommand::decode(&too_large), Err(Status::INVALID_FIELD));
}

#[test]
fn directions_follow_the_opcodes() {
    let direction = |opcode| DataTransfer::of_opcode(opcode);
    assert_eq!(
        direction(nvme::command::opcode::FC_READ),
        DataTransfer::ControllerToHost
    );
    assert_eq!(
        direction(nvme::command::opcode::DIRECTIVE_SEND),
        DataTransfer::HostToController
    );
}

#[test]
fn handle_records_are_32_bytes() {
    use zerocopy::IntoBytes;
    let home = Home { first: 5, dies: 8 };
    let attributes = HandleAttributes::new(Lba::new(0x0102), 0x0304, home);
    let bytes = attributes.as_bytes();
    assert_eq!(
        bytes[..20],
        [2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 5, 0, 8, 0]
    );
    assert_eq!(attributes.home(), home);
    let record = HandleRecord::new(9, &attributes, 7);
    let mut bytes = record.as_bytes().to_vec();
    assert_eq!(bytes[20..28], [9, 0, 0, 0, 7, 0, 0, 0]);
    bytes.extend([7; 31]);
    assert_eq!(HandleRecord::parse(&bytes), [record]);
}

#[test]
fn io_refusals_carry_the_specified_status() {
    let refusal = |dwords: &[(usize, u32)]| IoCommand::decode(&entry(dwords)).err();
    assert_eq!(refusal(&[(0, 0x7F)]), Some(Status::INVALID_OPCODE));
    assert_eq!(refusal(&[(0, 0x7F)]), Some(Status::INVALID_OPCODE));
    assert_eq!(
        refusal(&[(0, 0x0102)]),
        Some(Status::INVALID_FIELD),
        "fused, first"
    );
    assert_eq!(
        refusal(&[(0, 0x0200)]),
        Some(Status::INVALID_FIELD),
        "fused, second"
    );
    assert_eq!(
        refusal(&[(0, 0x8002)]),
        Some(Status::INVALID_FIELD),
        "PSDT 2"
    );
    assert_eq!(
        refusal(&[(0, 0xC000)]),
        Some(Status::INVALID_FIELD),
        "PSDT 3 without data"
    );
    assert_eq!(
        refusal(&[(0, 1), (12, 1 << 20)]),
        Some(Status::INVALID_FIELD),
        "directive"
    );
    assert_eq!(
        refusal(&[(0, 0x4002), (9, 0x1000_0000)]),
        Some(Status::SGL_TYPE_INVALID)
    );
    assert_eq!(
        refusal(&[(0, 0x4002), (9, 0x0100_0000)]),
        Some(Status::SGL_TYPE_INVALID)
    );
    let last_segment = [(0, 0x4002), (8, 24), (9, 0x3000_0000)];
    assert_eq!(refusal(&last_segment), Some(Status::INVALID_SGL_SEGMENT));
    let last_segment = [(0, 0x4002), (8, 32), (9, 0x3000_0000)];
    assert_eq!(
        refusal(&last_segment),
        Some(Status::SGL_TYPE_INVALID),
        "legal, but unsupported"
    );
    let invalid = Some(Status::INVALID_FIELD);
    assert_eq!(refusal(&[(0, 0x82), (12, 1)]), invalid, "no expression");
    assert_eq!(
        refusal(&[(0, 0x82), (10, 49_153), (12, 1)]),
        invalid,
        "too long an expression"
    );
    assert_eq!(
        refusal(&[(0, 0x82), (10, 9), (11, 5), (12, 1)]),
        invalid,
        "no such engine"
    );
    for opcode in [0x81, 0x84, 0x86] {
        assert_eq!(
            refusal(&[(0, opcode), (12, 1)]),
            Some(Status::INVALID_OPCODE)
        );
    }
}

#[test]
fn admin_commands_are_laid_out_as_specified() {
    let completion = entry(&[
        (0, 0x1234_0005),
        (6, 0x3000),
        (10, 0x00FF_0002),
        (11, 0x0007_0003),
    ]);
    let expected = AdminCommand::CreateCompletionQueue(CreateCompletionQueue {
        queue: QueueId::new(2),
        size: 256,
        contiguous: true,
        interrupts: true,
        interrupt_vector: 7,
        base: 0x3000,
    });
    assert_eq!(AdminCommand::decode(&completion), Ok(expected));
    assert_eq!(expected.encode(COMMAND), completion);

    let submission = entry(&[
        (0, 0x1234_0001),
        (6, 0x4000),
        (10, 0x003F_0003),
        (11, 0x0002_0005),
    ]);
    let expected = AdminCommand::CreateSubmissionQueue(CreateSubmissionQueue {
        queue: QueueId::new(3),
        size: 64,
        contiguous: true,
        priority: QueuePriority::Medium,
        completion_queue: QueueId::new(2),
        base: 0x4000,
    });
    assert_eq!(AdminCommand::decode(&submission), Ok(expected));
    assert_eq!(expected.encode(COMMAND), submission);

    let identify = entry(&[(0, 0x1234_0006), (1, 1), (6, 0x1000), (10, 0x0009_0013)]);
    let expected = AdminCommand::Identify(Identify {
        cns: Cns::Controllers,
        namespace: NamespaceId::new(1),
        controller: ControllerId::new(9),
        specific: 0,
        command_set: 0,
        data: prp(0x1000, 0),
    });
    assert_eq!(AdminCommand::decode(&identify), Ok(expected));
    assert_eq!(expected.encode(COMMAND), identify);

    let log = entry(&[
        (0, 0x1234_0002),
        (1, u32::MAX),
        (6, 0x1000),
        (10, 0x007F_8102),
        (11, 0x0004_0001),
        (12, 0x10),
    ]);
    let expected = GetLogPage {
        page: LogPageId::HEALTH,
        namespace: nvme::BROADCAST_NAMESPACE,
        specific: 1,
        specific_id: 4,
        command_set: 0,
        retain_event: true,
        dwords: 0x1_0080,
        offset: 0x10,
        data: prp(0x1000, 0),
    };
    assert_eq!(
        AdminCommand::decode(&log),
        Ok(AdminCommand::GetLogPage(expected))
    );
    assert_eq!(AdminCommand::GetLogPage(expected).encode(COMMAND), log);

    let queues = entry(&[(0, 0x1234_0009), (10, 0x8000_0007), (11, 0x0003_0003)]);
    let expected = AdminCommand::SetFeatures(SetFeatures {
        feature: FeatureId::NUMBER_OF_QUEUES,
        save: true,
        namespace: NamespaceId::new(0),
        cdw11: 0x0003_0003,
        cdw12: 0,
        data: prp(0, 0),
    });
    assert_eq!(AdminCommand::decode(&queues), Ok(expected));

    let abort = entry(&[(0, 0x1234_0008), (10, 0xABCD_0002)]);
    let expected = Abort {
        queue: QueueId::new(2),
        command: CommandId::new(0xABCD),
    };
    assert_eq!(
        AdminCommand::decode(&abort),
        Ok(AdminCommand::Abort(expected))
    );
}

#[test]
fn admin_refusals_carry_the_specified_status() {
    let refusal = |dwords: &[(usize, u32)]| AdminCommand::decode(&entry(dwords)).err();
    assert_eq!(refusal(&[(0, 0x7F)]), Some(Status::INVALID_OPCODE));
    assert_eq!(
        refusal(&[(0, 0x06), (10, 0xFE)]),
        Some(Status::INVALID_FIELD),
        "CNS"
    );
    assert_eq!(
        refusal(&[(0, 0x0A), (10, 0x0401)]),
        Some(Status::INVALID_FIELD),
        "SEL"
    );
    assert_eq!(
        refusal(&[(0, 0x02), (12, 2)]),
        Some(Status::INVALID_FIELD),
        "LPO"
    );
    assert_eq!(
        refusal(&[(0, 0x02), (14, 1 << 23)]),
        Some(Status::INVALID_FIELD),
        "OT"
    );
    assert_eq!(
        refusal(&[(0, 0x05), (6, 0x1004)]),
        Some(Status::INVALID_PRP_OFFSET)
    );
    assert_eq!(
        refusal(&[(0, 0x4005), (6, 0x1000)]),
        Some(Status::INVALID_FIELD),
        "queue by SGL"
    );
    assert_eq!(
        refusal(&[(0, 0x010C)]),
        Some(Status::INVALID_FIELD),
        "fused"
    );
}

#[test]
fn io_command_stays_small() {
    assert!(
        size_of::<IoCommand>() <= 72,
        "{} bytes",
        size_of::<IoCommand>()
    );
}
