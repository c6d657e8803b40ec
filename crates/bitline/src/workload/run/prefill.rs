//! Writes what is empty of the ranges of workloads, so that reads find data. What holds something stays as it is.

use std::rc::Rc;

use device::ftl::Lpn;
use host::{Buffer, Transport};
use nvme::NamespaceId;
use sim::join_all;

use super::{Progress, device};
use crate::Error;
use crate::drive::{Drive, Host, page_holds_data};
use crate::workload::range::Range;

/// A range to fill.
pub(in crate::workload) struct Prefill {
    pub(in crate::workload) namespace: u32,
    pub(in crate::workload) block_bytes: u32,
    pub(in crate::workload) range: Range,
}

impl Prefill {
    /// The parts of the range whose pages hold nothing, on flash or in the cache.
    pub(super) fn empty(&self, drive: &Drive) -> Result<Vec<Prefill>, Error> {
        let device = drive.device()?;
        let namespace = NamespaceId::new(self.namespace);
        let first = device.controller.pages_of(namespace);
        let first = first.map_or(0, |pages| u64::from(pages.start));
        let page_blocks = device.ftl.unit().blocks(self.block_bytes);
        let end = self.range.first + self.range.blocks;
        let mut parts: Vec<Prefill> = Vec::new();
        for page in self.range.first / page_blocks..end.div_ceil(page_blocks) {
            let lpn = Lpn((first + page) as u32);
            if page_holds_data(&device.ftl, &device.cache, lpn) {
                continue;
            }
            let begin = (page * page_blocks).max(self.range.first);
            let blocks = ((page + 1) * page_blocks).min(end) - begin;
            match parts.last_mut() {
                Some(part) if part.range.first + part.range.blocks == begin => {
                    part.range.blocks += blocks;
                }
                _ => parts.push(Prefill {
                    range: Range {
                        first: begin,
                        blocks,
                    },
                    ..*self
                }),
            }
        }
        Ok(parts)
    }
}

/// Fills one range after another, many blocks at a time, several at once.
pub(super) async fn all(
    host: Host,
    ranges: Vec<Prefill>,
    progress: Rc<Progress>,
) -> Result<(), Error> {
    for prefill in &ranges {
        one(&host, prefill, &progress).await?;
    }
    Ok(())
}

async fn one(host: &Host, prefill: &Prefill, progress: &Progress) -> Result<(), host::Error> {
    const PIECE_BYTES: u64 = 1 << 20;
    const DEPTH: u64 = 16;
    let device = device(host, prefill.namespace, 0).await?;
    let (device, range) = (&device, prefill.range);
    let piece = (PIECE_BYTES / u64::from(device.block_bytes())).max(1);
    let end = range.first + range.blocks;
    let workers = (0..DEPTH).map(|worker| async move {
        let zeroes = vec![0; (piece * u64::from(device.block_bytes())) as usize];
        let buffer = Buffer::holding(device.transport().memory(), &zeroes)?;
        let mut next = range.first + worker * piece;
        while next < end && !progress.stopped.get() {
            let count = (end - next).min(piece);
            device.write_from(next, count as u32, &buffer).await?;
            next += DEPTH * piece;
        }
        Ok(())
    });
    join_all(workers).await.into_iter().collect()
}
