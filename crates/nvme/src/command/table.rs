//! The table of commands: from (command set, opcode) to everything that is to be known of a command.
//! The families list their rows; decoding, the log of effects, the test that sends random entries and
//! `docs/reference/commands.md` follow them.

use super::row::{CommandSet, Decoded, Row};
use super::{
    AdminCommand, ComputeCommand, IoCommand, MemoryCommand, admin, bits, check_flags, compute, io,
    local, opcode, program, search, stream,
};
use crate::entry::SubmissionEntry;
use crate::status::Status;

/// All commands of all sets, in order of opcode within a family.
pub fn commands() -> impl Iterator<Item = &'static Row> {
    let admin = admin::ROWS.iter().map(|command| &command.row);
    let nvm = io::ROWS.iter().map(|command| &command.row);
    let bits = bits::ROWS.iter().map(|command| &command.row);
    let search = search::ROWS.iter().map(|command| &command.row);
    let load = program::ADMIN_ROWS.iter().map(|command| &command.row);
    let run = program::IO_ROWS.iter().map(|command| &command.row);
    let stream = stream::ROWS.iter().map(|command| &command.row);
    let sets = compute::ADMIN_ROWS.iter().map(|command| &command.row);
    let memory = local::ROWS.iter().map(|command| &command.row);
    let compute = compute::IO_ROWS.iter().map(|command| &command.row);
    let standard = admin.chain(load).chain(sets).chain(nvm);
    let vendor = bits.chain(search).chain(run).chain(stream);
    standard.chain(vendor).chain(memory).chain(compute)
}

/// The row of a command, if there is such a one.
pub fn row(set: CommandSet, opcode: u8) -> Option<&'static Row> {
    commands().find(|row| (row.set, row.opcode) == (set, opcode))
}

/// What a family makes of an entry, if the opcode is one of its.
fn decode_by<C>(
    rows: &'static [Decoded<C>],
    set: CommandSet,
    entry: &SubmissionEntry,
) -> Option<Result<C, Status>> {
    let mut of_set = rows.iter().filter(|command| command.row.set == set);
    let found = of_set.find(|command| command.row.opcode == entry.opcode)?;
    Some((found.decode)(entry))
}

/// A decoded command of any set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// For the admin queue.
    Admin(AdminCommand),
    /// For a namespace of the NVM command set.
    Nvm(IoCommand),
    /// For a memory namespace.
    Memory(MemoryCommand),
    /// For a compute namespace.
    Compute(ComputeCommand),
}

impl Command {
    /// The command of `set` that `entry` asks for.
    ///
    /// # Errors
    /// Those of [`AdminCommand::decode`], [`IoCommand::decode`], [`MemoryCommand::decode`] and [`ComputeCommand::decode`].
    #[inline]
    pub fn decode(set: CommandSet, entry: &SubmissionEntry) -> Result<Command, Status> {
        Ok(match set {
            CommandSet::Admin => Command::Admin(AdminCommand::decode(entry)?),
            CommandSet::Nvm => Command::Nvm(IoCommand::decode(entry)?),
            CommandSet::Memory => Command::Memory(MemoryCommand::decode(entry)?),
            CommandSet::Compute => Command::Compute(ComputeCommand::decode(entry)?),
        })
    }
}

impl AdminCommand {
    /// The command that `entry` asks for. Both forms of data pointer are taken; a transport that
    /// allows PRPs only (PCIe) checks that itself.
    ///
    /// # Errors
    /// Invalid Command Opcode; Invalid Field for fused operations and reserved values; PRP Offset
    /// Invalid for queues that are not page-aligned; the statuses of [`crate::DataPointer::decode`].
    pub fn decode(entry: &SubmissionEntry) -> Result<AdminCommand, Status> {
        let set = CommandSet::Admin;
        let decoded = decode_by(&admin::ROWS, set, entry)
            .or_else(|| decode_by(&program::ADMIN_ROWS, set, entry))
            .or_else(|| decode_by(&compute::ADMIN_ROWS, set, entry));
        let command = decoded.unwrap_or(Err(Status::INVALID_OPCODE))?;
        check_flags(entry)?;
        Ok(command)
    }
}

