//! Name-value lookup: names and values are kept by a drive that finds names itself (ANVIL 4.4).
//!
//! A *data region* is a run of logical blocks that holds values of one size; one *search region* or more hold the names of
//! its entries. What is appended, and how names are compared, says [`nvme::command::SearchCommand`].

mod append;
mod check;
mod error;
mod look_up;
pub mod numbers;
pub mod ranges;
mod region;
#[cfg(test)]
pub(crate) mod tests;

pub use append::{Appended, Updated};
pub use check::{Checked, NameCopy, Recheck};
pub use error::SearchError;
pub use look_up::{Found, Sent, Wanted};
pub use region::{DataRegion, NameField, NameKind};

use nvme::command::{Delete, RegionAllocate, RegionDeallocate, RegionRecord, RegionReport};
use nvme::query::Query;
use nvme::{CommandId, DataPointer, IoCommand, Lba, RegionId, SearchCommand};

use crate::block::BlockDevice;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::transport::Transport;

/// Records that a report is first asked for; if there are more, it is asked once more.
const REPORT_RECORDS: u32 = 64;

/// The lookup interface of a namespace.
#[derive(Clone)]
pub struct SearchDevice<T> {
    block: BlockDevice<T>,
    /// Bytes of the first buffer of a lookup, at least.
    first_buffer_bytes: u64,
}

impl<T: Transport> SearchDevice<T> {
    /// Bytes of the first buffer that a lookup offers; later ones are longer.
    pub const FIRST_BUFFER_BYTES: u64 = 64 << 10;

    /// The lookup interface of the namespace of `block`.
    pub fn new(block: BlockDevice<T>) -> SearchDevice<T> {
        SearchDevice {
            block,
            first_buffer_bytes: Self::FIRST_BUFFER_BYTES,
        }
    }

    /// The same with another size of a lookup's first buffer, in bytes: a small one costs memory only where much is found,
    /// a large one fewer commands.
    #[must_use]
    pub fn beginning_with(self, first_buffer_bytes: u64) -> SearchDevice<T> {
        SearchDevice {
            first_buffer_bytes,
            ..self
        }
    }

    /// The same namespace as a block device.
    pub fn block(&self) -> &BlockDevice<T> {
        &self.block
    }

    /// Logical blocks, whole chunks of NPWG, that the values of `entries` entries take, as far as the host can tell
    /// before a region is there: entries come in rows of as many as a flash page has bits, and a row's values begin a page.
    ///
    /// # Errors
    /// [`SearchError::Usage`] for no entries, values without bytes, or more blocks than can be counted.
    pub fn data_blocks(&self, entries: u32, value_bytes: u32) -> Result<u64, SearchError> {
        region::data_blocks(&self.block, entries, value_bytes)
    }

    /// Makes the blocks from `start` on a data region with a search region for each of `names`: all of them or none. Its
    /// blocks should be deallocated.
    ///
    /// # Errors
    /// [`SearchError::Usage`] for no names; what the drive reports, such as Search Region Limit Exceeded or Data Region
    /// Overlap. If the drive then refuses to give back what it had allocated, that is left.
    pub async fn allocate(
        &self,
        start: u64,
        entries: u32,
        value_bytes: u32,
        names: &[NameKind],
    ) -> Result<DataRegion, SearchError> {
        let mut region = DataRegion {
            start,
            entries,
            value_bytes,
            names: Vec::new(),
        };
        if names.is_empty() {
            return Err(SearchError::Usage("a data region needs a name".into()));
        }
        for name in names {
            match self.allocate_one(&region, *name).await {
                Ok(field) => region.names.push(field),
                Err(error) => {
                    // What the first command said tells more than what this would.
                    let _ = self.deallocate(&region).await;
                    return Err(error);
                }
            }
        }
        Ok(region)
    }

