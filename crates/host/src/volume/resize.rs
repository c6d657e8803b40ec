//! Changes of an object's length: bytes are appended behind its end, or pages that it needs no more are freed.

use super::change::Change;
use super::error::VolumeError;
use super::extent::Run;
use super::object::{Content, EXTENTS_MAX, Entry, ObjectId};
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
    /// (`Volume::reserve_growth`).
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
    /// What was cut off is in none of its blocks then, whenever the power is cut: where the new end is within a page,
    /// what is kept of that is written to a new page, with zeroes behind it, which comes into force with the commit;
    /// the old one is deallocated with the others. What a cut leaves of them goes when the volume is trimmed. If there
    /// is no page left, the old one stays and is cleared behind the commit, in place: a cut right between leaves its
    /// bytes.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::WrongKind`], [`VolumeError::Attribute`]; what the drive reports.
    pub async fn shorten(&mut self, id: ObjectId, content: Content) -> Result<(), VolumeError> {
        let object = self.volume.get(id).ok_or_else(|| no_object(id))?;
        let (bytes, layout) = (content.bytes(), self.volume.layout);
        let entry = self.same_kind(id, content)?;
        self.check(&entry, Some(id))?;
        let rest = bytes % layout.page_bytes() as u64;
        let is_within_page = rest > 0 && bytes < object.content.bytes();
        let (mut kept, mut freed) = split(&self.entry(id)?.runs, layout.pages_for(bytes));
        let new = match is_within_page && kept.len() < EXTENTS_MAX {
            true => self.volume.reserve(rest).ok(),
            false => None,
        };
        if let Some(new) = new {
            let extents = new.extents().to_vec();
            let replaced = kept.iter().map(|run| u64::from(run.pages)).sum::<u64>() - 1;
            let (before, last) = split(&kept, replaced);
            freed.extend(last);
            kept = [before, self.adopt(new)].concat();
            // Whoever drops this future leaves a command behind that may still write.
            self.volume.is_unsure = true;
            let device = self.volume.device();
            let written = async {
                let end = object.read(device, bytes - rest, rest).await?;
                data::write_padded(device, &extents, &end).await
            };
            let written = written.await;
            self.volume.is_unsure = false;
            written?;
        } else if is_within_page {
            self.uncleared.push(id);
        }
        self.resize(id, entry, kept)?;
        self.freed.extend(freed);
        Ok(())
    }

    /// Clears what was cut off from the last pages of objects, which are committed.
    pub(super) async fn clear_ends(&self) -> Result<(), VolumeError> {
        let device = self.volume.device();
        let objects = self.uncleared.iter().map(|id| self.volume.get(*id));
        for object in objects.flatten() {
            object.clear_end(device).await?;
        }
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

/// The first `pages` of runs, and the others.
fn split(runs: &[Run], pages: u64) -> (Vec<Run>, Vec<Run>) {
    let mut left = pages;
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for run in runs {
        let pages = left.min(u64::from(run.pages)) as u32;
        left -= u64::from(pages);
        let part = |runs: &mut Vec<Run>, first, pages| {
            if pages > 0 {
                runs.push(Run { first, pages });
            }
        };
        part(&mut first, run.first, pages);
        part(&mut others, run.first + pages, run.pages - pages);
    }
    (first, others)
}
