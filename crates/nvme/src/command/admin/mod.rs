//! Admin commands (Base 5): the table of them. Those with much to encode are files of their own.

mod feature;
mod log;
mod queue;

use crate::command::row::{CommandSet, Decoded, Field, Row, Usual, effect};
use crate::command::{
    DirectiveReceive, DirectiveSend, FormatNvm, LoadProgram, MemoryRangeSets, ProgramActivation,
    Sanitize, halves, join_halves, opcode,
};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{CommandId, ControllerId, NamespaceId, QueueId};
use crate::identify::Cns;
use crate::status::Status;
pub use feature::{FeatureId, FeatureSelect, GetFeatures, SetFeatures};
pub use log::{GetLogPage, LogPageId};
pub use queue::{CreateCompletionQueue, CreateSubmissionQueue};
use queue::{decode_queue, with_queue};

/// A decoded admin command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminCommand {
    /// Deletes an I/O submission queue (Base 5.2.4).
    DeleteSubmissionQueue(QueueId),
    /// Creates an I/O submission queue (Base 5.2.2).
    CreateSubmissionQueue(CreateSubmissionQueue),
    /// Returns a log page (Base 5.1.12).
    GetLogPage(GetLogPage),
    /// Deletes an I/O completion queue (Base 5.2.3).
    DeleteCompletionQueue(QueueId),
    /// Creates an I/O completion queue (Base 5.2.1).
    CreateCompletionQueue(CreateCompletionQueue),
    /// Returns an identify page (Base 5.1.13).
    Identify(Identify),
    /// Asks that a command be aborted (Base 5.1.1).
    Abort(Abort),
    /// Sets a feature (Base 5.1.25).
    SetFeatures(SetFeatures),
    /// Returns a feature (Base 5.1.11).
    GetFeatures(GetFeatures),
    /// Completes when the drive has an event to tell (Base 5.1.2).
    AsyncEventRequest,
    /// Opens or releases a placement handle (Base 5.1.7).
    DirectiveSend(DirectiveSend),
    /// Tells of directives and of placement handles (Base 5.1.6).
    DirectiveReceive(DirectiveReceive),
    /// Gives namespaces a format and erases them (Base 5.1.10).
    FormatNvm(FormatNvm),
    /// Erases all user data, beyond recovery (Base 5.1.22).
    Sanitize(Sanitize),
    /// Loads a chunk of a program, or unloads one (CP).
    LoadProgram(LoadProgram),
    /// Activates a program, or no longer (CP).
    ProgramActivation(ProgramActivation),
    /// Makes a memory range set, or removes one (CP).
    MemoryRangeSets(MemoryRangeSets),
}

/// Identify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identify {
    /// Which page.
    pub cns: Cns,
    /// The namespace it is about, or after which a list begins.
    pub namespace: NamespaceId,
    /// The controller it is about, or from which a list begins (CNTID).
    pub controller: ControllerId,
    /// An identifier specific to the page, such as an NVM set (CNSSI).
    pub specific: u16,
    /// The I/O command set, 0 for NVM (CSI).
    pub command_set: u8,
    /// Where its 4096 bytes go.
    pub data: DataPointer,
}

/// Abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    /// The queue of the command to abort (SQID).
    pub queue: QueueId,
    /// The command to abort (CID).
    pub command: CommandId,
}

