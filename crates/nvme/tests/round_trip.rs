//! Commands: round trips through their entries, and total decoding of any bytes.

use nvme::command::{
    Abort, BlockCommand, BlockRange, CopyBlocks, CreateCompletionQueue, CreateSubmissionQueue,
    DatasetManagement, DirectiveOperation, DirectiveQuery, DirectiveReceive, DirectiveSend, Engine,
    FcRead, FeatureId, FeatureSelect, FormatNvm, GetFeatures, GetLogPage, HANDLE_MAX, Identify,
    LogPageId, PlacedWrite, ReadWrite, Sanitize, SanitizeAction, SecureErase, SetFeatures,
    WriteZeroes, commands,
};
use nvme::identify::Cns;
use nvme::{
    AdminCommand, BitsCommand, CommandId, ControllerId, DataPointer, IoCommand, Lba, NamespaceId,
    QueueId, QueuePriority, SubmissionEntry,
};
use proptest::prelude::*;

fn prp(prp1: u64, prp2: u64) -> DataPointer {
    DataPointer::Prp { prp1, prp2 }
}

fn data() -> impl Strategy<Value = DataPointer> {
    prop_oneof![
        any::<(u64, u64)>().prop_map(|(prp1, prp2)| prp(prp1, prp2)),
        any::<(u64, u32)>().prop_map(|(address, length)| DataPointer::Sgl { address, length }),
    ]
}

fn namespace() -> impl Strategy<Value = NamespaceId> {
    any::<u32>().prop_map(NamespaceId::new)
}

fn blocks() -> impl Strategy<Value = BlockRange> {
    (any::<u64>(), 1u32..=65_536).prop_map(|(start, count)| BlockRange::new(Lba::new(start), count))
}

fn read_write() -> impl Strategy<Value = ReadWrite> {
    (namespace(), blocks(), any::<(bool, bool)>(), data()).prop_map(
        |(namespace, blocks, (force_unit_access, limited_retry), data)| ReadWrite {
            namespace,
            blocks,
            force_unit_access,
            limited_retry,
            data,
        },
    )
}

fn block_command() -> impl Strategy<Value = BlockCommand> {
    (namespace(), blocks()).prop_map(|(namespace, blocks)| BlockCommand { namespace, blocks })
}

fn vendor_command() -> impl Strategy<Value = BitsCommand> {
    let engine = prop_oneof![
        Just(Engine::FlashCosmos),
        Just(Engine::ParaBit),
        Just(Engine::InStorage)
    ];
    (
        namespace(),
        any::<u64>(),
        1u32..=49_152,
        engine,
        1u64..,
        any::<(bool, bool)>(),
        data(),
    )
        .prop_map(
            |(
                namespace,
                expression_address,
                expression_bytes,
                engine,
                bits,
                (count_only, check),
                data,
            )| {
                BitsCommand::FcRead(FcRead {
                    namespace,
                    expression_address,
                    expression_bytes,
                    engine,
                    bits,
                    count_only,
                    check,
                    data,
                })
            },
        )
}

fn placed_write() -> impl Strategy<Value = PlacedWrite> {
    (read_write(), 0..=HANDLE_MAX, any::<bool>()).prop_map(|(write, handle, inverse)| PlacedWrite {
        write,
        handle,
        inverse,
    })
}

fn directive() -> impl Strategy<Value = AdminCommand> {
    let operation = prop_oneof![
        Just(DirectiveOperation::Open),
        Just(DirectiveOperation::Release)
    ];
    let query = prop_oneof![
        Just(DirectiveQuery::Parameters),
        Just(DirectiveQuery::Handles)
    ];
    let send = (namespace(), operation, 0..=HANDLE_MAX, data()).prop_map(
        |(namespace, operation, handle, data)| {
            AdminCommand::DirectiveSend(DirectiveSend {
                namespace,
                operation,
                handle,
                data,
            })
        },
    );
    let receive = (namespace(), query, 1u64..=1 << 32, data()).prop_map(
        |(namespace, query, dwords, data)| {
            AdminCommand::DirectiveReceive(DirectiveReceive {
                namespace,
                query,
                dwords,
                data,
            })
        },
    );
    prop_oneof![send, receive]
}

