//! What commands move, as their entries alone tell: for who carries them over a wire, where the controller reaches no host memory.

use crate::command::{CommandSet, IoCommand, SearchCommand};
use crate::data_pointer::{DataPointer, Segment};
use crate::entry::{DataTransfer, SubmissionEntry};
use crate::status::Status;
use crate::{AdminCommand, BitsCommand};

/// What a command moves between host memory and the controller.
///
/// Over a wire, what goes to the controller is one run of bytes: those of the data pointer, then those that some vendor
/// commands have at the metadata pointer (an expression, a query).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Bytes at the data pointer that go to the controller.
    pub outgoing: u64,
    /// What lies at the metadata pointer and goes there, too; of length zero if nothing does.
    pub beside: Segment,
    /// Bytes that the controller may put at the data pointer, at most.
    pub incoming: u64,
}

impl Transfers {
    /// What the command of an entry moves. Data is described by an SGL, as over all fabrics (Base 4.3.2), which says how
    /// long it is.
    ///
    /// # Errors
    /// Invalid Field for data that PRPs describe; what is wrong with an SGL ([`DataPointer::decode`]).
    pub fn of(set: CommandSet, entry: &SubmissionEntry) -> Result<Transfers, Status> {
        let bytes = match DataPointer::decode(entry)? {
            DataPointer::Sgl { length, .. } => u64::from(length),
            DataPointer::Prp { prp1: 0, prp2: 0 } => 0,
            DataPointer::Prp { .. } => return Err(Status::INVALID_FIELD),
        };
        let (outgoing, incoming) = match entry.data_transfer() {
            DataTransfer::None => (0, 0),
            DataTransfer::HostToController => (bytes, 0),
            DataTransfer::ControllerToHost => (0, bytes),
            DataTransfer::Bidirectional => (bytes, bytes),
        };
        let mut transfers = Transfers {
            outgoing,
            incoming,
            ..Transfers::default()
        };
        if set == CommandSet::Nvm {
            transfers.add_vendors(entry);
        }
        Ok(transfers)
    }

    /// Bytes that go to the controller.
    pub fn to_controller(&self) -> u64 {
        self.outgoing + self.beside.length
    }

    /// What vendor commands have that is not at the data pointer, or not as long as it. What an entry that makes no sense
    /// would move is of no interest: it is refused.
    fn add_vendors(&mut self, entry: &SubmissionEntry) {
        let beside = match IoCommand::decode(entry) {
            Ok(IoCommand::Bits(BitsCommand::FcRead(read))) => {
                (read.expression_address, read.expression_bytes)
            }
            Ok(IoCommand::Search(SearchCommand::Lookup(lookup))) => {
                (lookup.query_address, lookup.query_bytes)
            }
            Ok(IoCommand::Search(SearchCommand::Update(update))) => {
                (update.query_address, update.query_bytes)
            }
            Ok(IoCommand::Execute(execute)) => {
                self.outgoing = self.outgoing.min(execute.request_bytes.into());
                self.incoming = self.incoming.min(execute.result_bytes.into());
                return;
            }
            _ => return,
        };
        self.beside = Segment {
            address: beside.0,
            length: beside.1.into(),
        };
    }
}

/// Whether an admin command makes or deletes queues in host memory, which fabrics do by Connect instead (Base 3.3.2).
pub fn is_of_memory_queues(command: &AdminCommand) -> bool {
    matches!(
        command,
        AdminCommand::CreateCompletionQueue(_)
            | AdminCommand::CreateSubmissionQueue(_)
            | AdminCommand::DeleteCompletionQueue(_)
            | AdminCommand::DeleteSubmissionQueue(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Engine, ExecuteProgram, FcRead, opcode};
    use crate::{CommandId, NamespaceId};

    const NAMESPACE: NamespaceId = NamespaceId::new(1);

    fn sgl(length: u32) -> DataPointer {
        DataPointer::Sgl {
            address: 4096,
            length,
        }
    }

    #[test]
    fn opcodes_tell_the_direction_and_sgls_the_length() {
        for (opcode, outgoing, incoming) in [
            (opcode::FLUSH, 0, 0),
            (opcode::WRITE, 512, 0),
            (opcode::READ, 0, 512),
        ] {
            let mut entry = SubmissionEntry::new(opcode, CommandId::new(0), NAMESPACE);
            assert_eq!(
                Transfers::of(CommandSet::Nvm, &entry),
                Ok(Transfers::default())
            );
            sgl(512).encode_into(&mut entry);
            let moved = Transfers::of(CommandSet::Nvm, &entry).expect("an SGL");
            assert_eq!((moved.outgoing, moved.incoming), (outgoing, incoming));
            let prp = DataPointer::Prp {
                prp1: 4096,
                prp2: 0,
            };
            prp.encode_into(&mut entry);
            let refused = Transfers::of(CommandSet::Nvm, &entry);
            assert_eq!(refused, Err(Status::INVALID_FIELD));
        }
    }

    #[test]
    fn expressions_and_requests_go_out_while_results_come_in() {
        let read = FcRead {
            namespace: NAMESPACE,
            expression_address: 8192,
            expression_bytes: 20,
            engine: Engine::Fastest,
            bits: 80,
            count_only: false,
            check: false,
            data: sgl(10),
        };
        let entry = IoCommand::Bits(BitsCommand::FcRead(read)).encode(CommandId::new(3));
        let moved = Transfers::of(CommandSet::Nvm, &entry).expect("an SGL");
        assert_eq!((moved.to_controller(), moved.incoming), (20, 10));
        assert_eq!((moved.beside.address, moved.beside.length), (8192, 20));
        let execute = ExecuteProgram {
            namespace: NAMESPACE,
            program: 0,
            program_namespace: 0,
            request_bytes: 100,
            result_bytes: 64,
            data: sgl(100),
        };
        let entry = IoCommand::Execute(execute).encode(CommandId::new(3));
        let moved = Transfers::of(CommandSet::Nvm, &entry).expect("an SGL");
        assert_eq!((moved.to_controller(), moved.incoming), (100, 64));
    }
}