impl IoCommand {
    /// The command that `entry` asks for, of a namespace of the NVM command set.
    ///
    /// # Errors
    /// Invalid Command Opcode; Invalid Field for fused operations, reserved values and directives,
    /// which are unsupported; the statuses of [`crate::DataPointer::decode`].
    #[inline]
    pub fn decode(entry: &SubmissionEntry) -> Result<IoCommand, Status> {
        let command = match entry.opcode {
            // By far the most frequent ones, without a look at the table.
            opcode::READ => io::decode_read(entry)?,
            opcode::WRITE => io::decode_write(entry)?,
            _ => IoCommand::decode_rarer(entry)?,
        };
        check_flags(entry)?;
        Ok(command)
    }

    fn decode_rarer(entry: &SubmissionEntry) -> Result<IoCommand, Status> {
        let set = CommandSet::Nvm;
        decode_by(&io::ROWS, set, entry)
            .or_else(|| Some(decode_by(&bits::ROWS, set, entry)?.map(IoCommand::Bits)))
            .or_else(|| Some(decode_by(&search::ROWS, set, entry)?.map(IoCommand::Search)))
            .or_else(|| Some(decode_by(&program::IO_ROWS, set, entry)?.map(IoCommand::Execute)))
            .or_else(|| Some(decode_by(&stream::ROWS, set, entry)?.map(IoCommand::Stream)))
            .unwrap_or(Err(Status::INVALID_OPCODE))
    }
}

impl MemoryCommand {
    /// The command that `entry` asks for, of a memory namespace.
    ///
    /// # Errors
    /// Invalid Command Opcode; Invalid Field for fused operations, lengths and places that are not whole dwords, and descriptor
    /// formats that name no source; the statuses of [`crate::DataPointer::decode`].
    pub fn decode(entry: &SubmissionEntry) -> Result<MemoryCommand, Status> {
        let decoded = decode_by(&local::ROWS, CommandSet::Memory, entry);
        let command = decoded.unwrap_or(Err(Status::INVALID_OPCODE))?;
        check_flags(entry)?;
        Ok(command)
    }
}

impl ComputeCommand {
    /// The command that `entry` asks for, of a compute namespace.
    ///
    /// # Errors
    /// Invalid Command Opcode; Invalid Field for fused operations, and for a range set and ranges of the command's own at once;
    /// the statuses of [`crate::DataPointer::decode`].
    pub fn decode(entry: &SubmissionEntry) -> Result<ComputeCommand, Status> {
        let decoded = decode_by(&compute::IO_ROWS, CommandSet::Compute, entry);
        let command = decoded.unwrap_or(Err(Status::INVALID_OPCODE))?;
        check_flags(entry)?;
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_commands_share_a_key() {
        let keys: BTreeSet<_> = commands().map(|row| (row.set, row.opcode)).collect();
        assert_eq!(keys.len(), commands().count());
    }

    #[test]
    fn fields_lie_in_the_entry_and_do_not_overlap() {
        for row in commands() {
            let mut taken = BTreeSet::new();
            for field in row.fields {
                let first = u32::from(field.dword) * 32 + u32::from(field.low);
                for bit in first..first + u32::from(field.bits) {
                    // Between them lies the data pointer.
                    let is_there = matches!(bit / 32, 2..=5 | 10..=15);
                    let free = is_there && taken.insert(bit);
                    assert!(free, "{}: {}", row.name, field.name);
                }
            }
        }
    }

    /// The shortcut for reads and writes is what the table says.
    #[test]
    fn every_row_decodes_its_own_opcode() {
        for row in commands() {
            let mut entry = SubmissionEntry {
                opcode: row.opcode,
                ..SubmissionEntry::default()
            };
            // A length or an action of zero is refused by some, for another reason.
            entry.cdw10.set(1);
            entry.cdw11.set(64);
            entry.cdw12.set(64);
            let refused = Command::decode(row.set, &entry).err();
            assert_ne!(refused, Some(Status::INVALID_OPCODE), "{}", row.name);
        }
        for opcode in [opcode::READ, opcode::WRITE] {
            let entry = SubmissionEntry {
                opcode,
                ..SubmissionEntry::default()
            };
            let listed = decode_by(&io::ROWS, CommandSet::Nvm, &entry);
            assert_eq!(listed, Some(IoCommand::decode(&entry)));
        }
    }
}
