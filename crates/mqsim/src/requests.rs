//! The requests of a flow, one after another.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::device::MqsimDevice;
use crate::error::MqsimError;
use crate::random::Generator;
use crate::workload::{Addresses, Arrivals, FlowSource, MqsimFlow, Scenario, Synthetic, TraceFile};

/// One request; addresses are those of our drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// When it arrives; in a closed loop this is when an earlier one is done.
    pub(super) arrives_ns: Option<u64>,
    pub(super) reads: bool,
    /// The first sector.
    pub(super) sector: u64,
    /// How many.
    pub(super) sectors: u32,
}

/// Which sectors a flow has, in MQSim's numbering, and where they are on our drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// Its first sector in MQSim.
    start: u64,
    /// Its last.
    end: u64,
    /// What is added to a sector to have it on our drive: its place within its page stays the same,
    /// and the flow's pages have the homes that they have in MQSim.
    offset: u64,
}

impl Range {
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// How many there are.
    pub(super) fn sectors(&self) -> u64 {
        self.end - self.start + 1
    }

    /// Its first part, of this share.
    pub(super) fn part(self, share: f64) -> Range {
        Range {
            end: self.start + ((self.end - self.start) as f64 * share) as u64,
            ..self
        }
    }

    /// Where a sector is on our drive.
    pub(super) fn place(&self, sector: u64) -> u64 {
        sector + self.offset
    }
}

/// The sectors of each flow. MQSim gives each an equal share of all planes.
pub(super) fn ranges(device: &MqsimDevice, scenario: &Scenario) -> Vec<Range> {
    let flows = scenario.flows.len();
    let (planes, page) = (u64::from(device.planes()), u64::from(device.page_sectors));
    let sectors = f64::from(device.blocks_per_plane)
        * f64::from(device.pages_per_block)
        * f64::from(device.page_sectors);
    let per_plane = (sectors * (1.0 - device.overprovisioning) / flows as f64) as u64;
    let count = per_plane * planes;
    let mut base = 0;
    (0..flows as u64)
        .map(|flow| {
            let start = flow * count;
            let end = start + count - 1;
            let first_page = start / page;
            let offset = (base - first_page) * page;
            base = (base + end / page - first_page + 1).next_multiple_of(planes);
            Range { start, end, offset }
        })
        .collect()
}

/// The requests of one flow.
pub(super) struct Requests {
    range: Range,
    source: Source,
}

enum Source {
    Synthetic(Box<Drawn>),
    Trace(Box<Replayed>),
}

impl Requests {
    /// The requests of `flow`, which has the sectors of `range`.
    ///
    /// # Errors
    /// A trace that cannot be read, or is none.
    pub(super) fn new(flow: &MqsimFlow, range: Range) -> Result<Requests, MqsimError> {
        let (range, source) = match &flow.source {
            FlowSource::Synthetic(synthetic) => {
                let share = f64::from(synthetic.working_set_percent) / 100.0;
                let range = range.part(share);
                let drawn = Box::new(Drawn::new(synthetic.clone(), range));
                (range, Source::Synthetic(drawn))
            }
            FlowSource::Trace(trace) => (
                range,
                Source::Trace(Box::new(Replayed::open(trace, range)?)),
            ),
        };
        Ok(Requests { range, source })
    }

    /// How many there will be, if that is known.
    pub(super) fn count(&self) -> Option<u64> {
        match &self.source {
            Source::Synthetic(drawn) if drawn.flow.stop_ns.is_some() => None,
            Source::Synthetic(drawn) => Some(drawn.flow.requests),
            Source::Trace(replayed) => Some(replayed.requests),
        }
    }

    /// The next request at `now_ns`; none if there are no more.
    ///
    /// # Errors
    /// A line of a trace that is no request.
    pub(super) fn next(&mut self, now_ns: u64) -> Result<Option<Request>, MqsimError> {
        let request = match &mut self.source {
            Source::Synthetic(drawn) => drawn.next(now_ns),
            Source::Trace(replayed) => replayed.next()?,
        };
        Ok(request.map(|request| self.placed(request)))
    }

