//! Appending entries, and replacing some: a command has all of its effect or none.

use nvme::command::{Append, Update};
use nvme::query::Query;
use nvme::{SearchCommand, Status};

use super::SearchDevice;
use super::error::SearchError;
use super::region::DataRegion;
use crate::buffer::Buffer;
use crate::transport::Transport;

/// Entries that were appended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended {
    /// The number of the first entry of each command, and how many entries follow it, itself included.
    pub runs: Vec<(u32, u32)>,
}

impl Appended {
    /// The number of the first entry.
    pub fn first(&self) -> u32 {
        self.runs.first().map_or(0, |(first, _)| *first)
    }
}

/// What an update did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Updated {
    /// The number of the first entry appended.
    pub first: u32,
    /// Entries deleted.
    pub deleted: u32,
}

impl<T: Transport> SearchDevice<T> {
    /// Records of a data region that one command transfers; 0 if a record is too long for a command.
    pub fn records_per_command(&self, region: &DataRegion) -> u32 {
        let most = self.block.bytes_per_command() / region.record_bytes().max(1);
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Appends `count` records, with as many commands as the drive's transfers take (MDTS), and its memory for names. Each
    /// command is atomic, and durable when it has ended; after a power cut the first commands may have happened and the others
    /// not.
    ///
    /// # Errors
    /// [`SearchError::Length`]; [`SearchError::Partly`] if a command after the first fails; what the drive reports, such as
    /// Search Region Full or Don't Care Not Storable.
    pub async fn append(
        &self,
        region: &DataRegion,
        records: &[u8],
        count: u32,
    ) -> Result<Appended, SearchError> {
        check_records(region, records, count)?;
        let mut most = self.records_per_command(region);
        if most == 0 {
            return Err(self.too_much(region, 1));
        }
        let record = region.record_bytes() as usize;
        let mut runs = Vec::new();
        let mut appended = 0;
        while appended < count {
            let count_of_part = most.min(count - appended);
            let part = &records[appended as usize * record..][..count_of_part as usize * record];
            match self.append_part(region, part, count_of_part).await {
                Ok(first) => runs.push((first, count_of_part)),
                // More names than the drive has memory for.
                Err(error) if is_too_much(&error) && count_of_part > 1 => {
                    most = count_of_part / 2;
                    continue;
                }
                Err(SearchError::Device(error)) if appended > 0 => {
                    return Err(SearchError::Partly {
                        appended,
                        count,
                        error,
                    });
                }
                Err(error) => return Err(error),
            }
            appended += count_of_part;
        }
        Ok(Appended { runs })
    }

    /// Appends `count` records by one command: all are there after a power cut, or none.
    ///
    /// # Errors
    /// As [`SearchDevice::append`]; [`SearchError::TooMuchAtOnce`]; Command Size Limit Exceeded for more names than the drive
    /// has memory for.
    pub async fn append_at_once(
        &self,
        region: &DataRegion,
        records: &[u8],
        count: u32,
    ) -> Result<Appended, SearchError> {
        check_records(region, records, count)?;
        if count > self.records_per_command(region) {
            return Err(self.too_much(region, count));
        }
        let first = self.append_part(region, records, count).await?;
        Ok(Appended {
            runs: vec![(first, count)],
        })
    }

    /// Deletes what `query` finds and appends `count` records, both or nothing. Without a query, those entries are deleted
    /// that have exactly the names of one of the records in the first search region.
    ///
    /// # Errors
    /// As [`SearchDevice::append_at_once`] and [`SearchDevice::delete`].
    pub async fn update(
        &self,
        region: &DataRegion,
        query: Option<&Query>,
        records: &[u8],
        count: u32,
    ) -> Result<Updated, SearchError> {
        check_records(region, records, count)?;
        if count > self.records_per_command(region) {
            return Err(self.too_much(region, count));
        }
        let encoded = query.map(Query::encode).transpose()?.unwrap_or_default();
        let memory = self.block.transport().memory();
        let query = match encoded.is_empty() {
            true => None,
            false => Some(Buffer::holding(memory, &encoded)?),
        };
        let data = Buffer::holding(memory, records)?;
        let command = SearchCommand::Update(Update {
            append: self.append_command(region, &data, count)?,
            query_address: query.as_ref().map_or(0, Buffer::address),
            query_bytes: encoded.len() as u32,
        });
        let (first, deleted) = self.send("update", command).await?;
        Ok(Updated { first, deleted })
    }

    async fn append_part(
        &self,
        region: &DataRegion,
        records: &[u8],
        count: u32,
    ) -> Result<u32, SearchError> {
        let data = Buffer::holding(self.block.transport().memory(), records)?;
        let command = SearchCommand::Append(self.append_command(region, &data, count)?);
        Ok(self.send("append", command).await?.0)
    }

    fn append_command(
        &self,
        region: &DataRegion,
        data: &Buffer,
        records: u32,
    ) -> Result<Append, SearchError> {
        Ok(Append {
            namespace: self.block.namespace(),
            region: region.first()?.region,
            records,
            // No longer than a command transfers, which was checked.
            data: data.pointer(data.bytes() as u32),
        })
    }

    fn too_much(&self, region: &DataRegion, count: u32) -> SearchError {
        SearchError::TooMuchAtOnce {
            count,
            bytes: region.record_bytes() * u64::from(count),
            most: self.block.bytes_per_command(),
        }
    }
}

/// Whether the drive refused so many records at once.
fn is_too_much(error: &SearchError) -> bool {
    error.is_status(Status::COMMAND_SIZE_LIMIT_EXCEEDED)
}

fn check_records(region: &DataRegion, records: &[u8], count: u32) -> Result<(), SearchError> {
    if count == 0 {
        return Err(SearchError::Usage("no records to append".into()));
    }
    let record = region.record_bytes();
    let (wanted, found) = (record * u64::from(count), records.len() as u64);
    if wanted == found {
        return Ok(());
    }
    Err(SearchError::Length {
        count,
        record,
        wanted,
        found,
    })
}
