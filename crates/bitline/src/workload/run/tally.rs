//! What one workload measured so far.

use sim::{Histogram, Time};

use crate::workload::request::{Request, RequestKind};

/// Latencies and bytes of each kind of request.
#[derive(Default)]
pub(in crate::workload) struct Tally {
    latencies: [Histogram; RequestKind::ALL.len()],
    bytes: [u64; RequestKind::ALL.len()],
    pub(in crate::workload) failed: u64,
    pub(in crate::workload) last_end: Time,
}

impl Tally {
    /// A request of `bytes` was done at `end`.
    #[inline]
    pub(super) fn record(&mut self, request: &Request, bytes: u64, end: Time) {
        let kind = request.kind as usize;
        self.latencies[kind].record(end.since(request.arrives));
        self.bytes[kind] += bytes;
        self.last_end = end;
    }

    pub(in crate::workload) fn latencies(&self, kind: RequestKind) -> &Histogram {
        &self.latencies[kind as usize]
    }

    pub(in crate::workload) fn bytes(&self, kind: RequestKind) -> u64 {
        self.bytes[kind as usize]
    }
}
