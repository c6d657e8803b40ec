//! Name-value lookup: stores of names and values, which are objects of the drive's volume, and whose names the drive finds
//! itself (ANVIL).
//!
//! A store's names are counted from 0, whatever search regions the drive has given them. [`crate::KeyValue`] makes a map of
//! names of any length out of stores.

mod estimate;
mod operations;

pub use estimate::Returns;
use host::search::{Appended, Found, NameKind, Updated, Wanted};
use host::volume::NewStore;
use nvme::command::RegionRecord;
use nvme::query::{Part, Pattern};

use crate::drive::Drive;
use crate::error::Error;
use crate::host_end::Host;

/// A condition: one of an entry's names matches a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTerm {
    /// Which of the names, from 0 on.
    pub name: usize,
    /// What it is compared with.
    pub pattern: Pattern,
}

/// What a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreInfo {
    /// Its name.
    pub name: String,
    /// Entries that it was made for.
    pub entries: u32,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// The names of an entry.
    pub names: Vec<NameKind>,
    /// What names and values mean, to whoever made it.
    pub schema: Vec<u8>,
}

/// The name-value stores of a drive. An appended record is, of each name of the store, its bytes and, if it may have don't
/// cares, a mask of as many (1: the bit counts); then the value. A query finds what matches all terms of any of its groups.
pub struct Search<'d>(&'d mut Drive);

impl Drive {
    /// The name-value stores of this drive.
    pub fn search(&mut self) -> Search<'_> {
        Search(self)
    }
}

impl Search<'_> {
    /// As [`Drive::run`], once the drive has carried out the commands of calls that were broken off: what comes after them is
    /// not to see first what was before, and then what they did.
    fn run<T: 'static, F>(&mut self, function: impl FnOnce(Host) -> F) -> Result<T, Error>
    where
        F: Future<Output = T> + 'static,
    {
        self.0.run(|host| {
            let call = function(host.clone());
            async move {
                host.nothing_left().await;
                call.await
            }
        })
    }

    /// Makes a store; a power cut leaves all of it or nothing.
    ///
    /// # Errors
    /// [`host::volume::VolumeError::Taken`], [`host::volume::VolumeError::NoSpace`] and others; what the drive reports, such
    /// as Search Region Limit Exceeded.
    pub fn create(&mut self, name: &str, what: &NewStore) -> Result<(), Error> {
        let (name, what) = (name.to_owned(), what.clone());
        self.run(|host| async move { host.create_store(&name, &what).await })?
    }

    /// What a store is.
    ///
    /// # Errors
    /// [`host::volume::VolumeError::NotFound`]; [`host::volume::VolumeError::WrongKind`].
    pub fn open(&mut self, name: &str) -> Result<StoreInfo, Error> {
        let name = name.to_owned();
        self.run(|host| async move { host.store(&name).await })?
    }

    /// The names of the stores.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub fn names(&mut self) -> Result<Vec<String>, Error> {
        self.run(|host| async move { host.stores().await })?
    }

    /// Removes a store, names and values, once nobody uses it.
    ///
    /// # Errors
    /// As [`Search::open`]; what the drive reports.
    pub fn remove(&mut self, name: &str) -> Result<(), Error> {
        let name = name.to_owned();
        self.run(|host| async move { host.remove_store(&name).await })?
    }

    /// Appends `count` records. Those of one command, as many as a transfer takes, are there after a power cut or not.
    ///
    /// # Errors
    /// As [`Search::open`]; [`crate::SearchError`]; what the drive reports, such as Search Region Full.
    pub fn append(&mut self, name: &str, records: &[u8], count: u32) -> Result<Appended, Error> {
        let (name, records) = (name.to_owned(), records.to_vec());
        self.run(|host| async move { host.append_entries(&name, &records, count).await })?
    }

    /// What a query finds; of the values the parts, or all without.
    ///
    /// # Errors
    /// As [`Search::append`].
    pub fn look_up(
        &mut self,
        name: &str,
        groups: &[Vec<NameTerm>],
        parts: &[Part],
        wanted: Wanted,
    ) -> Result<Found, Error> {
        let (name, groups, parts) = (name.to_owned(), groups.to_vec(), parts.to_vec());
        self.run(|host| async move { host.look_up(&name, &groups, &parts, wanted).await })?
    }

    /// How many entries a query finds.
    ///
    /// # Errors
    /// As [`Search::append`].
    pub fn count(&mut self, name: &str, groups: &[Vec<NameTerm>]) -> Result<u32, Error> {
        let (name, groups) = (name.to_owned(), groups.to_vec());
        self.run(|host| async move { host.count_entries(&name, &groups).await })?
    }

    /// Deletes what a query finds; gives how many entries.
    ///
    /// # Errors
    /// As [`Search::append`].
    pub fn delete(&mut self, name: &str, groups: &[Vec<NameTerm>]) -> Result<u32, Error> {
        let (name, groups) = (name.to_owned(), groups.to_vec());
        self.run(|host| async move { host.delete_entries(&name, &groups).await })?
    }

    /// Deletes what a query finds, or without one what has exactly the first name of one of the records, and appends
    /// `count` records: both or nothing.
    ///
    /// # Errors
    /// As [`Search::append`]; [`crate::SearchError::TooMuchAtOnce`] if one command does not transfer the records.
    pub fn update(
        &mut self,
        name: &str,
        groups: Option<&[Vec<NameTerm>]>,
        records: &[u8],
        count: u32,
    ) -> Result<Updated, Error> {
        let (name, records) = (name.to_owned(), records.to_vec());
        let groups = groups.map(<[Vec<NameTerm>]>::to_vec);
        self.run(|host| async move {
            host.update_entries(&name, groups.as_deref(), &records, count)
                .await
        })?
    }

    /// What the drive reports of a store's search regions, in the order of its names; none of a drive that keeps only time.
    ///
    /// # Errors
    /// As [`Search::open`]; what the drive reports.
    pub fn report(&mut self, name: &str) -> Result<Vec<RegionRecord>, Error> {
        let name = name.to_owned();
        self.run(|host| async move { host.report_store(&name).await })?
    }
}
