//! The I/O commands of the NVM command set: reads, writes, and what makes room.

use std::ops::Range;

use nvme::command::{BlockRange, DatasetManagement, DatasetRange, ReadWrite, WriteZeroes};
use nvme::{BROADCAST_NAMESPACE, IoCommand, Status};

use super::Controller;
use super::format::PAGES_AT_ONCE;
use super::namespace::Namespace;
use super::slot::Answer;
use crate::buffer::{Buffer, BufferId};
use crate::cache::{Lookup, ReadStamp, Rest};
use crate::ftl::{FtlError, Lpn, PagePart, WithoutSpace};
use crate::schedule::{Fault, Notify, Origin};

/// The part of one logical page that a command covers.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) lpn: Lpn,
    pub(super) column: u32,
    pub(super) bytes: u32,
    /// Where in the command's data the piece begins.
    pub(super) offset: u64,
    pub(super) origin: Origin,
}

impl Piece {
    /// The piece, which lies at its place in `buffer`.
    #[inline]
    pub(super) fn in_buffer(&self, buffer: BufferId) -> PagePart {
        PagePart {
            lpn: self.lpn,
            column: self.column,
            bytes: self.bytes,
            buffer,
            origin: self.origin,
        }
    }
}

/// A piece being read.
struct PieceRead<'a> {
    piece: Piece,
    buffer: Buffer<'a>,
    from_flash: FromFlash<'a>,
}

/// What flash has to give of a piece.
enum FromFlash<'a> {
    /// Nothing: it was in the cache.
    Nothing,
    /// Everything, asked for at this time.
    All(ReadStamp),
    /// What was not in the cache, to a buffer of its own.
    Rest(Rest, Buffer<'a>),
}

/// The status that tells the host of an error of the translation layer.
pub(super) fn status_of(error: FtlError, reading: bool) -> Status {
    match error {
        FtlError::NoSpace => Status::CAPACITY_EXCEEDED,
        FtlError::NoComputeBlock(_) => Status::GROUP_FULL,
        FtlError::Flash(Fault::Uncorrectable(_) | Fault::NeedsCorrection(_)) => {
            Status::UNRECOVERED_READ_ERROR
        }
        FtlError::Flash(Fault::ProgramFailed(_) | Fault::EraseFailed(_)) if !reading => {
            Status::WRITE_FAULT
        }
        FtlError::Flash(_) => Status::INTERNAL_ERROR,
    }
}

/// Whether a write must be on flash before it may clear a mark: the note that a mark is gone is
/// durable, and after a power cut what a cache lost would show the data beneath the mark.
#[inline]
fn must_outlive_marks(namespace: &Namespace) -> bool {
    !namespace.plain.get()
}

impl Controller {
    #[inline]
    pub(super) async fn serve_io(&self, command: &IoCommand, origin: Origin) -> Answer {
        let outcome = match self.namespace_of(command) {
            Err(status) => Err(status),
            Ok(None) => Box::pin(self.flush()).await,
            Ok(Some(namespace)) => {
                // What erases the namespace waits for those that came before it.
                let _admitted = namespace.admit();
                match command {
                    IoCommand::Read(read) => self.read(namespace, read, origin).await,
                    IoCommand::Write(write) => {
                        match self.only_piece(namespace, &write.blocks, origin) {
                            Some(piece) => self.write_piece(namespace, write, piece).await,
                            None => Box::pin(self.write(namespace, write, origin)).await,
                        }
                    }
                    other => Box::pin(self.serve_other(namespace, other, origin)).await,
                }
            }
        };
        outcome.unwrap_or_else(Answer::from)
    }

    /// Commands that are rarer than reads and writes.
    async fn serve_other(
        &self,
        namespace: &Namespace,
        command: &IoCommand,
        origin: Origin,
    ) -> Result<Answer, Status> {
        match command {
            IoCommand::Read(read) => self.read(namespace, read, origin).await,
            IoCommand::Write(write) => self.write(namespace, write, origin).await,
            IoCommand::Flush { .. } => self.flush().await,
            IoCommand::WriteZeroes(zeroes) => self.write_zeroes(namespace, zeroes, origin).await,
            IoCommand::DatasetManagement(dataset) => {
                self.manage_dataset(namespace, dataset, origin).await
            }
            IoCommand::Compare(compare) => self.compare(namespace, compare, origin).await,
            IoCommand::Verify(verify) => self.verify(namespace, verify, origin).await,
            IoCommand::WriteUncorrectable(mark) => self.write_uncorrectable(namespace, mark).await,
            IoCommand::Copy(copy) => self.copy(namespace, copy, origin).await,
            IoCommand::WritePlaced(placed) => self.write_placed(namespace, placed, origin).await,
            IoCommand::Vendor(vendor) => self.serve_vendor(namespace, vendor, origin).await,
        }
    }