fn io_command() -> impl Strategy<Value = IoCommand> {
    prop_oneof![
        namespace().prop_map(|namespace| IoCommand::Flush { namespace }),
        read_write().prop_map(IoCommand::Read),
        read_write().prop_map(IoCommand::Write),
        (namespace(), blocks(), any::<(bool, bool)>()).prop_map(
            |(namespace, blocks, (deallocate, force_unit_access))| {
                IoCommand::WriteZeroes(WriteZeroes {
                    namespace,
                    blocks,
                    deallocate,
                    force_unit_access,
                })
            }
        ),
        (namespace(), 1u16..=256, any::<[bool; 3]>(), data()).prop_map(
            |(namespace, range_count, [deallocate, integral_read, integral_write], data)| {
                IoCommand::DatasetManagement(DatasetManagement {
                    namespace,
                    range_count,
                    deallocate,
                    integral_read,
                    integral_write,
                    data,
                })
            }
        ),
        read_write().prop_map(IoCommand::Compare),
        block_command().prop_map(IoCommand::Verify),
        block_command().prop_map(IoCommand::WriteUncorrectable),
        (
            namespace(),
            any::<u64>(),
            1u16..=256,
            any::<(bool, bool)>(),
            data()
        )
            .prop_map(
                |(
                    namespace,
                    destination,
                    range_count,
                    (force_unit_access, limited_retry),
                    data,
                )| {
                    IoCommand::Copy(CopyBlocks {
                        namespace,
                        destination: Lba::new(destination),
                        range_count,
                        force_unit_access,
                        limited_retry,
                        data,
                    })
                }
            ),
        vendor_command().prop_map(IoCommand::Bits),
        placed_write().prop_map(IoCommand::WritePlaced),
    ]
}

fn queue() -> impl Strategy<Value = QueueId> {
    any::<u16>().prop_map(QueueId::new)
}

fn admin_command() -> impl Strategy<Value = AdminCommand> {
    let base = || (0u64..1 << 52).prop_map(|page| page << 12);
    let size = || 1u32..=65_536;
    let submission = (queue(), size(), any::<bool>(), 0u8..4, queue(), base()).prop_map(
        |(queue, size, contiguous, priority, completion_queue, base)| {
            AdminCommand::CreateSubmissionQueue(CreateSubmissionQueue {
                queue,
                size,
                contiguous,
                priority: QueuePriority::from_code(priority),
                completion_queue,
                base,
            })
        },
    );
    let completion = (queue(), size(), any::<(bool, bool)>(), any::<u16>(), base()).prop_map(
        |(queue, size, (contiguous, interrupts), interrupt_vector, base)| {
            AdminCommand::CreateCompletionQueue(CreateCompletionQueue {
                queue,
                size,
                contiguous,
                interrupts,
                interrupt_vector,
                base,
            })
        },
    );
    let known = any::<u8>().prop_filter_map("no such page", Cns::from_code);
    let identify = (known, namespace(), any::<(u16, u16, u8)>(), data()).prop_map(
        |(cns, namespace, (controller, specific, command_set), data)| {
            AdminCommand::Identify(Identify {
                cns,
                namespace,
                controller: ControllerId::new(controller),
                specific,
                command_set,
                data,
            })
        },
    );
    let log = (
        namespace(),
        any::<(u8, u16, bool)>(),
        0u8..128,
        any::<u32>(),
        any::<u64>(),
        data(),
    )
        .prop_map(
            |(namespace, (page, specific_id, retain_event), specific, last, offset, data)| {
                AdminCommand::GetLogPage(GetLogPage {
                    page: LogPageId(page),
                    namespace,
                    specific,
                    specific_id,
                    retain_event,
                    dwords: u64::from(last) + 1,
                    offset: offset & !3,
                    data,
                })
            },
        );
    let select = prop_oneof![
        Just(FeatureSelect::Current),
        Just(FeatureSelect::Default),
        Just(FeatureSelect::Saved),
        Just(FeatureSelect::SupportedCapabilities)
    ];
    let get = (any::<(u8, u32)>(), select, namespace(), data()).prop_map(
        |((feature, cdw11), select, namespace, data)| {
            let feature = FeatureId(feature);
            AdminCommand::GetFeatures(GetFeatures {
                feature,
                select,
                namespace,
                cdw11,
                data,
            })
        },
    );
    let set = (any::<(u8, bool, u32, u32)>(), namespace(), data()).prop_map(
        |((feature, save, cdw11, cdw12), namespace, data)| {
            let feature = FeatureId(feature);
            AdminCommand::SetFeatures(SetFeatures {
                feature,
                save,
                namespace,
                cdw11,
                cdw12,
                data,
            })
        },
    );
    let abort = (queue(), any::<u16>()).prop_map(|(queue, command)| {
        AdminCommand::Abort(Abort {
            queue,
            command: CommandId::new(command),
        })
    });
    let erase = prop_oneof![
        Just(SecureErase::None),
        Just(SecureErase::UserData),
        Just(SecureErase::Cryptographic)
    ];
    let format = (namespace(), 0u8..64, any::<bool>(), 0u8..8, erase).prop_map(
        |(namespace, format, metadata_inline, protection, secure_erase)| {
            AdminCommand::FormatNvm(FormatNvm {
                namespace,
                format,
                metadata_inline,
                protection,
                secure_erase,
            })
        },
    );
    let actions = [
        SanitizeAction::ExitFailure,
        SanitizeAction::BlockErase,
        SanitizeAction::Overwrite,
        SanitizeAction::CryptoErase,
    ];
    let sanitize = (0u32..4, any::<(bool, bool)>()).prop_map(
        move |(action, (allow_unrestricted_exit, keep_allocated))| {
            AdminCommand::Sanitize(Sanitize {
                action: actions[action as usize],
                allow_unrestricted_exit,
                keep_allocated,
                cdw10: (action + 1)
                    | (u32::from(allow_unrestricted_exit) << 3)
                    | (u32::from(keep_allocated) << 9),
            })
        },
    );
    prop_oneof![
        format,
        sanitize,
        submission,
        completion,
        identify,
        log,
        get,
        set,
        abort,
        queue().prop_map(AdminCommand::DeleteSubmissionQueue),
        queue().prop_map(AdminCommand::DeleteCompletionQueue),
        directive(),
        Just(AdminCommand::AsyncEventRequest),
    ]
}

