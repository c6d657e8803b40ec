//! Making room: the entries of a store that are there are copied to a new one, which takes over its name.
//!
//! Names of stores tell how far that is: `map/13~` is a copy that nobody needs before it is whole, `map/13-` a store whose
//! copy has its name by then. Both go when the map is opened next.

use host::search::Wanted;
use sim::resource::Access;

use super::entry;
use super::map::{KeyValueMap, groups};
use super::names::Class;
use crate::error::{Error, KeyValueError};
use crate::host_end::{DriveVolume, Host, erased};
use crate::volume::not_found;

/// Entries that are copied at once.
const ENTRIES_A_COPY: usize = 4096;

impl KeyValueMap {
    /// Gives back the places of entries that were deleted or replaced, in all stores. Puts and deletes wait meanwhile.
    ///
    /// # Errors
    /// [`host::volume::VolumeError::NoSpace`] if the volume has no room for another store; what the drive reports.
    pub async fn compact(&self, host: &Host) -> Result<(), Error> {
        for class in Class::all() {
            if host.object(&self.store_of(class)).await?.is_some() {
                self.compact_class(host, class).await?;
            }
        }
        Ok(())
    }

    /// As [`KeyValueMap::compact`], for the names of one class.
    ///
    /// # Errors
    /// [`KeyValueError::Full`] if nothing would be gained.
    pub(super) async fn compact_class(&self, host: &Host, class: Class) -> Result<(), Error> {
        let store = self.store_of(class);
        let _moving = host.locked(&store, Access::Exclusive).await?;
        if let Some(region) = host.report_store(&store).await?.first()
            && region.live.get() >= self.options().entries
        {
            let entries = self.options().entries;
            return Err(KeyValueError::Full { entries }.into());
        }
        self.clear_remnants(host, class).await?;
        let copy = format!("{store}~");
        self.make(host, class, &copy).await?;
        let copied = self.copy_entries(host, class, &store, &copy).await;
        if let Err(error) = copied {
            // What the copying reports tells more.
            let _ = host.remove_store(&copy).await;
            return Err(error);
        }
        self.take_over(host, &store, &copy).await?;
        host.remove_store(&format!("{store}-")).await
    }

    async fn copy_entries(
        &self,
        host: &Host,
        class: Class,
        from: &str,
        to: &str,
    ) -> Result<(), Error> {
        let all = groups(vec![Class::any()?]);
        let found = host.look_up(from, &all, &[], Wanted::default()).await?;
        let entries: Vec<&[u8]> = found.iter().collect();
        for part in entries.chunks(ENTRIES_A_COPY) {
            let mut records = Vec::new();
            for entry in part {
                let name = match host.stores_data {
                    true => entry::decode(entry)?.0,
                    false => &[],
                };
                records.extend(class.kept(name));
                records.extend(*entry);
            }
            host.append_entries(to, &records, part.len() as u32).await?;
        }
        Ok(())
    }

    /// Gives a copy the name of what it is of, once nobody uses that.
    async fn take_over(&self, host: &Host, store: &str, copy: &str) -> Result<(), Error> {
        let both = |volume: &DriveVolume| {
            let numbers = [store, copy].map(|name| {
                let object = volume.named(name).ok_or_else(|| not_found(name))?;
                Ok(object.id.get())
            });
            numbers.into_iter().collect::<Result<Vec<u32>, Error>>()
        };
        let rename = async |volume: &mut DriveVolume| {
            let old = volume.named(store).ok_or_else(|| not_found(store))?;
            let new = volume.named(copy).ok_or_else(|| not_found(copy))?;
            let mut change = volume.change()?;
            change.rename(old.id, &format!("{store}-"))?;
            change.rename(new.id, store)?;
            change.commit().await?;
            Ok(())
        };
        let renamed = host.mount.alone_with(host, both, rename).await?;
        renamed.ok_or_else(erased)
    }

    /// Removes what a compaction that broke off has left; one that is under way ends before.
    pub(super) async fn clear_up(&self, host: &Host, class: Class) -> Result<(), Error> {
        let store = self.store_of(class);
        if host.object(&store).await?.is_none() {
            return Ok(());
        }
        let _moving = host.locked(&store, Access::Exclusive).await?;
        self.clear_remnants(host, class).await
    }

    async fn clear_remnants(&self, host: &Host, class: Class) -> Result<(), Error> {
        let store = self.store_of(class);
        for end in ["~", "-"] {
            let remnant = format!("{store}{end}");
            if host.object(&remnant).await?.is_some() {
                host.remove_store(&remnant).await?;
            }
        }
        Ok(())
    }
}
