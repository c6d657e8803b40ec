//! The I/O commands of the NVM command set.

use std::ops::Range;

use nvme::command::{BlockRange, DatasetManagement, DatasetRange, ReadWrite, WriteZeroes};
use nvme::{BROADCAST_NAMESPACE, IoCommand, NamespaceId, Status};

use super::Controller;
use super::slot::Answer;
use crate::buffer::{Buffer, BufferId};
use crate::cache::{Lookup, Part, ReadStamp, Rest};
use crate::ftl::{FtlError, Lpn};
use crate::schedule::{Fault, Notify};

/// The only namespace.
pub(super) const NAMESPACE: NamespaceId = NamespaceId::new(1);

/// The part of one logical page that a command covers.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) lpn: Lpn,
    pub(super) column: u32,
    pub(super) bytes: u32,
    /// Where in the command's data the piece begins.
    pub(super) offset: u64,
}

impl Piece {
    /// The piece, which lies at its place in `buffer`.
    fn in_buffer(&self, buffer: BufferId) -> Part {
        Part {
            lpn: self.lpn,
            column: self.column,
            bytes: self.bytes,
            buffer,
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
        FtlError::Flash(Fault::Uncorrectable(_)) => Status::UNRECOVERED_READ_ERROR,
        FtlError::Flash(Fault::ProgramFailed(_) | Fault::EraseFailed(_)) if !reading => {
            Status::WRITE_FAULT
        }
        FtlError::Flash(_) => Status::INTERNAL_ERROR,
    }
}

impl Controller {
    #[inline]
    pub(super) async fn serve_io(&self, command: &IoCommand) -> Answer {
        let named = command.namespace();
        let flush = matches!(command, IoCommand::Flush { .. });
        if named != NAMESPACE && !(flush && named == BROADCAST_NAMESPACE) {
            return Status::INVALID_NAMESPACE_OR_FORMAT.into();
        }
        let outcome = match command {
            IoCommand::Read(read) => self.read(read).await,
            IoCommand::Write(write) => Box::pin(self.write(write)).await,
            IoCommand::Flush { .. } => Box::pin(self.flush()).await,
            IoCommand::WriteZeroes(zeroes) => Box::pin(self.write_zeroes(zeroes)).await,
            IoCommand::DatasetManagement(dataset) => Box::pin(self.manage_dataset(dataset)).await,
            IoCommand::Vendor(vendor) => Box::pin(self.serve_vendor(vendor)).await,
        };
        outcome.unwrap_or_else(Answer::from)
    }

    /// What was completed before is then where no power cut can take it.
    async fn flush(&self) -> Result<Answer, Status> {
        if self.cache.is_volatile() {
            let flushed = self.cache.flush().await;
            flushed.map_err(|error| status_of(error, false))?;
        }
        Ok(Answer::DONE)
    }

    pub(super) fn check_range(&self, blocks: &BlockRange) -> Result<(), Status> {
        let end = blocks.end().ok_or(Status::LBA_OUT_OF_RANGE)?;
        if end.get() > self.blocks() {
            Err(Status::LBA_OUT_OF_RANGE)
        } else {
            Ok(())
        }
    }

    /// Bytes of data that `blocks` are.
    #[inline]
    pub(super) fn bytes_of(&self, blocks: &BlockRange) -> u64 {
        u64::from(blocks.count) * u64::from(self.config.block_bytes)
    }

    /// The pieces of pages that `blocks` covers, in order.
    #[inline]
    pub(super) fn pieces(
        &self,
        blocks: &BlockRange,
    ) -> impl Iterator<Item = Piece> + Clone + use<> {
        let (block_bytes, page_bytes) = (
            u64::from(self.config.block_bytes),
            u64::from(self.page_bytes),
        );
        let start = blocks.start.get() * block_bytes;
        let end = start + u64::from(blocks.count) * block_bytes;
        (start / page_bytes..end.div_ceil(page_bytes)).map(move |page| {
            let first = start.max(page * page_bytes);
            let last = end.min((page + 1) * page_bytes);
            Piece {
                lpn: Lpn(page as u32),
                column: (first - page * page_bytes) as u32,
                bytes: (last - first) as u32,
                offset: first - start,
            }
        })
    }

    /// The pages that `blocks` touches.
    fn pages(&self, blocks: &BlockRange) -> Range<u32> {
        let per_page = u64::from(self.blocks_per_page);
        let start = blocks.start.get();
        (start / per_page) as u32..(start + u64::from(blocks.count)).div_ceil(per_page) as u32
    }

