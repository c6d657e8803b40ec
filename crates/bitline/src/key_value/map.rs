//! A map in simulated time: what is put, found and deleted.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use std::rc::Rc;

use host::search::{NameKind, SearchError, Wanted};
use host::volume::{Kind, NewStore, VolumeError};
use nvme::Status;
use nvme::command::MAX_VALUE_BYTES;
use nvme::query::Pattern;
use sim::resource::Access;

use super::entry::{self, HEADER_BYTES};
use super::names::Class;
use super::{KeyValueOptions, Pairs};
use crate::error::{Error, KeyValueError};
use crate::host_end::Host;
use crate::search::NameTerm;

/// What a map's stores have as their schema, before the options.
const SCHEMA: &[u8] = b"bitline map 1 ";

/// A map of names to values, for code that runs in simulated time. Cheap to clone; it outlives power cuts.
#[derive(Clone, Debug)]
pub struct KeyValueMap {
    name: Rc<str>,
    options: KeyValueOptions,
    dropped: Rc<Cell<u64>>,
}

impl Host {
    /// As [`crate::Drive::key_value`].
    ///
    /// # Errors
    /// As [`crate::Drive::key_value`].
    pub async fn key_value(
        &self,
        name: &str,
        options: &KeyValueOptions,
    ) -> Result<KeyValueMap, Error> {
        let map = KeyValueMap {
            name: name.into(),
            options: *options,
            dropped: Rc::default(),
        };
        map.check_entry(self.block.bytes_per_command())?;
        let shortest = map.store_of(Class::of(b""));
        match self.object(&shortest).await? {
            None => map.make(self, Class::of(b""), &shortest).await?,
            Some(_) => {
                let found = self.store(&shortest).await?;
                let found = decode(&found.schema).ok_or(KeyValueError::NoMap { name: shortest })?;
                if found != *options {
                    return Err(KeyValueError::Other {
                        name: name.to_owned(),
                        entries: found.entries,
                        value_bytes: found.value_bytes,
                        name_bytes: found.name_bytes,
                    }
                    .into());
                }
            }
        }
        for class in Class::all() {
            map.clear_up(self, class).await?;
        }
        Ok(map)
    }
}

impl KeyValueMap {
    /// Its name. Its stores are named by it and the size of their names.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it was made for.
    pub fn options(&self) -> KeyValueOptions {
        self.options
    }

    /// Entries that the drive has found and that were not meant: of flash errors, or names that only their ends tell apart.
    pub fn dropped(&self) -> u64 {
        self.dropped.get()
    }

    /// As [`super::KeyValue::put`].
    ///
    /// # Errors
    /// As [`super::KeyValue::put`].
    pub async fn put(&self, host: &Host, name: &[u8], value: &[u8]) -> Result<bool, Error> {
        let (longest, most) = (
            self.options.name_bytes.into(),
            self.options.value_bytes as usize,
        );
        check_length("name", name, longest)?;
        check_length("value", value, most)?;
        let class = Class::of(name);
        let store = self.store_of(class);
        if host.object(&store).await?.is_none() {
            self.make(host, class, &store).await?;
        }
        let mut record = class.kept(name);
        let bytes = self.value_bytes(class) as usize;
        record.extend(entry::encode(name, value, bytes));
        match self.put_record(host, &store, &record).await {
            Err(error) if is_full(&error) => {
                self.compact_class(host, class).await?;
                self.put_record(host, &store, &record).await
            }
            put => put,
        }
    }

    async fn put_record(&self, host: &Host, store: &str, record: &[u8]) -> Result<bool, Error> {
        // A store that is compacted gets nothing meanwhile.
        let _unmoved = host.locked(store, Access::Shared).await?;
        let updated = host.update_entries(store, None, record, 1).await?;
        Ok(updated.deleted > 0)
    }

