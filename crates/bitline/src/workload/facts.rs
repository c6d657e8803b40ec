//! What is known of workloads and of the drive beside what was measured, and the doubts about a measurement that come of it.

use std::fmt;

use serde::Serialize;
use sim::{Span, Time};

use crate::Drive;
use crate::media_state::Wear;

/// A doubt about a measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// Which.
    pub kind: WarningKind,
    /// The workload that it is about; none if about the whole run.
    pub workload: Option<String>,
    /// What was seen, what it means, and what would be right.
    pub message: String,
}

/// Kinds of doubts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WarningKind {
    /// Writes came to a drive that had so much room that nothing was collected.
    NothingCollected,
    /// Rates or write amplification were still changing.
    NotSteady,
    /// The range is small beside the drive.
    SmallRange,
    /// Requests came faster than the drive could serve them.
    Overloaded,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.workload {
            Some(workload) => write!(f, "{workload}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// What is known of one workload beside what it measured.
pub(super) struct Facts {
    pub(super) name: String,
    /// Where a flow went.
    pub(super) range: Option<RangeFacts>,
    /// Whether it is a flow or a stream of queries in a closed loop, whose rate is the drive's own.
    pub(super) is_closed: bool,
    /// How requests of an open loop came.
    pub(super) offered: Option<Offered>,
    /// From the beginning of the run to its last completion.
    pub(super) elapsed: Span,
    pub(super) written_bytes: u64,
}

/// A range beside the drive.
#[derive(Clone, Copy)]
pub(super) struct RangeFacts {
    pub(super) blocks: u64,
    pub(super) namespace_blocks: u64,
    /// Logical pages that it touches at most.
    pub(super) pages: u64,
    pub(super) planes: u64,
    /// Whether something of the drive keeps what was used last: a data cache, a cache of the mapping.
    pub(super) is_cached: bool,
}

/// How the requests of an open loop came.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offered {
    /// When the run began.
    pub(super) begin: Time,
    pub(super) requests: u64,
    /// When the last one arrived.
    pub(super) last: Time,
    /// How many were in flight when it was sent.
    pub(super) in_flight: u64,
    /// How many had to wait until they were sent, because as many were in flight as may be.
    pub(super) held: u64,
}

/// What a drive still has to write to before it must collect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Share of the blocks that hold something.
    pub(super) used: f64,
    /// What may be written until collection begins, about.
    pub(super) bytes: u64,
}

impl Room {
    /// That of a drive whose wear is this: what its blocks hold that hold nothing.
    pub(super) fn of(drive: &Drive, wear: &Wear) -> Room {
        let config = &drive.config().device;
        let (ftl, geometry) = (&config.ftl, &config.nand.geometry);
        let kept = u64::from(ftl.gc.threshold_blocks) * u64::from(geometry.planes());
        let free = (wear.blocks - wear.used - wear.unusable).saturating_sub(kept);
        let block_bytes =
            u64::from(geometry.pages_per_block(ftl.mode)) * u64::from(geometry.page_bytes);
        Room {
            used: wear.used as f64 / wear.blocks as f64,
            bytes: free * block_bytes,
        }
    }
}
