//! What the translation layer has done. What the host asks for is counted in logical pages, what is moved in flash pages; a
//! flash page has one or more logical ones (`ftl.mapping_unit_bytes`).

use serde::{Deserialize, Serialize};

/// What the translation layer has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FtlCounts {
    /// Logical pages that host commands wrote, whole or in part.
    pub host_page_writes: u64,
    /// Logical pages that host commands read, whole or in part.
    pub host_page_reads: u64,
    /// Of these, logical pages without data, which touch no flash.
    pub unmapped_page_reads: u64,
    /// Logical pages read because a write covered only a part of them.
    pub partial_write_reads: u64,
    /// Records of deallocation written.
    pub tombstones: u64,
    /// Blocks emptied by garbage collection.
    pub gc_blocks: u64,
    /// Flash pages programmed with copies by garbage collection.
    pub gc_page_copies: u64,
    /// Blocks emptied because they were erased much less often than others of their plane.
    pub wear_levelling_blocks: u64,
    /// Flash pages programmed with copies for that.
    pub wear_levelling_page_copies: u64,
    /// Flash pages written to the SLC cache.
    pub slc_cache_page_writes: u64,
    /// Blocks of the SLC cache emptied.
    pub slc_cache_blocks_folded: u64,
    /// Flash pages programmed with copies for that.
    pub slc_cache_page_folds: u64,
    /// Programs that failed and were repeated elsewhere.
    pub program_failures: u64,
    /// Blocks taken out of use.
    pub blocks_retired: u64,
    /// Needed flash pages that could not be read any more. At power-up also those whose record in the spare bytes is damaged,
    /// as any of them may have been needed; where there are none, one if a needed group of the journal is missing.
    pub pages_lost: u64,
    /// Reads of logical pages whose mapping was at hand; with an ideal table nobody asks.
    pub cmt_read_hits: u64,
    /// Reads of logical pages whose mapping was not.
    pub cmt_read_misses: u64,
    /// Writes of logical pages whose mapping was at hand.
    pub cmt_write_hits: u64,
    /// Writes of logical pages whose mapping was not.
    pub cmt_write_misses: u64,
    /// Reads of mapping pages.
    pub mapping_page_reads: u64,
    /// Mapping pages written.
    pub mapping_page_writes: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Blocks for computing erased, those lent to evaluations included.
    pub compute_blocks_erased: u64,
    /// Flash pages placed anew to win blocks for computing, or off failing ones.
    pub compute_page_copies: u64,
    /// Flash pages programmed with what transactions wrote.
    pub tentative_page_writes: u64,
    /// Transactions given up, as what they could still read took more room than there is for that.
    pub snapshots_given_up: u64,
}
