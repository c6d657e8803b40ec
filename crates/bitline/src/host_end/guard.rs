//! Plain writes stay away from what the drive's volume needs to be found again.
//!
//! An object is logical pages, and writing over them is a write: its data is other data then. The catalogue is what
//! every name is found by, and free blocks of the volume are what the next object takes, so both are refused. Raw
//! commands of the host library ([`crate::inside::InsideHost::block`]) may still do all.

use std::ops::Range;

use host::volume::BlockUse;
use sim::resource::Permit;

use super::DriveVolume;
use super::Host;
use super::area::options;
use super::mount::Absent;
use crate::error::Error;

/// What is to happen to blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    /// They get data of the caller's own: over an object's, if they are that.
    Write,
    /// They are given back: free ones may be.
    GiveBack,
    /// They get data that is made up, such as a workload's: over nobody's.
    Generate,
    /// They are those of a file of a file system: nobody's of the volume.
    Place,
}

impl Host {
    /// Waits until `blocks` of the first namespace may be written, and does `work` then: nothing of the volume goes
    /// or comes meanwhile.
    ///
    /// # Errors
    /// [`Error::InVolume`]; what opening the volume or the work reports.
    pub(crate) async fn plainly<T>(
        &self,
        blocks: Range<u64>,
        plain: Plain,
        work: impl AsyncFnOnce() -> Result<T, host::Error>,
    ) -> Result<T, Error> {
        let is_outside = blocks.is_empty() || blocks.end > self.block.blocks();
        // What there is none of is refused without a look at the volume.
        if is_outside || blocks.end <= options(self).first {
            return Ok(work().await?);
        }
        // In a box, as it may have to open the volume: plain writes elsewhere, which are most, take no room for that.
        let _using = Box::pin(self.check_plain(blocks, plain)).await?;
        Ok(work().await?)
    }

    /// Whether `blocks` of the first namespace may be written. What they are stays so until the result is dropped.
    ///
    /// # Errors
    /// [`Error::InVolume`]; what opening the volume reports.
    pub(crate) async fn check_plain(
        &self,
        blocks: Range<u64>,
        plain: Plain,
    ) -> Result<Permit<'_>, Error> {
        let (found, using) = loop {
            let look = async |volume: &mut DriveVolume| {
                let used_for = volume.use_of(blocks.start, blocks.end - blocks.start);
                Ok(used_for.map(|used_for| (used_for, volume.extent(), volume.catalogue_extent())))
            };
            let found = self.mount.with(self, Absent::Leave, look).await?.flatten();
            match self.mount.begin_plain() {
                Some(using) => break (found, using),
                None => self.mount.plain_may_begin().await,
            }
        };
        let Some((used_for, whole, catalogue)) = found else {
            return Ok(using);
        };
        let is_fine = match plain {
            Plain::Write => used_for == BlockUse::Objects,
            Plain::GiveBack => used_for != BlockUse::Catalogue,
            Plain::Generate | Plain::Place => false,
        };
        if is_fine {
            return Ok(using);
        }
        Err(Error::InVolume {
            first: blocks.start,
            end: blocks.end,
            what: match used_for {
                BlockUse::Catalogue => format!(
                    "the catalogue of the drive's volume, blocks {} to {}, by which every name is found",
                    catalogue.first,
                    catalogue.first + catalogue.blocks
                ),
                BlockUse::Free => {
                    "free blocks of the drive's volume, which the next object takes".into()
                }
                _ => {
                    "the drive's volume, whose groups, arrays and files would be overwritten".into()
                }
            },
            before: whole.first,
        })
    }
}
