//! Changes of an object's length: bytes are appended behind its end, or pages that it needs no more are freed.

use super::change::Change;
use super::error::VolumeError;
use super::extent::Run;
use super::object::{Content, Entry, ObjectId};
use super::reserve::Reservation;
use super::{data, no_object};
use crate::transport::Transport;

impl<T: Transport> Change<'_, T> {
    /// Writes `bytes` behind the end of a file, table or array; of an array whole rows.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::Rows`], [`VolumeError::Fixed`], [`VolumeError::NoSpace`]; what the drive
    /// reports.
    pub async fn append(&mut self, id: ObjectId, bytes: &[u8]) -> Result<(), VolumeError> {
        let object = self.volume.get(id).ok_or_else(|| no_object(id))?;
        let wanted = object.content.bytes() + bytes.len() as u64;
        let content = object.content.resized(&object.name, wanted)?;
        let reservation = self.volume.reserve_growth(id, wanted)?;
        let extents = reservation.extents().to_vec();
        self.grow(id, content, reservation)?;
        // Whoever drops this future leaves a command behind that may still write.
        self.volume.is_unsure = true;
        let device = self.volume.device();
        let written = async {
            let done = object.fill_up(device, bytes).await?;
            data::write_padded(device, &extents, &bytes[done..]).await
        };
        let written = written.await;
        self.volume.is_unsure = false;
        written
    }

    /// Makes an object longer: what is behind its end was written to its last page and to a reservation
    /// ([`Volume::reserve_growth`]).
    ///
    /// # Errors
    /// As [`Change::replace_from`].
    pub fn grow(
        &mut self,
        id: ObjectId,
        content: Content,
        reservation: Reservation,
    ) -> Result<(), VolumeError> {
        let more = self.adopt(reservation);
        // Its last page may have got the rest.
        self.has_content = true;
        let entry = self.same_kind(id, content)?;
        let mut runs = self.entry(id)?.runs.clone();
        for run in more {
            match runs.last_mut() {
                Some(last) if last.end() == run.first => last.pages += run.pages,
                _ => runs.push(run),
            }
        }
        self.resize(id, entry, runs)
    }

    /// Makes an object shorter; the pages that it needs no more are free once this is committed.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::WrongKind`], [`VolumeError::Attribute`].
    pub fn shorten(&mut self, id: ObjectId, content: Content) -> Result<(), VolumeError> {
        let mut left = self.volume.layout.pages_for(content.bytes());
        let entry = self.same_kind(id, content)?;
        let (mut kept, mut freed) = (Vec::new(), Vec::new());
        for run in self.entry(id)?.runs.clone() {
            let pages = left.min(u64::from(run.pages)) as u32;
            left -= u64::from(pages);
            let (first, rest) = (run.first, run.pages - pages);
            if pages > 0 {
                kept.push(Run { first, pages });
            }
            if rest > 0 {
                let first = first + pages;
                freed.push(Run { first, pages: rest });
            }
        }
        self.resize(id, entry, kept)?;
        self.freed.extend(freed);
        Ok(())
    }

    fn resize(
        &mut self,
        id: ObjectId,
        mut entry: Entry,
        runs: Vec<Run>,
    ) -> Result<(), VolumeError> {
        self.check(&entry, Some(id))?;
        entry.runs = self.runs_for(&entry, Some(runs))?;
        self.put(vec![(id, Some(entry))])
    }
}
