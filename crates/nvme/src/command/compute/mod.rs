//! Memory range sets, and programs that run over them: commands of compute namespaces (Computational Programs command set, "CP").
//!
//! A program sees its ranges as files, in their order.

mod range;
mod rows;

pub use range::{MemoryRange, MemoryRangeSets, RangeSetAction};
pub(super) use rows::{ADMIN_ROWS, IO_ROWS};

use super::{halves, join_dwords, join_halves, opcode};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{CommandId, NamespaceId};
use crate::status::Status;

/// A decoded command of a compute namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputeCommand {
    /// Runs a program.
    Execute(ExecuteOverMemory),
}

/// Execute Program (CP): runs an activated program over ranges of memory. DW0 and DW1 of the completion are the first 8 bytes of
/// what it returned; of a run that failed (Program Failed), DW0 is how it ended ([`crate::task::Ended::code`]) and DW1 the code of one that
/// asked to be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecuteOverMemory {
    /// The compute namespace that has the program.
    pub namespace: NamespaceId,
    /// Its index there (PIND).
    pub program: u16,
    /// The memory range set that it sees; 0 is none (RSID).
    pub set: u16,
    /// Ranges with which the data begins, which it sees if there is no set (NUMR).
    pub ranges: u32,
    /// Bytes of the data (DLEN): ranges, and then the arguments of the program.
    pub data_bytes: u32,
    /// Two numbers for the program (CPARAM1, CPARAM2).
    pub parameters: [u64; 2],
    /// Where the data lies.
    pub data: DataPointer,
}

impl ComputeCommand {
    /// The namespace the command addresses.
    pub fn namespace(&self) -> NamespaceId {
        match self {
            ComputeCommand::Execute(execute) => execute.namespace,
        }
    }

    /// The entry that asks for this command under `command_id`.
    pub fn encode(&self, command_id: CommandId) -> SubmissionEntry {
        match self {
            ComputeCommand::Execute(execute) => execute.encode(SubmissionEntry::new(
                opcode::EXECUTE_OVER_MEMORY,
                command_id,
                execute.namespace,
            )),
        }
    }
}

impl ExecuteOverMemory {
    /// # Errors
    /// Invalid Field for a set and ranges at once, and for data that the ranges do not fit into.
    fn decode(entry: &SubmissionEntry) -> Result<ExecuteOverMemory, Status> {
        let (program, set) = halves(entry.cdw2[0].get());
        let first = join_dwords(entry.cdw10.get(), entry.cdw11.get());
        let second = join_dwords(entry.cdw12.get(), entry.cdw13.get());
        let command = ExecuteOverMemory {
            namespace: entry.namespace(),
            program,
            set,
            ranges: entry.cdw2[1].get(),
            data_bytes: entry.metadata_pointer.get() as u32,
            parameters: [first, second],
            data: DataPointer::decode(entry)?,
        };
        let is_one = command.set == 0 || command.ranges == 0;
        match is_one && command.range_bytes() <= command.data_bytes.into() {
            true => Ok(command),
            false => Err(Status::INVALID_FIELD),
        }
    }

    /// Bytes of the ranges with which the data begins.
    pub fn range_bytes(&self) -> u64 {
        u64::from(self.ranges) * MemoryRange::BYTES as u64
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw2[0].set(join_halves(self.program, self.set));
        entry.cdw2[1].set(self.ranges);
        entry.metadata_pointer.set(self.data_bytes.into());
        let [first, second] = self.parameters;
        entry.cdw10.set(first as u32);
        entry.cdw11.set((first >> 32) as u32);
        entry.cdw12.set(second as u32);
        entry.cdw13.set((second >> 32) as u32);
        self.data.encode_into(&mut entry);
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_round_trips() {
        let execute = ExecuteOverMemory {
            namespace: NamespaceId::new(3),
            program: 0x0102,
            set: 0,
            ranges: 2,
            data_bytes: 80,
            parameters: [0x0102_0304_0506_0708, u64::MAX],
            data: DataPointer::Sgl {
                address: 0x1000,
                length: 80,
            },
        };
        let command = ComputeCommand::Execute(execute);
        let entry = command.encode(CommandId::new(1));
        let bytes = entry.to_bytes();
        assert_eq!(bytes[8..20], [2, 1, 0, 0, 2, 0, 0, 0, 80, 0, 0, 0]);
        assert_eq!(ComputeCommand::decode(&entry), Ok(command));
        for (set, data_bytes) in [(1, 80), (0, 63)] {
            let wrong = ExecuteOverMemory {
                set,
                data_bytes,
                ..execute
            };
            let entry = ComputeCommand::Execute(wrong).encode(CommandId::new(1));
            let refused = ComputeCommand::decode(&entry);
            assert_eq!(refused, Err(Status::INVALID_FIELD));
        }
    }

    #[test]
    fn range_sets_round_trip() {
        let sets = |action| MemoryRangeSets {
            namespace: NamespaceId::new(3),
            action,
            data: DataPointer::NONE,
        };
        for action in [
            RangeSetAction::Create { ranges: 3 },
            RangeSetAction::Delete { set: 0x0102 },
        ] {
            let command = crate::AdminCommand::MemoryRangeSets(sets(action));
            let entry = command.encode(CommandId::new(1));
            assert_eq!(crate::AdminCommand::decode(&entry), Ok(command));
        }
        let range = MemoryRange::new(NamespaceId::new(2), 0x0102_0304_0508, 64);
        let bytes = zerocopy::IntoBytes::as_bytes(&range);
        assert_eq!(
            bytes[..16],
            [2, 0, 0, 0, 64, 0, 0, 0, 8, 5, 4, 3, 2, 1, 0, 0]
        );
        assert_eq!(MemoryRange::parse(bytes), [range]);
    }
}
