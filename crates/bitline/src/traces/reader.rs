//! Reads a trace: finds out its format, then gives one request after another.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::devices::Devices;
use super::input::{LINE_BYTES_MAX, Lines, Next, decompressed};
use super::{BadLine, BlkparseAction, LineError, Parse, Record, TraceError, TraceFormat};
use crate::request_kind::RequestKind;

/// What some programs begin a text in UTF-8 with.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();
/// Bytes at the beginning from which the format is found out.
const SAMPLE_BYTES: u64 = 1 << 15;
/// Of these, so many lines.
const SAMPLE_LINES: usize = 50;
/// So many bad lines are told one by one; the others are counted.
const BAD_LINES_TOLD: usize = 10;
/// Of the line that ends a replay, so many bytes are told.
const TEXT_TOLD: usize = 80;

/// How to read a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceOptions {
    /// Its format; found out from its first lines if not given.
    pub format: Option<TraceFormat>,
    /// Bad lines that are passed over and counted; the next one is an error.
    pub bad_lines_max: u64,
    /// For the text of `blkparse`: which event counts.
    pub blkparse_action: BlkparseAction,
}

/// A trace being read, line by line.
///
/// ```
/// use bitline::workload::{RequestKind, TraceOptions, TraceReader};
///
/// let text = "1000 0 8 16 1\n2000 0 24 8 0\n";
/// let mut trace = TraceReader::new(text.as_bytes(), TraceOptions::default())?;
/// let first = trace.next_record()?.expect("two requests");
/// assert_eq!((first.time_ns, first.kind), (1000, RequestKind::Read));
/// assert_eq!((first.offset_bytes, first.bytes), (8 * 512, 16 * 512));
/// # Ok::<(), bitline::workload::TraceError>(())
/// ```
pub struct TraceReader {
    path: PathBuf,
    lines: Lines,
    format: TraceFormat,
    parser: Box<dyn Parse>,
    devices: Devices,
    /// Where the line that was last read lies in the buffer.
    line: (usize, usize),
    requests: u64,
    bad_lines_max: u64,
    bad_lines: u64,
    told: Vec<BadLine>,
}

impl TraceReader {
    /// Opens the trace in a file, which may be compressed with gzip or zstd.
    ///
    /// # Errors
    /// A file that cannot be read, or whose format cannot be found out.
    pub fn open(path: &Path, options: TraceOptions) -> Result<TraceReader, TraceError> {
        let file = File::open(path).map_err(|source| TraceError::Io {
            path: path.to_owned(),
            source,
        })?;
        TraceReader::of(Box::new(file), path, options)
    }

    /// Reads a trace from anywhere.
    ///
    /// # Errors
    /// As [`TraceReader::open`].
    pub fn new(
        input: impl Read + 'static,
        options: TraceOptions,
    ) -> Result<TraceReader, TraceError> {
        TraceReader::of(Box::new(input), Path::new("trace"), options)
    }

    fn of(
        input: Box<dyn Read>,
        path: &Path,
        options: TraceOptions,
    ) -> Result<TraceReader, TraceError> {
        let failed = |source| TraceError::Io {
            path: path.to_owned(),
            source,
        };
        let mut input = decompressed(input).map_err(failed)?;
        let mut sample = Vec::new();
        input
            .by_ref()
            .take(SAMPLE_BYTES)
            .read_to_end(&mut sample)
            .map_err(failed)?;
        if sample.starts_with(BYTE_ORDER_MARK) {
            sample.drain(..BYTE_ORDER_MARK.len());
        }
        if sample.trim_ascii().is_empty() && (sample.len() as u64) < SAMPLE_BYTES {
            return Err(TraceError::Empty {
                path: path.to_owned(),
                bad_lines: 0,
            });
        }
        let format = match options.format {
            Some(given) if fit(given, &sample, &options).is_some() => given,
            Some(given) => match detect(&sample, &options) {
                None => given,
                Some(found) => {
                    return Err(TraceError::OtherFormat {
                        path: path.to_owned(),
                        given,
                        found,
                    });
                }
            },
            None => detect(&sample, &options).ok_or_else(|| TraceError::UnknownFormat {
                path: path.to_owned(),
            })?,
        };
        Ok(TraceReader {
            path: path.to_owned(),
            lines: Lines::new(Box::new(io::Cursor::new(sample).chain(input))),
            format,
            parser: format.parser(&options),
            devices: Devices::default(),
            line: (0, 0),
            requests: 0,
            bad_lines_max: options.bad_lines_max,
            bad_lines: 0,
            told: Vec::new(),
        })
    }

