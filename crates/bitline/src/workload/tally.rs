//! What one workload measured so far.

use sim::{Histogram, Recorded, Time};

use super::request::Request;
use crate::request_kind::RequestKind;

const KINDS: usize = RequestKind::ALL.len();

/// Latencies and bytes of each kind of request.
#[derive(Default)]
pub(super) struct Tally {
    latencies: [Histogram; KINDS],
    bytes: [u64; KINDS],
    pub(super) failed: u64,
    pub(super) last_end: Time,
}

/// What was taken out of a tally.
#[derive(Default)]
pub(super) struct TallyPart {
    /// Of kinds that there were.
    latencies: [Option<Recorded>; KINDS],
    bytes: [u64; KINDS],
    failed: u64,
    last_end: Time,
}

impl Tally {
    /// The tally that a part was taken out of.
    pub(super) fn of(part: &TallyPart) -> Tally {
        let mut tally = Tally::default();
        tally.add(part);
        tally
    }

    /// A request of `bytes` was done at `end`.
    #[inline]
    pub(super) fn record(&mut self, request: &Request, bytes: u64, end: Time) {
        let kind = request.kind as usize;
        self.latencies[kind].record(end.since(request.arrives));
        self.bytes[kind] += bytes;
        self.last_end = end;
    }

    /// Takes out what was counted since the last time.
    pub(super) fn take(&mut self) -> TallyPart {
        let take = |histogram: &mut Histogram| (histogram.count() > 0).then(|| histogram.take());
        TallyPart {
            latencies: self.latencies.each_mut().map(take),
            bytes: std::mem::take(&mut self.bytes),
            failed: std::mem::take(&mut self.failed),
            last_end: self.last_end,
        }
    }

    /// Adds what was taken out of a tally.
    pub(super) fn add(&mut self, part: &TallyPart) {
        for (latencies, recorded) in self.latencies.iter_mut().zip(&part.latencies) {
            if let Some(recorded) = recorded {
                latencies.add(recorded);
            }
        }
        for (bytes, more) in self.bytes.iter_mut().zip(part.bytes) {
            *bytes += more;
        }
        self.failed += part.failed;
        self.last_end = self.last_end.max(part.last_end);
    }

    pub(super) fn latencies(&self, kind: RequestKind) -> &Histogram {
        &self.latencies[kind as usize]
    }

    pub(super) fn bytes(&self, kind: RequestKind) -> u64 {
        self.bytes[kind as usize]
    }
}

impl TallyPart {
    /// Adds another part of the same workload.
    pub(super) fn merge(&mut self, other: &TallyPart) {
        let mut tally = Tally::of(self);
        tally.add(other);
        *self = tally.take();
    }
}
