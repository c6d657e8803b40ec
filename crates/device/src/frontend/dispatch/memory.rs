//! Commands of the memory namespace: bytes of the drive's memory read, written, and copied to and from flash.

use std::ops::Range;

use media::core::Work;
use media::link::Carries;
use nvme::command::{
    BlockRange, CopyBlocks, MemoryCommand, MemoryCopy, MemoryTransfer, SourceFormat, SourceRange,
};
use nvme::{CommandSet, DataPointer, NamespaceId, Status};

use super::copy::copy_limits;
use super::write::Data;
use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::local::Local;
use crate::frontend::namespace::Namespace;
use crate::schedule::Origin;

/// Bytes that one copy moves at most, as it waits in the controller's memory: as many as a Copy of blocks.
const COPY_BYTES_MAX: u64 = 4 << 20;

impl Controller {
    pub(super) async fn serve_memory(
        &self,
        command: &MemoryCommand,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let local = self.local()?;
        self.check_local(&local.memory)?;
        let _admitted = local.memory.admit();
        match command {
            MemoryCommand::Read(read) => self.read_memory(local, read, origin).await,
            MemoryCommand::Write(write) => self.write_memory(local, write, origin).await,
            MemoryCommand::Copy(copy) => self.copy_to_memory(local, copy, origin).await,
        }
    }

    async fn read_memory(
        &self,
        local: &Local,
        read: &MemoryTransfer,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let bytes = u64::from(read.bytes);
        let range = local.bytes.range(read.start, bytes)?;
        self.check_transfer(bytes)?;
        let segments = self.port.locate(origin, &read.data, bytes).await?;
        self.port.check(&segments)?;
        let data = local.bytes.read(origin.requester(), &range).await;
        if local.bytes.has_data() {
            self.port.write(&segments, &data)?;
        }
        Ok(Answer {
            data_bytes: bytes,
            ..Answer::DONE
        })
    }

    async fn write_memory(
        &self,
        local: &Local,
        write: &MemoryTransfer,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let bytes = u64::from(write.bytes);
        let range = local.bytes.range(write.start, bytes)?;
        self.check_transfer(bytes)?;
        let data = self
            .fetch_parameters(&write.data, bytes, Carries::Data, origin)
            .await?;
        local
            .bytes
            .write(origin.requester(), range.start, &data)
            .await;
        Ok(Answer::DONE)
    }