    /// The next request; none at the end.
    ///
    /// # Errors
    /// A file that cannot be read any further, a bad line beyond those that are passed over, or
    /// the end of a file that has no request.
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        loop {
            let next = self.lines.next().map_err(|source| TraceError::Io {
                path: self.path.clone(),
                source,
            })?;
            self.line = (0, 0);
            let parsed = match next {
                Next::End if self.requests == 0 => {
                    return Err(TraceError::Empty {
                        path: self.path.clone(),
                        bad_lines: self.bad_lines,
                    });
                }
                Next::End => return Ok(None),
                Next::TooLong => Err(LineError::LongLine(LINE_BYTES_MAX)),
                Next::Line(begin, end) => {
                    self.line = (begin, end);
                    let line = self.lines.line(begin, end).trim_ascii();
                    match line.is_empty() {
                        true => Ok(None),
                        false => self.parser.parse(line, &mut self.devices),
                    }
                }
            };
            match parsed.and_then(checked) {
                Ok(Some(record)) => {
                    self.requests += 1;
                    return Ok(Some(record));
                }
                Ok(None) => {}
                Err(reason) => self.bad_line(reason)?,
            }
        }
    }

    /// The line that was last read is bad.
    pub(crate) fn bad_line(&mut self, reason: LineError) -> Result<(), TraceError> {
        let line = self.lines.number();
        if self.bad_lines >= self.bad_lines_max {
            return Err(TraceError::Line {
                path: self.path.clone(),
                line,
                reason,
                text: self.begin_of_line(),
                before: self.bad_lines,
            });
        }
        self.bad_lines += 1;
        if self.told.len() < BAD_LINES_TOLD {
            let reason = reason.to_string();
            self.told.push(BadLine { line, reason });
        }
        Ok(())
    }

    /// The beginning of the line that was last read.
    fn begin_of_line(&self) -> String {
        let (begin, end) = self.line;
        let line = self.lines.line(begin, end).trim_ascii();
        let told = &line[..line.len().min(TEXT_TOLD)];
        let ellipsis = if told.len() < line.len() { "..." } else { "" };
        String::from_utf8_lossy(told).into_owned() + ellipsis
    }

    /// Its format.
    pub fn format(&self) -> TraceFormat {
        self.format
    }

    /// Lines read so far.
    pub fn lines(&self) -> u64 {
        self.lines.number()
    }

    /// Bad lines skipped so far.
    pub fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// The first of them.
    pub fn first_bad_lines(&self) -> &[BadLine] {
        &self.told
    }

    /// The devices named so far, by number.
    pub fn devices(&self) -> &[String] {
        self.devices.names()
    }
}

/// A request has a length, unless it is a flush, and ends where 64 bits reach.
fn checked(record: Option<Record>) -> Result<Option<Record>, LineError> {
    let Some(record) = record else {
        return Ok(None);
    };
    if record.bytes == 0 && record.kind != RequestKind::Flush {
        return Err(LineError::Empty);
    }
    match record.offset_bytes.checked_add(record.bytes) {
        Some(_) => Ok(Some(record)),
        None => Err(LineError::OutOfRange("end")),
    }
}

/// The format that most of the first lines fit, if any request is found.
fn detect(sample: &[u8], options: &TraceOptions) -> Option<TraceFormat> {
    let candidates = TraceFormat::ALL
        .into_iter()
        .filter_map(|format| Some((fit(format, sample, options)?, format)));
    candidates
        .max_by_key(|(good, _)| *good)
        .map(|(_, format)| format)
}

/// How many of the first lines are of a format; none if more are not, or no request is found.
fn fit(format: TraceFormat, sample: &[u8], options: &TraceOptions) -> Option<usize> {
    let mut parser = format.parser(options);
    let mut devices = Devices::default();
    let (mut good, mut bad, mut requests) = (0, 0, 0);
    for line in sample.split(|byte| *byte == b'\n').take(SAMPLE_LINES) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        match parser.parse(line, &mut devices) {
            Ok(record) => {
                good += 1;
                requests += usize::from(record.is_some());
            }
            Err(_) => bad += 1,
        }
    }
    // A heading alone, such as that of an iolog, shows the format, too.
    let heading = good > 0 && bad == 0;
    ((requests > 0 || heading) && good > bad).then_some(good)
}
