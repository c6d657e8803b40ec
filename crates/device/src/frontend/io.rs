//! The I/O commands of the NVM command set: reads, writes, and what makes room.

use std::ops::Range;

use nvme::command::{BlockRange, DatasetManagement, DatasetRange, ReadWrite, WriteZeroes};
use nvme::{BROADCAST_NAMESPACE, IoCommand, Status};
use sim::join_all;

use super::Controller;
use super::namespace::Namespace;
use super::slot::Answer;
use crate::buffer::Buffer;
use crate::ftl::{FtlError, Lpn};
use crate::schedule::Fault;

/// The part of one logical page that a command covers.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) lpn: Lpn,
    pub(super) column: u32,
    pub(super) bytes: u32,
    /// Where in the command's data the piece begins.
    pub(super) offset: u64,
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
        let outcome = match self.namespace_of(command) {
            Err(status) => Err(status),
            Ok(None) => self.flush().await,
            Ok(Some(namespace)) => match command {
                IoCommand::Read(read) => self.read(namespace, read).await,
                IoCommand::Write(write) => Box::pin(self.write(namespace, write)).await,
                other => Box::pin(self.serve_other(namespace, other)).await,
            },
        };
        outcome.unwrap_or_else(Answer::from)
    }

    /// Commands that are rarer than reads and writes.
    async fn serve_other(
        &self,
        namespace: &Namespace,
        command: &IoCommand,
    ) -> Result<Answer, Status> {
        match command {
            IoCommand::Read(read) => self.read(namespace, read).await,
            IoCommand::Write(write) => self.write(namespace, write).await,
            IoCommand::Flush { .. } => self.flush().await,
            IoCommand::WriteZeroes(zeroes) => self.write_zeroes(namespace, zeroes).await,
            IoCommand::DatasetManagement(dataset) => self.manage_dataset(namespace, dataset).await,
            IoCommand::Compare(compare) => self.compare(namespace, compare).await,
            IoCommand::Verify(verify) => self.verify(namespace, verify).await,
            IoCommand::WriteUncorrectable(mark) => self.write_uncorrectable(namespace, mark).await,
            IoCommand::Copy(copy) => self.copy(namespace, copy).await,
            IoCommand::Vendor(vendor) => self.serve_vendor(vendor).await,
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

    /// There is no volatile write cache: what was completed is on flash.
    async fn flush(&self) -> Result<Answer, Status> {
        Ok(Answer::DONE)
    }

    /// The pieces of pages that `blocks`, which are in range, cover, in order.
    #[inline]
    pub(super) fn pieces(
        &self,
        namespace: &Namespace,
        blocks: &BlockRange,
    ) -> impl Iterator<Item = Piece> + Clone + use<> {
        let page_bytes = u64::from(self.page_bytes);
        let Range { start, end } = namespace.byte_range(blocks);
        let base = namespace.lpn(0).0;
        (start / page_bytes..end.div_ceil(page_bytes)).map(move |page| {
            let first = start.max(page * page_bytes);
            let last = end.min((page + 1) * page_bytes);
            Piece {
                lpn: Lpn(base + page as u32),
                column: (first - page * page_bytes) as u32,
                bytes: (last - first) as u32,
                offset: first - start,
            }
        })
    }

    /// The logical pages that a range of bytes of a namespace touches.
    pub(super) fn pages(&self, namespace: &Namespace, bytes: &Range<u64>) -> Range<u32> {
        let page_bytes = u64::from(self.page_bytes);
        let (start, end) = (bytes.start / page_bytes, bytes.end.div_ceil(page_bytes));
        namespace.lpns(start as u32..end as u32)
    }

    /// The logical pages that a range of bytes of a namespace covers entirely.
    fn whole_pages(&self, namespace: &Namespace, bytes: &Range<u64>) -> Range<u32> {
        let page_bytes = u64::from(self.page_bytes);
        let start = bytes.start.div_ceil(page_bytes) as u32;
        let end = (bytes.end / page_bytes) as u32;
        namespace.lpns(start..end.max(start))
    }

    #[inline]
    async fn read(&self, namespace: &Namespace, read: &ReadWrite) -> Result<Answer, Status> {
        namespace.check_range(&read.blocks)?;
        let bytes = namespace.bytes_of(&read.blocks);
        self.check_transfer(bytes)?;
        let segments = self.locate(&read.data, bytes).await?;
        let pages = self.read_pages(namespace, &read.blocks).await?;
        self.health.read(bytes);
        for (piece, buffer) in &pages {
            let part = piece.column as usize..(piece.column + piece.bytes) as usize;
            self.copy_out(&segments, piece.offset, buffer.id(), part)?;
        }
        Ok(Answer {
            data_bytes: bytes,
            ..Answer::DONE
        })
    }

    /// Reads `blocks` into page buffers.
    ///
    /// # Errors
    /// Unrecovered Read Error for blocks that are lost or marked.
    #[inline]
    pub(super) async fn read_pages(
        &self,
        namespace: &Namespace,
        blocks: &BlockRange,
    ) -> Result<Vec<(Piece, Buffer<'_>)>, Status> {
        self.check_marks(namespace, namespace.byte_range(blocks))?;
        let ticket = self.ftl.ticket();
        let mut pages = Vec::new();
        for piece in self.pieces(namespace, blocks) {
            let buffer = self.buffers.take();
            let to = ticket.id().into();
            self.ftl
                .read(piece.lpn, piece.column, piece.bytes, buffer.id(), to);
            pages.push((piece, buffer));
        }
        ticket
            .await
            .map_err(|fault| status_of(fault.into(), true))?;
        Ok(pages)
    }

    async fn write(&self, namespace: &Namespace, write: &ReadWrite) -> Result<Answer, Status> {
        namespace.check_range(&write.blocks)?;
        let bytes = namespace.bytes_of(&write.blocks);
        self.check_transfer(bytes)?;
        let segments = self.locate(&write.data, bytes).await?;
        self.fetch_bytes(bytes).await;
        let mut pages = Vec::new();
        for piece in self.pieces(namespace, &write.blocks) {
            let buffer = self.buffers.take();
            let part = piece.column as usize..(piece.column + piece.bytes) as usize;
            self.copy_in(&segments, piece.offset, buffer.id(), part)?;
            pages.push((piece, buffer));
        }
        self.write_pages(namespace, &write.blocks, pages).await
    }

    /// Writes page buffers to `blocks`; when this returns, they are on flash.
    pub(super) async fn write_pages(
        &self,
        namespace: &Namespace,
        blocks: &BlockRange,
        pages: Vec<(Piece, Buffer<'_>)>,
    ) -> Result<Answer, Status> {
        let bytes = namespace.byte_range(blocks);
        let _lock = self.ftl.lock(self.pages(namespace, &bytes)).await;
        let written = join_all(pages.iter().map(|(piece, buffer)| {
            self.ftl
                .write(piece.lpn, piece.column, piece.bytes, buffer.id())
        }))
        .await;
        written
            .into_iter()
            .collect::<Result<(), _>>()
            .map_err(|error| status_of(error, false))?;
        self.health.write(bytes.end - bytes.start);
        self.clear_marks(namespace, bytes).await?;
        Ok(Answer::DONE)
    }

    async fn write_zeroes(
        &self,
        namespace: &Namespace,
        zeroes: &WriteZeroes,
    ) -> Result<Answer, Status> {
        namespace.check_range(&zeroes.blocks)?;
        let bytes = namespace.byte_range(&zeroes.blocks);
        let _lock = self.ftl.lock(self.pages(namespace, &bytes)).await;
        for piece in self
            .pieces(namespace, &zeroes.blocks)
            .filter(|piece| piece.bytes < self.page_bytes)
        {
            let buffer = self.buffers.take();
            self.buffers.with_mut(buffer.id(), |page| page.fill(0));
            let written = self
                .ftl
                .write(piece.lpn, piece.column, piece.bytes, buffer.id())
                .await;
            written.map_err(|error| status_of(error, false))?;
        }
        let whole = self.whole_pages(namespace, &bytes);
        let deallocated = self.ftl.deallocate(whole).await;
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
    ) -> Result<Answer, Status> {
        let bytes = usize::from(dataset.range_count) * size_of::<DatasetRange>();
        let segments = self.locate(&dataset.data, bytes as u64).await?;
        self.fetch_bytes(bytes as u64).await;
        let mut list = vec![0; bytes];
        segments.read(&*self.host.memory.borrow(), &mut list)?;
        let ranges = DatasetRange::parse(&list)?;
        let blocks_of =
            |range: &DatasetRange| BlockRange::new(range.first(), range.block_count.get());
        for range in ranges {
            namespace.check_range(&blocks_of(range))?;
        }
        if !dataset.deallocate {
            return Ok(Answer::DONE);
        }
        for range in ranges {
            let bytes = namespace.byte_range(&blocks_of(range));
            let pages = self.whole_pages(namespace, &bytes);
            if pages.is_empty() {
                continue;
            }
            let _lock = self.ftl.lock(pages.clone()).await;
            let page_bytes = u64::from(self.page_bytes);
            let start = bytes.start.next_multiple_of(page_bytes);
            let covered = start..start + u64::from(pages.end - pages.start) * page_bytes;
            self.ftl
                .deallocate(pages)
                .await
                .map_err(|error| status_of(error, false))?;
            self.clear_marks(namespace, covered).await?;
        }
        Ok(Answer::DONE)
    }
}
