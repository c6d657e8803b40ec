//! Lookups: a drive gives as many records as a buffer holds, and a cursor to go on with.

use nvme::command::{Lookup, LookupContinue, Returned, SIMPLE_NAME_BITS, SimpleLookup};
use nvme::query::{Query, Term};
use nvme::{DataPointer, RegionId, SearchCommand, Status};

use super::SearchDevice;
use super::error::SearchError;
use super::region::DataRegion;
use crate::buffer::Buffer;
use crate::transport::Transport;

/// Bytes of a lookup's largest buffer: so much host memory is taken even where little is found.
const BUFFER_BYTES_MAX: u64 = 4 << 20;
/// A buffer is so many times as long as the one before.
const GROWTH: u64 = 4;
/// How often a lookup is asked anew after the drive has let go of it.
const TRIES: u32 = 8;

/// What a lookup is to give of each entry, besides what the query asks of its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Its number.
    pub numbers: bool,
    /// Logical pages that have entries instead of the entries' values, for values within a page: of one that has several
    /// that follow one another, perhaps only once.
    pub pages: bool,
}

impl Wanted {
    /// What a command asks for of this, or only how many there are where nothing is wanted.
    fn returned(wanted: Option<Wanted>) -> Returned {
        Returned {
            pages: wanted.is_some_and(|wanted| wanted.pages),
            numbers: wanted.is_some_and(|wanted| wanted.numbers),
            count_only: wanted.is_none(),
        }
    }
}

/// What a lookup has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// How many records.
    pub count: u32,
    /// The records one after another, by number of entry, without the numbers.
    pub records: Vec<u8>,
    /// Bytes of each.
    pub record_bytes: u32,
    /// The numbers of the entries, ascending (of a page, of its first one); none unless they were asked for.
    pub numbers: Vec<u64>,
}

impl Found {
    /// The records.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.records.chunks_exact(self.record_bytes.max(1) as usize)
    }

    fn add(&mut self, bytes: &[u8], has_numbers: bool) {
        let record = self.record_bytes as usize;
        if !has_numbers {
            self.records.extend(bytes);
            return;
        }
        for record in bytes.chunks_exact(record + NUMBER_BYTES) {
            let (number, record) = record.split_at(NUMBER_BYTES);
            let number = number.try_into().expect("as many bytes as were split off");
            self.numbers.push(u64::from_le_bytes(number));
            self.records.extend(record);
        }
    }
}

/// What a lookup sends, for whoever estimates what that takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// The region that the command addresses.
    pub region: RegionId,
    /// What it asks for.
    pub returned: Returned,
    /// Bytes of the query that the drive fetches; none if the command has it.
    pub query_bytes: u64,
    /// Bytes of the first buffer.
    buffer_bytes: u64,
    /// Bytes of the longest one.
    most: u64,
}

impl Sent {
    /// Bytes of the buffer of each command, until all was fetched.
    pub fn buffers(&self) -> impl Iterator<Item = u64> + use<> {
        let most = self.most;
        std::iter::successors(Some(self.buffer_bytes), move |bytes| {
            Some(grown(*bytes, most))
        })
    }
}

/// Bytes of the buffer after one of so many, if the longest has `most`.
fn grown(bytes: u64, most: u64) -> u64 {
    (bytes * GROWTH).min(most)
}

/// Bytes of an entry's number in a record.
const NUMBER_BYTES: usize = 8;

/// How one pass of a lookup ended.
enum Pass {
    Done(Found),
    Expired,
}

impl<T: Transport> SearchDevice<T> {
    /// Looks up what a query finds: all of it, with as many commands as that takes. Names that no flash error has
    /// touched are never missing; others may be there that do not match, which [`super::Recheck`] drops.
    ///
    /// If the drive forgets the lookup before all was fetched, or something is deleted or updated meanwhile, it is asked anew.
    /// So no entry is given twice, none is missing that was there when it began and is still there, and of an update there is
    /// all or nothing. Of what others append between its commands some may be there.
    ///
    /// # Errors
    /// [`SearchError::Query`], [`SearchError::Expired`]; what the drive reports, such as Invalid Query or Unrecovered Read
    /// Error.
    pub async fn look_up(
        &self,
        region: &DataRegion,
        query: &Query,
        wanted: Wanted,
    ) -> Result<Found, SearchError> {
        let record_bytes = self.record_bytes(region, query, wanted)?;
        let (mut buffer_bytes, most) = self.buffers_of(record_bytes, wanted)?;
        for _ in 0..TRIES {
            let pass = Fetch {
                device: self,
                region,
                query,
                wanted,
                record_bytes,
                buffer_bytes,
                most,
            };
            match pass.run().await? {
                Pass::Done(found) => return Ok(found),
                Pass::Expired => buffer_bytes = grown(buffer_bytes, most),
            }
        }
        Err(SearchError::Expired(TRIES))
    }

