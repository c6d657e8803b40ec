//! One request of a workload, and who makes them.

use sim::Time;

use crate::Error;
use crate::request_kind::RequestKind;

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
