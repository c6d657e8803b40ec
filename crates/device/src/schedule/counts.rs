//! What the dies have done.

use serde::{Deserialize, Serialize};

use crate::served::Served;

/// What the dies have done, in commands and pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FlashCounts {
    /// Pages sensed by plain reads.
    pub page_reads: u64,
    /// Pages programmed, raises of cells of them included.
    pub page_programs: u64,
    /// Of these, raises.
    pub page_raises: u64,
    /// Blocks erased.
    pub block_erases: u64,
    /// Sensing operations, one for each plane and command, plain reads included.
    pub senses: u64,
    /// Commands that served several planes at once.
    pub multi_plane_commands: u64,
    /// Of these, page reads.
    pub multi_plane_reads: u64,
    /// Of these, programs, copybacks and raises included.
    pub multi_plane_programs: u64,
    /// Of these, erases.
    pub multi_plane_erases: u64,
    /// Pages read for the mapping's own tables, recovery included.
    pub mapping_reads: u64,
    /// Pages programmed for the mapping's own tables.
    pub mapping_programs: u64,
    /// Pages read by collection, copybacks aside.
    pub collection_reads: u64,
    /// Pages programmed by collection, copybacks included.
    pub collection_programs: u64,
    /// Pages copied inside their plane.
    pub copybacks: u64,
    /// Pages programmed with the complement of what was in their plane's register, without data over the channel.
    pub page_complements: u64,
    /// Pages that their code could not correct at the first read.
    pub pages_retried: u64,
    /// Further reads of these, with lower read references.
    pub read_retries: u64,
    /// Of these pages, how many could not be corrected at all.
    pub pages_given_up: u64,
    /// Times a program was suspended.
    pub program_suspensions: u64,
    /// Times an erase was suspended.
    pub erase_suspensions: u64,
    /// Times a computation stood back at a border of its steps.
    pub computations_interrupted: u64,
    /// Pages of latches moved out so that other work could have them.
    pub latches_saved: u64,
    /// Pages moved back into latches.
    pub latches_restored: u64,
}

/// What the flash did for one tenant. Programs and erases are what it wears the flash by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashServed {
    /// Pages read.
    pub reads: Served,
    /// Sequences of sensing commands.
    pub computations: Served,
    /// Pages programmed, copies inside a plane and raises of cells included.
    pub programs: Served,
    /// Blocks erased.
    pub erases: Served,
}