    /// The namespace that a command is for; none for a Flush, which is for all of them.
    ///
    /// # Errors
    /// Invalid Namespace or Format; the status of a namespace or drive that is being erased.
    #[inline]
    fn namespace_of(&self, command: &IoCommand) -> Result<Option<&Namespace>, Status> {
        let named = command.namespace();
        if matches!(command, IoCommand::Flush { .. }) {
            if named != BROADCAST_NAMESPACE {
                self.namespaces.get(named)?;
            }
            return Ok(None);
        }
        let namespace = self.namespaces.get(named)?;
        if !namespace.plain.get() {
            self.check_obstacles(namespace)?;
        }
        Ok(Some(namespace))
    }

    #[cold]
    fn check_obstacles(&self, namespace: &Namespace) -> Result<(), Status> {
        if self.sanitize.is_under_way() {
            return Err(Status::SANITIZE_IN_PROGRESS);
        }
        if self.sanitize.has_failed() {
            return Err(Status::SANITIZE_FAILED);
        }
        if namespace.format_left.get() > 0 {
            return Err(Status::FORMAT_IN_PROGRESS);
        }
        if namespace.failed.get() {
            return Err(Status::NAMESPACE_NOT_READY);
        }
        Ok(())
    }

    /// # Errors
    /// Invalid Field if a command's data is more than MDTS allows.
    #[inline]
    pub(super) fn check_transfer(&self, bytes: u64) -> Result<(), Status> {
        if bytes > self.transfer_bytes_max {
            return Err(Status::INVALID_FIELD);
        }
        Ok(())
    }

    /// What was completed before, for any namespace, is then where no power cut can take it.
    async fn flush(&self) -> Result<Answer, Status> {
        if self.cache.is_volatile() {
            let flushed = self.cache.flush().await;
            flushed.map_err(|error| status_of(error, false))?;
        }
        Ok(Answer::DONE)
    }

    /// The pieces of pages that `bytes` of a namespace cover, in order.
    #[inline]
    pub(super) fn pieces(
        &self,
        namespace: &Namespace,
        bytes: &Range<u64>,
        origin: Origin,
    ) -> impl Iterator<Item = Piece> + Clone + use<> {
        let unit = self.unit;
        let base = namespace.lpn(0).0;
        let (start, end) = (bytes.start, bytes.end);
        unit.touched(bytes).map(move |page| {
            let first = start.max(unit.start(page));
            let last = end.min(unit.start(page + 1));
            Piece {
                lpn: Lpn(base + page),
                column: (first - unit.start(page)) as u32,
                bytes: (last - first) as u32,
                offset: first - start,
                origin,
            }
        })
    }

    /// The logical pages that a range of bytes of a namespace touches.
    pub(super) fn pages(&self, namespace: &Namespace, bytes: &Range<u64>) -> Range<u32> {
        namespace.lpns(self.unit.touched(bytes))
    }

    /// The logical pages that a range of bytes of a namespace covers entirely.
    fn whole_pages(&self, namespace: &Namespace, bytes: &Range<u64>) -> Range<u32> {
        namespace.lpns(self.unit.covered(bytes))
    }

    #[inline]
    async fn read(
        &self,
        namespace: &Namespace,
        read: &ReadWrite,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let range = namespace.byte_range(&read.blocks)?;
        let bytes = range.end - range.start;
        self.check_transfer(bytes)?;
        let segments = self.port.locate(origin.tenant, &read.data, bytes).await?;
        if read.force_unit_access && self.cache.is_volatile() {
            // What is read must be what the medium has.
            let pages = self.pages(namespace, &range);
            let saved = self.cache.save(pages).await;
            saved.map_err(|error| status_of(error, false))?;
        }
        let pages = self.read_pages(namespace, &range, origin).await?;
        self.health.read(bytes);
        for (piece, buffer) in &pages {
            let part = piece.column as usize..(piece.column + piece.bytes) as usize;
            self.port
                .copy_out(&segments, piece.offset, buffer.id(), part)?;
        }
        Ok(Answer {
            data_bytes: bytes,
            ..Answer::DONE
        })
    }

