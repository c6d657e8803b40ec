//! Flows: synthetic streams of requests, in a closed loop (a number of requests always
//! outstanding) or an open one (requests arrive whether or not earlier ones are done).

mod arrival;
mod generate;
mod pattern;
mod size;

use serde::{Deserialize, Serialize};

pub use arrival::{Arrival, CLOSED_DEPTH, OPEN_DEPTH};
pub(super) use arrival::{Arrivals, DEPTH_MAX};
pub(super) use generate::Generator;
pub use pattern::Pattern;
pub use size::Size;

use super::named::{name_or_table, number_or_table};
use super::range::{NamespaceBlocks, Range};
use crate::sentences::counted;

/// A stream of requests.
///
/// ```
/// use bitline::workload::{Arrival, Flow, Pattern, Size};
/// use bitline::{Config, Drive};
///
/// let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
/// let flow = Flow {
///     read_fraction: 0.7,
///     blocks: Size::Weighted { sizes: vec![(1, 4.0), (4, 1.0)] },
///     pattern: Pattern::Zipf { theta: 0.99 },
///     arrival: Arrival::Closed { depth: 16 },
///     requests: 1000,
///     range_blocks: 4096,
///     ..Flow::default()
/// };
/// let report = drive.run_flows(&[flow], |_completed| {})?;
/// let read = report.flows[0].read.expect("most requests read");
/// assert!(read.p50_ns <= read.p99_ns);
/// # Ok::<(), bitline::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Flow {
    /// Names the flow, and its random numbers.
    pub name: String,
    /// Share of reads among the requests, 0 to 1; the rest are writes.
    pub read_fraction: f64,
    /// Logical blocks of each request.
    #[serde(deserialize_with = "number_or_table")]
    pub blocks: Size,
    /// Requests begin at multiples of so many blocks, counted from `first_block`; 0
    /// means their size if all have the same, else 1.
    pub align_blocks: u32,
    /// How many requests.
    pub requests: u64,
    /// Nothing arrives later than so many nanoseconds after the flow began; 0 means no
    /// end but `requests`.
    pub stop_ns: u64,
    /// When requests arrive.
    pub arrival: Arrival,
    /// Where they go.
    #[serde(deserialize_with = "name_or_table")]
    pub pattern: Pattern,
    /// First logical block that they go to.
    pub first_block: u64,
    /// Logical blocks of the range that they go to; 0 means all that follow in the namespace.
    pub range_blocks: u64,
    /// Of the range, the first so many per cent are used.
    pub working_set_percent: f64,
    /// Which namespace, counted from one.
    pub namespace: u32,
    /// Which queue pair carries them, counted from zero.
    pub queue: usize,
    /// Write what is empty of the range once before anything is measured, so that reads find data: all of it up to
    /// 65,536 logical blocks, of more the pages that requests will touch.
    pub prefill: bool,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow {
            name: "flow".into(),
            read_fraction: 1.0,
            blocks: Size::Fixed { blocks: 1 },
            align_blocks: 0,
            requests: 10_000,
            stop_ns: 0,
            arrival: Arrival::Closed {
                depth: CLOSED_DEPTH,
            },
            pattern: Pattern::Random,
            first_block: 0,
            range_blocks: 0,
            working_set_percent: 100.0,
            namespace: 1,
            queue: 0,
            prefill: true,
        }
    }
}

impl Flow {
    /// Checks the flow against a namespace of `blocks` logical blocks, and gives the
    /// range that it uses.
    pub(super) fn check(&self, size: NamespaceBlocks, queue_pairs: usize) -> Result<Range, String> {
        if !(0.0..=1.0).contains(&self.read_fraction) {
            return Err(format!(
                "read_fraction = {} must be 0 to 1",
                self.read_fraction
            ));
        }
        if !(self.working_set_percent > 0.0 && self.working_set_percent <= 100.0) {
            return Err(format!(
                "working_set_percent = {} must be above 0 and at most 100",
                self.working_set_percent
            ));
        }
        if self.queue >= queue_pairs {
            return Err(format!(
                "queue = {} must be below the {queue_pairs} queue pairs",
                self.queue
            ));
        }
        self.blocks.check()?;
        self.pattern.check()?;
        self.arrival.check(self.requests, self.stop_ns)?;
        let range = Range::within(self.first_block, self.range_blocks, size)?;
        let used = Range {
            blocks: (range.blocks as f64 * self.working_set_percent / 100.0).round() as u64,
            ..range
        };
        let needed = self.blocks.blocks_needed();
        if used.blocks < u64::from(needed.max(self.align_blocks)) {
            return Err(format!(
                "the {} from {} on hold no request of {} aligned to {}",
                counted(used.blocks, "block"),
                used.first,
                counted(needed.into(), "block"),
                self.alignment()
            ));
        }
        Ok(used)
    }

    /// No more requests than this will be made. In a closed loop that ends by the clock, none is taken to be done in
    /// less than half a microsecond: the link alone needs about as long.
    pub(super) fn requests_most(&self) -> u64 {
        const FASTEST_NS: u64 = 500;
        let each_ns = match self.arrival {
            Arrival::Closed { .. } => FASTEST_NS,
            Arrival::Thinking { think_ns, .. } => FASTEST_NS + think_ns,
            // The generator knows when they arrive.
            _ => return self.requests,
        };
        if self.stop_ns == 0 {
            return self.requests;
        }
        let users = u64::from(self.arrival.depth().1);
        self.requests
            .min(users.saturating_mul(self.stop_ns / each_ns + 1))
    }

    fn alignment(&self) -> u32 {
        match self.align_blocks {
            0 => self.blocks.alignment(),
            blocks => blocks,
        }
    }
}
