//! MQSim's ASCII traces: `time_ns device sector sectors type`, separated by blanks; type
//! 0 writes, 1 reads (CMU-SAFARI/MQSim, README, "Trace-based workloads").

use super::devices::Devices;
use super::fields::{Fields, sectors};
use super::{LineError, Parse, Record};
use crate::request_kind::RequestKind;

pub(super) struct Mqsim;

impl Parse for Mqsim {
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, LineError> {
        let mut fields = Fields::of_words(line);
        let time_ns = fields.number("time")?;
        let device = fields.field("device")?;
        let offset_bytes = sectors(fields.number("sector")?, "sector")?;
        let bytes = sectors(fields.number("number of sectors")?, "number of sectors")?;
        let kind = match fields.field("type")? {
            b"0" => RequestKind::Write,
            b"1" => RequestKind::Read,
            _ => {
                return Err(LineError::Operation {
                    field: "type",
                    choices: "0 (write) or 1 (read)",
                });
            }
        };
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