    /// As [`super::KeyValue::get`].
    ///
    /// # Errors
    /// As [`super::KeyValue::get`].
    pub async fn get(&self, host: &Host, name: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let class = Class::of(name);
        let patterns = vec![class.exact(name)?];
        let mut found = BTreeMap::new();
        let is_meant = |other: &[u8]| other == name;
        self.find(host, class, patterns, is_meant, &mut found)
            .await?;
        Ok(found.remove(name))
    }

    /// As [`super::KeyValue::delete`].
    ///
    /// # Errors
    /// As [`super::KeyValue::delete`].
    pub async fn delete(&self, host: &Host, name: &[u8]) -> Result<bool, Error> {
        let class = Class::of(name);
        let store = self.store_of(class);
        if host.object(&store).await?.is_none() {
            return Ok(false);
        }
        let groups = groups(vec![class.exact(name)?]);
        let _unmoved = host.locked(&store, Access::Shared).await?;
        Ok(host.delete_entries(&store, &groups).await? > 0)
    }

    /// As [`super::KeyValue::prefix`].
    ///
    /// # Errors
    /// As [`super::KeyValue::prefix`].
    pub async fn prefix(&self, host: &Host, prefix: &[u8]) -> Result<Pairs, Error> {
        let mut found = BTreeMap::new();
        for class in Class::all() {
            let patterns = Vec::from_iter(class.prefix(prefix)?);
            let is_meant = |name: &[u8]| name.starts_with(prefix);
            self.find(host, class, patterns, is_meant, &mut found)
                .await?;
        }
        Ok(found.into_iter().collect())
    }

    /// As [`super::KeyValue::masked`].
    ///
    /// # Errors
    /// As [`super::KeyValue::masked`].
    pub async fn masked(&self, host: &Host, name: &[u8], mask: &[u8]) -> Result<Pairs, Error> {
        if name.len() != mask.len() {
            let (name, mask) = (name.len(), mask.len());
            return Err(KeyValueError::Mask { name, mask }.into());
        }
        let class = Class::of(name);
        let patterns = vec![class.masked(name, mask)?];
        let is_meant = |other: &[u8]| {
            let mut bytes = other.iter().zip(name).zip(mask);
            other.len() == name.len() && bytes.all(|((a, b), mask)| (a ^ b) & mask == 0)
        };
        let mut found = BTreeMap::new();
        self.find(host, class, patterns, is_meant, &mut found)
            .await?;
        Ok(found.into_iter().collect())
    }

