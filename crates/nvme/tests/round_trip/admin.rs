//! Admin commands.

use nvme::command::{
    Abort, CreateCompletionQueue, CreateSubmissionQueue, DirectiveOperation, DirectiveQuery,
    DirectiveReceive, DirectiveSend, FeatureId, FeatureSelect, FormatNvm, GetFeatures, GetLogPage,
    HANDLE_MAX, Identify, LogPageId, Sanitize, SanitizeAction, SecureErase, SetFeatures,
};
use nvme::identify::Cns;
use nvme::{AdminCommand, CommandId, ControllerId, QueueId, QueuePriority};
use proptest::prelude::*;

use super::program::program_admin;
use super::{data, namespace};

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

fn queue() -> impl Strategy<Value = QueueId> {
    any::<u16>().prop_map(QueueId::new)
}

pub(super) fn admin_command() -> impl Strategy<Value = AdminCommand> {
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
                    command_set: 0,
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
        program_admin(),
        Just(AdminCommand::AsyncEventRequest),
    ]
}