    /// What looking up, or counting where nothing is wanted, sends. Nothing is sent.
    ///
    /// # Errors
    /// As [`SearchDevice::look_up`], but for what the drive reports.
    pub fn sent(
        &self,
        region: &DataRegion,
        query: &Query,
        wanted: Option<Wanted>,
    ) -> Result<Sent, SearchError> {
        let (buffer_bytes, most) = match wanted {
            Some(wanted) => {
                let record_bytes = self.record_bytes(region, query, wanted)?;
                self.buffers_of(record_bytes, wanted)?
            }
            None => (0, 0),
        };
        let query_bytes = match simple(query) {
            Some(_) => 0,
            None => query.encode()?.len() as u64,
        };
        Ok(Sent {
            region: addressed(region, query)?,
            returned: Wanted::returned(wanted),
            query_bytes,
            buffer_bytes,
            most,
        })
    }

    /// Bytes of the first buffer and of the longest one, for records of so many bytes without their numbers.
    fn buffers_of(&self, record_bytes: u32, wanted: Wanted) -> Result<(u64, u64), SearchError> {
        let with_number =
            u64::from(record_bytes) + (NUMBER_BYTES as u64) * u64::from(wanted.numbers);
        let most = BUFFER_BYTES_MAX.max(with_number);
        let most = most.min(self.block.bytes_per_command());
        if with_number > most {
            return Err(SearchError::TooMuchAtOnce {
                count: 1,
                bytes: with_number,
                most,
            });
        }
        Ok((self.first_buffer_bytes.clamp(with_number, most), most))
    }

    /// How many entries a query finds; nothing of them leaves the drive.
    ///
    /// # Errors
    /// As [`SearchDevice::look_up`].
    pub async fn count(&self, region: &DataRegion, query: &Query) -> Result<u32, SearchError> {
        let returned = Wanted::returned(None);
        let (count, _) = self.begin(region, query, returned, None).await?;
        Ok(count)
    }

    /// Bytes of a record without its number.
    fn record_bytes(
        &self,
        region: &DataRegion,
        query: &Query,
        wanted: Wanted,
    ) -> Result<u32, SearchError> {
        let page = u64::from(self.block.unit_blocks()) * u64::from(self.block.block_bytes());
        let value = u64::from(region.value_bytes);
        if wanted.pages {
            if value > page || !query.parts().is_empty() {
                return Err(SearchError::Usage(format!(
                    "pages of {page} bytes for values of {value} with {} parts: pages are given of values within one, and whole",
                    query.parts().len()
                )));
            }
            return Ok(page as u32);
        }
        if query.parts().is_empty() {
            return Ok(region.value_bytes);
        }
        let mut bytes = 0_u64;
        for part in query.parts() {
            let end = u64::from(part.first) + u64::from(part.bytes);
            if end > value {
                return Err(SearchError::Usage(format!(
                    "{} bytes from {} on of values of {value} bytes",
                    part.bytes, part.first
                )));
            }
            bytes += u64::from(part.bytes);
        }
        u32::try_from(bytes).map_err(|_| SearchError::Usage("parts of more than 4 GiB".into()))
    }

    /// Sends a lookup; gives DW0 and DW1. Short ones of one term go in the command itself.
    async fn begin(
        &self,
        region: &DataRegion,
        query: &Query,
        returned: Returned,
        buffer: Option<&Buffer>,
    ) -> Result<(u32, u32), SearchError> {
        let namespace = self.block.namespace();
        let buffer_bytes = buffer.map_or(0, |buffer| buffer.bytes() as u32);
        let data = buffer.map_or(DataPointer::NONE, |buffer| buffer.pointer(buffer_bytes));
        if let Some(term) = simple(query) {
            let sixteen = |bytes: &[u8]| {
                let mut all = [0; 16];
                all[..bytes.len()].copy_from_slice(bytes);
                all
            };
            let command = SearchCommand::SimpleLookup(SimpleLookup {
                namespace,
                region: term.region,
                returned,
                buffer_bytes,
                name: sixteen(term.pattern.name()),
                mask: sixteen(term.pattern.mask()),
                data,
            });
            return self.send("simple lookup", command).await;
        }
        let encoded = query.encode()?;
        let held = Buffer::holding(self.block.transport().memory(), &encoded)?;
        let command = SearchCommand::Lookup(Lookup {
            namespace,
            region: addressed(region, query)?,
            returned,
            query_address: held.address(),
            query_bytes: encoded.len() as u32,
            buffer_bytes,
            data,
        });
        self.send("lookup", command).await
    }
}

