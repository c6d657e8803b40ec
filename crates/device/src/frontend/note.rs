//! What the front end keeps through power cycles, as durable notes of the translation layer.

use nvme::Status;
use nvme::command::FeatureId;

use super::Controller;
use super::answer::status_of;

/// Power cycles in bits 63:32, unsafe shutdowns in 31:1, whether the last shutdown was orderly in 0.
pub(super) const POWER: u16 = 0x00;
/// Sectors of 512 bytes that the host read.
pub(super) const SECTORS_READ: u16 = 0x01;
/// Sectors that it wrote.
pub(super) const SECTORS_WRITTEN: u16 = 0x02;
/// Commands that read.
pub(super) const HOST_READS: u16 = 0x03;
/// Commands that wrote.
pub(super) const HOST_WRITES: u16 = 0x04;
/// Media errors in bits 63:32, entries of the error log in 31:0.
pub(super) const ERRORS: u16 = 0x05;
/// Seconds with power.
pub(super) const POWERED_SECONDS: u16 = 0x06;
/// CDW10 of the last Sanitize in bits 63:32, its state in 15:0.
pub(super) const SANITIZE: u16 = 0x10;

/// A saved feature: its value.
pub(super) fn feature(id: FeatureId, selector: u32) -> u16 {
    0x100 + ((selector as u16) << 8) + u16::from(id.0)
}

/// The format of a namespace, counted from zero: index in bits 7:0, bit 8 while formatting.
pub(super) fn format(namespace: usize) -> u16 {
    0x1000 + namespace as u16
}

/// A range of uncorrectable sectors: the first in bits 63:24, how many in 23:0; none if that is 0.
pub(super) fn mark(slot: usize) -> u16 {
    0x4000 + slot as u16
}

impl Controller {
    /// Keeps a fact; when this returns, it is on flash. One that is kept already costs nothing.
    pub(super) async fn keep(&self, key: u16, value: u64) -> Result<(), Status> {
        if self.ftl.note(key) == Some(value) {
            return Ok(());
        }
        let kept = self.ftl.put_note(key, value).await;
        kept.map_err(|error| status_of(error, false))
    }
}
