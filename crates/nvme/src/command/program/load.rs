//! Loading programs and activating them.

use crate::command::{bit, halves, join_dwords};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::NamespaceId;
use crate::status::Status;

/// The program type of a WebAssembly module, of those that are the vendor's.
pub const WEB_ASSEMBLY: u8 = 0xC0;

const UNLOAD_BIT: u32 = 24;
pub(super) const PERSISTENT_BIT: u32 = 31;
const TYPE_SHIFT: u32 = 16;
const SELECT_SHIFT: u32 = 16;
const SELECT_MASK: u32 = 0xF;

/// Load Program (CP): a chunk of a program, or that it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadProgram {
    /// The namespace to which the program belongs.
    pub namespace: NamespaceId,
    /// Its index there (PIND).
    pub program: u16,
    /// What it is written in (PTYPE): [`WEB_ASSEMBLY`].
    pub program_type: u8,
    /// Unloads the program; nothing else counts then (SEL).
    pub unload: bool,
    /// The drive keeps it through power cycles (vendor specific).
    pub persistent: bool,
    /// Bytes of all of it, said with each chunk (PSIZE).
    pub program_bytes: u32,
    /// What its owner calls it; the list of programs tells it (PID).
    pub identifier: u64,
    /// Bytes of this chunk (NUMB).
    pub chunk_bytes: u32,
    /// Where it begins: where the chunk before ended, 0 for the first (LOFF).
    pub offset: u32,
    /// Where the chunk lies.
    pub data: DataPointer,
}

/// Program Activation Management (CP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramActivation {
    /// The namespace to which the program belongs.
    pub namespace: NamespaceId,
    /// Its index there (PIND).
    pub program: u16,
    /// Makes it ready to run, or no longer so (SEL).
    pub activate: bool,
}

impl LoadProgram {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<LoadProgram, Status> {
        let select = entry.cdw10.get();
        Ok(LoadProgram {
            namespace: entry.namespace(),
            program: halves(select).0,
            program_type: (select >> TYPE_SHIFT) as u8,
            unload: bit(select, UNLOAD_BIT),
            persistent: bit(select, PERSISTENT_BIT),
            program_bytes: entry.cdw11.get(),
            identifier: join_dwords(entry.cdw12.get(), entry.cdw13.get()),
            chunk_bytes: entry.cdw14.get(),
            offset: entry.cdw15.get(),
            data: DataPointer::decode(entry)?,
        })
    }

    pub(in crate::command) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(
            u32::from(self.program)
                | u32::from(self.program_type) << TYPE_SHIFT
                | u32::from(self.unload) << UNLOAD_BIT
                | u32::from(self.persistent) << PERSISTENT_BIT,
        );
        entry.cdw11.set(self.program_bytes);
        entry.cdw12.set(self.identifier as u32);
        entry.cdw13.set((self.identifier >> 32) as u32);
        entry.cdw14.set(self.chunk_bytes);
        entry.cdw15.set(self.offset);
        self.data.encode_into(&mut entry);
        entry
    }
}

impl ProgramActivation {
    /// # Errors
    /// Invalid Field for a selection that is neither.
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<ProgramActivation, Status> {
        let select = entry.cdw10.get();
        Ok(ProgramActivation {
            namespace: entry.namespace(),
            program: halves(select).0,
            activate: match select >> SELECT_SHIFT & SELECT_MASK {
                0 => false,
                1 => true,
                _ => return Err(Status::INVALID_FIELD),
            },
        })
    }

    pub(in crate::command) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let select = u32::from(self.program) | u32::from(self.activate) << SELECT_SHIFT;
        entry.cdw10.set(select);
        entry
    }
}
