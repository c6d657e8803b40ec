//! Queue entries as the bytes that lie in the queues: 64 for a command (Base 4.1), 16 for its
//! completion (Base 4.2).

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::identifier::{CommandId, NamespaceId, QueueId};
use crate::status::Status;

/// A submission queue entry in the Common Command Format (Base 4.1.1), little-endian.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct SubmissionEntry {
    /// OPC, CDW0 bits 7:0.
    pub opcode: u8,
    /// CDW0 bits 15:8: FUSE in bits 1:0, PSDT in bits 7:6.
    pub flags: u8,
    /// CID, CDW0 bits 31:16.
    pub command_id: U16,
    /// NSID.
    pub namespace_id: U32,
    /// CDW2 and CDW3, reserved or specific to the command.
    pub cdw2: [U32; 2],
    /// MPTR: address of the metadata, a byte address in host memory.
    pub metadata_pointer: U64,
    /// DPTR: two PRP entries or one SGL descriptor.
    pub data_pointer: [u8; 16],
    /// CDW10, specific to the command as the following ones.
    pub cdw10: U32,
    /// CDW11.
    pub cdw11: U32,
    /// CDW12.
    pub cdw12: U32,
    /// CDW13.
    pub cdw13: U32,
    /// CDW14.
    pub cdw14: U32,
    /// CDW15.
    pub cdw15: U32,
}

/// Bytes of a submission queue entry.
const SUBMISSION_BYTES: usize = 64;
/// Bytes of a completion queue entry.
const COMPLETION_BYTES: usize = 16;

const _: () = assert!(size_of::<SubmissionEntry>() == SUBMISSION_BYTES);
const _: () = assert!(offset_of!(SubmissionEntry, data_pointer) == 24);
const _: () = assert!(offset_of!(SubmissionEntry, cdw10) == 40);
const _: () = assert!(size_of::<CompletionEntry>() == COMPLETION_BYTES);

/// Whether a command is half of a fused operation (FUSE; Base 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fuse {
    /// A command of its own.
    Normal,
    /// The first of the two.
    First,
    /// The second of the two.
    Second,
    /// The reserved code 3.
    Reserved,
}

/// Which way a command's data flows, from the low two bits of its opcode (Base 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataTransfer {
    /// No data.
    None,
    /// From the host to the controller.
    HostToController,
    /// From the controller to the host.
    ControllerToHost,
    /// Both ways.
    Bidirectional,
}

impl DataTransfer {
    /// The direction an opcode implies.
    pub const fn of_opcode(opcode: u8) -> DataTransfer {
        match opcode & 3 {
            0 => DataTransfer::None,
            1 => DataTransfer::HostToController,
            2 => DataTransfer::ControllerToHost,
            _ => DataTransfer::Bidirectional,
        }
    }
}

impl SubmissionEntry {
    /// Bytes of an entry (the 2^6 of SQES).
    pub const BYTES: usize = SUBMISSION_BYTES;

    /// An entry with this opcode, command and namespace, all else zero.
    pub fn new(opcode: u8, command_id: CommandId, namespace: NamespaceId) -> SubmissionEntry {
        SubmissionEntry {
            opcode,
            command_id: command_id.get().into(),
            namespace_id: namespace.get().into(),
            ..SubmissionEntry::default()
        }
    }

    /// The entry these bytes are.
    pub fn from_bytes(bytes: [u8; SUBMISSION_BYTES]) -> SubmissionEntry {
        zerocopy::transmute!(bytes)
    }

    /// The bytes of this entry.
    pub fn to_bytes(self) -> [u8; SUBMISSION_BYTES] {
        zerocopy::transmute!(self)
    }

    /// The command identifier (CID).
    pub fn command(&self) -> CommandId {
        CommandId::new(self.command_id.get())
    }

    /// The namespace (NSID).
    pub fn namespace(&self) -> NamespaceId {
        NamespaceId::new(self.namespace_id.get())
    }

    /// The FUSE field.
    pub fn fuse(&self) -> Fuse {
        match self.flags & 3 {
            0 => Fuse::Normal,
            1 => Fuse::First,
            2 => Fuse::Second,
            _ => Fuse::Reserved,
        }
    }

    /// The PSDT field, 0 to 3.
    pub fn psdt(&self) -> u8 {
        self.flags >> 6
    }

    /// The direction in which the opcode says data flows.
    pub fn data_transfer(&self) -> DataTransfer {
        DataTransfer::of_opcode(self.opcode)
    }
}

/// A completion queue entry (Base 4.2.1), little-endian.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct CompletionEntry {
    /// DW0, specific to the command.
    pub dw0: U32,
    /// DW1, specific to the command.
    pub dw1: U32,
    /// SQHD: the submission queue's head when this entry was made.
    pub queue_head: U16,
    /// SQID: the submission queue the command came from.
    pub queue_id: U16,
    /// CID of the command.
    pub command_id: U16,
    /// Phase tag in bit 0, the status field in bits 15:1.
    pub status_and_phase: U16,
}

