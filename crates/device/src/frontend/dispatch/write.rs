//! Writes, and the flush that makes them durable.

use std::ops::Range;

use media::link::Carries;
use nvme::command::ReadWrite;
use nvme::{SegmentList, Status};
use sim::join_all;

use super::piece::Piece;
use crate::frontend::Controller;
use crate::frontend::answer::{Answer, status_of};
use crate::frontend::namespace::Namespace;
use crate::ftl::PageSlice;
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
        let segments = self.port.locate(piece.origin, &write.data, bytes).await?;
        // Hardly anybody waits: the way without a future first.
        let _room = match self.buffers.try_room(Purpose::Command) {
            Some(room) => room,
            None => Box::pin(self.buffers.room(Purpose::Command)).await,
        };
        self.port
            .fetch_bytes(piece.origin, Carries::Data, bytes)
            .await;
        let buffer = self.buffers.take();
        self.port
            .copy_in(&segments, piece.offset, buffer.id(), piece.place())?;
        let slice = piece.in_buffer(buffer.id());
        self.write_slices(namespace, range, &[slice], write.force_unit_access)
            .await
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
    ) -> Result<Answer, Status> {
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
        for piece in pieces {
            if piece.base == 0 {
                buffers.push(self.buffers.take());
            }
            let buffer = buffers.last().map_or(BufferId::NONE, Buffer::id);
            self.fill(piece, buffer, data)?;
            slices.push(piece.in_buffer(buffer));
        }
        let begin = start + first;
        self.write_slices(namespace, begin..begin + count, &slices, force)
            .await
    }

    /// Puts a piece of a command's data into its page buffer.
    fn fill(&self, piece: &Piece, buffer: BufferId, data: Data<'_>) -> Result<(), Status> {
        let place = piece.place();
        match data {
            Data::Host(segments) => self.port.copy_in(segments, piece.offset, buffer, place),
            Data::Copied(bytes) => {
                self.buffers.with_mut(buffer, |page| {
                    let from = piece.offset as usize..piece.offset as usize + place.len();
                    page[place].copy_from_slice(&bytes[from]);
                });
                Ok(())
            }
        }
    }

    #[inline]
    async fn write_slices(
        &self,
        namespace: &Namespace,
        bytes: Range<u64>,
        slices: &[PageSlice],
        force: bool,
    ) -> Result<Answer, Status> {
        if slices.len() > 1 && namespace.plain.get() {
            return match self.cache.writes_through(force) {
                true => self.write_page_by_page(namespace, bytes, slices).await,
                false => {
                    self.cache_page_by_page(namespace, bytes, slices, force)
                        .await
                }
            };
        }
        let lock = self.ftl.lock(self.pages(namespace, &bytes)).await;
        let force = force || must_outlive_marks(namespace);
        let written = self.cache.write(&lock, slices, force).await;
        let arrival = written.map_err(|error| status_of(error, false))?;
        self.health.write(bytes.end - bytes.start);
        self.clear_marks(&lock, namespace, bytes).await?;
        drop(lock);
        self.sim.sleep_until(arrival).await;
        Ok(Answer::DONE)
    }

    /// The same into the cache. Pages are locked one after another, each until it has its slot: nobody waits for what a
    /// page does not need, such as room for others of the command or the way to DRAM.
    async fn cache_page_by_page(
        &self,
        namespace: &Namespace,
        bytes: Range<u64>,
        slices: &[PageSlice],
        force: bool,
    ) -> Result<Answer, Status> {
        let claim = &self.ftl.claim(self.pages(namespace, &bytes));
        let mut admission = self.cache.admission();
        for units in slices.chunk_by(|_, next| next.base > 0) {
            let (first, last) = (&units[0], &units[units.len() - 1]);
            let pages = first.lpn.0..last.lpn.0 + 1;
            let lock = match claim.try_lock(pages.clone()) {
                Some(lock) => lock,
                None => {
                    admission.pause();
                    claim.lock(pages).await
                }
            };
            // Blocks may be marked while this waits.
            let force = force || must_outlive_marks(namespace);
            let written = admission.write(&lock, units, force).await;
            written.map_err(|error| status_of(error, false))?;
            if !namespace.plain.get() {
                admission.pause();
                let bytes = self.bytes(namespace, first).start..self.bytes(namespace, last).end;
                self.clear_marks(&lock, namespace, bytes).await?;
            }
        }
        self.health.write(bytes.end - bytes.start);
        self.sim.sleep_until(admission.arrival()).await;
        Ok(Answer::DONE)
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
    ) -> Result<Answer, Status> {
        let claim = &self.ftl.claim(self.pages(namespace, &bytes));
        let written = slices.chunk_by(|_, next| next.base > 0).map(async |units| {
            let (first, last) = (&units[0], &units[units.len() - 1]);
            let lock = claim.lock(first.lpn.0..last.lpn.0 + 1).await;
            let written = self.cache.write_page_through(&lock, units).await;
            written.map_err(|error| status_of(error, false))?;
            // Blocks may have been marked while this waited for its page.
            let bytes = self.bytes(namespace, first).start..self.bytes(namespace, last).end;
            self.clear_marks(&lock, namespace, bytes).await
        });
        for outcome in join_all(written).await {
            outcome?;
        }
        self.health.write(bytes.end - bytes.start);
        Ok(Answer::DONE)
    }
}
