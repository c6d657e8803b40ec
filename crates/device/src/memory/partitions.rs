//! What of the drive's DRAM is whose: map, one after another.

use media::dram::{Dram, DramConfig, ScatteredAccess, Toward};
use sim::{Requester, Time};

/// A range of the DRAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    base: u64,
    bytes: u64,
}

impl Partition {
    /// Bytes of it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The DRAM's address of the byte at `offset`.
    ///
    /// # Panics
    /// In debug builds, if the partition does not reach so far.
    #[inline]
    pub fn address(&self, offset: u64) -> u64 {
        debug_assert!(offset < self.bytes, "byte {offset} of {self:?}");
        self.base + offset
    }

    /// Moves bytes into or out of it for `requester`; more than it has room for go to it one part after the other. Gives the
    /// instant at which that is over, if there is anything to move.
    pub fn post(
        &self,
        dram: &Dram,
        requester: Requester,
        bytes: u64,
        toward: Toward,
    ) -> Option<Time> {
        let mut access = ScatteredAccess::default();
        self.add(dram, &mut access, requester, bytes, toward);
        dram.post_scattered(access)
    }

    /// Adds such a move to an access.
    pub(crate) fn add(
        &self,
        dram: &Dram,
        access: &mut ScatteredAccess,
        requester: Requester,
        bytes: u64,
        toward: Toward,
    ) {
        let mut left = bytes;
        while left > 0 {
            let part = left.min(self.bytes);
            dram.add(access, requester, self.address(0), part, toward);
            left -= part;
        }
    }
}

/// How many bytes each part of the firmware needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// The entries of the mapping table that are at hand.
    pub mapping: u64,
    /// The slots of the data cache.
    pub cache: u64,
    /// The page buffers.
    pub buffers: u64,
    /// Names that wait for a row to be full.
    pub search: u64,
    /// Where names and their values are.
    pub link_table: u64,
    /// The memories of tasks.
    pub tasks: u64,
    /// Entries of transactions, and pages that they have written in part.
    pub tx: u64,
    /// Pieces of streams.
    pub streams: u64,
    /// Packets of collectors.
    pub collectors: u64,
    /// What the host and its programs share with the drive.
    pub local: u64,
}

/// Where each part's memory lies. Each begins with a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DramMap {
    /// The entries of the mapping table that are at hand.
    pub mapping: Partition,
    /// The slots of the data cache.
    pub cache: Partition,
    /// The page buffers.
    pub buffers: Partition,
    /// Names that wait for a row to be full.
    pub search: Partition,
    /// Where names and their values are. It is reserved only: nothing is moved into or out of it, as to look at the link table
    /// takes no time of its own.
    pub link_table: Partition,
    /// The memories of tasks.
    pub tasks: Partition,
    /// Entries of transactions, and pages that they have written in part.
    pub tx: Partition,
    /// Pieces of streams.
    pub streams: Partition,
    /// Packets of collectors.
    pub collectors: Partition,
    /// What the host and its programs share with the drive.
    pub local: Partition,
}

/// Quotas that the DRAM does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "dram.capacity_bytes = {capacity} is too small: the mapping table takes {} bytes, the data cache {}, the page buffers {}, names to be looked up {} and their link table {}, the memories of tasks {}, transactions {}, streams {}, collectors {}, local memory {}, with whole rows {needed} in all",
    .quotas.mapping, .quotas.cache, .quotas.buffers, .quotas.search, .quotas.link_table,
    .quotas.tasks, .quotas.tx, .quotas.streams, .quotas.collectors, .quotas.local
)]
pub struct TooSmall {
    /// Bytes of the DRAM.
    pub capacity: u64,
    /// What is wanted of it.
    pub quotas: Quotas,
    /// All of that, in whole rows.
    pub needed: u64,
}

impl Quotas {
    /// Gives each part its partition.
    ///
    /// # Errors
    /// If the DRAM does not hold all of them.
    pub fn lay_out(self, dram: &DramConfig) -> Result<DramMap, TooSmall> {
        let row_bytes = u64::from(dram.row_bytes);
        let mut base = 0;
        let mut partition = |bytes: u64| {
            let partition = Partition { base, bytes };
            base += bytes.next_multiple_of(row_bytes);
            partition
        };
        let map = DramMap {
            mapping: partition(self.mapping),
            cache: partition(self.cache),
            buffers: partition(self.buffers),
            search: partition(self.search),
            link_table: partition(self.link_table),
            tasks: partition(self.tasks),
            tx: partition(self.tx),
            streams: partition(self.streams),
            collectors: partition(self.collectors),
            local: partition(self.local),
        };
        if base > dram.capacity_bytes {
            return Err(TooSmall {
                capacity: dram.capacity_bytes,
                quotas: self,
                needed: base,
            });
        }
        Ok(map)
    }
}
