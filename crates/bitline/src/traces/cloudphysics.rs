//! CloudPhysics's traces as libCacheSim distributes them: CSV with the columns
//! `version`, `time` in whole seconds, `op` (the SCSI operation code in hexadecimal,
//! 28 reads and 2a writes), `size` in bytes, `lbn` in blocks of 512 bytes.
//!
//! The unit of the time follows from the data: two hours of a virtual machine are
//! 7,200 of it. Requests of the same second arrive at the same instant.

use super::devices::Devices;
use super::fields::{Fields, scaled, sectors};
use super::{LineError, Parse, Record};
use crate::request_kind::RequestKind;

pub(super) struct Cloudphysics;

impl Parse for Cloudphysics {
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, LineError> {
        if line.starts_with(b"version,") {
            return Ok(None);
        }
        let mut fields = Fields::of_csv(line);
        fields.number("version")?;
        let time_ns = scaled(fields.number("time")?, 1_000_000_000, "time")?;
        let kind = kind(fields.field("operation")?)?;
        let bytes = fields.number("size")?;
        let offset_bytes = sectors(fields.number("block number")?, "block number")?;
        fields.end(5)?;
        let flushes = kind == RequestKind::Flush;
        Ok(Some(Record {
            time_ns,
            device: devices.number(b"")?,
            kind,
            offset_bytes: if flushes { 0 } else { offset_bytes },
            bytes: if flushes { 0 } else { bytes },
        }))
    }
}

/// The SCSI block commands that move or discard blocks (SBC-4, table 32).
fn kind(code: &[u8]) -> Result<RequestKind, LineError> {
    match code {
        // READ (6), (10), (12), (16)
        b"8" | b"08" | b"28" | b"a8" | b"A8" | b"88" => Ok(RequestKind::Read),
        // WRITE (6), (10), (12), (16), and WRITE AND VERIFY (10)
        b"a" | b"A" | b"0a" | b"0A" | b"2a" | b"2A" | b"aa" | b"AA" | b"8a" | b"8A" | b"2e"
        | b"2E" => Ok(RequestKind::Write),
        // UNMAP
        b"42" => Ok(RequestKind::Deallocate),
        // SYNCHRONIZE CACHE (10), (16)
        b"35" | b"91" => Ok(RequestKind::Flush),
        _ => Err(LineError::Operation {
            field: "operation",
            choices: "the hexadecimal code of a SCSI command, such as 28 (read) or 2a (write)",
        }),
    }
}
