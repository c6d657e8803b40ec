//! The text that `blkparse` prints by default (blkparse(1), "OUTPUT DESCRIPTION AND
//! FORMATTING"): `major,minor cpu sequence seconds pid action RWBS sector + sectors
//! [process]`. Of a request's many events one says when it arrives; the others and the
//! summary at the end hold no request.

use super::devices::Devices;
use super::fields::{Fields, seconds, sectors};
use super::{BlkparseAction, LineError, Parse, Record};
use crate::request_kind::RequestKind;

pub(super) struct Blkparse {
    action: &'static [u8],
    /// The summary has begun: nothing follows.
    summary: bool,
}

impl Blkparse {
    pub(super) fn new(action: BlkparseAction) -> Blkparse {
        Blkparse {
            action: match action {
                BlkparseAction::Queued => b"Q",
                BlkparseAction::Issued => b"D",
            },
            summary: false,
        }
    }
}

impl Parse for Blkparse {
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, LineError> {
        self.summary |= [&b"CPU"[..], b"Total ("]
            .iter()
            .any(|heading| line.starts_with(heading));
        if self.summary {
            return Ok(None);
        }
        let mut fields = Fields::of_words(line);
        let device = fields.field("device")?;
        check_device(device)?;
        fields.number("CPU")?;
        fields.number("sequence number")?;
        let time_ns = seconds(fields.field("time")?, "time")?;
        fields.number("process number")?;
        let action = fields.field("action")?;
        if action != self.action {
            return Ok(None);
        }
        let Some(kind) = kind(fields.field("RWBS")?) else {
            return Ok(None);
        };
        let (offset_bytes, bytes, kind) = match extent(&mut fields)? {
            Some((offset, bytes)) => (offset, bytes, kind),
            // A flush alone, whatever else RWBS says.
            None => (0, 0, RequestKind::Flush),
        };
        Ok(Some(Record {
            time_ns,
            device: devices.number(device)?,
            kind,
            offset_bytes,
            bytes,
        }))
    }
}

/// Two numbers and a comma between them.
fn check_device(field: &[u8]) -> Result<(), LineError> {
    let mut numbers = Fields::of_csv(field);
    numbers.number("device")?;
    numbers.number("device")?;
    numbers.end(2)
}

/// What the letters ask for; none if it is no transfer, such as N.
fn kind(letters: &[u8]) -> Option<RequestKind> {
    let has = |letter| letters.contains(&letter);
    if has(b'D') {
        Some(RequestKind::Deallocate)
    } else if has(b'R') {
        Some(RequestKind::Read)
    } else if has(b'W') {
        Some(RequestKind::Write)
    } else if has(b'F') {
        Some(RequestKind::Flush)
    } else {
        None
    }
}

/// Offset and length in bytes, or none where the line goes on with the process.
fn extent(fields: &mut Fields<'_>) -> Result<Option<(u64, u64)>, LineError> {
    let first = match fields.next() {
        None => return Ok(None),
        Some(field) if field.starts_with(b"[") => return Ok(None),
        Some(field) => field,
    };
    let sector = super::fields::number(first, "sector")?;
    match fields.field("number of sectors")? {
        b"+" => {}
        _ => return Err(LineError::Missing("number of sectors")),
    }
    let count = fields.number("number of sectors")?;
    if count == 0 {
        return Ok(None);
    }
    Ok(Some((
        sectors(sector, "sector")?,
        sectors(count, "number of sectors")?,
    )))
}
