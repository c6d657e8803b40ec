//! What can be wrong with a trace.

use std::path::PathBuf;

use serde::Serialize;

use super::TraceFormat;

/// Why a line holds no request that could be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// A field is missing.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// There is more than the format has.
    #[error("it has more than {0} fields")]
    TooManyFields(usize),
    /// A field that is no number, or too large a one.
    #[error("its {0} is no number of up to 64 bits")]
    Number(&'static str),
    /// An operation that the format does not have.
    #[error("its {field} must be {choices}")]
    Operation {
        /// What the format calls it.
        field: &'static str,
        /// The operations that it has.
        choices: &'static str,
    },
    /// A request of no bytes.
    #[error("its request has no length")]
    Empty,
    /// Its end is beyond what 64 bits can count.
    #[error("its {0} is out of range")]
    OutOfRange(&'static str),
    /// More than one command can move, or than the range can hold.
    #[error("its request is longer than a command or the range that it goes to")]
    TooLong,
    /// The first line of an iolog names its version.
    #[error("an iolog begins with \"fio version 2 iolog\" or \"fio version 3 iolog\"")]
    Version,
    /// Longer than any line of any format.
    #[error("it is longer than {0} bytes")]
    LongLine(usize),
    /// So many devices that their names would fill memory.
    #[error("it names another device after {0}")]
    TooManyDevices(usize),
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BadLine {
    /// Its number, counted from one.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The operating system, or the decompression, refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// A bad line, and no more may be passed over.
    #[error("{}, line {line}: {reason}{}{}", path.display(), quoted(text), after(*before))]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from one.
        line: u64,
        /// What is wrong with it.
        reason: LineError,
        /// How it begins.
        text: String,
        /// Bad lines that were passed over before.
        before: u64,
    },
    /// No format fits its first lines.
    #[error(
        "{}: its first lines fit no known format (mqsim, msr, alibaba, blkparse, fio, cloudphysics); \
         say which it is",
        path.display()
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// Its first lines do not fit the format that it is said to have, but another.
    #[error(
        "{}: its first lines are not of the format {}, but of {}; leave the format out, and it \
         is found out",
        path.display(), given.name(), found.name()
    )]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// What it is said to be.
        given: TraceFormat,
        /// What it seems to be.
        found: TraceFormat,
    },
    /// It has requests, but none of the devices that are to be replayed.
    #[error(
        "{}: all its requests are of devices that are not named; it has {}",
        path.display(), devices.join(" ")
    )]
    OtherDevices {
        /// The file.
        path: PathBuf,
        /// The first of its devices.
        devices: Vec<String>,
    },
    /// There is no request in it.
    #[error("{}: it has no request{}", path.display(), after(*bad_lines))]
    Empty {
        /// The file.
        path: PathBuf,
        /// Bad lines that were passed over.
        bad_lines: u64,
    },
}

/// The beginning of a bad line, in quotes.
fn quoted(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!(": {text:?}"),
    }
}

/// How many bad lines came before, if any did.
fn after(before: u64) -> String {
    match before {
        0 => String::new(),
        1 => " (after 1 bad line that was passed over)".into(),
        _ => format!(" (after {before} bad lines that were passed over)"),
    }
}