    #[inline]
    async fn read(&self, read: &ReadWrite) -> Result<Answer, Status> {
        self.check_range(&read.blocks)?;
        let bytes = self.bytes_of(&read.blocks);
        let segments = self.locate(&read.data, bytes).await?;
        if read.force_unit_access && self.cache.is_volatile() {
            // What is read must be what the medium has.
            let saved = self.cache.save(self.pages(&read.blocks)).await;
            saved.map_err(|error| status_of(error, false))?;
        }
        let ticket = self.ftl.ticket();
        let (mut cached_bytes, mut pages) = (0, Vec::new());
        for piece in self.pieces(&read.blocks) {
            let page = self.start_piece(piece, ticket.id().into(), &mut cached_bytes);
            pages.push(page);
        }
        let cached = (cached_bytes > 0).then(|| self.cache.post_hit(cached_bytes));
        ticket
            .await
            .map_err(|fault| status_of(fault.into(), true))?;
        if let Some(arrives) = cached {
            self.sim.sleep_until(arrives).await;
        }
        for page in &pages {
            self.finish_piece(page);
            let piece = &page.piece;
            let part = piece.column as usize..(piece.column + piece.bytes) as usize;
            self.copy_out(&segments, piece.offset, page.buffer.id(), part)?;
        }
        Ok(Answer {
            data_bytes: bytes,
            ..Answer::DONE
        })
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
                self.ftl.read(lpn, column, bytes, buffer.id(), to);
                FromFlash::All(stamp)
            }
            Lookup::Part(rest) => {
                *cached_bytes += rest.copied;
                let (hull, into) = (rest.hull(), self.buffers.take());
                let bytes = hull.end - hull.start;
                self.ftl.read(lpn, hull.start, bytes, into.id(), to);
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
    fn finish_piece(&self, read: &PieceRead<'_>) {
        let Piece {
            lpn, column, bytes, ..
        } = read.piece;
        match &read.from_flash {
            FromFlash::Nothing => {}
            FromFlash::All(stamp) => {
                self.cache
                    .keep(lpn, column, bytes, read.buffer.id(), *stamp);
            }
            FromFlash::Rest(rest, from) => self.cache.merge(rest, from.id(), read.buffer.id()),
        }
    }

    async fn write(&self, write: &ReadWrite) -> Result<Answer, Status> {
        self.check_range(&write.blocks)?;
        let bytes = self.bytes_of(&write.blocks);
        let segments = self.locate(&write.data, bytes).await?;
        self.fetch_bytes(bytes).await;
        let (mut parts, mut buffers) = (Vec::new(), Vec::new());
        for piece in self.pieces(&write.blocks) {
            let buffer = self.buffers.take();
            let part = piece.column as usize..(piece.column + piece.bytes) as usize;
            self.copy_in(&segments, piece.offset, buffer.id(), part)?;
            parts.push(piece.in_buffer(buffer.id()));
            buffers.push(buffer);
        }
        let _lock = self.ftl.lock(self.pages(&write.blocks)).await;
        let written = self.cache.write(&parts, write.force_unit_access).await;
        written.map_err(|error| status_of(error, false))?;
        Ok(Answer::DONE)
    }

    async fn write_zeroes(&self, zeroes: &WriteZeroes) -> Result<Answer, Status> {
        self.check_range(&zeroes.blocks)?;
        let _lock = self.ftl.lock(self.pages(&zeroes.blocks)).await;
        for piece in self
            .pieces(&zeroes.blocks)
            .filter(|piece| piece.bytes < self.page_bytes)
        {
            let buffer = self.buffers.take();
            self.buffers.with_mut(buffer.id(), |page| page.fill(0));
            let part = piece.in_buffer(buffer.id());
            let written = self.cache.write(&[part], zeroes.force_unit_access).await;
            written.map_err(|error| status_of(error, false))?;
        }
        let deallocated = self
            .cache
            .deallocate(self.whole_pages(&zeroes.blocks))
            .await;
        deallocated.map_err(|error| status_of(error, false))?;
        Ok(Answer::DONE)
    }

    /// The pages that `blocks` covers entirely.
    fn whole_pages(&self, blocks: &BlockRange) -> Range<u32> {
        let per_page = u64::from(self.blocks_per_page);
        let start = blocks.start.get().div_ceil(per_page) as u32;
        let end = ((blocks.start.get() + u64::from(blocks.count)) / per_page) as u32;
        start..end.max(start)
    }

    /// Deallocation is a hint (NVM 3.3.3): of a range, the pages it covers
    /// entirely are deallocated, and parts of pages keep their content.
    async fn manage_dataset(&self, dataset: &DatasetManagement) -> Result<Answer, Status> {
        let bytes = usize::from(dataset.range_count) * size_of::<DatasetRange>();
        let segments = self.locate(&dataset.data, bytes as u64).await?;
        self.fetch_bytes(bytes as u64).await;
        let mut list = vec![0; bytes];
        segments.read(&*self.host.memory.borrow(), &mut list)?;
        let ranges = DatasetRange::parse(&list)?;
        let blocks_of =
            |range: &DatasetRange| BlockRange::new(range.first(), range.block_count.get());
        for range in ranges {
            self.check_range(&blocks_of(range))?;
        }
        if !dataset.deallocate {
            return Ok(Answer::DONE);
        }
        for range in ranges {
            let pages = self.whole_pages(&blocks_of(range));
            if pages.is_empty() {
                continue;
            }
            let _lock = self.ftl.lock(pages.clone()).await;
            self.cache
                .deallocate(pages)
                .await
                .map_err(|error| status_of(error, false))?;
        }
        Ok(Answer::DONE)
    }
}
