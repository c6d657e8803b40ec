//! What commands move, as their entries tell: for who carries them over a wire, where host and controller share no memory. A vendor's
//! command that names host memory elsewhere than in its data pointer needs a rule of its own there.

use crate::AdminCommand;
use crate::command::{CommandSet, opcode};
use crate::data_pointer::DataPointer;
use crate::entry::{DataTransfer, SubmissionEntry};
use crate::expression::MAX_ENCODED_BYTES;
use crate::query::MAX_QUERY_BYTES;
use crate::status::Status;

/// What crosses for a command: first to the controller, in the capsule or asked for by R2T, then to the host.
///
/// Commands with data one way do what every host of NVMe over Fabrics expects: the descriptor says how many bytes, the opcode which
/// way. The others are the vendor's:
/// - FcRead and Lookup, whose expression or query lies at the metadata pointer, send that, and then get the result; the descriptor
///   has the length of the result, which is zero for a lookup that only counts.
/// - Update has the query behind the records, in one piece of data, whose length is the descriptor's.
/// - Execute Program sends the request, and then gets what became of it into the same buffer. The descriptor has the length of the
///   longer one, the completion's DW1 says how much of the latter counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Bytes to the controller.
    pub to_controller: u32,
    /// The last of them, which the entry's metadata pointer names where memory is shared.
    pub pointed: u32,
    /// Bytes to the host, at most.
    pub to_host: u32,
}

impl Transfers {
    /// Those of a command of `set` whose descriptor has so many bytes.
    pub fn of(set: CommandSet, entry: &SubmissionEntry, descriptor_bytes: u32) -> Transfers {
        let length = descriptor_bytes;
        match (set, entry.opcode) {
            (CommandSet::Nvm, opcode::FC_READ) => {
                Transfers::pointed(entry.cdw10.get(), MAX_ENCODED_BYTES, length)
            }
            (CommandSet::Nvm, opcode::LOOKUP) => {
                Transfers::pointed(entry.cdw12.get(), MAX_QUERY_BYTES, length)
            }
            (CommandSet::Nvm, opcode::UPDATE) => Transfers {
                to_controller: length,
                pointed: Some(query_of_update(entry))
                    .filter(|bytes| *bytes <= length)
                    .unwrap_or(0),
                to_host: 0,
            },
            (CommandSet::Nvm, opcode::EXECUTE_PROGRAM) => Transfers {
                to_controller: entry.cdw11.get().min(length),
                pointed: 0,
                to_host: entry.cdw12.get().min(length),
            },
            (_, other) => Transfers::one_way(DataTransfer::of_opcode(other), length),
        }
    }

    /// Those of a command as it lies in a queue in host memory, whose data an SGL describes (Base 4.3.2), or that has none.
    ///
    /// # Errors
    /// Invalid Field for data that PRPs describe, or of more than 4 GiB; what is wrong with an SGL ([`DataPointer::decode`]).
    pub fn of_memory(set: CommandSet, entry: &SubmissionEntry) -> Result<Transfers, Status> {
        let bytes = match DataPointer::decode(entry)? {
            DataPointer::Sgl { length, .. } => length,
            DataPointer::NONE => 0,
            DataPointer::Prp { .. } => return Err(Status::INVALID_FIELD),
        };
        // Here the data pointer has the records alone.
        let query = match (set, entry.opcode) {
            (CommandSet::Nvm, opcode::UPDATE) => query_of_update(entry),
            _ => 0,
        };
        let bytes = bytes.checked_add(query).ok_or(Status::INVALID_FIELD)?;
        Ok(Transfers::of(set, entry, bytes))
    }

    /// Data that goes the way that an opcode says, or the type of a Fabrics command.
    pub fn one_way(way: DataTransfer, length: u32) -> Transfers {
        let (to_controller, to_host) = match way {
            DataTransfer::None => (0, 0),
            DataTransfer::HostToController => (length, 0),
            DataTransfer::ControllerToHost => (0, length),
            DataTransfer::Bidirectional => (length, length),
        };
        Transfers {
            to_controller,
            pointed: 0,
            to_host,
        }
    }

    /// What the descriptor has: the inverse of [`Transfers::of`].
    pub fn descriptor_bytes(&self) -> u32 {
        match self.to_controller == self.pointed {
            true => self.to_host,
            false => self.to_controller.max(self.to_host),
        }
    }

    /// Whether both ways are used.
    pub fn is_two_way(&self) -> bool {
        self.to_controller > 0 && self.to_host > 0
    }

    /// Whether the descriptor is that of a result, so that data in the capsule has a transport descriptor all the same.
    pub fn describes_result(&self) -> bool {
        self.is_two_way() || (self.pointed > 0 && self.to_controller == self.pointed)
    }

    /// Bytes at the data pointer that go to the controller, where memory is shared.
    pub fn at_data_pointer(&self) -> u32 {
        self.to_controller - self.pointed
    }

    /// Where, in a buffer for all of it, what goes to the host begins: behind what the metadata pointer names, else at the beginning.
    pub fn result_offset(&self) -> usize {
        match self.is_two_way() {
            true => self.pointed as usize,
            false => 0,
        }
    }

