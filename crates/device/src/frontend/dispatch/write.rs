//! Writes, and the flush that makes them durable.

use std::ops::Range;

use media::link::Carries;
use nvme::command::ReadWrite;
use nvme::{SegmentList, Status};
use sim::join_all;

use super::piece::Piece;
use crate::cache::Step;
use crate::frontend::Controller;
use crate::frontend::answer::{Answer, status_of};
use crate::frontend::namespace::Namespace;
use crate::ftl::{FtlError, PageSlice};
use crate::memory::{Buffer, BufferId, Purpose};
use crate::schedule::Origin;

/// Where the data of a write is.
#[derive(Clone, Copy)]
pub(in crate::frontend) enum Data<'a> {
    /// In host memory, from where it is fetched.
    Host(&'a SegmentList),
    /// In the controller's memory; nothing if the drive keeps no data.
    Copied(&'a [u8]),
}

/// Whether a write must be on flash before it may clear a mark: the note that a mark is gone is
/// durable, and after a power cut what a cache lost would show the data beneath the mark.
#[inline]
pub(super) fn must_outlive_marks(namespace: &Namespace) -> bool {
    !namespace.plain.get()
}

impl Controller {
    /// What was completed before, for any namespace, is then where no power cut can take it.
    pub(super) async fn flush(&self) -> Result<Answer, Status> {
        if self.cache.is_volatile() {
            let flushed = self.cache.flush().await;
            flushed.map_err(|error| status_of(error, false))?;
        }
        Ok(Answer::DONE)
    }

    /// As [`Controller::write`], within one page: by far the most frequent write, which asks
    /// nothing of the allocator.
    #[inline]
    pub(super) async fn write_piece(
        &self,
        namespace: &Namespace,
        write: &ReadWrite,
        piece: Piece,
    ) -> Result<Answer, Status> {
        let range = namespace.byte_range(&write.blocks)?;
        let bytes = u64::from(piece.bytes);
        self.check_transfer(bytes)?;
        let lpn = piece.in_buffer(BufferId::NONE).lpn;
        self.cache.prefetch_for_write(lpn, Step::Slot);
        let segments = self.port.locate(piece.origin, &write.data, bytes).await?;
        // Hardly anybody waits: the way without a future first.
        let _room = match self.buffers.try_room(Purpose::Command) {
            Some(room) => room,
            None => Box::pin(self.buffers.room(Purpose::Command)).await,
        };
        self.port
            .fetch_bytes(piece.origin, Carries::Data, bytes)
            .await;
        self.cache.prefetch_for_write(lpn, Step::Place);
        let buffer = self.buffers.take();
        self.port
            .copy_in(&segments, piece.offset, buffer.id(), piece.place())?;
        self.cache.prefetch_for_write(lpn, Step::Content);
        let slice = piece.in_buffer(buffer.id());
        self.write_slice(namespace, range, slice, write.force_unit_access)
            .await?;
        self.health.write_over();
        Ok(Answer::DONE)
    }

    pub(super) async fn write(
        &self,
        namespace: &Namespace,
        write: &ReadWrite,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let range = namespace.byte_range(&write.blocks)?;
        let bytes = range.end - range.start;
        self.check_transfer(bytes)?;
        let segments = self.port.locate(origin, &write.data, bytes).await?;
        let (data, force) = (Data::Host(&segments), write.force_unit_access);
        self.write_pages(namespace, range, origin, data, force)
            .await
    }

    /// Writes `data` to bytes of a namespace, as many pages at a time as there is room for; when this
    /// returns, they are where a completed write has to be: in the cache, or on flash if `force` asks for that.
    pub(in crate::frontend) async fn write_pages(
        &self,
        namespace: &Namespace,
        range: Range<u64>,
        origin: Origin,
        data: Data<'_>,
        force: bool,
    ) -> Result<Answer, Status> {
        let pieces: Vec<Piece> = self.pieces(namespace, &range, origin).collect();
        let window = (self.buffers.most_at_once() * self.unit.per_page()) as usize;
        for window in pieces.chunks(window) {
            self.write_window(namespace, range.start, window, data, force)
                .await?;
        }
        self.health.write_over();
        Ok(Answer::DONE)
    }

    /// Writes pieces of a command that begins at byte `start` of the namespace; room for all of them
    /// is taken first, so that whoever has some never waits for more.
    async fn write_window(
        &self,
        namespace: &Namespace,
        start: u64,
        pieces: &[Piece],
        data: Data<'_>,
        force: bool,
    ) -> Result<(), Status> {
        let count_of_buffers = self.buffers_for(pieces.len());
        let _room = self.buffers.rooms(count_of_buffers).await;
        let first = pieces.first().map_or(0, |piece| piece.offset);
        let count: u64 = pieces.iter().map(|piece| u64::from(piece.bytes)).sum();
        if let Data::Host(_) = data {
            let origin = pieces.first().map(|piece| piece.origin).unwrap_or_default();
            self.port.fetch_bytes(origin, Carries::Data, count).await;
        }
        let mut buffers: Vec<Buffer<'_>> = Vec::with_capacity(count_of_buffers as usize);
        let mut slices = Vec::with_capacity(pieces.len());
        for together in pieces.chunk_by(|_, next| next.base != 0) {
            let buffer = self.buffers.take();
            self.fill(together, buffer.id(), data)?;
            slices.extend(together.iter().map(|piece| piece.in_buffer(buffer.id())));
            buffers.push(buffer);
        }
        let begin = start + first;
        self.write_slices(namespace, begin..begin + count, &slices, force)
            .await
    }

    /// Puts pieces of a command's data, which follow one another, into their page buffer.
    fn fill(&self, pieces: &[Piece], buffer: BufferId, data: Data<'_>) -> Result<(), Status> {
        let (first, last) = (&pieces[0], &pieces[pieces.len() - 1]);
        let place = first.place().start..last.place().end;
        match data {
            Data::Host(segments) => self.port.take_in(segments, first.offset, buffer, place),
            Data::Copied(bytes) => {
                self.buffers.with_mut(buffer, |page| {
                    let from = first.offset as usize..first.offset as usize + place.len();
                    page[place].copy_from_slice(&bytes[from]);
                });
                Ok(())
            }
        }
    }

    /// Writes slices that lie in buffers, to bytes of the namespace.
    #[inline]
    async fn write_slices(
        &self,
        namespace: &Namespace,
        bytes: Range<u64>,
        slices: &[PageSlice],
        force: bool,
    ) -> Result<(), Status> {
        if let [slice] = slices {
            self.write_slice(namespace, bytes, *slice, force).await
        } else if !namespace.plain.get() {
            self.write_over_marks(namespace, bytes, slices, force).await
        } else if self.cache.writes_through(force) {
            self.write_page_by_page(namespace, bytes, slices).await
        } else {
            self.cache_page_by_page(namespace, bytes, slices, force)
                .await
        }
    }

    /// The same within one page.
    #[inline]
    async fn write_slice(
        &self,
        namespace: &Namespace,
        bytes: Range<u64>,
        slice: PageSlice,
        force: bool,
    ) -> Result<(), Status> {
        let mut admission = self.cache.admission();
        let lock = self.ftl.lock(self.pages(namespace, &bytes)).await;
        let force = force || must_outlive_marks(namespace);
        let written = match self.cache.writes_through(force) {
            true => self.cache.write_page_through(&lock, &[slice]).await,
            false => admission.write(&lock, &[slice], force).await,
        };
        self.written(&[slice], written)?;
        let arrival = admission.arrival();
        self.clear_marks(&lock, namespace, bytes).await?;
        drop(lock);
        self.sim.sleep_until(arrival).await;
        Ok(())
    }

    /// The same where blocks are marked: all pages are locked until one note says that no mark is left on them.
    async fn write_over_marks(
        &self,
        namespace: &Namespace,
        bytes: Range<u64>,
        slices: &[PageSlice],
        force: bool,
    ) -> Result<(), Status> {
        let mut admission = self.cache.admission();
        let lock = self.ftl.lock(self.pages(namespace, &bytes)).await;
        let force = force || must_outlive_marks(namespace);
        if self.cache.writes_through(force) {
            let written = PageSlice::by_buffer(slices).map(async |units| {
                let written = self.cache.write_page_through(&lock, units).await;
                self.written(units, written)
            });
            join_all(written)
                .await
                .into_iter()
                .collect::<Result<(), Status>>()?;
        } else {
            for units in PageSlice::by_buffer(slices) {
                let written = admission.write(&lock, units, force).await;
                self.written(units, written)?;
            }
        }
        let arrival = admission.arrival();
        self.clear_marks(&lock, namespace, bytes).await?;
        drop(lock);
        self.sim.sleep_until(arrival).await;
        Ok(())
    }

    /// The same into the cache. Pages are locked one after another, each until it has its slot: nobody waits for what a
    /// page does not need, such as room for others of the command or the way to DRAM.
    async fn cache_page_by_page(
        &self,
        namespace: &Namespace,
        bytes: Range<u64>,
        slices: &[PageSlice],
        force: bool,
    ) -> Result<(), Status> {
        let mut admission = self.cache.admission();
        let claim = &self.ftl.claim(self.pages(namespace, &bytes));
        for units in PageSlice::by_buffer(slices) {
            let lock = admission.lock(claim, pages_of(units)).await;
            // Blocks may be marked while this waits.
            let force = force || must_outlive_marks(namespace);
            let written = admission.write(&lock, units, force).await;
            self.written(units, written)?;
            if !namespace.plain.get() {
                let cleared = self.clear_marks(&lock, namespace, self.bytes_of(namespace, units));
                admission.aside(cleared).await?;
            }
        }
        self.sim.sleep_until(admission.arrival()).await;
        Ok(())
    }

    /// The same to flash. Every buffer waits for its own pages and lets them go when they are written, so that a command
    /// that overlaps another waits where it does and nowhere else: in a stream of writes that begin and end within pages,
    /// each would otherwise wait for all of the one before. Several blocks at once are not promised to be written as one
    /// (AWUN, AWUPF: a block, which is of one page).
    async fn write_page_by_page(
        &self,
        namespace: &Namespace,
        bytes: Range<u64>,
        slices: &[PageSlice],
    ) -> Result<(), Status> {
        let claim = &self.ftl.claim(self.pages(namespace, &bytes));
        let written = PageSlice::by_buffer(slices).map(async |units| {
            let lock = claim.lock(pages_of(units)).await;
            let written = self.cache.write_page_through(&lock, units).await;
            self.written(units, written)?;
            // Blocks may have been marked while this waited for its page.
            self.clear_marks(&lock, namespace, self.bytes_of(namespace, units))
                .await
        });
        join_all(written).await.into_iter().collect()
    }

    /// What became of slices that lie in one buffer. What was written counts as that in the drive's health, whatever
    /// becomes of the rest of the command.
    #[inline]
    fn written<T>(&self, units: &[PageSlice], outcome: Result<T, FtlError>) -> Result<T, Status> {
        let outcome = outcome.map_err(|error| status_of(error, false))?;
        self.health
            .wrote(units.iter().map(|unit| u64::from(unit.bytes)).sum());
        Ok(outcome)
    }

    /// The bytes of the namespace that slices which lie in one buffer are of.
    fn bytes_of(&self, namespace: &Namespace, units: &[PageSlice]) -> Range<u64> {
        let (first, last) = (&units[0], &units[units.len() - 1]);
        self.bytes(namespace, first).start..self.bytes(namespace, last).end
    }
}

/// The pages that slices which lie in one buffer are of.
fn pages_of(units: &[PageSlice]) -> Range<u32> {
    units[0].lpn.0..units[units.len() - 1].lpn.0 + 1
}
