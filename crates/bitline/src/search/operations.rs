//! Stores in simulated time.

use host::search::{Appended, DataRegion, Found, SearchDevice, SearchError, Updated, Wanted};
use host::volume::{Content, Kind, NewStore, Object, VolumeError};
use nvme::command::RegionRecord;
use nvme::query::{Part, Query, Term};

use super::{NameTerm, StoreInfo};
use crate::driver::Queue;
use crate::error::Error;
use crate::host_end::{Absent, DriveVolume, Host, Using};
use crate::volume::{not_found, number_of};

impl Host {
    pub(super) fn search_device(&self) -> SearchDevice<Queue> {
        SearchDevice::new(self.block.clone())
    }

    /// As [`super::Search::create`].
    ///
    /// # Errors
    /// As [`super::Search::create`].
    pub async fn create_store(&self, name: &str, what: &NewStore) -> Result<(), Error> {
        let create = async |volume: &mut DriveVolume| {
            volume.create_store(name, what).await?;
            Ok(())
        };
        self.mount.with(self, Absent::Create, create).await?;
        Ok(())
    }

    /// As [`super::Search::open`].
    ///
    /// # Errors
    /// As [`super::Search::open`].
    pub async fn store(&self, name: &str) -> Result<StoreInfo, Error> {
        let object = self.object(name).await?.ok_or_else(|| not_found(name))?;
        let wrong = wrong_kind(&object);
        match object.content {
            Content::Store(store) => Ok(StoreInfo {
                name: object.name,
                entries: store.entries,
                value_bytes: store.value_bytes,
                names: store.names.iter().map(|name| name.kind).collect(),
                schema: store.schema,
            }),
            _ => Err(wrong),
        }
    }

    /// As [`super::Search::names`].
    ///
    /// # Errors
    /// As [`super::Search::names`].
    pub async fn stores(&self) -> Result<Vec<String>, Error> {
        let objects = self.objects().await?.into_iter();
        let stores = objects.filter(|object| object.content.kind() == Kind::Store);
        Ok(stores.map(|store| store.name).collect())
    }

    /// As [`super::Search::remove`].
    ///
    /// # Errors
    /// As [`super::Search::remove`].
    pub async fn remove_store(&self, name: &str) -> Result<(), Error> {
        let number = |volume: &DriveVolume| {
            let number = number_of(volume, name).ok_or_else(|| not_found(name))?;
            Ok(vec![number])
        };
        let remove = async |volume: &mut DriveVolume| {
            let object = volume.named(name).ok_or_else(|| not_found(name))?;
            if object.content.kind() != Kind::Store {
                return Err(wrong_kind(&object));
            }
            Ok(volume.remove_store(object.id).await?)
        };
        let removed = self.mount.alone_with(self, number, remove).await?;
        removed.ok_or_else(|| not_found(name).into())
    }

    /// As [`super::Search::append`].
    ///
    /// # Errors
    /// As [`super::Search::append`].
    pub async fn append_entries(
        &self,
        name: &str,
        records: &[u8],
        count: u32,
    ) -> Result<Appended, Error> {
        let (region, _using) = self.use_store(name).await?;
        Ok(self.search_device().append(&region, records, count).await?)
    }

    /// As [`super::Search::look_up`].
    ///
    /// # Errors
    /// As [`super::Search::look_up`].
    pub async fn look_up(
        &self,
        name: &str,
        groups: &[Vec<NameTerm>],
        parts: &[Part],
        wanted: Wanted,
    ) -> Result<Found, Error> {
        let (region, _using) = self.use_store(name).await?;
        let query = query(&region, groups, parts)?;
        Ok(self
            .search_device()
            .look_up(&region, &query, wanted)
            .await?)
    }

    /// As [`super::Search::count`].
    ///
    /// # Errors
    /// As [`super::Search::count`].
    pub async fn count_entries(&self, name: &str, groups: &[Vec<NameTerm>]) -> Result<u32, Error> {
        let (region, _using) = self.use_store(name).await?;
        let query = query(&region, groups, &[])?;
        Ok(self.search_device().count(&region, &query).await?)
    }

    /// As [`super::Search::delete`].
    ///
    /// # Errors
    /// As [`super::Search::delete`].
    pub async fn delete_entries(&self, name: &str, groups: &[Vec<NameTerm>]) -> Result<u32, Error> {
        let (region, _using) = self.use_store(name).await?;
        let query = query(&region, groups, &[])?;
        Ok(self.search_device().delete(&region, &query).await?)
    }

    /// As [`super::Search::update`].
    ///
    /// # Errors
    /// As [`super::Search::update`].
    pub async fn update_entries(
        &self,
        name: &str,
        groups: Option<&[Vec<NameTerm>]>,
        records: &[u8],
        count: u32,
    ) -> Result<Updated, Error> {
        let (region, _using) = self.use_store(name).await?;
        let query = groups.map(|groups| query(&region, groups, &[]));
        let query = query.transpose()?;
        let device = self.search_device();
        let updated = device.update(&region, query.as_ref(), records, count);
        Ok(updated.await?)
    }

    /// As [`super::Search::report`].
    ///
    /// # Errors
    /// As [`super::Search::report`].
    pub async fn report_store(&self, name: &str) -> Result<Vec<RegionRecord>, Error> {
        let (region, _using) = self.use_store(name).await?;
        let all = self.search_device().report().await?;
        let of_name = |number: u16| all.iter().find(|found| found.region.get() == number);
        let names = region.names.iter();
        let found = names.filter_map(|name| of_name(name.region.get()).copied());
        Ok(found.collect())
    }

    /// A store's data region, which stays where it is until the second of both is dropped.
    pub(super) async fn use_store(&self, name: &str) -> Result<(DataRegion, Using<'_>), Error> {
        let (object, using) = self.use_object(name).await?;
        let region = object.data_region().ok_or_else(|| wrong_kind(&object))?;
        Ok((region, using))
    }
}

fn wrong_kind(object: &Object) -> Error {
    VolumeError::WrongKind {
        name: object.name.clone(),
        found: object.content.kind(),
        wanted: Kind::Store,
    }
    .into()
}

/// A query as the drive has it, whose terms name search regions.
pub(super) fn query(
    region: &DataRegion,
    groups: &[Vec<NameTerm>],
    parts: &[Part],
) -> Result<Query, SearchError> {
    let term = |term: &NameTerm| {
        let field = region.names.get(term.name).ok_or_else(|| {
            SearchError::Usage(format!(
                "name {} of a store with {}: they are counted from 0",
                term.name,
                region.names.len()
            ))
        })?;
        Ok(Term {
            region: field.region,
            pattern: term.pattern.clone(),
        })
    };
    let groups = groups
        .iter()
        .map(|group| group.iter().map(term).collect::<Result<Vec<_>, _>>());
    let groups = groups.collect::<Result<Vec<_>, SearchError>>()?;
    Ok(Query::new(groups, parts.to_vec())?)
}
