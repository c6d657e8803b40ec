//! The link to the host, and its queues.

use super::import::{Import, only};
use crate::error::MqsimError;
use crate::section::Section;

impl Import<'_> {
    pub(super) fn link(&mut self, host: &Section<'_>) -> Result<(), MqsimError> {
        let lane = host.given(&["PCIe_Lane_Bandwidth"])?;
        let rate = (lane.number(0.001..=1000.0)? * 1000.0_f64).round();
        self.set("link.megabytes_per_second_per_lane", rate as i64);
        let lanes: u32 = host.given(&["PCIe_Lane_Count"])?.number(1..=64)?;
        self.set("link.lanes", lanes);
        self.without_effect(
            host,
            &["SATA_Processing_Delay"],
            "is for SATA, which this drive has not",
        )?;
        let logging = host.optional(&["Enable_ResponseTime_Logging"])?;
        host.optional(&["ResponseTime_Logging_Period_Length"])?;
        match logging {
            Some(given) if given.flag()? => {
                self.note(&given, "is ignored: latencies are recorded all the same");
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn queues(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        only(device, "Memory_Type", "FLASH")?;
        only(device, "HostInterface_Type", "NVME")?;
        let entries = device.given(&["IO_Queue_Depth"])?;
        let depth: u32 = entries.number(2..=65_535)?;
        self.set_checked(&entries, "compatibility.entry_fetch", "pipelined")?;
        self.set("frontend.queue_entries", depth);
        self.set("host.queue_entries", depth);
        Ok(())
    }
}