    async fn allocate_one(
        &self,
        region: &DataRegion,
        name: NameKind,
    ) -> Result<NameField, SearchError> {
        if !(1..=nvme::query::MAX_NAME_BITS).contains(&name.bits) {
            return Err(nvme::query::QueryError::Bits(name.bits).into());
        }
        let command = SearchCommand::Allocate(RegionAllocate {
            namespace: self.block.namespace(),
            start: Lba::new(region.start),
            entries: region.entries,
            name_bits: name.bits,
            ternary: name.ternary,
            linked: !region.names.is_empty(),
            value_bytes: region.value_bytes,
            records: 0,
            data: DataPointer::NONE,
        });
        let (number, _) = self.send("allocate search region", command).await?;
        let number = u16::try_from(number)
            .map_err(|_| SearchError::protocol(format!("search region {number}")))?;
        Ok(NameField {
            region: RegionId::new(number),
            kind: name,
        })
    }

    /// Deallocates the search regions of a data region, the last one first. Those that the drive has no more are fine.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn deallocate(&self, region: &DataRegion) -> Result<(), SearchError> {
        for name in region.names.iter().rev() {
            match self.deallocate_one(name.region).await {
                Err(error) if error.is_status(nvme::Status::INVALID_REGION) => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Deallocates one search region.
    ///
    /// # Errors
    /// Invalid Search Region; what else the drive reports.
    pub async fn deallocate_one(&self, region: RegionId) -> Result<(), SearchError> {
        let command = SearchCommand::Deallocate(RegionDeallocate {
            namespace: self.block.namespace(),
            region,
        });
        let sent = self.send("deallocate search region", command);
        sent.await.map(|_| ())
    }

    /// Deletes what a query finds; gives how many entries.
    ///
    /// The drive deletes whatever it takes for a match. Where flash errors make it take too much, names with don't cares or
    /// long queries are better looked up, checked ([`Recheck`]) and then deleted by their exact names.
    ///
    /// # Errors
    /// As [`SearchDevice::look_up`].
    pub async fn delete(&self, region: &DataRegion, query: &Query) -> Result<u32, SearchError> {
        let first = region.first()?;
        let encoded = query.encode()?;
        let buffer = Buffer::holding(self.block.transport().memory(), &encoded)?;
        let command = SearchCommand::Delete(Delete {
            namespace: self.block.namespace(),
            region: first.region,
            query_bytes: encoded.len() as u32,
            data: buffer.pointer(encoded.len() as u32),
        });
        Ok(self.send("delete", command).await?.0)
    }

    /// The search regions of the namespace, by number; none of a drive that keeps only time, which tells nothing.
    ///
    /// # Errors
    /// Invalid Command Opcode of a drive without name-value lookup; what else the drive reports.
    pub async fn report(&self) -> Result<Vec<RegionRecord>, SearchError> {
        let mut room = REPORT_RECORDS;
        loop {
            let bytes = u64::from(room) * RegionRecord::BYTES as u64;
            let buffer = Buffer::new(self.block.transport().memory(), bytes)?;
            let command = SearchCommand::Report(RegionReport {
                namespace: self.block.namespace(),
                records: room,
                data: buffer.pointer(bytes as u32),
            });
            let (there, _) = self.send("search region report", command).await?;
            if there <= room && !self.block.keeps_data() {
                return Ok(Vec::new());
            }
            if there <= room {
                let bytes = buffer.to_vec()?;
                let records = RegionRecord::parse(&bytes);
                return Ok(records[..there as usize].to_vec());
            }
            // Regions have 16-bit numbers.
            if there > u32::from(u16::MAX) + 1 {
                return Err(SearchError::protocol(format!("{there} search regions")));
            }
            room = there;
        }
    }

    /// Sends a command; gives DW0 and DW1 of its completion.
    async fn send(
        &self,
        name: &'static str,
        command: SearchCommand,
    ) -> Result<(u32, u32), SearchError> {
        let entry = IoCommand::Search(command).encode(CommandId::new(0));
        let completion = self.block.transport().io(&entry).await?;
        Error::check(name, completion.status())?;
        Ok((completion.dw0.get(), completion.dw1.get()))
    }
}