/// The term of a query that a Simple Lookup can ask for.
fn simple(query: &Query) -> Option<&Term> {
    let mut terms = query.terms();
    let term = terms.next()?;
    let fits = terms.next().is_none() && query.parts().is_empty();
    (fits && term.pattern.bits() <= SIMPLE_NAME_BITS).then_some(term)
}

/// The region that the command of a lookup addresses: a Simple Lookup's is its term's, any other's the first.
fn addressed(region: &DataRegion, query: &Query) -> Result<RegionId, SearchError> {
    match simple(query) {
        Some(term) => Ok(term.region),
        None => Ok(region.first()?.region),
    }
}

/// One pass of a lookup, from its beginning on.
struct Fetch<'a, T> {
    device: &'a SearchDevice<T>,
    region: &'a DataRegion,
    query: &'a Query,
    wanted: Wanted,
    record_bytes: u32,
    buffer_bytes: u64,
    /// Bytes of the longest buffer.
    most: u64,
}

impl<T: Transport> Fetch<'_, T> {
    async fn run(mut self) -> Result<Pass, SearchError> {
        let returned = Wanted::returned(Some(self.wanted));
        let memory = self.device.block.transport().memory();
        let mut found = Found {
            record_bytes: self.record_bytes,
            ..Found::default()
        };
        let buffer = Buffer::new(memory, self.buffer_bytes)?;
        let begun = self
            .device
            .begin(self.region, self.query, returned, Some(&buffer));
        let mut cursor = self.take(&mut found, &buffer, begun.await?)?;
        drop(buffer);
        let region = addressed(self.region, self.query)?;
        while cursor != 0 {
            self.buffer_bytes = grown(self.buffer_bytes, self.most);
            let buffer = Buffer::new(memory, self.buffer_bytes)?;
            let continued = self.go_on(region, cursor, &buffer).await;
            cursor = match continued {
                Err(error) if error.is_status(Status::CURSOR_EXPIRED) => return Ok(Pass::Expired),
                continued => self.take(&mut found, &buffer, continued?)?,
            };
        }
        Ok(Pass::Done(found))
    }

    async fn go_on(
        &self,
        region: RegionId,
        cursor: u32,
        buffer: &Buffer,
    ) -> Result<(u32, u32), SearchError> {
        let bytes = buffer.bytes() as u32;
        let command = SearchCommand::LookupContinue(LookupContinue {
            namespace: self.device.block.namespace(),
            region,
            cursor,
            buffer_bytes: bytes,
            data: buffer.pointer(bytes),
        });
        self.device.send("lookup continue", command).await
    }

    /// Adds what a command has put into a buffer; gives the cursor to go on with, or 0.
    fn take(
        &self,
        found: &mut Found,
        buffer: &Buffer,
        (count, cursor): (u32, u32),
    ) -> Result<u32, SearchError> {
        let numbers = u64::from(self.wanted.numbers) * NUMBER_BYTES as u64;
        let bytes = u64::from(count) * (u64::from(self.record_bytes) + numbers);
        if bytes > buffer.bytes() || (count == 0 && cursor != 0) {
            return Err(SearchError::protocol(format!(
                "{count} records in a buffer of {} bytes, and cursor {cursor}",
                buffer.bytes()
            )));
        }
        found.count = found.count.checked_add(count).ok_or_else(|| {
            SearchError::protocol("a lookup finds more entries than there can be".into())
        })?;
        if self.device.block.keeps_data() {
            buffer.look(bytes, |bytes| found.add(bytes, self.wanted.numbers))?;
        } else {
            // Nothing was transferred: the buffer still has what was in that memory before.
            found.add(&vec![0; bytes as usize], self.wanted.numbers);
        }
        Ok(cursor)
    }
}
