//! Addresses that the host sends, at the ends of what 64 bits can say: each gives a status.

use bitline::inside::InsideHost;
use bitline::inside::{send_raw, send_raw_admin};
use bitline::{Drive, Status};
use host::bits::{BitsDevice, PlacementHandle};
use nvme::command::{
    BlockRange, CopyBlocks, CreateCompletionQueue, CreateSubmissionQueue, DatasetManagement,
    DirectiveOperation, DirectiveQuery, DirectiveReceive, DirectiveSend, Engine, FcRead,
    GetLogPage, Home, LogPageId, PlacedWrite, ReadWrite,
};
use nvme::{
    AdminCommand, BROADCAST_NAMESPACE, BitsCommand, CommandId, DataPointer, IoCommand, Lba,
    NamespaceId, QueueId, QueuePriority, SubmissionEntry,
};

use crate::drive;

const NAMESPACE: NamespaceId = NamespaceId::new(1);

/// Pointers whose data end beyond the last address, or lie where no memory is.
fn beyond() -> Vec<DataPointer> {
    let sgl = |back: u64| DataPointer::Sgl {
        address: u64::MAX - back,
        length: u32::MAX,
    };
    let last_page = u64::MAX - 4095;
    vec![
        sgl(0),
        sgl(3),
        sgl(511),
        sgl(4095),
        DataPointer::Sgl {
            address: 0,
            length: u32::MAX,
        },
        DataPointer::Prp {
            prp1: last_page,
            prp2: last_page,
        },
        DataPointer::Prp {
            prp1: u64::MAX - 3,
            prp2: last_page,
        },
    ]
}

fn sent(drive: &mut Drive, entry: SubmissionEntry, admin: bool) -> Status {
    let status = drive.run(move |host| async move {
        let queue = host.queue(0)?;
        match admin {
            true => send_raw_admin(&queue, entry).await,
            false => send_raw(&queue, entry).await,
        }
    });
    status
        .expect("it has power")
        .expect("the transport does not fail")
}

/// Every I/O command that has data, with its data at `data`.
fn with_data(data: DataPointer, blocks: u32) -> Vec<IoCommand> {
    let transfer = ReadWrite {
        namespace: NAMESPACE,
        blocks: BlockRange::new(Lba::new(0), blocks),
        force_unit_access: false,
        limited_retry: false,
        data,
    };
    vec![
        IoCommand::Read(transfer),
        IoCommand::Write(transfer),
        IoCommand::Compare(transfer),
        IoCommand::DatasetManagement(DatasetManagement {
            namespace: NAMESPACE,
            range_count: 256,
            deallocate: true,
            integral_read: false,
            integral_write: false,
            data,
        }),
        IoCommand::Copy(CopyBlocks {
            from_memory: false,
            namespace: NAMESPACE,
            destination: Lba::new(0),
            range_count: 100,
            force_unit_access: false,
            limited_retry: false,
            data,
        }),
        IoCommand::WritePlaced(PlacedWrite {
            write: ReadWrite {
                blocks: BlockRange::new(Lba::new(0), blocks.next_multiple_of(8)),
                ..transfer
            },
            handle: 1,
            inverse: false,
        }),
    ]
}

#[test]
fn data_beyond_the_last_address_give_a_status() {
    let mut drive = drive(&[]);
    let opened = drive.run(|host| async move {
        let handle = PlacementHandle {
            number: 1,
            anchor: 0,
            pitch: 8,
            home: Home::ALL,
        };
        BitsDevice::new(host.block().clone())
            .open_handle(&handle)
            .await
    });
    opened.expect("it has power").expect("a legal handle");
    for data in beyond() {
        for blocks in [1, 17] {
            for command in with_data(data, blocks) {
                let status = sent(&mut drive, command.encode(CommandId::new(0)), false);
                assert_eq!(status, Status::DATA_TRANSFER_ERROR, "{command:?}");
            }
        }
        let log = AdminCommand::GetLogPage(GetLogPage {
            page: LogPageId::ERROR,
            namespace: BROADCAST_NAMESPACE,
            specific: 0,
            specific_id: 0,
            command_set: 0,
            retain_event: true,
            dwords: 1024,
            offset: 0,
            data,
        });
        let send = AdminCommand::DirectiveSend(DirectiveSend {
            namespace: NAMESPACE,
            operation: DirectiveOperation::Open,
            handle: 2,
            data,
        });
        let receive = AdminCommand::DirectiveReceive(DirectiveReceive {
            namespace: NAMESPACE,
            query: DirectiveQuery::Handles,
            dwords: 8,
            data,
        });
        for command in [log, send, receive] {
            let status = sent(&mut drive, command.encode(CommandId::new(0)), true);
            assert_eq!(status, Status::DATA_TRANSFER_ERROR, "{command:?}");
        }
    }
    drive.write(0, &[7; 4096]).expect("the drive lives");
}

#[test]
fn expressions_and_ranges_beyond_the_last_address_give_a_status() {
    let mut drive = drive(&[]);
    for back in [0, 1, 8, 4095] {
        let read = IoCommand::Bits(BitsCommand::FcRead(FcRead {
            namespace: NAMESPACE,
            expression_address: u64::MAX - back,
            expression_bytes: 9,
            engine: Engine::FlashCosmos,
            bits: 8,
            count_only: true,
            check: false,
            data: DataPointer::Sgl {
                address: 4096,
                length: 8,
            },
        }));
        let status = sent(&mut drive, read.encode(CommandId::new(0)), false);
        assert_eq!(status, Status::DATA_TRANSFER_ERROR);
    }
    for start in [u64::MAX, u64::MAX - 1, u64::MAX - 65535, 1 << 63] {
        for command in with_data(
            DataPointer::Sgl {
                address: 4096,
                length: 1 << 20,
            },
            17,
        ) {
            let IoCommand::Read(mut read) = command else {
                continue;
            };
            read.blocks.start = Lba::new(start);
            let entry = IoCommand::Read(read).encode(CommandId::new(0));
            assert_eq!(sent(&mut drive, entry, false), Status::LBA_OUT_OF_RANGE);
        }
    }
}

#[test]
fn queues_beyond_the_last_address_are_refused() {
    let mut drive = drive(&[]);
    let last_page = u64::MAX - 4095;
    let completion = |base, size| {
        AdminCommand::CreateCompletionQueue(CreateCompletionQueue {
            queue: QueueId::new(60),
            size,
            contiguous: true,
            interrupts: false,
            interrupt_vector: 0,
            base,
        })
    };
    let submission = |base, size| {
        AdminCommand::CreateSubmissionQueue(CreateSubmissionQueue {
            queue: QueueId::new(60),
            size,
            contiguous: true,
            priority: QueuePriority::Medium,
            completion_queue: QueueId::new(1),
            base,
        })
    };
    for create in [
        completion(last_page, 256),
        submission(last_page, 64),
        submission(last_page, 65),
    ] {
        let status = sent(&mut drive, create.encode(CommandId::new(0)), true);
        assert_eq!(status, Status::INVALID_FIELD, "{create:?}");
    }
}
