//! Reads of a transaction: its own writes, what it sees of others', from memory or from flash.

use std::ops::Range;

use media::core::Work;
use media::dram::{ScatteredAccess, Toward};
use sim::resource::Access;
use smallvec::SmallVec;

use super::pieces::{Piece, pieces, ranges};
use super::transaction::Transaction;
use super::{Transactions, TxError};
use crate::cache::{Lookup, ReadStamp};
use crate::ftl::{Lpn, PageSlice, Place};
use crate::memory::{Buffer, BufferId};
use crate::schedule::{Notify, Origin};

/// Reads of flash begin and end with sectors.
const SECTOR_BYTES: u32 = 512;

impl Transaction {
    /// Reads bytes of a file from `offset` on: as many as it has of `bytes`, none beyond its end. On a drive that keeps no data
    /// they are zeroes.
    ///
    /// # Errors
    /// No such file; flash that cannot be read; or the transaction cannot go on.
    pub async fn read(&self, file: u32, offset: u64, bytes: u32) -> Result<Vec<u8>, TxError> {
        self.check_open()?;
        let end = self
            .file(file)?
            .bytes()
            .min(offset.saturating_add(bytes.into()));
        let range = offset.min(end)..end;
        let mut into = vec![0; (range.end - range.start) as usize];
        let read = self.read_range(file, range, &mut into).await;
        self.noted(read)?;
        Ok(into)
    }

    async fn read_range(
        &self,
        file: u32,
        range: Range<u64>,
        into: &mut [u8],
    ) -> Result<(), TxError> {
        let owner = &self.owner;
        let pieces = pieces(self.file(file)?, range, owner.unit);
        for piece in &pieces {
            self.note_read(piece.lpn);
        }
        // What the task is writing meanwhile is seen when it is there.
        let _lock = self.lock(ranges(&pieces), Access::Shared).await;
        let most = (owner.buffers.most_at_once() as usize).max(1);
        for pieces in pieces.chunks(most) {
            self.read_pieces(pieces, into).await?;
        }
        owner.count(|counts| counts.pages_read += pieces.len() as u64);
        Ok(())
    }

    /// Reads pieces for which there may be buffers at once.
    async fn read_pieces(&self, pieces: &[Piece], into: &mut [u8]) -> Result<(), TxError> {
        let owner = &self.owner;
        let count = pieces.len() as u64;
        let searches = if self.is_validated() { 2 } else { 1 };
        let found = self.transaction().map_or(0, |_| searches * count);
        let work = [(Work::ReadPage, count), (Work::FindVersion, found)];
        owner.cores.work_often(self.origin, work).await;
        let _room = owner.buffers.rooms(pieces.len() as u32).await;
        let mut elsewhere: SmallVec<[(Piece, Buffer<'_>); 2]> = SmallVec::new();
        let mut gathered = 0;
        for piece in pieces {
            match self.image_of(piece.lpn) {
                Some(image) => {
                    gathered += u64::from(piece.bytes);
                    let image = image.borrow();
                    if !image.is_empty() {
                        into[piece.place()].copy_from_slice(&image[piece.within()]);
                    }
                }
                None => elsewhere.push((*piece, owner.buffers.take())),
            }
        }
        owner
            .move_bytes(self.origin.tenant, gathered, Toward::Reader)
            .await;
        let slices = elsewhere
            .iter()
            .map(|(piece, buffer)| slice_of(piece, buffer.id(), owner, self.origin));
        let slices: SmallVec<[PageSlice; 2]> = slices.collect();
        self.fetch(&slices).await?;
        for (piece, buffer) in &elsewhere {
            owner.buffers.with(buffer.id(), |page| {
                into[piece.place()].copy_from_slice(&page[piece.within()]);
            });
        }
        Ok(())
    }

    pub(super) fn image_of(&self, lpn: Lpn) -> Option<super::transaction::Image> {
        self.images.borrow().get(&lpn.0).cloned()
    }

    /// Reads what the transaction sees of slices to their buffers.
    pub(super) async fn fetch(&self, slices: &[PageSlice]) -> Result<(), TxError> {
        let (ftl, cache) = (&self.owner.ftl, &self.owner.cache);
        ftl.entries_for(slices.iter().map(|slice| slice.lpn))
            .await?;
        let ticket = ftl.ticket();
        let to: Notify = ticket.id().into();
        let mut cached = ScatteredAccess::default();
        let mut kept: SmallVec<[(PageSlice, ReadStamp); 2]> = SmallVec::new();
        for slice in slices {
            match self.place_of(slice.lpn)? {
                Place::Version(at) => ftl.read_version(at, *slice, to),
                Place::Nothing => self.owner.blank(slice),
                Place::Newest => match cache.lookup(slice) {
                    Lookup::Hit(found) => {
                        cache.add_hit(&mut cached, slice.origin.requester(), found)
                    }
                    // Flash misses nothing of what the cache has of a page that is watched.
                    Lookup::Miss | Lookup::PartialHit(_) => {
                        let stamp = cache.read_stamp(slice.lpn);
                        ftl.read_now(*slice, to);
                        kept.push((*slice, stamp));
                    }
                },
            }
        }
        let cached = cache.post_hits(cached);
        ticket.await.map_err(crate::ftl::FtlError::from)?;
        if let Some(arrives) = cached {
            self.owner.sim.sleep_until(arrives).await;
        }
        kept.into_iter()
            .for_each(|(slice, stamp)| cache.keep(slice, stamp));
        Ok(())
    }

    fn place_of(&self, lpn: Lpn) -> Result<Place, TxError> {
        match self.transaction() {
            Some(id) => Ok(self.owner.ftl.place_of(id, lpn)?),
            None => Ok(Place::Newest),
        }
    }
}

impl Transactions {
    /// Nothing was ever written to a page.
    fn blank(&self, slice: &PageSlice) {
        self.buffers
            .with_mut(slice.buffer, |page| page[slice.place()].fill(0));
    }
}

/// The sectors that a piece touches, read to a buffer.
fn slice_of(piece: &Piece, into: BufferId, owner: &Transactions, origin: Origin) -> PageSlice {
    let column = piece.column / SECTOR_BYTES * SECTOR_BYTES;
    let end = (piece.column + piece.bytes).next_multiple_of(SECTOR_BYTES);
    let end = end.min(owner.unit.bytes());
    PageSlice {
        origin,
        ..PageSlice::new(piece.lpn, column, end - column, into)
    }
}
