//! Replay of traces on a drive: when their requests arrive, and where they go.

use std::collections::BTreeMap;
use std::path::PathBuf;

use host::block::BLOCKS_PER_COMMAND_MAX;
use serde::{Deserialize, Serialize};
use sim::{Span, Time};

use super::flow::DEPTH_MAX;
use super::named::name_or_table;
use super::range::{NamespaceBlocks, Range};
use super::report::TraceReport;
use super::request::{Request, Source};
use crate::Error;
use crate::request_kind::RequestKind;
use crate::traces::{
    BlkparseAction, LineError, Record, TraceError, TraceFormat, TraceOptions, TraceReader,
};

/// Devices of a trace that an error names.
const DEVICES_TOLD: usize = 10;
/// Scaled gaps are at most so many times what they were.
const FACTOR_MAX: f64 = 1e6;

/// A trace to be replayed.
///
/// ```no_run
/// use bitline::workload::{Replay, Timing};
/// use bitline::{Config, Drive};
///
/// let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
/// let replay = Replay {
///     timing: Timing::Scaled { factor: 0.5 },
///     ..Replay::of("traces/usr_0.csv.gz")
/// };
/// let report = drive.replay(&replay, |_completed| {})?;
/// let trace = report.flows[0].trace.as_ref().expect("a replay");
/// println!("{} requests of format {}", trace.requests, trace.format);
/// # Ok::<(), bitline::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Replay {
    /// The file, as it is or compressed with gzip or zstd.
    pub path: PathBuf,
    /// Names the replay in reports.
    pub name: String,
    /// Its format; found out from its first lines if not given.
    pub format: Option<TraceFormat>,
    /// For the text of `blkparse`: which event is a request's arrival.
    pub blkparse_action: BlkparseAction,
    /// Bad lines that are passed over and counted; the next one ends the replay.
    pub bad_lines_max: u64,
    /// When requests arrive.
    #[serde(deserialize_with = "name_or_table")]
    pub timing: Timing,
    /// Bound of the requests in flight when they arrive by the clock: what comes then
    /// waits, and that counts. No queue pair carries more than the greatest bound.
    pub outstanding_max: u32,
    /// The trace is replayed so many times, one after another.
    pub repeat: u32,
    /// Only so many requests are replayed; all if not given.
    pub requests_max: Option<u64>,
    /// First logical block of the range that requests are folded into.
    pub first_block: u64,
    /// Logical blocks of the range; 0 means all that follow.
    pub range_blocks: u64,
    /// The namespace that all devices of the trace are merged into, counted from one.
    pub namespace: u32,
    /// Namespaces of single devices, by name. If there are any, requests to devices
    /// that are not named are left out and counted.
    pub devices: BTreeMap<String, u32>,
    /// Which queue pair carries them, counted from zero.
    pub queue: usize,
    /// Write the whole range of the first namespace once before anything is measured,
    /// so that reads find data.
    pub prefill: bool,
}

/// When the requests of a trace arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields, tag = "kind")]
#[non_exhaustive]
pub enum Timing {
    /// As the trace says, the first one at once.
    Original,
    /// With every gap multiplied by a factor: 0.5 is twice as fast.
    Scaled {
        /// The factor, above 0.
        factor: f64,
    },
    /// As soon as fewer than `depth` are outstanding, in the trace's order.
    AsFastAsPossible {
        /// The queue depth.
        #[serde(default = "default_depth")]
        depth: u32,
    },
}

fn default_depth() -> u32 {
    32
}

impl Default for Replay {
    fn default() -> Replay {
        Replay {
            path: PathBuf::new(),
            name: "trace".into(),
            format: None,
            blkparse_action: BlkparseAction::default(),
            bad_lines_max: 0,
            timing: Timing::Original,
            outstanding_max: DEPTH_MAX,
            repeat: 1,
            requests_max: None,
            first_block: 0,
            range_blocks: 0,
            namespace: 1,
            devices: BTreeMap::new(),
            queue: 0,
            prefill: false,
        }
    }
}

impl Replay {
    /// The replay of a file, everything else by default.
    pub fn of(path: impl Into<PathBuf>) -> Replay {
        Replay {
            path: path.into(),
            ..Replay::default()
        }
    }