    /// Reads bytes of a namespace into page buffers, from the cache where it has them, else from flash.
    ///
    /// # Errors
    /// Unrecovered Read Error for blocks that are lost or marked.
    #[inline]
    pub(super) async fn read_pages(
        &self,
        namespace: &Namespace,
        range: &Range<u64>,
        origin: Origin,
    ) -> Result<Vec<(Piece, Buffer<'_>)>, Status> {
        self.check_marks(namespace, range.clone())?;
        let ticket = self.ftl.ticket();
        let (mut cached_bytes, mut reads) = (0, Vec::new());
        for piece in self.pieces(namespace, range, origin) {
            let read = self.start_piece(piece, ticket.id().into(), &mut cached_bytes);
            reads.push(read);
        }
        let cached = (cached_bytes > 0).then(|| self.cache.post_hit(origin.tenant, cached_bytes));
        ticket
            .await
            .map_err(|fault| status_of(fault.into(), true))?;
        if let Some(arrives) = cached {
            self.sim.sleep_until(arrives).await;
        }
        Ok(reads
            .into_iter()
            .map(|read| self.finish_piece(read))
            .collect())
    }

    /// Looks for a piece in the cache, and has flash read what is not there.
    fn start_piece(&self, piece: Piece, to: Notify, cached_bytes: &mut u32) -> PieceRead<'_> {
        let Piece {
            lpn, column, bytes, ..
        } = piece;
        let buffer = self.buffers.take();
        let stamp = self.cache.read_stamp(lpn);
        let from_flash = match self.cache.lookup(lpn, column, bytes, buffer.id()) {
            Lookup::Hit => {
                *cached_bytes += bytes;
                FromFlash::Nothing
            }
            Lookup::Miss => {
                self.ftl.read(piece.in_buffer(buffer.id()), to);
                FromFlash::All(stamp)
            }
            Lookup::Part(rest) => {
                *cached_bytes += rest.copied;
                let (hull, into) = (rest.hull(), self.buffers.take());
                let hull = PagePart {
                    column: hull.start,
                    bytes: hull.end - hull.start,
                    ..piece.in_buffer(into.id())
                };
                self.ftl.read(hull, to);
                FromFlash::Rest(rest, into)
            }
        };
        PieceRead {
            piece,
            buffer,
            from_flash,
        }
    }

    /// What flash had of a piece is in its buffer.
    fn finish_piece<'a>(&self, read: PieceRead<'a>) -> (Piece, Buffer<'a>) {
        match &read.from_flash {
            FromFlash::Nothing => {}
            FromFlash::All(stamp) => {
                self.cache
                    .keep(read.piece.in_buffer(read.buffer.id()), *stamp);
            }
            FromFlash::Rest(rest, from) => self.cache.merge(rest, from.id(), read.buffer.id()),
        }
        (read.piece, read.buffer)
    }

    /// The piece of a page that `blocks` are, if they are in range and of one page.
    #[inline]
    fn only_piece(
        &self,
        namespace: &Namespace,
        blocks: &BlockRange,
        origin: Origin,
    ) -> Option<Piece> {
        let bytes = namespace.byte_range(blocks).ok()?;
        let mut pieces = self.pieces(namespace, &bytes, origin);
        let only = pieces.next();
        only.filter(|_| pieces.next().is_none())
    }

    /// As [`Controller::write`], within one page: by far the most frequent write, which asks
    /// nothing of the allocator.
    #[inline]
    async fn write_piece(
        &self,
        namespace: &Namespace,
        write: &ReadWrite,
        piece: Piece,
    ) -> Result<Answer, Status> {
        let range = namespace.byte_range(&write.blocks)?;
        let bytes = u64::from(piece.bytes);
        self.check_transfer(bytes)?;
        let segments = self
            .port
            .locate(piece.origin.tenant, &write.data, bytes)
            .await?;
        self.port.fetch_bytes(piece.origin.tenant, bytes).await;
        let buffer = self.buffers.take();
        let part = piece.column as usize..(piece.column + piece.bytes) as usize;
        self.port
            .copy_in(&segments, piece.offset, buffer.id(), part)?;
        let part = piece.in_buffer(buffer.id());
        self.write_parts(namespace, range, &[part], write.force_unit_access)
            .await
    }

    async fn write(
        &self,
        namespace: &Namespace,
        write: &ReadWrite,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let range = namespace.byte_range(&write.blocks)?;
        let bytes = range.end - range.start;
        self.check_transfer(bytes)?;
        let segments = self.port.locate(origin.tenant, &write.data, bytes).await?;
        self.port.fetch_bytes(origin.tenant, bytes).await;
        let mut pages = Vec::new();
        for piece in self.pieces(namespace, &range, origin) {
            let buffer = self.buffers.take();
            let part = piece.column as usize..(piece.column + piece.bytes) as usize;
            self.port
                .copy_in(&segments, piece.offset, buffer.id(), part)?;
            pages.push((piece, buffer));
        }
        self.write_pages(namespace, range, pages, write.force_unit_access)
            .await
    }

    /// Writes page buffers to bytes of a namespace; when this returns, they are where a completed write has to
    /// be: in the cache, or on flash if `force` asks for that.
    pub(super) async fn write_pages(
        &self,
        namespace: &Namespace,
        range: Range<u64>,
        pages: Vec<(Piece, Buffer<'_>)>,
        force: bool,
    ) -> Result<Answer, Status> {
        let parts: Vec<PagePart> = pages
            .iter()
            .map(|(piece, buffer)| piece.in_buffer(buffer.id()))
            .collect();
        self.write_parts(namespace, range, &parts, force).await
    }

    #[inline]
    async fn write_parts(
        &self,
        namespace: &Namespace,
        bytes: Range<u64>,
        parts: &[PagePart],
        force: bool,
    ) -> Result<Answer, Status> {
        let _lock = self.ftl.lock(self.pages(namespace, &bytes)).await;
        let force = force || must_outlive_marks(namespace);
        let written = self.cache.write(parts, force).await;
        written.map_err(|error| status_of(error, false))?;
        self.health.write(bytes.end - bytes.start);
        self.clear_marks(namespace, bytes).await?;
        Ok(Answer::DONE)
    }

    async fn write_zeroes(
        &self,
        namespace: &Namespace,
        zeroes: &WriteZeroes,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let bytes = namespace.byte_range(&zeroes.blocks)?;
        let _lock = self.ftl.lock(self.pages(namespace, &bytes)).await;
        let force = zeroes.force_unit_access || must_outlive_marks(namespace);
        for piece in self
            .pieces(namespace, &bytes, origin)
            .filter(|piece| piece.bytes < self.unit.bytes())
        {
            let buffer = self.buffers.take();
            self.buffers.with_mut(buffer.id(), |page| page.fill(0));
            let part = piece.in_buffer(buffer.id());
            let written = self.cache.write(&[part], force).await;
            written.map_err(|error| status_of(error, false))?;
        }
        let whole = self.whole_pages(namespace, &bytes);
        let deallocated = self
            .cache
            .deallocate(whole, WithoutSpace::Keep, origin)
            .await;
        deallocated.map_err(|error| status_of(error, false))?;
        self.clear_marks(namespace, bytes).await?;
        Ok(Answer::DONE)
    }

    /// Deallocation is a hint (NVM 3.3.3): of a range, the pages it covers
    /// entirely are deallocated, and parts of pages keep their content.
    async fn manage_dataset(
        &self,
        namespace: &Namespace,
        dataset: &DatasetManagement,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let bytes = usize::from(dataset.range_count) * size_of::<DatasetRange>();
        let segments = self
            .port
            .locate(origin.tenant, &dataset.data, bytes as u64)
            .await?;
        self.port.fetch_bytes(origin.tenant, bytes as u64).await;
        let mut list = vec![0; bytes];
        segments.read(&*self.host.memory.borrow(), &mut list)?;
        let ranges = DatasetRange::parse(&list)?;
        let bytes_of = |range: &DatasetRange| {
            namespace.byte_range(&BlockRange::new(range.first(), range.block_count.get()))
        };
        let ranges: Vec<Range<u64>> = ranges.iter().map(bytes_of).collect::<Result<_, _>>()?;
        if !dataset.deallocate {
            return Ok(Answer::DONE);
        }
        for bytes in ranges {
            let pages = self.whole_pages(namespace, &bytes);
            if pages.is_empty() {
                continue;
            }
            let _lock = self.ftl.lock(pages.clone()).await;
            let whole = self.unit.covered(&bytes);
            let covered = self.unit.start(whole.start)..self.unit.start(whole.end);
            for first in pages.clone().step_by(PAGES_AT_ONCE as usize) {
                let end = first.saturating_add(PAGES_AT_ONCE).min(pages.end);
                let deallocated = self
                    .cache
                    .deallocate(first..end, WithoutSpace::Keep, origin);
                deallocated.await.map_err(|error| status_of(error, false))?;
                if end < pages.end {
                    self.sim.yield_now().await;
                }
            }
            self.clear_marks(namespace, covered).await?;
        }
        Ok(Answer::DONE)
    }
}
