//! A map of names to values, bytes to bytes, in stores of the drive's volume: a store for each size of names.
//!
//! **Names** have up to `name_bytes` bytes; what becomes of them says `names`. **Values** have up to `value_bytes` bytes, and
//! longer ones are refused: a name's entry is replaced by one command, which a power cut leaves done or undone, and that
//! takes one store, whose values are of one size. Every entry takes as much as the longest; who has few long values puts
//! these into files of the volume, or a map of their own.
//!
//! Each entry has its name beside its value, and the host compares it: what the drive has found beside, because flash
//! erred or because a pattern says less than what was asked for, is dropped and counted ([`KeyValueMap::dropped`]).
//!
//! Deleted and replaced entries keep their places until all of a row, as many as a flash page has bits, are gone. When a
//! store is full of them, the next put copies what is there to a new one, which takes over its name ([`KeyValueMap::compact`]).

mod compaction;
mod entry;
mod hash;
mod map;
mod names;

use std::ops::Bound;

use crate::drive::Drive;
use crate::error::Error;
pub use map::KeyValueMap;

/// What a new map is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyValueOptions {
    /// Names of each size that there is to be room for: of up to 13 bytes, up to 29, up to 61, and longer ones.
    pub entries: u32,
    /// Bytes of the longest value.
    pub value_bytes: u32,
    /// Bytes of the longest name, at most 65,535.
    pub name_bytes: u16,
}

impl Default for KeyValueOptions {
    fn default() -> KeyValueOptions {
        KeyValueOptions {
            entries: 100_000,
            value_bytes: 200,
            name_bytes: 300,
        }
    }
}

/// Names, each with its value.
pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// A map of names to values on a drive; its calls let simulated time pass.
pub struct KeyValue<'d> {
    drive: &'d mut Drive,
    map: KeyValueMap,
}

impl Drive {
    /// The map of this name, which is made if there is none.
    ///
    /// # Errors
    /// [`crate::KeyValueError::Other`] if it is there with other options; [`crate::KeyValueError::Entry`] for names and
    /// values that are too long together; what the drive reports.
    pub fn key_value(
        &mut self,
        name: &str,
        options: &KeyValueOptions,
    ) -> Result<KeyValue<'_>, Error> {
        let (name, options) = (name.to_owned(), *options);
        let map = self.run(|host| async move { host.key_value(&name, &options).await })??;
        Ok(KeyValue { drive: self, map })
    }
}

impl KeyValue<'_> {
    /// The same map for code that runs in simulated time.
    pub fn map(&self) -> &KeyValueMap {
        &self.map
    }

    /// Has `name` say `value`; gives whether it said something before. Done or undone after a power cut, and done when this
    /// returns.
    ///
    /// # Errors
    /// [`crate::KeyValueError::TooLong`], [`crate::KeyValueError::Full`]; what the drive reports.
    pub fn put(&mut self, name: &[u8], value: &[u8]) -> Result<bool, Error> {
        let (map, name, value) = (self.map.clone(), name.to_vec(), value.to_vec());
        self.drive
            .run(|host| async move { map.put(&host, &name, &value).await })?
    }

    /// What `name` says.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn get(&mut self, name: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let (map, name) = (self.map.clone(), name.to_vec());
        self.drive
            .run(|host| async move { map.get(&host, &name).await })?
    }

    /// Deletes a name; gives whether it was there.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn delete(&mut self, name: &[u8]) -> Result<bool, Error> {
        let (map, name) = (self.map.clone(), name.to_vec());
        self.drive
            .run(|host| async move { map.delete(&host, &name).await })?
    }

    /// The names that begin with `prefix`, in the order of their bytes, and what they say.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn prefix(&mut self, prefix: &[u8]) -> Result<Pairs, Error> {
        let (map, prefix) = (self.map.clone(), prefix.to_vec());
        self.drive
            .run(|host| async move { map.prefix(&host, &prefix).await })?
    }

    /// The names as long as `name` that agree with it where a bit of `mask` is 1, in the order of their bytes, and what they
    /// say.
    ///
    /// # Errors
    /// [`crate::KeyValueError::Mask`]; what the drive reports.
    pub fn masked(&mut self, name: &[u8], mask: &[u8]) -> Result<Pairs, Error> {
        let (map, name, mask) = (self.map.clone(), name.to_vec(), mask.to_vec());
        self.drive
            .run(|host| async move { map.masked(&host, &name, &mask).await })?
    }

    /// The names between two bounds, in the order of their bytes, and what they say.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn range(&mut self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<Pairs, Error> {
        let (low, high) = (low.map(<[u8]>::to_vec), high.map(<[u8]>::to_vec));
        let map = self.map.clone();
        self.drive.run(|host| async move {
            let (low, high) = (low.as_ref(), high.as_ref());
            map.range(&host, low.map(Vec::as_slice), high.map(Vec::as_slice))
                .await
        })?
    }

    /// All names, in the order of their bytes, and what they say.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn entries(&mut self) -> Result<Pairs, Error> {
        self.prefix(b"")
    }

    /// How many names there are.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn len(&mut self) -> Result<u64, Error> {
        let map = self.map.clone();
        self.drive.run(|host| async move { map.len(&host).await })?
    }

    /// Whether there are none.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn is_empty(&mut self) -> Result<bool, Error> {
        Ok(self.len()? == 0)
    }
}