    pub(super) fn check(&self, queue_pairs: usize) -> Result<(), String> {
        if self.queue >= queue_pairs {
            return Err(format!(
                "queue = {} must be below the {queue_pairs} queue pairs",
                self.queue
            ));
        }
        if self.repeat == 0 {
            return Err("repeat = 0 must be at least 1".into());
        }
        if !(1..=DEPTH_MAX).contains(&self.outstanding_max) {
            return Err(format!(
                "outstanding_max = {} must be 1 to {DEPTH_MAX}",
                self.outstanding_max
            ));
        }
        match self.timing {
            Timing::AsFastAsPossible { depth } if !(1..=DEPTH_MAX).contains(&depth) => {
                Err(format!("depth = {depth} must be 1 to {DEPTH_MAX}"))
            }
            Timing::Scaled { factor } if !(factor > 0.0 && factor <= FACTOR_MAX) => Err(format!(
                "factor = {factor} must be above 0 and at most {FACTOR_MAX}"
            )),
            _ => Ok(()),
        }
    }

    /// The namespaces that requests go to, each once, in order.
    pub(super) fn namespaces_used(&self) -> Vec<u32> {
        let mut namespaces: Vec<u32> = match self.devices.is_empty() {
            true => vec![self.namespace],
            false => self.devices.values().copied().collect(),
        };
        namespaces.sort_unstable();
        namespaces.dedup();
        namespaces
    }

    /// The range in a namespace of this size.
    pub(super) fn target(&self, size: NamespaceBlocks, block_bytes: u32) -> Result<Target, String> {
        Ok(Target {
            range: Range::within(self.first_block, self.range_blocks, size)?,
            block_bytes: u64::from(block_bytes),
        })
    }
}

/// Where requests to a namespace go.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) range: Range,
    block_bytes: u64,
}

/// A trace being replayed.
pub(super) struct TraceSource {
    replay: Replay,
    reader: TraceReader,
    targets: Vec<Target>,
    /// For each device of the trace its target, or none if it is left out.
    routes: Vec<Option<u32>>,
    clock: Clock,
    left: u64,
    passes_left: u32,
    counts: Counts,
}

/// When requests arrive, on the drive's time.
struct Clock {
    /// By what gaps are multiplied, if by anything.
    factor: Option<f64>,
    begin: Time,
    /// When the first request of this pass arrives, after `begin`.
    base: Span,
    /// The trace's time of that request.
    origin_ns: Option<u64>,
    /// The latest arrival so far, after `begin`.
    last: Span,
}

#[derive(Default)]
struct Counts {
    requests: u64,
    out_of_order: u64,
    widened: u64,
    requested_bytes: u64,
    wrapped: u64,
    left_out: u64,
    lines_before: u64,
}

impl TraceSource {
    pub(super) fn open(replay: &Replay, targets: Vec<Target>) -> Result<TraceSource, Error> {
        Ok(TraceSource {
            reader: open(replay)?,
            targets,
            routes: Vec::new(),
            clock: Clock {
                factor: match replay.timing {
                    Timing::Scaled { factor } => Some(factor),
                    _ => None,
                },
                begin: Time::ZERO,
                base: Span::ZERO,
                origin_ns: None,
                last: Span::ZERO,
            },
            left: replay.requests_max.unwrap_or(u64::MAX),
            passes_left: replay.repeat - 1,
            counts: Counts::default(),
            replay: replay.clone(),
        })
    }

    /// The next record, of the next pass if need be.
    fn record(&mut self) -> Result<Option<Record>, Error> {
        loop {
            if let Some(record) = self.reader.next_record()? {
                return Ok(Some(record));
            }
            if self.passes_left == 0 || self.counts.requests == 0 {
                return Ok(None);
            }
            self.passes_left -= 1;
            self.counts.lines_before += self.reader.lines();
            self.reader = open(&self.replay)?;
            self.routes.clear();
            self.clock.base = self.clock.last;
            self.clock.origin_ns = None;
        }
    }

    /// Nothing was replayed, because of the names of devices.
    fn other_devices(&self) -> Error {
        let devices = self.reader.devices().iter().take(DEVICES_TOLD);
        Error::Trace(TraceError::OtherDevices {
            path: self.replay.path.clone(),
            devices: devices.cloned().collect(),
        })
    }

    /// Which target a device's requests go to.
    fn route(&mut self, device: u32) -> Option<u32> {
        while self.routes.len() <= device as usize {
            let name = &self.reader.devices()[self.routes.len()];
            let namespaces = self.replay.namespaces_used();
            let route = match self.replay.devices.is_empty() {
                true => Some(0),
                false => self.replay.devices.get(name).and_then(|namespace| {
                    let place = namespaces.iter().position(|used| used == namespace);
                    place.map(|place| place as u32)
                }),
            };
            self.routes.push(route);
        }
        self.routes[device as usize]
    }