impl AdminCommand {
    /// The entry that asks for this command under `command_id`.
    ///
    /// # Panics
    /// If a queue size is not in 1 to 65536 or a dword count not in 1 to 2^32.
    pub fn encode(&self, command_id: CommandId) -> SubmissionEntry {
        let none = NamespaceId::new(0);
        let entry = |opcode, namespace| SubmissionEntry::new(opcode, command_id, namespace);
        match self {
            AdminCommand::DeleteSubmissionQueue(queue) => {
                with_queue(entry(opcode::DELETE_SUBMISSION_QUEUE, none), *queue)
            }
            AdminCommand::DeleteCompletionQueue(queue) => {
                with_queue(entry(opcode::DELETE_COMPLETION_QUEUE, none), *queue)
            }
            AdminCommand::CreateSubmissionQueue(create) => {
                create.encode(entry(opcode::CREATE_SUBMISSION_QUEUE, none))
            }
            AdminCommand::CreateCompletionQueue(create) => {
                create.encode(entry(opcode::CREATE_COMPLETION_QUEUE, none))
            }
            AdminCommand::GetLogPage(get) => get.encode(entry(opcode::GET_LOG_PAGE, get.namespace)),
            AdminCommand::Identify(identify) => {
                identify.encode(entry(opcode::IDENTIFY, identify.namespace))
            }
            AdminCommand::Abort(abort) => abort.encode(entry(opcode::ABORT, none)),
            AdminCommand::SetFeatures(set) => {
                set.encode(entry(opcode::SET_FEATURES, set.namespace))
            }
            AdminCommand::GetFeatures(get) => {
                get.encode(entry(opcode::GET_FEATURES, get.namespace))
            }
            AdminCommand::AsyncEventRequest => entry(opcode::ASYNC_EVENT_REQUEST, none),
            AdminCommand::DirectiveSend(send) => {
                send.encode(entry(opcode::DIRECTIVE_SEND, send.namespace))
            }
            AdminCommand::DirectiveReceive(receive) => {
                receive.encode(entry(opcode::DIRECTIVE_RECEIVE, receive.namespace))
            }
            AdminCommand::FormatNvm(format) => {
                format.encode(entry(opcode::FORMAT_NVM, format.namespace))
            }
            AdminCommand::Sanitize(sanitize) => sanitize.encode(entry(opcode::SANITIZE, none)),
            AdminCommand::LoadProgram(load) => {
                load.encode(entry(opcode::LOAD_PROGRAM, load.namespace))
            }
            AdminCommand::ProgramActivation(activation) => {
                activation.encode(entry(opcode::PROGRAM_ACTIVATION, activation.namespace))
            }
            AdminCommand::MemoryRangeSets(sets) => {
                sets.encode(entry(opcode::MEMORY_RANGE_SETS, sets.namespace))
            }
        }
    }
}

impl Identify {
    fn decode(entry: &SubmissionEntry) -> Result<Identify, Status> {
        let (structure, controller) = halves(entry.cdw10.get());
        let (specific, command_set) = halves(entry.cdw11.get());
        Ok(Identify {
            cns: Cns::from_code(structure as u8).ok_or(Status::INVALID_FIELD)?,
            namespace: entry.namespace(),
            controller: ControllerId::new(controller),
            specific,
            command_set: (command_set >> 8) as u8,
            data: DataPointer::decode(entry)?,
        })
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let structure = u16::from(self.cns.code());
        entry
            .cdw10
            .set(join_halves(structure, self.controller.get()));
        let command_set = u16::from(self.command_set) << 8;
        entry.cdw11.set(join_halves(self.specific, command_set));
        self.data.encode_into(&mut entry);
        entry
    }
}

impl Abort {
    fn decode(entry: &SubmissionEntry) -> Abort {
        let (queue, command) = halves(entry.cdw10.get());
        Abort {
            queue: QueueId::new(queue),
            command: CommandId::new(command),
        }
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let cdw10 = join_halves(self.queue.get(), self.command.get());
        entry.cdw10.set(cdw10);
        entry
    }
}

const QUEUE: Field = Field::new(10, 0, 16, "QID", "the queue", Usual::Below(8));
const QUEUE_SIZE: Field = Field::new(
    10,
    16,
    16,
    "QSIZE",
    "its entries, less one",
    Usual::Below(16),
);
const CONTIGUOUS: Field = Field::flag(11, 0, "PC", "the memory is one piece");
const FEATURE: Field = Field::new(10, 0, 8, "FID", "the feature", Usual::Below(32));
const VALUE: Field = Field::new(
    11,
    0,
    32,
    "value",
    "specific to the feature",
    Usual::OneOf(&[0, 1, 7, 350, 0x0001_0001]),
);
/// Log pages, some that do not exist.
const LOG_PAGES: Usual =
    Usual::OneOf(&[0, 1, 2, 3, 4, 5, 0x1A, 0x1B, 0x81, 0x82, 0x83, 0x84, 0x42]);

