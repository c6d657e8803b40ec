//! Writes the ranges of workloads, so that reads find data.

use std::rc::Rc;

use sim::join_all;

use super::{Progress, device};
use crate::Error;
use crate::drive::Host;
use crate::workload::range::Range;

/// A range to fill.
pub(in crate::workload) struct Prefill {
    pub(in crate::workload) namespace: u32,
    pub(in crate::workload) range: Range,
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
        let buffer = device.buffer(piece as u32)?;
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