/// Any 64 bytes, with opcodes that exist more often than chance has them.
fn any_entry() -> impl Strategy<Value = SubmissionEntry> {
    let listed: Vec<u8> = commands().map(|row| row.opcode).collect();
    let plain = prop::sample::select(listed);
    let opcode = prop_oneof![3 => plain, 1 => any::<u8>()];
    (
        opcode,
        prop_oneof![Just(0u8), Just(0x40u8), any::<u8>()],
        any::<[[u8; 32]; 2]>(),
    )
        .prop_map(|(opcode, flags, halves)| {
            let mut bytes = [0; 64];
            bytes[..32].copy_from_slice(&halves[0]);
            bytes[32..].copy_from_slice(&halves[1]);
            bytes[0] = opcode;
            bytes[1] = flags;
            SubmissionEntry::from_bytes(bytes)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn io_commands_round_trip(command in io_command(), id in any::<u16>()) {
        let entry = command.encode(CommandId::new(id));
        prop_assert_eq!(entry.command().get(), id);
        prop_assert_eq!(entry.namespace(), command.namespace());
        prop_assert_eq!(IoCommand::decode(&entry), Ok(command));
    }

    #[test]
    fn admin_commands_round_trip(command in admin_command(), id in any::<u16>()) {
        let entry = command.encode(CommandId::new(id));
        prop_assert_eq!(entry.command().get(), id);
        prop_assert_eq!(AdminCommand::decode(&entry), Ok(command));
    }

    /// Any bytes decode or are refused, and what decodes means the same when encoded again.
    #[test]
    fn decoding_is_total(entry in any_entry()) {
        if let Ok(command) = IoCommand::decode(&entry) {
            prop_assert_eq!(IoCommand::decode(&command.encode(entry.command())), Ok(command));
        }
        if let Ok(command) = AdminCommand::decode(&entry) {
            prop_assert_eq!(AdminCommand::decode(&command.encode(entry.command())), Ok(command));
        }
    }
}
