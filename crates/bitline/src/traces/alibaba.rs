//! Alibaba's block traces (github.com/alibaba/block-traces): CSV with the columns
//! `device_id`, `opcode` (R or W), `offset` and `length` in bytes, `timestamp` in
//! microseconds.

use super::devices::Devices;
use super::fields::{Fields, scaled};
use super::{LineError, Parse, Record};
use crate::request_kind::RequestKind;

pub(super) struct Alibaba;

impl Parse for Alibaba {
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, LineError> {
        if line.starts_with(b"device_id,") {
            return Ok(None);
        }
        let mut fields = Fields::of_csv(line);
        let device = fields.field("device")?;
        super::fields::number(device, "device")?;
        let kind = match fields.field("opcode")? {
            b"R" => RequestKind::Read,
            b"W" => RequestKind::Write,
            _ => {
                return Err(LineError::Operation {
                    field: "opcode",
                    choices: "R or W",
                });
            }
        };
        let offset_bytes = fields.number("offset")?;
        let bytes = fields.number("length")?;
        let time_ns = scaled(fields.number("timestamp")?, 1000, "timestamp")?;
        fields.end(5)?;
        Ok(Some(Record {
            time_ns,
            device: devices.number(device)?,
            kind,
            offset_bytes,
            bytes,
        }))
    }
}