    /// On our drive; what would pass the end of the flow's range begins earlier instead.
    fn placed(&self, request: Request) -> Request {
        let Range { start, end, offset } = self.range;
        let sectors = request.sectors.min((end - start + 1) as u32);
        let last = end + 1 - u64::from(sectors);
        Request {
            sector: request.sector.min(last) + offset,
            sectors,
            ..request
        }
    }
}

/// The requests of a synthetic flow, drawn as MQSim draws them: from one generator for each
/// question, seeded one after another.
struct Drawn {
    flow: Synthetic,
    range: Range,
    generated: u64,
    kinds: Generator,
    places: Generator,
    hot_places: Generator,
    hot_or_cold: Generator,
    sizes: Generator,
    gaps: Generator,
    /// Where a stream goes on.
    streaming: u64,
    arrives_ns: u64,
}

impl Drawn {
    fn new(flow: Synthetic, range: Range) -> Drawn {
        let mut seed = flow.seed;
        let mut generator = |used: bool| {
            let generator = Generator::new(seed);
            seed += u32::from(used);
            generator
        };
        let hot_cold = matches!(flow.addresses, Addresses::HotCold(_));
        let (kinds, mut places) = (generator(true), generator(true));
        let (hot_places, hot_or_cold) = (generator(hot_cold), generator(hot_cold));
        let (sizes, gaps) = (generator(flow.deviation_sectors.is_some()), generator(true));
        let mut streaming = 0;
        if flow.addresses == Addresses::Streaming {
            streaming = places.between(range.start, range.end);
            streaming -= streaming % u64::from(flow.alignment.unwrap_or(1));
        }
        Drawn {
            flow,
            range,
            generated: 0,
            kinds,
            places,
            hot_places,
            hot_or_cold,
            sizes,
            gaps,
            streaming,
            arrives_ns: 0,
        }
    }

    fn next(&mut self, now_ns: u64) -> Option<Request> {
        let arrives_ns = match self.flow.arrivals {
            Arrivals::QueueDepth(_) => None,
            Arrivals::MeanGap(mean) => {
                self.arrives_ns += self.gaps.exponential(mean) as u64;
                Some(self.arrives_ns)
            }
        };
        let over = match self.flow.stop_ns {
            Some(stop_ns) => arrives_ns.unwrap_or(now_ns) > stop_ns,
            None => self.generated >= self.flow.requests,
        };
        if over {
            return None;
        }
        self.generated += 1;
        let reads = self.kinds.unit() <= f64::from(self.flow.read_percent) / 100.0;
        let sectors = self.size();
        let sector = self.place(sectors);
        let aligned = sector - sector % u64::from(self.flow.alignment.unwrap_or(1));
        Some(Request {
            arrives_ns,
            reads,
            sector: aligned.max(self.range.start),
            sectors,
        })
    }

    fn size(&mut self) -> u32 {
        let mean = self.flow.request_sectors;
        match self.flow.deviation_sectors {
            None => mean,
            Some(deviation) => {
                let drawn = self.sizes.normal(f64::from(mean), f64::from(deviation));
                (drawn.ceil() as u32).clamp(1, 65_535)
            }
        }
    }

    fn place(&mut self, sectors: u32) -> u64 {
        let Range { start, end, .. } = self.range;
        let fits = |sector: u64| sector + u64::from(sectors) <= end;
        match self.flow.addresses {
            Addresses::Uniform => {
                let drawn = self.places.between(start, end);
                if fits(drawn) { drawn } else { start }
            }
            Addresses::Streaming => {
                let here = if fits(self.streaming) {
                    self.streaming
                } else {
                    start
                };
                self.streaming += u64::from(sectors);
                if self.streaming > end {
                    self.streaming = start;
                }
                if let Some(unit) = self.flow.alignment {
                    self.streaming = self.streaming.next_multiple_of(u64::from(unit));
                }
                here
            }
            Addresses::HotCold(hot) => {
                let hot_end = start + ((end - start) as f64 * hot) as u64;
                if self.hot_or_cold.unit() < hot {
                    self.hot_places.between(hot_end + 1, end)
                } else {
                    self.hot_places.between(start, hot_end)
                }
            }
        }
    }
}

