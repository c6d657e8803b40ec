//! Pages taken for content that no object has yet. It is written while others change the volume, and comes into force
//! with the change that names it.

use super::catalogue::alignment;
use super::data;
use super::error::VolumeError;
use super::extent::{Alignment, Extent, Run};
use super::object::{EXTENTS_MAX, Group, HANDLE_MAX, ObjectId};
use super::{Volume, no_object};
use crate::block::BlockDevice;
use crate::transport::Transport;

/// Pages that nobody else takes until an object has them ([`super::Change::create_from`] and others), or until they are
/// given back ([`Volume::give_back`]).
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what is reserved is nobody's until it is given back"]
pub struct Reservation {
    pub(super) runs: Vec<Run>,
    extents: Vec<Extent>,
}

impl Reservation {
    /// Where they are.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }
}

/// Writes content to the beginning of extents, the last page filled up with zeroes.
///
/// # Errors
/// What the drive reports.
pub async fn write_content<T: Transport>(
    device: &BlockDevice<T>,
    extents: &[Extent],
    content: &[u8],
) -> Result<(), VolumeError> {
    data::write_padded(device, extents, content).await
}

impl<T: Transport> Volume<T> {
    /// Takes pages for `bytes` bytes.
    ///
    /// # Errors
    /// [`VolumeError::NoSpace`].
    pub fn reserve(&mut self, bytes: u64) -> Result<Reservation, VolumeError> {
        let pages = self.layout.pages_for(bytes);
        self.reserve_pages(pages, Alignment::ANY, EXTENTS_MAX)
    }

    /// Takes pages for a vector of a group, whether that is there yet or not.
    ///
    /// # Errors
    /// [`VolumeError::NoSpace`].
    pub fn reserve_vector(&mut self, group: &Group) -> Result<Reservation, VolumeError> {
        let place = alignment(group, &self.layout).unwrap_or(Alignment::ANY);
        let pages = self.layout.pages_for(group.bits.div_ceil(8));
        // What computes on vectors takes each as one run of blocks.
        self.reserve_pages(pages, place, 1)
    }

    /// Takes pages for `bytes` bytes in one run.
    pub(super) fn reserve_run(&mut self, bytes: u64) -> Result<Reservation, VolumeError> {
        let pages = self.layout.pages_for(bytes);
        self.reserve_pages(pages, Alignment::ANY, 1)
    }

    /// Takes the pages that an object lacks to become `bytes` bytes long: right behind its last one, if they are free.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::NoSpace`].
    pub fn reserve_growth(&mut self, id: ObjectId, bytes: u64) -> Result<Reservation, VolumeError> {
        let runs = &self.catalogue.get(id).ok_or_else(|| no_object(id))?.runs;
        let has = runs.iter().map(|run| u64::from(run.pages)).sum::<u64>();
        let pages = self.layout.pages_for(bytes).saturating_sub(has);
        let runs_max = EXTENTS_MAX - runs.len();
        let behind = runs.last().zip(u32::try_from(pages).ok());
        let behind = behind.map(|(last, pages)| Run {
            first: last.end(),
            pages,
        });
        match behind.filter(|run| self.space.claim(*run)) {
            Some(run) => Ok(self.reservation(vec![run])),
            None => self.reserve_pages(pages, Alignment::ANY, runs_max),
        }
    }

    fn reserve_pages(
        &mut self,
        pages: u64,
        place: Alignment,
        runs_max: usize,
    ) -> Result<Reservation, VolumeError> {
        if pages == 0 {
            return Ok(self.reservation(Vec::new()));
        }
        let space = &mut self.space;
        let runs = u32::try_from(pages)
            .ok()
            .and_then(|pages| space.allocate(pages, place, runs_max));
        let runs = runs.ok_or_else(|| self.no_space(pages))?;
        Ok(self.reservation(runs))
    }

    fn reservation(&self, runs: Vec<Run>) -> Reservation {
        let extents = runs.iter().map(|run| self.layout.extent(*run)).collect();
        Reservation { runs, extents }
    }

    /// Takes the pages of a reservation once more, in a volume that was opened again meanwhile. False, and none is taken,
    /// if some are not free there.
    pub fn keep(&mut self, reservation: &Reservation) -> bool {
        for (taken, run) in reservation.runs.iter().enumerate() {
            if !self.space.claim(*run) {
                let taken = &reservation.runs[..taken];
                taken.iter().for_each(|run| self.space.release(*run));
                return false;
            }
        }
        true
    }

    /// Gives pages back. They are deallocated, and free, with the next change or [`Volume::deallocate_freed`]: no command
    /// that writes to them may be under way then.
    pub fn give_back(&mut self, reservation: Reservation) {
        self.freed.extend(reservation.runs);
    }

    /// Gives back pages that nothing was written to: they are free at once.
    pub fn cancel(&mut self, reservation: Reservation) {
        let runs = reservation.runs.into_iter();
        runs.for_each(|run| self.space.release(run));
    }

    /// A group for vectors of `bits` bits on some dies, which nobody has yet: with the handle `own` of one that it takes
    /// the place of, or else one for which `is_taken` is false.
    ///
    /// # Errors
    /// [`VolumeError::Attribute`] if there is no handle left; [`VolumeError::NoSpace`] if no volume has room for such a
    /// vector.
    pub fn new_group(
        &self,
        bits: u64,
        (first_die, dies): (u16, u16),
        own: Option<u16>,
        is_taken: impl Fn(u16) -> bool,
    ) -> Result<Group, VolumeError> {
        let handle = own.or_else(|| self.catalogue.next_handle(is_taken));
        let handle = handle.ok_or_else(|| VolumeError::Attribute {
            what: "the number of groups",
            value: u32::from(HANDLE_MAX).to_string(),
            allowed: "less: each has a placement handle of 15 bits; remove groups".into(),
        })?;
        let row = self.layout.pages_for(bits.div_ceil(8));
        let pages = u32::try_from(row).map_err(|_| self.no_space(row))?;
        let first = self.space.first_fit(pages, Alignment::ANY);
        let page_blocks = u64::from(self.layout.page_blocks);
        Ok(Group {
            handle,
            // Where no row fits in one piece, rows lie in pieces, wherever the matrix begins.
            anchor: self.layout.data() + u64::from(first.unwrap_or(0)) * page_blocks,
            pitch: row.max(1) * page_blocks,
            first_die,
            dies,
            bits,
        })
    }

    pub(super) fn no_space(&self, pages: u64) -> VolumeError {
        VolumeError::NoSpace {
            needed: pages.saturating_mul(u64::from(self.layout.page_blocks)),
            free: self.free_blocks(),
        }
    }
}