impl CompletionEntry {
    /// Bytes of an entry (the 2^4 of CQES).
    pub const BYTES: usize = COMPLETION_BYTES;

    /// The completion of `command`, fetched from `queue` whose head is now `queue_head`.
    pub fn new(
        command: CommandId,
        queue: QueueId,
        queue_head: u16,
        status: Status,
        phase: bool,
    ) -> CompletionEntry {
        CompletionEntry {
            queue_head: queue_head.into(),
            queue_id: queue.get().into(),
            command_id: command.get().into(),
            status_and_phase: (status.field() << 1 | u16::from(phase)).into(),
            ..CompletionEntry::default()
        }
    }

    /// The same completion with these as its command-specific results.
    #[must_use]
    pub fn with_results(self, dw0: u32, dw1: u32) -> CompletionEntry {
        CompletionEntry {
            dw0: dw0.into(),
            dw1: dw1.into(),
            ..self
        }
    }

    /// The entry these bytes are.
    pub fn from_bytes(bytes: [u8; COMPLETION_BYTES]) -> CompletionEntry {
        zerocopy::transmute!(bytes)
    }

    /// The bytes of this entry.
    pub fn to_bytes(self) -> [u8; COMPLETION_BYTES] {
        zerocopy::transmute!(self)
    }

    /// The command that completed (CID).
    pub fn command(&self) -> CommandId {
        CommandId::new(self.command_id.get())
    }

    /// The submission queue it came from (SQID).
    pub fn queue(&self) -> QueueId {
        QueueId::new(self.queue_id.get())
    }

    /// How it ended.
    pub fn status(&self) -> Status {
        Status::from_field(self.status_and_phase.get() >> 1)
    }

    /// The phase tag, which tells a new entry from one of the round before (Base 4.2.4).
    pub fn phase(&self) -> bool {
        self.status_and_phase.get() & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submission_fields_lie_at_the_standards_offsets() {
        let bytes: [u8; 64] = std::array::from_fn(|index| index as u8);
        let entry = SubmissionEntry::from_bytes(bytes);
        assert_eq!(entry.opcode, 0x00);
        assert_eq!(entry.flags, 0x01);
        assert_eq!(entry.command().get(), 0x0302);
        assert_eq!(entry.namespace().get(), 0x0706_0504);
        assert_eq!(entry.cdw2[0].get(), 0x0B0A_0908);
        assert_eq!(entry.cdw2[1].get(), 0x0F0E_0D0C);
        assert_eq!(entry.metadata_pointer.get(), 0x1716_1514_1312_1110);
        assert_eq!(entry.data_pointer, bytes[24..40]);
        assert_eq!(entry.cdw10.get(), 0x2B2A_2928);
        assert_eq!(entry.cdw11.get(), 0x2F2E_2D2C);
        assert_eq!(entry.cdw12.get(), 0x3332_3130);
        assert_eq!(entry.cdw13.get(), 0x3736_3534);
        assert_eq!(entry.cdw14.get(), 0x3B3A_3938);
        assert_eq!(entry.cdw15.get(), 0x3F3E_3D3C);
        assert_eq!(entry.to_bytes(), bytes);
    }

    #[test]
    fn command_dword_zero_splits_as_specified() {
        let mut bytes = [0u8; 64];
        bytes[..4].copy_from_slice(&0xBEEF_4102u32.to_le_bytes());
        let entry = SubmissionEntry::from_bytes(bytes);
        assert_eq!(entry.opcode, 0x02);
        assert_eq!(entry.fuse(), Fuse::First);
        assert_eq!(entry.psdt(), 1);
        assert_eq!(entry.command().get(), 0xBEEF);
        assert_eq!(entry.data_transfer(), DataTransfer::ControllerToHost);
    }

    #[test]
    fn completion_fields_lie_at_the_standards_offsets() {
        let entry = CompletionEntry::new(
            CommandId::new(0xABCD),
            QueueId::new(0x0102),
            0x0304,
            Status::LBA_OUT_OF_RANGE.with_do_not_retry(),
            true,
        )
        .with_results(0x1122_3344, 0);
        let expected = [
            0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0x04, 0x03, 0x02, 0x01, 0xCD, 0xAB, 0x01, 0x81,
        ];
        assert_eq!(entry.to_bytes(), expected);
        let back = CompletionEntry::from_bytes(expected);
        assert!(back.phase());
        assert_eq!(back.status(), Status::LBA_OUT_OF_RANGE.with_do_not_retry());
        assert_eq!(back.command().get(), 0xABCD);
        assert_eq!(back.queue().get(), 0x0102);
    }
}
