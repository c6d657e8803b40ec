//! Copy: blocks of a namespace are written elsewhere in it, without crossing the link (NVM 3.3.2).

use std::ops::Range;

use media::link::Carries;
use nvme::command::{BlockRange, CopyBlocks, CopyRange};
use nvme::identify::CopyLimits;
use nvme::{Lba, Status};

use super::write::Data;
use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::namespace::Namespace;
use crate::planted::{Bug, is_planted};
use crate::schedule::Origin;

/// Bytes of one source range, and of all of them, at most. Copies wait in page buffers.
const RANGE_BYTES_MAX: u32 = 1 << 20;
const COPY_BYTES_MAX: u32 = 4 << 20;
/// Source ranges at most.
const RANGES_MAX: u16 = 128;

/// What a Copy may ask of a namespace with blocks of `block_bytes`.
pub(in crate::frontend) fn copy_limits(block_bytes: u32) -> CopyLimits {
    CopyLimits {
        range_blocks: (RANGE_BYTES_MAX / block_bytes) as u16,
        blocks: COPY_BYTES_MAX / block_bytes,
        ranges: RANGES_MAX,
    }
}

impl Controller {
    /// All sources are read before anything is written, so ranges may overlap. What fails, fails
    /// as a whole; dword 0 names the first range that was not copied.
    pub(in crate::frontend) async fn copy(
        &self,
        namespace: &Namespace,
        copy: &CopyBlocks,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let limits = copy_limits(namespace.block_bytes());
        if copy.range_count > limits.ranges {
            return Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED);
        }
        if copy.from_memory {
            return self.copy_from_memory(namespace, copy, origin).await;
        }
        let sources = self.copy_sources(copy, origin).await?;
        let (sources, destination) = check_sources(namespace, copy.destination, &sources, limits)?;
        let mut copied = Vec::new();
        let origin = origin.sized(destination.end - destination.start);
        for source in &sources {
            let pages = self.read_pages(namespace, source, origin, |piece, buffer| {
                self.buffers.with(buffer, |page| {
                    copied.extend_from_slice(&page[piece.place()])
                });
                Ok(())
            });
            pages.await?;
            self.health.read(source.end - source.start);
        }
        let (data, force) = (Data::Copied(&copied), copy.force_unit_access);
        self.write_pages(namespace, destination, origin, data, force)
            .await
    }

    /// The source ranges, read over the link.
    async fn copy_sources(
        &self,
        copy: &CopyBlocks,
        origin: Origin,
    ) -> Result<Vec<BlockRange>, Status> {
        let bytes = copy.data_bytes();
        let segments = self.port.locate(origin, &copy.data, bytes).await?;
        self.port
            .fetch_bytes(origin, Carries::Parameters, bytes)
            .await;
        let mut list = vec![0; bytes as usize];
        segments.read(&*self.host.memory.borrow(), &mut list)?;
        let mut sources: Vec<BlockRange> = CopyRange::parse(&list)
            .iter()
            .map(|range| BlockRange::new(range.first(), range.blocks()))
            .collect();
        if is_planted(Bug::CopyMissesTheLastBlock)
            && let Some(last) = sources.last_mut().filter(|last| last.count > 1)
        {
            last.count -= 1;
        }
        Ok(sources)
    }
}

/// Checks the ranges; gives those that are read and the one that is written, in bytes.
fn check_sources(
    namespace: &Namespace,
    destination: Lba,
    sources: &[BlockRange],
    limits: CopyLimits,
) -> Result<(Vec<Range<u64>>, Range<u64>), Status> {
    let mut blocks = 0u32;
    let mut read = Vec::with_capacity(sources.len());
    for source in sources {
        if source.count > u32::from(limits.range_blocks) {
            return Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED);
        }
        read.push(namespace.byte_range(source)?);
        blocks += source.count;
    }
    if blocks > limits.blocks {
        return Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED);
    }
    let written = namespace.byte_range(&BlockRange::new(destination, blocks))?;
    Ok((read, written))
}