    /// As [`super::KeyValue::range`].
    ///
    /// # Errors
    /// As [`super::KeyValue::range`].
    pub async fn range(
        &self,
        host: &Host,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<Pairs, Error> {
        let mut found = BTreeMap::new();
        for class in Class::all() {
            let patterns = class.range(low, high)?;
            let is_meant = |name: &[u8]| RangeBounds::<[u8]>::contains(&(low, high), name);
            self.find(host, class, patterns, is_meant, &mut found)
                .await?;
        }
        Ok(found.into_iter().collect())
    }

    /// As [`super::KeyValue::len`]; 0 of a drive that keeps only time.
    ///
    /// # Errors
    /// As [`super::KeyValue::len`].
    pub async fn len(&self, host: &Host) -> Result<u64, Error> {
        let mut live = 0;
        for class in Class::all() {
            let store = self.store_of(class);
            if host.object(&store).await?.is_some() {
                let regions = host.report_store(&store).await?;
                live += regions
                    .first()
                    .map_or(0, |region| u64::from(region.live.get()));
            }
        }
        Ok(live)
    }

    /// Whether there are no names.
    ///
    /// # Errors
    /// As [`super::KeyValue::len`].
    pub async fn is_empty(&self, host: &Host) -> Result<bool, Error> {
        Ok(self.len(host).await? == 0)
    }

    /// Adds what any of `patterns` finds in the names of a class, as far as it is meant.
    async fn find(
        &self,
        host: &Host,
        class: Class,
        patterns: Vec<Pattern>,
        is_meant: impl Fn(&[u8]) -> bool,
        into: &mut BTreeMap<Vec<u8>, Vec<u8>>,
    ) -> Result<(), Error> {
        let store = self.store_of(class);
        if patterns.is_empty() || host.object(&store).await?.is_none() {
            return Ok(());
        }
        let groups = groups(patterns);
        let found = host
            .look_up(&store, &groups, &[], Wanted::default())
            .await?;
        if !host.stores_data {
            // Such a drive gives no names.
            return Ok(());
        }
        for record in found.iter() {
            let (name, value) = entry::decode(record)?;
            if is_meant(name) {
                into.insert(name.to_vec(), value.to_vec());
            } else {
                self.dropped.set(self.dropped.get() + 1);
            }
        }
        Ok(())
    }

    /// Whether one command can put the longest entry.
    fn check_entry(&self, bytes_per_command: u64) -> Result<(), KeyValueError> {
        let (name, value) = (self.options.name_bytes, self.options.value_bytes);
        for class in Class::all() {
            let name = class.name_bytes(name.into()) + class.kind().name_bytes();
            let bytes = (HEADER_BYTES + name) as u64 + u64::from(value);
            let most = bytes_per_command.min(MAX_VALUE_BYTES.into());
            if bytes > most {
                return Err(KeyValueError::Entry { bytes, most });
            }
        }
        Ok(())
    }

    /// The name of the store that has the names of a class.
    pub(super) fn store_of(&self, class: Class) -> String {
        format!("{}/{}", self.name, class.label())
    }

    /// Makes the store of a class, under a name, unless another call has just done so.
    pub(super) async fn make(&self, host: &Host, class: Class, store: &str) -> Result<(), Error> {
        let made = host.create_store(store, &self.new_store(class)).await;
        match made {
            Err(Error::Volume(VolumeError::Taken {
                kind: Kind::Store, ..
            })) => Ok(()),
            made => made,
        }
    }

    fn new_store(&self, class: Class) -> NewStore {
        let names: Vec<NameKind> = vec![class.kind()];
        NewStore {
            entries: self.options.entries,
            value_bytes: self.value_bytes(class),
            names,
            schema: encode(&self.options),
        }
    }

    /// Bytes of an entry: the longest name and the longest value.
    fn value_bytes(&self, class: Class) -> u32 {
        let name = class.name_bytes(self.options.name_bytes.into());
        // At most what a command moves, which was checked.
        (HEADER_BYTES + name) as u32 + self.options.value_bytes
    }
}

fn check_length(what: &'static str, found: &[u8], most: usize) -> Result<(), KeyValueError> {
    match found.len() {
        bytes if bytes > most => Err(KeyValueError::TooLong { what, bytes, most }),
        _ => Ok(()),
    }
}

/// What any of some patterns finds.
pub(super) fn groups(patterns: Vec<Pattern>) -> Vec<Vec<NameTerm>> {
    let term = |pattern| vec![NameTerm { name: 0, pattern }];
    patterns.into_iter().map(term).collect()
}

/// Whether a store has no place left for entries. Link Table Full is no such thing: that table is of all stores, and a copy
/// takes more of it before what it is a copy of goes.
fn is_full(error: &Error) -> bool {
    match error {
        Error::Host(host::Error::Status(error)) => error.status.is(Status::REGION_FULL),
        Error::Search(error @ SearchError::Partly { .. }) => error.is_status(Status::REGION_FULL),
        _ => false,
    }
}

fn encode(options: &KeyValueOptions) -> Vec<u8> {
    let mut schema = SCHEMA.to_vec();
    schema.extend(options.entries.to_le_bytes());
    schema.extend(options.value_bytes.to_le_bytes());
    schema.extend(options.name_bytes.to_le_bytes());
    schema
}

fn decode(schema: &[u8]) -> Option<KeyValueOptions> {
    let options: [u8; 10] = schema.strip_prefix(SCHEMA)?.try_into().ok()?;
    let [a, b, c, d, e, f, g, h, i, j] = options;
    Some(KeyValueOptions {
        entries: u32::from_le_bytes([a, b, c, d]),
        value_bytes: u32::from_le_bytes([e, f, g, h]),
        name_bytes: u16::from_le_bytes([i, j]),
    })
}
