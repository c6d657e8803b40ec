//! What is to be known of a command, in one place: the rows that the families list and
//! [`super::table`] puts together.

use super::opcode;
use crate::entry::{DataTransfer, SubmissionEntry};
use crate::status::Status;

/// Whose opcodes they are. With the opcode, the key of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandSet {
    /// The admin queue's (Base 5).
    Admin,
    /// Those of namespaces of the NVM command set, the vendor's from 80h on among them.
    Nvm,
    /// Those of memory namespaces (SLM).
    Memory,
    /// Those of compute namespaces (CP).
    Compute,
}

impl CommandSet {
    /// All there are.
    pub const ALL: [CommandSet; 4] = [
        CommandSet::Admin,
        CommandSet::Nvm,
        CommandSet::Memory,
        CommandSet::Compute,
    ];

    /// Whether a command of it may go on until somebody stops it: a run of a program, or a stream read that waits for output. It is asked
    /// of every command.
    pub fn may_last(self, opcode: u8) -> bool {
        match self {
            CommandSet::Nvm => matches!(opcode, opcode::EXECUTE_PROGRAM | opcode::STREAM_READ),
            CommandSet::Compute => opcode == opcode::EXECUTE_OVER_MEMORY,
            CommandSet::Admin | CommandSet::Memory => false,
        }
    }

    /// The command set identifier that namespaces name it by (CSI); none for the admin queue's.
    pub const fn csi(self) -> Option<u8> {
        match self {
            CommandSet::Admin => None,
            CommandSet::Nvm => Some(0x00),
            CommandSet::Memory => Some(0x03),
            CommandSet::Compute => Some(0x04),
        }
    }
}

/// Bits of a command's effects, as the Commands Supported and Effects log has them
/// (Base 5.1.12.1.6).
pub mod effect {
    /// CSUPP: the command is supported.
    pub const SUPPORTED: u32 = 1 << 0;
    /// LBCC: the content of logical blocks may change.
    pub const CHANGES_BLOCKS: u32 = 1 << 1;
    /// NCC: the capabilities of a namespace may change.
    pub const CHANGES_NAMESPACE: u32 = 1 << 2;
    /// CSE = 001b: no other command to the same namespace meanwhile.
    pub const ALONE_IN_NAMESPACE: u32 = 1 << 16;
    /// CSE = 010b: no other command to any namespace meanwhile.
    pub const ALONE: u32 = 2 << 16;
}

/// A field of an entry that a command understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The command dword it begins in, 2 to 5 or 10 to 15.
    pub dword: u8,
    /// Its lowest bit there.
    pub low: u8,
    /// Its bits, 1 to 64; those past bit 31 lie in the next dword.
    pub bits: u8,
    /// What the standard calls it, or a word for it.
    pub name: &'static str,
    /// What it says.
    pub meaning: &'static str,
    /// Values that commands usually have there.
    pub usual: Usual,
}

/// Values of a field that make a command plausible, for tests that send random entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// Any below this number.
    Below(u64),
    /// One of these.
    OneOf(&'static [u64]),
    /// Logical blocks, some past the end of their namespace.
    Block,
}

impl Field {
    /// Bits `low` to `low + bits - 1` of a command dword.
    pub const fn new(
        dword: u8,
        low: u8,
        bits: u8,
        name: &'static str,
        meaning: &'static str,
        usual: Usual,
    ) -> Field {
        Field {
            dword,
            low,
            bits,
            name,
            meaning,
            usual,
        }
    }

    /// A bit that is as often set as not.
    pub const fn flag(dword: u8, bit: u8, name: &'static str, meaning: &'static str) -> Field {
        Field::new(dword, bit, 1, name, meaning, Usual::Below(2))
    }

