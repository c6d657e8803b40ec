//! Which data of a command crosses a network, and which way. Host and controller share no memory there, so a vendor's command
//! that names host memory elsewhere than in its data pointer needs a rule of its own.

use crate::command::opcode;
use crate::entry::{DataTransfer, SubmissionEntry};
use crate::expression::MAX_ENCODED_BYTES;
use crate::query::MAX_QUERY_BYTES;

/// What crosses for a command: first to the controller, in the capsule or asked for by R2T, then to the host.
///
/// Commands with data one way do what every NVMe/TCP host expects: the descriptor says how many bytes, the opcode which way. The
/// others are the vendor's:
/// - FcRead and Lookup, whose expression or query lies at the metadata pointer, have the controller ask for that (R2T, or all
///   of it in the capsule), and then send the result; the descriptor has the length of the result.
/// - Update has the query behind the records, in one piece of data, whose length is the descriptor's.
/// - Execute Program, both ways, has the controller ask for the request, then send what became of it into the same buffer. The
///   completion's DW1 says how much of that counts.
///
/// Data of a two-way command that is in the capsule has a transport descriptor all the same, for the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transfers {
    /// Bytes to the controller.
    pub to_controller: u32,
    /// The last of them, which the entry's metadata pointer names where memory is shared.
    pub pointed: u32,
    /// Bytes to the host, at most.
    pub to_host: u32,
}

impl Transfers {
    /// Those of an admin command whose descriptor has `length`.
    pub fn of_admin(entry: &SubmissionEntry, length: u32) -> Transfers {
        Transfers::by_opcode(entry.opcode, length)
    }

    /// Those of an I/O command whose descriptor has `length`.
    pub fn of_io(entry: &SubmissionEntry, length: u32) -> Transfers {
        match entry.opcode {
            opcode::FC_READ => Transfers::pointed(entry.cdw10.get(), MAX_ENCODED_BYTES, length),
            opcode::LOOKUP => Transfers::pointed(entry.cdw12.get(), MAX_QUERY_BYTES, length),
            opcode::UPDATE => Transfers {
                to_controller: length,
                // The drive refuses a query that is too long.
                pointed: Some(entry.cdw12.get())
                    .filter(|bytes| *bytes <= length)
                    .unwrap_or(0),
                to_host: 0,
            },
            opcode::EXECUTE_PROGRAM => Transfers {
                to_controller: entry.cdw11.get().min(length),
                pointed: 0,
                to_host: entry.cdw12.get().min(length),
            },
            other => Transfers::by_opcode(other, length),
        }
    }

    /// Whether both ways are used.
    pub fn is_two_way(&self) -> bool {
        self.to_controller > 0 && self.to_host > 0
    }

    /// What lies at the metadata pointer, and a result. Nothing crosses if it is too long: the drive refuses the command.
    fn pointed(bytes: u32, most: usize, result: u32) -> Transfers {
        let pointed = if bytes as usize <= most { bytes } else { 0 };
        Transfers {
            to_controller: pointed,
            pointed,
            to_host: result,
        }
    }

    fn by_opcode(opcode: u8, length: u32) -> Transfers {
        let (to_controller, to_host) = match DataTransfer::of_opcode(opcode) {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identifier::{CommandId, NamespaceId};

    #[test]
    fn two_way_commands_have_both() {
        let entry = |opcode| SubmissionEntry::new(opcode, CommandId::new(1), NamespaceId::new(1));
        let read = Transfers::of_io(&entry(opcode::READ), 4096);
        assert_eq!((read.to_controller, read.to_host), (0, 4096));
        let write = Transfers::of_io(&entry(opcode::WRITE), 4096);
        assert_eq!((write.to_controller, write.to_host), (4096, 0));
        assert!(!write.is_two_way());
        let mut sense = entry(opcode::FC_READ);
        sense.cdw10.set(40);
        let sensed = Transfers::of_io(&sense, 512);
        assert_eq!((sensed.to_controller, sensed.pointed), (40, 40));
        assert!(sensed.is_two_way());
        sense.cdw10.set(u32::MAX);
        assert_eq!(Transfers::of_io(&sense, 512).to_controller, 0);
        let mut update = entry(opcode::UPDATE);
        update.cdw12.set(24);
        let updated = Transfers::of_io(&update, 100);
        assert_eq!((updated.to_controller, updated.pointed), (100, 24));
        let mut run = entry(opcode::EXECUTE_PROGRAM);
        run.cdw11.set(200);
        run.cdw12.set(64);
        let ran = Transfers::of_io(&run, 200);
        assert_eq!((ran.to_controller, ran.to_host), (200, 64));
        assert_eq!(Transfers::of_admin(&entry(0x06), 4096).to_host, 4096);
    }
}