    /// The blocks that a record touches, folded into the range of its target.
    fn extent(&mut self, target: Target, record: &Record) -> Result<(u64, u32), LineError> {
        if record.kind == RequestKind::Flush {
            return Ok((0, 0));
        }
        let end = record.offset_bytes + record.bytes;
        let first = record.offset_bytes / target.block_bytes;
        let blocks = end.div_ceil(target.block_bytes) - first;
        let most = match record.kind {
            RequestKind::Deallocate => u64::from(u32::MAX),
            _ => u64::from(BLOCKS_PER_COMMAND_MAX),
        };
        if blocks > most.min(target.range.blocks) {
            return Err(LineError::TooLong);
        }
        self.counts.widened += u64::from(blocks * target.block_bytes != record.bytes);
        let mut place = first;
        if first + blocks > target.range.blocks {
            self.counts.wrapped += 1;
            // One that would cross the end moves down to it.
            place = (first % target.range.blocks).min(target.range.blocks - blocks);
        }
        Ok((target.range.first + place, blocks as u32))
    }

    pub(super) fn report(&self) -> TraceReport {
        TraceReport {
            path: self.replay.path.display().to_string(),
            format: self.reader.format().name(),
            lines: self.counts.lines_before + self.reader.lines(),
            requests: self.counts.requests,
            bad_lines: self.reader.bad_lines(),
            first_bad_lines: self.reader.first_bad_lines().to_vec(),
            devices: self.reader.devices().len() as u64,
            out_of_order: self.counts.out_of_order,
            widened: self.counts.widened,
            requested_bytes: self.counts.requested_bytes,
            wrapped: self.counts.wrapped,
            left_out: self.counts.left_out,
        }
    }
}

fn open(replay: &Replay) -> Result<TraceReader, Error> {
    let options = TraceOptions {
        format: replay.format,
        bad_lines_max: replay.bad_lines_max,
        blkparse_action: replay.blkparse_action,
    };
    Ok(TraceReader::open(&replay.path, options)?)
}

impl Clock {
    /// When a request of the trace's time `time_ns` arrives; none if that is later
    /// than the clock can say. One that is earlier than the one before, as traces of
    /// several processors have them, arrives with that one.
    fn arrival(&mut self, time_ns: u64, out_of_order: &mut u64) -> Option<Time> {
        let origin = *self.origin_ns.get_or_insert(time_ns);
        let after = after_ps(time_ns.saturating_sub(origin), self.factor)?;
        let mut at = Span::from_ps(self.base.as_ps().checked_add(after)?);
        if at < self.last {
            *out_of_order += 1;
            at = self.last;
        }
        self.last = at;
        let arrives = self.begin.as_ps().checked_add(at.as_ps())?;
        Some(Time::from_ps(arrives))
    }
}

/// Nanoseconds of the trace in picoseconds of the drive; none if there are too many.
fn after_ps(time_ns: u64, factor: Option<f64>) -> Option<u64> {
    let Some(factor) = factor else {
        return time_ns.checked_mul(1000);
    };
    let picoseconds = time_ns as f64 * 1e3 * factor;
    (picoseconds < (u64::MAX / 2) as f64).then_some(picoseconds as u64)
}

impl Source for TraceSource {
    fn begin(&mut self, now: Time) {
        self.clock.begin = now;
    }

    fn next(&mut self, now: Time) -> Result<Option<Request>, Error> {
        while self.left > 0 {
            let Some(record) = self.record()? else {
                return match self.counts.requests {
                    0 if self.counts.left_out > 0 => Err(self.other_devices()),
                    _ => Ok(None),
                };
            };
            let Some(device) = self.route(record.device) else {
                self.counts.left_out += 1;
                continue;
            };
            let placed = self.extent(self.targets[device as usize], &record);
            let arrives = match self.replay.timing {
                Timing::AsFastAsPossible { .. } => Ok(now),
                _ => {
                    let arrival = self
                        .clock
                        .arrival(record.time_ns, &mut self.counts.out_of_order);
                    arrival.ok_or(LineError::OutOfRange("time"))
                }
            };
            let ((lba, blocks), arrives) = match placed.and_then(|placed| Ok((placed, arrives?))) {
                Ok(request) => request,
                Err(reason) => {
                    self.reader.bad_line(reason)?;
                    continue;
                }
            };
            self.left -= 1;
            self.counts.requests += 1;
            self.counts.requested_bytes += record.bytes;
            return Ok(Some(Request {
                kind: record.kind,
                device,
                lba,
                blocks,
                arrives,
            }));
        }
        Ok(None)
    }
}
