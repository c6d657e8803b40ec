//! One request of a workload, and who makes them.

use serde::Serialize;
use sim::Time;

use crate::Error;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
#[non_exhaustive]
pub enum RequestKind {
    /// Read.
    Read = 0,
    /// Write.
    Write = 1,
    /// Deallocate blocks, also called discard or trim.
    Deallocate = 2,
    /// Flush, which has no address.
    Flush = 3,
    /// A query over vectors, which has none either.
    Query = 4,
}

impl RequestKind {
    /// All of them, each at the place that its number names.
    pub const ALL: [RequestKind; 5] = [
        RequestKind::Read,
        RequestKind::Write,
        RequestKind::Deallocate,
        RequestKind::Flush,
        RequestKind::Query,
    ];

    /// Its name, as in reports.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
            RequestKind::Deallocate => "deallocate",
            RequestKind::Flush => "flush",
            RequestKind::Query => "query",
        }
    }
}

/// A request, when it arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) kind: RequestKind,
    /// Which of the workload's devices.
    pub(super) device: u32,
    pub(super) lba: u64,
    pub(super) blocks: u32,
    /// Its latency counts from here.
    pub(super) arrives: Time,
}

/// Makes requests: a generator, or the reader of a trace.
pub(super) trait Source {
    /// The workload begins at `now`.
    fn begin(&mut self, now: Time);

    /// The next request, asked for at `now`; none when there are no more.
    ///
    /// # Errors
    /// A trace that cannot be read.
    fn next(&mut self, now: Time) -> Result<Option<Request>, Error>;
}
