//! The vendor commands of name-value lookup (ANVIL 4.4). Their fields are in [`ROWS`], and from there in
//! `docs/reference/commands.md`.
//!
//! A *data region* is a range of logical blocks that holds values of one size, in the order in which they were appended;
//! no value lies across two logical pages, unless it is longer than one. A *search region* holds a name for each of them, transposed, in
//! flash that is lent to it. Several search regions may belong to one data region: then entries have as many names.
//!
//! An appended *record* is, of each search region of the data region in the order of their numbers, the name, and, where don't
//! cares can be stored, a mask of as many bytes ([`crate::query::Pattern`]); then the value.

mod entries;
mod lookup;
mod region;
mod rows;

pub use entries::{Append, Delete, Update};
pub use lookup::{Lookup, LookupContinue, Returned, SimpleLookup};
pub use region::{RegionAllocate, RegionDeallocate, RegionRecord, RegionReport};
pub(super) use rows::ROWS;

use crate::command::{halves, opcode};
use crate::entry::SubmissionEntry;
use crate::identifier::{CommandId, NamespaceId, RegionId};
use crate::query::MAX_QUERY_BYTES;
use crate::status::Status;

/// The most bytes of a value.
pub const MAX_VALUE_BYTES: u32 = 1 << 24;
/// Bits of the longest name that a Simple Lookup compares.
pub const SIMPLE_NAME_BITS: u32 = 127;

/// An operation on names and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchCommand {
    /// Allocates a search region; DW0 of the completion is its number.
    Allocate(RegionAllocate),
    /// Deallocates a search region.
    Deallocate(RegionDeallocate),
    /// Appends entries; DW0 is the number of the first.
    Append(Append),
    /// Deletes what a query finds and appends entries, both or nothing; DW0 is the number of the first, DW1 how many were deleted.
    Update(Update),
    /// Looks up one name; DW0 is how many records were returned, or are there, DW1 the cursor to go on with, or 0.
    SimpleLookup(SimpleLookup),
    /// Looks up what a query finds, completed likewise.
    Lookup(Lookup),
    /// Goes on with a lookup whose buffer was too small, completed likewise.
    LookupContinue(LookupContinue),
    /// Deletes what a query finds; DW0 is how many entries.
    Delete(Delete),
    /// Lists search regions; DW0 is how many there are.
    Report(RegionReport),
}

impl SearchCommand {
    pub(super) fn encode(&self, command_id: CommandId) -> SubmissionEntry {
        let entry = |opcode| SubmissionEntry::new(opcode, command_id, self.namespace());
        match self {
            SearchCommand::Allocate(command) => command.encode(entry(opcode::REGION_ALLOCATE)),
            SearchCommand::Deallocate(command) => command.encode(entry(opcode::REGION_DEALLOCATE)),
            SearchCommand::Append(command) => command.encode(entry(opcode::APPEND)),
            SearchCommand::Update(command) => command.encode(entry(opcode::UPDATE)),
            SearchCommand::SimpleLookup(command) => command.encode(entry(opcode::SIMPLE_LOOKUP)),
            SearchCommand::Lookup(command) => command.encode(entry(opcode::LOOKUP)),
            SearchCommand::LookupContinue(command) => {
                command.encode(entry(opcode::LOOKUP_CONTINUE))
            }
            SearchCommand::Delete(command) => command.encode(entry(opcode::DELETE)),
            SearchCommand::Report(command) => command.encode(entry(opcode::REGION_REPORT)),
        }
    }

    /// The namespace the command addresses.
    pub fn namespace(&self) -> NamespaceId {
        match self {
            SearchCommand::Allocate(command) => command.namespace,
            SearchCommand::Deallocate(command) => command.namespace,
            SearchCommand::Append(command) => command.namespace,
            SearchCommand::Update(command) => command.append.namespace,
            SearchCommand::SimpleLookup(command) => command.namespace,
            SearchCommand::Lookup(command) => command.namespace,
            SearchCommand::LookupContinue(command) => command.namespace,
            SearchCommand::Delete(command) => command.namespace,
            SearchCommand::Report(command) => command.namespace,
        }
    }
}

/// The search region of CDW10.
fn region_of(entry: &SubmissionEntry) -> RegionId {
    RegionId::new(halves(entry.cdw10.get()).0)
}

/// A number that is not zero.
fn positive(number: u32) -> Result<u32, Status> {
    match number {
        0 => Err(Status::INVALID_FIELD),
        number => Ok(number),
    }
}

/// The length of a query.
fn query_bytes(bytes: u32) -> Result<u32, Status> {
    match bytes as usize {
        1..=MAX_QUERY_BYTES => Ok(bytes),
        _ => Err(Status::INVALID_FIELD),
    }
}
