//! Every request by itself, in columns, for those who ask for it.

use sim::Time;

use super::request::Request;

/// Requests in the order of their completion; all columns are equally long.
///
/// ```
/// use bitline::workload::{Flow, RunOptions, Workload};
/// use bitline::{Config, Drive};
///
/// let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
/// let flow = Flow { requests: 100, range_blocks: 64, ..Flow::default() };
/// let options = RunOptions { latencies: true, ..RunOptions::default() };
/// let under_way = drive.start_workloads(&[Workload::Flow(flow)], options)?;
/// let mut rows = 0;
/// while !under_way.advance(&drive, 1000)? {
///     rows += under_way.take_latencies().len();
/// }
/// rows += under_way.take_latencies().len();
/// assert_eq!(rows, 100);
/// # Ok::<(), bitline::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Latencies {
    /// When each arrived, in nanoseconds of the drive's time.
    pub arrival_ns: Vec<f64>,
    /// From arrival to completion, in nanoseconds.
    pub latency_ns: Vec<f64>,
    /// What it asked for: the number of its [`super::RequestKind`].
    pub kind: Vec<u8>,
    /// First logical block; zero for a flush and a query.
    pub lba: Vec<u64>,
    /// Logical blocks; zero for a flush and a query.
    pub blocks: Vec<u32>,
    /// The same in bytes; of a query, all distinct vectors that it names.
    pub bytes: Vec<u64>,
    /// Which workload of the run, counted from zero.
    pub flow: Vec<u32>,
    /// Namespace.
    pub namespace: Vec<u32>,
    /// NVMe status field without phase: zero is success, code in bits 7:0, type in 10:8.
    pub status: Vec<u16>,
}

impl Latencies {
    /// Number of requests.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    pub(super) fn push(
        &mut self,
        (flow, namespace): (u32, u32),
        request: &Request,
        bytes: u64,
        end: Time,
        status: u16,
    ) {
        self.arrival_ns.push(request.arrives.as_ns());
        self.latency_ns.push(end.since(request.arrives).as_ns());
        self.kind.push(request.kind as u8);
        self.lba.push(request.lba);
        self.blocks.push(request.blocks);
        self.bytes.push(bytes);
        self.flow.push(flow);
        self.namespace.push(namespace);
        self.status.push(status);
    }
}
