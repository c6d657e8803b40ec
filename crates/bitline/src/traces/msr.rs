//! MSR Cambridge's traces (SNIA IOTTA, set 388): CSV with the columns `Timestamp`
//! (Windows file time, ticks of 100 ns), `Hostname`, `DiskNumber`, `Type` (Read or
//! Write), `Offset` and `Size` in bytes, `ResponseTime` in ticks.

use super::devices::Devices;
use super::fields::{Fields, scaled};
use super::{LineError, Parse, Record};
use crate::request_kind::RequestKind;

const TICK_NS: u64 = 100;

pub(super) struct Msr;

impl Parse for Msr {
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, LineError> {
        if line.starts_with(b"Timestamp,") {
            return Ok(None);
        }
        let mut fields = Fields::of_csv(line);
        let time_ns = scaled(fields.number("timestamp")?, TICK_NS, "timestamp")?;
        let host = fields.field("host name")?;
        let disk = fields.field("disk number")?;
        let kind = kind(fields.field("type")?)?;
        let offset_bytes = fields.number("offset")?;
        let bytes = fields.number("size")?;
        fields.number("response time")?;
        fields.end(7)?;
        Ok(Some(Record {
            time_ns,
            device: devices.number(between(line, host, disk))?,
            kind,
            offset_bytes,
            bytes,
        }))
    }
}

fn kind(field: &[u8]) -> Result<RequestKind, LineError> {
    if field.eq_ignore_ascii_case(b"read") {
        Ok(RequestKind::Read)
    } else if field.eq_ignore_ascii_case(b"write") {
        Ok(RequestKind::Write)
    } else {
        Err(LineError::Operation {
            field: "type",
            choices: "Read or Write",
        })
    }
}

/// What a line holds from the beginning of one of its fields to the end of a later one.
fn between<'a>(line: &'a [u8], first: &[u8], last: &[u8]) -> &'a [u8] {
    let begin = first.as_ptr() as usize - line.as_ptr() as usize;
    let end = last.as_ptr() as usize + last.len() - line.as_ptr() as usize;
    &line[begin..end]
}