/// The commands of the admin queue.
pub(super) const ROWS: [Decoded<AdminCommand>; 14] = [
    admin(
        opcode::DELETE_SUBMISSION_QUEUE,
        "Delete I/O Submission Queue",
        "Base 5.2.4",
    )
    .fields(&[QUEUE])
    .decoded_by(|entry| Ok(AdminCommand::DeleteSubmissionQueue(decode_queue(entry)))),
    admin(
        opcode::CREATE_SUBMISSION_QUEUE,
        "Create I/O Submission Queue",
        "Base 5.2.2",
    )
    .fields(&[
        QUEUE,
        QUEUE_SIZE,
        CONTIGUOUS,
        Field::new(11, 1, 2, "QPRIO", "its class", Usual::Below(4)),
        Field::new(11, 16, 16, "CQID", "where it completes", Usual::Below(8)),
    ])
    .decoded_by(|entry| {
        let create = CreateSubmissionQueue::decode(entry)?;
        Ok(AdminCommand::CreateSubmissionQueue(create))
    }),
    admin(opcode::GET_LOG_PAGE, "Get Log Page", "Base 5.1.12")
        .fields(&[
            Field::new(10, 0, 8, "LID", "the page", LOG_PAGES),
            Field::new(10, 8, 7, "LSP", "specific to the page", Usual::OneOf(&[0])),
            Field::flag(10, 15, "RAE", "leave its event outstanding"),
            Field::new(
                10,
                16,
                16,
                "NUMDL",
                "dwords, less one, low half",
                Usual::Below(0x4001),
            ),
            Field::new(
                11,
                0,
                16,
                "NUMDU",
                "dwords, less one, high half",
                Usual::OneOf(&[0, 1]),
            ),
            Field::new(
                11,
                16,
                16,
                "LSI",
                "specific to the page",
                Usual::OneOf(&[0]),
            ),
            Field::new(
                12,
                0,
                64,
                "LPO",
                "first byte of the page",
                Usual::OneOf(&[0, 64]),
            ),
            Field::new(
                14,
                23,
                1,
                "OT",
                "offsets by index, unsupported",
                Usual::OneOf(&[0]),
            ),
            Field::new(
                14,
                24,
                8,
                "CSI",
                "the command set",
                Usual::OneOf(&[0, 1, 3, 4]),
            ),
        ])
        .decoded_by(|entry| Ok(AdminCommand::GetLogPage(GetLogPage::decode(entry)?))),
    admin(
        opcode::DELETE_COMPLETION_QUEUE,
        "Delete I/O Completion Queue",
        "Base 5.2.3",
    )
    .fields(&[QUEUE])
    .decoded_by(|entry| Ok(AdminCommand::DeleteCompletionQueue(decode_queue(entry)))),
    admin(
        opcode::CREATE_COMPLETION_QUEUE,
        "Create I/O Completion Queue",
        "Base 5.2.1",
    )
    .fields(&[
        QUEUE,
        QUEUE_SIZE,
        CONTIGUOUS,
        Field::flag(11, 1, "IEN", "completions raise an interrupt"),
        Field::new(11, 16, 16, "IV", "which one", Usual::Below(8)),
    ])
    .decoded_by(|entry| {
        let create = CreateCompletionQueue::decode(entry)?;
        Ok(AdminCommand::CreateCompletionQueue(create))
    }),
    admin(opcode::IDENTIFY, "Identify", "Base 5.1.13")
        .fields(&[
            Field::new(10, 0, 8, "CNS", "the page", Usual::Below(32)),
            Field::new(10, 16, 16, "CNTID", "a controller", Usual::OneOf(&[0, 1])),
            Field::new(
                11,
                0,
                16,
                "CNSSI",
                "specific to the page",
                Usual::OneOf(&[0]),
            ),
            Field::new(
                11,
                24,
                8,
                "CSI",
                "the command set",
                Usual::OneOf(&[0, 1, 3, 4]),
            ),
        ])
        .decoded_by(|entry| Ok(AdminCommand::Identify(Identify::decode(entry)?))),
    admin(opcode::ABORT, "Abort", "Base 5.1.1")
        .fields(&[
            Field::new(10, 0, 16, "SQID", "the command's queue", Usual::Below(3)),
            Field::new(10, 16, 16, "CID", "the command", Usual::Below(1024)),
        ])
        .decoded_by(|entry| Ok(AdminCommand::Abort(Abort::decode(entry)))),
    admin(opcode::SET_FEATURES, "Set Features", "Base 5.1.25")
        .fields(&[
            FEATURE,
            Field::flag(10, 31, "SV", "keep it through resets"),
            VALUE,
            Field::new(
                12,
                0,
                32,
                "more",
                "more of the value",
                Usual::OneOf(&[0, 64]),
            ),
        ])
        .decoded_by(|entry| Ok(AdminCommand::SetFeatures(SetFeatures::decode(entry)?))),
    admin(opcode::GET_FEATURES, "Get Features", "Base 5.1.11")
        .fields(&[
            FEATURE,
            Field::new(
                10,
                8,
                3,
                "SEL",
                "current, default, saved, capabilities",
                Usual::Below(4),
            ),
            VALUE,
        ])
        .decoded_by(|entry| Ok(AdminCommand::GetFeatures(GetFeatures::decode(entry)?))),
    admin(
        opcode::ASYNC_EVENT_REQUEST,
        "Asynchronous Event Request",
        "Base 5.1.2",
    )
    .decoded_by(|_| Ok(AdminCommand::AsyncEventRequest)),
    admin(opcode::DIRECTIVE_SEND, "Directive Send", "Base 5.1.8")
        .fields(&[
            Field::new(10, 0, 32, "NUMD", "dwords, less one", Usual::OneOf(&[7])),
            Field::new(
                11,
                0,
                8,
                "DOPER",
                "1 opens, 2 releases",
                Usual::OneOf(&[1, 2]),
            ),
            Field::new(
                11,
                8,
                8,
                "DTYPE",
                "directive: Fh placement",
                Usual::OneOf(&[0xF]),
            ),
            Field::new(11, 16, 16, "DSPEC", "placement handle", Usual::Below(4)),
        ])
        .decoded_by(|entry| Ok(AdminCommand::DirectiveSend(DirectiveSend::decode(entry)?))),
    admin(opcode::DIRECTIVE_RECEIVE, "Directive Receive", "Base 5.1.7")
        .fields(&[
            Field::new(10, 0, 32, "NUMD", "dwords, less one", Usual::Below(0x400)),
            Field::new(11, 0, 8, "DOPER", "1 asks", Usual::OneOf(&[1])),
            Field::new(
                11,
                8,
                8,
                "DTYPE",
                "directive: 0 which there are, Fh the open handles",
                Usual::OneOf(&[0, 0xF]),
            ),
        ])
        .decoded_by(|entry| {
            let receive = DirectiveReceive::decode(entry)?;
            Ok(AdminCommand::DirectiveReceive(receive))
        }),
    admin(opcode::FORMAT_NVM, "Format NVM", "Base 5.1.10")
        .effects(effect::CHANGES_BLOCKS | effect::CHANGES_NAMESPACE | effect::ALONE_IN_NAMESPACE)
        .fields(&[
            Field::new(
                10,
                0,
                4,
                "LBAFL",
                "index of the LBA format, low bits",
                Usual::Below(4),
            ),
            Field::new(10, 4, 1, "MSET", "metadata inline", Usual::OneOf(&[0])),
            Field::new(10, 5, 3, "PI", "end-to-end protection", Usual::OneOf(&[0])),
            Field::new(
                10,
                9,
                3,
                "SES",
                "none, user data, cryptographic",
                Usual::Below(3),
            ),
            Field::new(
                10,
                12,
                2,
                "LBAFU",
                "index of the LBA format, high bits",
                Usual::OneOf(&[0]),
            ),
        ])
        .decoded_by(|entry| Ok(AdminCommand::FormatNvm(FormatNvm::decode(entry)?))),
    admin(opcode::SANITIZE, "Sanitize", "Base 5.1.22")
        .effects(effect::CHANGES_BLOCKS | effect::ALONE)
        .fields(&[
            Field::new(10, 0, 3, "SANACT", "what to do", Usual::Below(5)),
            Field::flag(10, 3, "AUSE", "a failure may be left unrepaired"),
            Field::flag(10, 9, "NDAS", "blocks stay allocated"),
        ])
        .decoded_by(|entry| Ok(AdminCommand::Sanitize(Sanitize::decode(entry)?))),
];

const fn admin(opcode: u8, name: &'static str, source: &'static str) -> Row {
    Row::new(CommandSet::Admin, opcode, name, "admin", source)
}
