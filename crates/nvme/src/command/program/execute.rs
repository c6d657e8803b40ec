//! Running a program.

use crate::command::{halves, join_halves, opcode};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{CommandId, NamespaceId};
use crate::status::Status;
use crate::task::{MAX_REQUEST_BYTES, MAX_RESULT_BYTES, REQUEST_BYTES_MIN, RESULT_BYTES_MIN};

/// Runs an activated program once, over files. The buffer holds the [`crate::task::Request`]; what becomes of the run overwrites it from its
/// beginning ([`crate::task::Outcome`]). DW0 of the completion is how the run ended ([`crate::task::Ended::code`]), DW1 the
/// bytes written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecuteProgram {
    /// The namespace that has the blocks.
    pub namespace: NamespaceId,
    /// The program's index (PIND).
    pub program: u16,
    /// The namespace that has the program; 0 is the one that has the blocks.
    pub program_namespace: u16,
    /// Bytes of the request.
    pub request_bytes: u32,
    /// Bytes that there is room for, of what becomes of the run.
    pub result_bytes: u32,
    /// The buffer, as long as the longer of both.
    pub data: DataPointer,
}

impl ExecuteProgram {
    /// Bytes of the buffer.
    pub fn buffer_bytes(&self) -> u64 {
        self.request_bytes.max(self.result_bytes).into()
    }

    /// # Errors
    /// Invalid Field for lengths that no request or no result has.
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<ExecuteProgram, Status> {
        let (program, program_namespace) = halves(entry.cdw10.get());
        let command = ExecuteProgram {
            namespace: entry.namespace(),
            program,
            program_namespace,
            request_bytes: entry.cdw11.get(),
            result_bytes: entry.cdw12.get(),
            data: DataPointer::decode(entry)?,
        };
        let request = REQUEST_BYTES_MIN..=MAX_REQUEST_BYTES;
        let result = RESULT_BYTES_MIN..=MAX_RESULT_BYTES;
        match request.contains(&command.request_bytes) && result.contains(&command.result_bytes) {
            true => Ok(command),
            false => Err(Status::INVALID_FIELD),
        }
    }

    pub(in crate::command) fn encode(&self, command_id: CommandId) -> SubmissionEntry {
        let mut entry = SubmissionEntry::new(opcode::EXECUTE_PROGRAM, command_id, self.namespace);
        entry
            .cdw10
            .set(join_halves(self.program, self.program_namespace));
        entry.cdw11.set(self.request_bytes);
        entry.cdw12.set(self.result_bytes);
        self.data.encode_into(&mut entry);
        entry
    }
}