    /// Puts `value` into the field of `entry`; what does not fit is dropped.
    pub fn put(&self, entry: &mut SubmissionEntry, value: u64) {
        let mask = u128::from(u64::MAX >> (64 - self.bits)) << self.low;
        let value = u128::from(value) << self.low & mask;
        let mut bytes = entry.to_bytes();
        let touched = bytes.iter_mut().skip(4 * usize::from(self.dword));
        for ((byte, mask), value) in touched.zip(mask.to_le_bytes()).zip(value.to_le_bytes()) {
            *byte = *byte & !mask | value;
        }
        *entry = SubmissionEntry::from_bytes(bytes);
    }
}

/// One command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Whose command it is.
    pub set: CommandSet,
    /// Its opcode there.
    pub opcode: u8,
    /// Its name.
    pub name: &'static str,
    /// What a trace calls it.
    pub label: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// What it does to others: bits of [`effect`], without [`effect::SUPPORTED`].
    pub effects: u32,
    /// The fields that it understands, besides those that every command has.
    pub fields: &'static [Field],
}

/// A row, and how the entry of its command is decoded.
pub(super) struct Decoded<C> {
    pub(super) row: Row,
    pub(super) decode: fn(&SubmissionEntry) -> Result<C, Status>,
}

impl Row {
    pub(super) const fn new(
        set: CommandSet,
        opcode: u8,
        name: &'static str,
        label: &'static str,
        source: &'static str,
    ) -> Row {
        Row {
            set,
            opcode,
            name,
            label,
            source,
            effects: 0,
            fields: &[],
        }
    }

    /// With these effects.
    pub(super) const fn effects(mut self, effects: u32) -> Row {
        self.effects = effects;
        self
    }

    /// With these fields.
    pub(super) const fn fields(mut self, fields: &'static [Field]) -> Row {
        self.fields = fields;
        self
    }

    pub(super) const fn decoded_by<C>(
        self,
        decode: fn(&SubmissionEntry) -> Result<C, Status>,
    ) -> Decoded<C> {
        Decoded { row: self, decode }
    }

    /// Which way its data flows.
    pub const fn direction(&self) -> DataTransfer {
        DataTransfer::of_opcode(self.opcode)
    }

    /// Makes `entry`, of any content, a plausible entry of this command for a namespace of
    /// `blocks` blocks: most fields get a usual value, some stay as they are. `below` draws a
    /// number below its argument.
    pub fn make_plausible(
        &self,
        entry: &mut SubmissionEntry,
        blocks: u64,
        below: &mut dyn FnMut(u64) -> u64,
    ) {
        entry.opcode = self.opcode;
        for field in self.fields {
            if below(16) == 0 {
                continue;
            }
            let value = match field.usual {
                Usual::Below(end) => below(end),
                Usual::OneOf(values) => values[below(values.len() as u64) as usize],
                Usual::Block => below(blocks + blocks / 8),
            };
            field.put(entry, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_put_where_it_lies() {
        let mut entry = SubmissionEntry::default();
        let field = |dword, low, bits| Field::new(dword, low, bits, "", "", Usual::Below(1));
        field(10, 0, 64).put(&mut entry, 0x0123_4567_89AB_CDEF);
        assert_eq!(entry.cdw10.get(), 0x89AB_CDEF);
        assert_eq!(entry.cdw11.get(), 0x0123_4567);
        field(12, 20, 4).put(&mut entry, 0xFF);
        assert_eq!(entry.cdw12.get(), 0x00F0_0000, "too much is dropped");
        field(12, 16, 8).put(&mut entry, 0);
        assert_eq!(entry.cdw12.get(), 0, "what was there is gone");
        field(15, 31, 1).put(&mut entry, 1);
        assert_eq!(entry.cdw15.get(), 1 << 31);
        field(2, 16, 16).put(&mut entry, 0xABCD);
        assert_eq!(entry.cdw2[0].get(), 0xABCD_0000);
        field(4, 0, 32).put(&mut entry, 7);
        assert_eq!(entry.metadata_pointer.get(), 7);
    }
}
