//! Readers of block traces: a file for each format, behind one trait. Traces are
//! streamed: memory does not grow with their length.

mod alibaba;
mod blkparse;
mod cloudphysics;
mod devices;
mod error;
mod fields;
mod fio;
mod input;
mod mqsim;
mod msr;
mod reader;

use serde::{Deserialize, Serialize};

use self::devices::Devices;
pub use error::{BadLine, LineError, TraceError};
pub use reader::{TraceOptions, TraceReader};

use crate::request_kind::RequestKind;

/// The formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TraceFormat {
    /// MQSim's: nanoseconds, device, sector, sectors, type (0 write, 1 read), separated
    /// by blanks.
    Mqsim,
    /// MSR Cambridge's CSV: ticks of 100 ns, host, disk, Read or Write, offset, bytes,
    /// response time.
    Msr,
    /// Alibaba's CSV: device, R or W, offset, bytes, microseconds.
    Alibaba,
    /// The text that `blkparse` prints by default.
    Blkparse,
    /// fio's iolog, version 2 or 3.
    Fio,
    /// CloudPhysics's CSV: version, seconds, SCSI operation in hexadecimal, bytes,
    /// sector.
    Cloudphysics,
}

impl TraceFormat {
    /// All of them.
    pub const ALL: [TraceFormat; 6] = [
        TraceFormat::Mqsim,
        TraceFormat::Msr,
        TraceFormat::Alibaba,
        TraceFormat::Blkparse,
        TraceFormat::Fio,
        TraceFormat::Cloudphysics,
    ];

    /// Its name, as in configurations.
    pub fn name(self) -> &'static str {
        match self {
            TraceFormat::Mqsim => "mqsim",
            TraceFormat::Msr => "msr",
            TraceFormat::Alibaba => "alibaba",
            TraceFormat::Blkparse => "blkparse",
            TraceFormat::Fio => "fio",
            TraceFormat::Cloudphysics => "cloudphysics",
        }
    }

    fn parser(self, options: &TraceOptions) -> Box<dyn Parse> {
        match self {
            TraceFormat::Mqsim => Box::new(mqsim::Mqsim),
            TraceFormat::Msr => Box::new(msr::Msr),
            TraceFormat::Alibaba => Box::new(alibaba::Alibaba),
            TraceFormat::Blkparse => Box::new(blkparse::Blkparse::new(options.blkparse_action)),
            TraceFormat::Fio => Box::new(fio::Fio::default()),
            TraceFormat::Cloudphysics => Box::new(cloudphysics::Cloudphysics),
        }
    }
}

/// Which of a request's events in a `blkparse` text is when it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlkparseAction {
    /// Q: the application's request enters the queue, before any merging.
    #[default]
    Queued,
    /// D: the request, merged as it may be, is issued to the device.
    Issued,
}

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it arrived, in nanoseconds from whatever the trace counts from.
    pub time_ns: u64,
    /// Which device, by its number in [`TraceReader::devices`].
    pub device: u32,
    /// What it asked for.
    pub kind: RequestKind,
    /// Where, in bytes; zero for a flush.
    pub offset_bytes: u64,
    /// How much, in bytes; zero for a flush only.
    pub bytes: u64,
}

/// A format: makes requests out of lines.
trait Parse {
    /// The request in a line, or none in one that holds none, such as a heading. The
    /// line comes without its end; it may be any bytes at all.
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, LineError>;
}

/// Bytes of a sector, the unit of most formats.
const SECTOR_BYTES: u64 = 512;