/// The requests of a trace, read as they are needed.
struct Replayed {
    trace: TraceFile,
    range: Range,
    /// How many there are in all.
    requests: u64,
    generated: u64,
    lines: Lines,
    /// When this round of the trace began, and its last request so far arrived.
    round_ns: u64,
    arrived_ns: u64,
}

impl Replayed {
    fn open(trace: &TraceFile, range: Range) -> Result<Replayed, MqsimError> {
        let mut all = Lines::open(&trace.path)?;
        let (mut lines, mut time) = (0, 0);
        while let Some(line) = all.next()? {
            if line.time < time {
                let what = format!("time {} comes after {time}; times must not fall", line.time);
                return Err(MqsimError::at(&trace.path, all.number, what));
            }
            (lines, time) = (lines + 1, line.time);
        }
        if lines == 0 {
            return Err(MqsimError::whole(
                &trace.path,
                "there is no request in this trace",
            ));
        }
        let requests = if trace.replays == 1 {
            (f64::from(trace.percent) / 100.0 * lines as f64) as u64
        } else {
            lines * u64::from(trace.replays)
        };
        Ok(Replayed {
            trace: trace.clone(),
            range,
            requests,
            generated: 0,
            lines: Lines::open(&trace.path)?,
            round_ns: 0,
            arrived_ns: 0,
        })
    }

    fn next(&mut self) -> Result<Option<Request>, MqsimError> {
        if self.generated >= self.requests {
            return Ok(None);
        }
        let line = match self.lines.next()? {
            Some(line) => line,
            None => {
                self.round_ns = self.arrived_ns;
                self.lines = Lines::open(&self.trace.path)?;
                match self.lines.next()? {
                    Some(line) => line,
                    None => return Ok(None),
                }
            }
        };
        self.generated += 1;
        self.arrived_ns = self.round_ns + line.time;
        let Range { start, end, .. } = self.range;
        let span = end - start;
        let within = if line.sector <= span {
            line.sector
        } else {
            line.sector % span
        };
        Ok(Some(Request {
            arrives_ns: Some(self.arrived_ns),
            reads: line.reads,
            sector: start + within,
            sectors: line.sectors,
        }))
    }
}

/// A line of a trace.
struct Line {
    time: u64,
    sector: u64,
    sectors: u32,
    reads: bool,
}

/// The lines of a trace file: `time device sector sectors type`.
struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    buffer: String,
    number: usize,
}

impl Lines {
    fn open(path: &Path) -> Result<Lines, MqsimError> {
        let file = File::open(path).map_err(|error| MqsimError::unreadable(path, &error))?;
        Ok(Lines {
            path: path.to_owned(),
            reader: BufReader::new(file),
            buffer: String::new(),
            number: 0,
        })
    }

    fn next(&mut self) -> Result<Option<Line>, MqsimError> {
        loop {
            self.buffer.clear();
            let read = self.reader.read_line(&mut self.buffer);
            if read.map_err(|error| MqsimError::unreadable(&self.path, &error))? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.buffer.trim().is_empty() {
                continue;
            }
            return match line_of(&self.buffer) {
                Some(line) => Ok(Some(line)),
                None => {
                    let what = format!(
                        "{:?} is no request; it must be TIME DEVICE SECTOR SECTORS TYPE, with 1 to 65535 sectors and type 0 for a write or 1 for a read",
                        self.buffer.trim()
                    );
                    Err(MqsimError::at(&self.path, self.number, what))
                }
            };
        }
    }
}

fn line_of(text: &str) -> Option<Line> {
    let mut fields = text.split_ascii_whitespace();
    let mut number = || fields.next()?.parse::<u64>().ok();
    let (time, _device, sector, sectors, kind) =
        (number()?, number()?, number()?, number()?, number()?);
    let sectors = u32::try_from(sectors).ok()?;
    let complete = fields.next().is_none() && (1..=65_535).contains(&sectors) && kind <= 1;
    complete.then_some(Line {
        time,
        sector,
        sectors,
        reads: kind == 1,
    })
}
