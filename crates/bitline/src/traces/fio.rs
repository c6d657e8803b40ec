//! fio's iologs (fio documentation, "Trace file format"). Version 2: `file action` or
//! `file action offset length`, bytes; `wait` lets so many microseconds pass. Version 3
//! puts the time in microseconds in front of each line.

use super::devices::Devices;
use super::fields::{Fields, number, scaled};
use super::{LineError, Parse, Record};
use crate::request_kind::RequestKind;

#[derive(Default)]
pub(super) struct Fio {
    version: Option<Version>,
}

enum Version {
    /// With the time that has passed in waits.
    Two {
        now_ns: u64,
    },
    Three,
}

impl Parse for Fio {
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, LineError> {
        if self.version.is_none() {
            self.version = Some(version(line)?);
            return Ok(None);
        }
        let mut fields = Fields::of_words(line);
        let time_ns = match &self.version {
            Some(Version::Three) => scaled(fields.number("timestamp")?, 1000, "timestamp")?,
            Some(Version::Two { now_ns }) => *now_ns,
            None => return Err(LineError::Version),
        };
        let file = fields.field("file name")?;
        let kind = match fields.field("action")? {
            b"add" | b"open" | b"close" => return Ok(None),
            b"wait" => return self.wait(fields.number("time to wait")?),
            b"read" => RequestKind::Read,
            b"write" => RequestKind::Write,
            b"trim" => RequestKind::Deallocate,
            b"sync" | b"datasync" => RequestKind::Flush,
            _ => {
                return Err(LineError::Operation {
                    field: "action",
                    choices: "add, open, close, wait, read, write, trim, sync or datasync",
                });
            }
        };
        let (offset_bytes, bytes) = match kind {
            RequestKind::Flush => (0, 0),
            _ => (fields.number("offset")?, fields.number("length")?),
        };
        Ok(Some(Record {
            time_ns,
            device: devices.number(file)?,
            kind,
            offset_bytes,
            bytes,
        }))
    }
}

impl Fio {
    /// Version 3 has the time in every line instead.
    fn wait(&mut self, microseconds: u64) -> Result<Option<Record>, LineError> {
        if let Some(Version::Two { now_ns }) = &mut self.version {
            let waits = scaled(microseconds, 1000, "time to wait")?;
            *now_ns = now_ns
                .checked_add(waits)
                .ok_or(LineError::OutOfRange("time to wait"))?;
        }
        Ok(None)
    }
}

fn version(line: &[u8]) -> Result<Version, LineError> {
    let mut words = Fields::of_words(line);
    let frame = (words.next(), words.next(), words.next(), words.next());
    let (Some(b"fio"), Some(b"version"), Some(version), Some(b"iolog")) = frame else {
        return Err(LineError::Version);
    };
    match number(version, "version") {
        Ok(2) => Ok(Version::Two { now_ns: 0 }),
        Ok(3) => Ok(Version::Three),
        _ => Err(LineError::Version),
    }
}