    /// Bytes of that buffer.
    pub fn buffer_bytes(&self) -> usize {
        let result = self.result_offset() + self.to_host as usize;
        result.max(self.to_controller as usize)
    }

    /// What lies at the metadata pointer, and a result. Nothing is pointed to if it is too long: the drive refuses the command.
    fn pointed(bytes: u32, most: usize, result: u32) -> Transfers {
        let pointed = if bytes as usize <= most { bytes } else { 0 };
        Transfers {
            to_controller: pointed,
            pointed,
            to_host: result,
        }
    }
}

/// Bytes of the query of an Update; none if it is too long, as the drive refuses that.
fn query_of_update(entry: &SubmissionEntry) -> u32 {
    match entry.cdw12.get() {
        bytes if bytes as usize <= MAX_QUERY_BYTES => bytes,
        _ => 0,
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
    use crate::identifier::{CommandId, NamespaceId};

    fn entry(opcode: u8) -> SubmissionEntry {
        SubmissionEntry::new(opcode, CommandId::new(1), NamespaceId::new(1))
    }

    fn with_sgl(mut entry: SubmissionEntry, length: u32) -> SubmissionEntry {
        let address = 4096;
        DataPointer::Sgl { address, length }.encode_into(&mut entry);
        entry
    }

    #[test]
    fn opcodes_tell_the_direction_and_descriptors_the_length() {
        for (opcode, to_controller, to_host) in [
            (opcode::FLUSH, 0, 0),
            (opcode::WRITE, 512, 0),
            (opcode::READ, 0, 512),
        ] {
            let moved = Transfers::of(CommandSet::Nvm, &entry(opcode), 512);
            assert_eq!(
                (moved.to_controller, moved.to_host),
                (to_controller, to_host)
            );
            assert!(!moved.is_two_way() && !moved.describes_result());
            let in_memory = with_sgl(entry(opcode), 512);
            assert_eq!(Transfers::of_memory(CommandSet::Nvm, &in_memory), Ok(moved));
            let nothing = Transfers::of_memory(CommandSet::Nvm, &entry(opcode));
            assert_eq!(nothing, Ok(Transfers::default()));
            let mut prp = entry(opcode);
            let (prp1, prp2) = (4096, 0);
            DataPointer::Prp { prp1, prp2 }.encode_into(&mut prp);
            let refused = Transfers::of_memory(CommandSet::Nvm, &prp);
            assert_eq!(refused, Err(Status::INVALID_FIELD));
        }
        let identify = Transfers::of(CommandSet::Admin, &entry(0x06), 4096);
        assert_eq!(identify.to_host, 4096);
    }

    /// Both ends go by the descriptor: whatever a host sends, the controller makes the same of it.
    #[test]
    fn a_descriptor_says_the_same_at_both_ends() {
        let mut sense = entry(opcode::FC_READ);
        sense.cdw10.set(40);
        let mut look_up = entry(opcode::LOOKUP);
        look_up.cdw12.set(56);
        let mut update = entry(opcode::UPDATE);
        update.cdw12.set(24);
        let mut run = entry(opcode::EXECUTE_PROGRAM);
        run.cdw11.set(200);
        run.cdw12.set(64);
        let (write, read) = (entry(opcode::WRITE), entry(opcode::READ));
        for (entry, at_pointer, expected) in [
            (sense, 512, (40, 40, 512, 512)),
            (look_up, 4096, (56, 56, 4096, 4096)),
            // A lookup that only counts.
            (look_up, 0, (56, 56, 0, 0)),
            (update, 100, (124, 24, 0, 124)),
            (run, 200, (200, 0, 64, 200)),
            (write, 4096, (4096, 0, 0, 4096)),
            (read, 4096, (0, 0, 4096, 4096)),
        ] {
            let in_memory = with_sgl(entry, at_pointer);
            let sent = Transfers::of_memory(CommandSet::Nvm, &in_memory).expect("an SGL");
            let told = sent.descriptor_bytes();
            let parts = (sent.to_controller, sent.pointed, sent.to_host, told);
            assert_eq!(parts, expected);
            assert_eq!(Transfers::of(CommandSet::Nvm, &entry, told), sent);
            assert!(sent.buffer_bytes() >= sent.to_controller as usize);
        }
    }

    #[test]
    fn what_is_too_long_or_of_another_set_is_not_pointed_to() {
        let mut sense = entry(opcode::FC_READ);
        sense.cdw10.set(u32::MAX);
        let refused = Transfers::of(CommandSet::Nvm, &sense, 512);
        assert_eq!((refused.to_controller, refused.to_host), (0, 512));
        sense.cdw10.set(40);
        let other = Transfers::of(CommandSet::Memory, &sense, 512);
        assert_eq!((other.pointed, other.to_host), (0, 512));
        let mut update = entry(opcode::UPDATE);
        update.cdw12.set(u32::MAX);
        let update = with_sgl(update, 100);
        let refused = Transfers::of_memory(CommandSet::Nvm, &update).expect("an SGL");
        assert_eq!((refused.to_controller, refused.pointed), (100, 0));
    }
}