    /// All sources are read before anything is written.
    async fn copy_to_memory(
        &self,
        local: &Local,
        copy: &MemoryCopy,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let destination = local.bytes.range(copy.destination, copy.bytes)?;
        if copy.bytes > COPY_BYTES_MAX {
            return Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED);
        }
        let sources = self
            .fetch_ranges(&copy.data, copy.data_bytes(), origin)
            .await?;
        let copied = match copy.format {
            SourceFormat::Memory => {
                let ranges = memory_sources(local, &sources)?;
                check_sum(ranges.iter().map(length), copy.bytes)?;
                let meets = |range: &Range<u64>| {
                    range.start < destination.end && destination.start < range.end
                };
                if ranges.iter().any(meets) {
                    return Err(Status::OVERLAPPING_IO_RANGE);
                }
                self.gather_memory(local, &ranges, origin).await
            }
            SourceFormat::Blocks => {
                let ranges = self.block_sources(local, &sources)?;
                // What erases a namespace waits for those that came before it.
                let admitted = ranges.iter().map(|(namespace, _)| namespace.admit());
                let _admitted: Vec<_> = admitted.collect();
                check_sum(ranges.iter().map(|(_, range)| length(range)), copy.bytes)?;
                self.gather_blocks(&ranges, origin).await?
            }
        };
        let start = destination.start;
        local.bytes.write(origin.requester(), start, &copied).await;
        Ok(Answer::DONE)
    }

    /// Copy to blocks of a namespace, from memory (descriptor format 4).
    pub(super) async fn copy_from_memory(
        &self,
        namespace: &Namespace,
        copy: &CopyBlocks,
        origin: Origin,
    ) -> Result<Answer, Status> {
        // Format 4 is offered only where there is memory.
        let local = self.local.as_ref().ok_or(Status::INVALID_FIELD)?;
        self.check_local(&local.memory)?;
        let _admitted = local.memory.admit();
        let sources = self
            .fetch_ranges(&copy.data, copy.data_bytes(), origin)
            .await?;
        let ranges = memory_sources(local, &sources)?;
        let bytes: u64 = ranges.iter().map(length).sum();
        let block_bytes = u64::from(namespace.block_bytes());
        let limits = copy_limits(namespace.block_bytes());
        if bytes > u64::from(limits.blocks) * block_bytes {
            return Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED);
        }
        if !bytes.is_multiple_of(block_bytes) {
            return Err(Status::INVALID_FIELD);
        }
        let blocks = BlockRange::new(copy.destination, (bytes / block_bytes) as u32);
        let destination = namespace.byte_range(&blocks)?;
        let origin = origin.sized(bytes);
        let copied = self.gather_memory(local, &ranges, origin).await;
        let (data, force) = (Data::Copied(&copied), copy.force_unit_access);
        self.write_pages(namespace, destination, origin, data, force)
            .await
    }

    async fn fetch_ranges(
        &self,
        data: &DataPointer,
        bytes: u64,
        origin: Origin,
    ) -> Result<Vec<SourceRange>, Status> {
        self.charge(origin, Work::Plan).await;
        let list = self
            .fetch_parameters(data, bytes, Carries::Parameters, origin)
            .await?;
        let ranges = SourceRange::parse(&list).to_vec();
        match ranges.iter().any(SourceRange::is_fast_only) {
            true => Err(Status::FAST_COPY_NOT_POSSIBLE),
            false => Ok(ranges),
        }
    }

    /// The blocks that ranges name, and whose they are.
    ///
    /// # Errors
    /// Invalid Namespace or Format; Incompatible Namespace or Format for memory; Namespace Not Reachable for programs; LBA Out of Range;
    /// Command Size Limit Exceeded; Invalid Field for parts of dwords.
    fn block_sources(
        &self,
        local: &Local,
        sources: &[SourceRange],
    ) -> Result<Vec<(&Namespace, Range<u64>)>, Status> {
        let of = |source: &SourceRange| {
            match local.set_of(source.namespace()) {
                CommandSet::Memory => return Err(Status::INCOMPATIBLE_NAMESPACE_OR_FORMAT),
                CommandSet::Compute => return Err(Status::NAMESPACE_NOT_REACHABLE),
                _ => {}
            }
            let namespace = self.namespaces.get(source.namespace())?;
            self.check_obstacles(namespace)?;
            let limits = copy_limits(namespace.block_bytes());
            if source.block_count() > u32::from(limits.range_blocks) {
                return Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED);
            }
            let blocks = BlockRange::new(source.first(), source.block_count());
            Ok((namespace, namespace.byte_range(&blocks)?))
        };
        sources.iter().map(of).collect()
    }

    async fn gather_blocks(
        &self,
        sources: &[(&Namespace, Range<u64>)],
        origin: Origin,
    ) -> Result<Vec<u8>, Status> {
        let mut copied = Vec::new();
        let bytes = sources.iter().map(|(_, range)| length(range)).sum();
        let origin = origin.sized(bytes);
        for (namespace, range) in sources {
            let pages = self.read_pages(namespace, range, origin, |piece, buffer| {
                self.buffers.with(buffer, |page| {
                    copied.extend_from_slice(&page[piece.place()])
                });
                Ok(())
            });
            pages.await?;
            self.health.read(length(range));
        }
        // Without data there was nothing to gather.
        copied.resize(bytes as usize, 0);
        Ok(copied)
    }

    async fn gather_memory(&self, local: &Local, ranges: &[Range<u64>], origin: Origin) -> Vec<u8> {
        let mut copied = Vec::new();
        for range in ranges {
            copied.extend(local.bytes.read(origin.requester(), range).await);
        }
        copied
    }
}

/// The bytes of memory that ranges name.
///
/// # Errors
/// Invalid Namespace or Format for another namespace; Invalid Field for bytes that there are not, and parts of dwords.
fn memory_sources(local: &Local, sources: &[SourceRange]) -> Result<Vec<Range<u64>>, Status> {
    let of = |source: &SourceRange| {
        if source.namespace() != local.memory.id {
            return Err(not_memory(local, source.namespace()));
        }
        let (start, bytes) = (source.start(), u64::from(source.bytes()));
        let granularity = u64::from(crate::local_memory::GRANULARITY);
        let whole = start.is_multiple_of(granularity) && bytes.is_multiple_of(granularity);
        match whole && bytes > 0 {
            true => local.bytes.range(start, bytes),
            false => Err(Status::INVALID_FIELD),
        }
    };
    sources.iter().map(of).collect()
}

/// Why a namespace is no source of memory.
fn not_memory(local: &Local, id: NamespaceId) -> Status {
    match local.set_of(id) {
        CommandSet::Compute => Status::NAMESPACE_NOT_REACHABLE,
        _ => Status::INVALID_NAMESPACE_OR_FORMAT,
    }
}

fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

/// # Errors
/// Invalid Field if the sources are not as long as the command says.
fn check_sum(lengths: impl Iterator<Item = u64>, bytes: u64) -> Result<(), Status> {
    match lengths.sum::<u64>() == bytes {
        true => Ok(()),
        false => Err(Status::INVALID_FIELD),
    }
}
