//! The order of transactions, and the channels that they cross.

use toml::{Table, Value};

use super::import::{Import, only};
use crate::error::MqsimError;
use crate::section::Section;

impl Import<'_> {
    pub(super) fn schedule(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        let policy = device.given(&["Transaction_Scheduling_Policy"])?;
        let name = policy.one_of(&[
            ("OUT_OF_ORDER", "read_priority"),
            ("PRIORITY_OUT_OF_ORDER", "priority_classes"),
        ])?;
        self.set_checked(&policy, "schedule.policy", name)?;
        self.set_checked(&policy, "compatibility.interleave", "chip")?;
        self.set_checked(&policy, "compatibility.program_transfer", "written")?;
        self.set_checked(&policy, "schedule.bypass_max", 0)?;
        let weights: Vec<Value> = [4, 2, 1].map(Value::from).to_vec();
        self.set_checked(&policy, "schedule.priority_weights", weights)?;
        self.set_checked(&policy, "schedule.suspend.programs", false)?;
        self.set_checked(&policy, "schedule.suspend.erases", false)?;
        for (right, wrong) in [
            (
                "Preferred_suspend_erase_time_for_read",
                "Prefered_suspend_erase_time_for_read",
            ),
            (
                "Preferred_suspend_erase_time_for_write",
                "Prefered_suspend_erase_time_for_write",
            ),
            (
                "Preferred_suspend_write_time_for_read",
                "Prefered_suspend_write_time_for_read",
            ),
        ] {
            if let Some(given) = device.optional(&[right, wrong])? {
                given.number(0..=u64::MAX)?;
                self.note(&given, "has no effect in MQSim, and none here");
            }
        }
        Ok(())
    }

    pub(super) fn channels(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        only(device, "Flash_Comm_Protocol", "NVDDR2")?;
        let protocol = device.given(&["Flash_Comm_Protocol"])?;
        self.set_checked(&protocol, "compatibility.command_phases", command_phases())?;
        if self
            .builder
            .leaves()
            .iter()
            .any(|(key, _)| key.starts_with("compatibility.command_phases"))
        {
            // It is part of the phases as MQSim has them.
            self.set("nand.bus.t_rr_ns", 0);
        }
        let width: u32 = device.given(&["Flash_Channel_Width"])?.number(1..=64)?;
        let given = device.given(&["Channel_Transfer_Rate"])?;
        let rate: u32 = given.number(1..=1_000_000)?;
        // A transfer takes a whole number of nanoseconds, rounded down.
        let transfer_ns = 1000 / rate;
        let megabytes = if transfer_ns == 0 {
            self.note(&given, "makes transfers take no time in MQSim; here the channel is as fast as it can be, 1000000 MB/s");
            1e6
        } else {
            if 1000 % rate != 0 {
                let real = 1000.0 / f64::from(transfer_ns);
                self.note(
                    &given,
                    format!(
                        "behaves as {real:.4} in MQSim, which takes whole nanoseconds, and here"
                    ),
                );
            }
            f64::from(width) * 1000.0 / f64::from(transfer_ns)
        };
        self.set("channel.megabytes_per_second", megabytes);
        Ok(())
    }
}

/// Command phases of NVDDR2 as MQSim has them (ONFI_Channel_NVDDR2): tCS 20, tWC 25, tWB 100,
/// tRR 20, tADL 70 and tDBSY 500 ns.
fn command_phases() -> Table {
    let phases = [
        ("read_ns", 290),
        ("read_plane_ns", 650),
        ("program_ns", 281),
        ("program_plane_ns", 650),
        ("erase_ns", 220),
        ("erase_plane_ns", 650),
    ];
    let stated = phases.map(|(key, ns)| (key.to_owned(), Value::from(ns)));
    Table::from_iter([("stated".to_owned(), Value::Table(Table::from_iter(stated)))])
}
