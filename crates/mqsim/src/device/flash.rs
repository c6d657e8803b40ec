//! The flash packages: counts, sizes and times.

use toml::Value;

use super::import::Import;
use crate::error::MqsimError;
use crate::section::{Given, Section};

impl Import<'_> {
    pub(super) fn times(&mut self, flash: &Section<'_>) -> Result<(), MqsimError> {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let time = |key| flash.given(&[key])?.number(1..=HOUR_NS);
        let mode = flash.given(&["Flash_Technology"])?.one_of(&[
            ("SLC", "slc"),
            ("MLC", "mlc"),
            ("TLC", "tlc"),
        ])?;
        // A chip tells that it is ready so much later.
        const READY_NS: u64 = 20;
        let read = [
            time("Page_Read_Latency_LSB")? + READY_NS,
            time("Page_Read_Latency_CSB")? + READY_NS,
            time("Page_Read_Latency_MSB")? + READY_NS,
        ];
        let program = [
            time("Page_Program_Latency_LSB")?,
            time("Page_Program_Latency_CSB")?,
            time("Page_Program_Latency_MSB")?,
        ];
        self.set("ftl.mode", mode);
        let technology = flash.given(&["Flash_Technology"])?;
        for (what, [lsb, csb, msb]) in [("read", read), ("program", program)] {
            let keys = match what {
                "read" => [
                    "nand.latency.read_slc_ns",
                    "nand.latency.read_mlc_ns",
                    "nand.latency.read_tlc_ns",
                ],
                _ => [
                    "nand.latency.program_slc_ns",
                    "nand.latency.program_mlc_ns",
                    "nand.latency.program_tlc_ns",
                ],
            };
            self.set(keys[0], lsb as i64);
            self.page_types(&technology, keys[1], &[lsb, msb]);
            self.page_types(&technology, keys[2], &[lsb, csb, msb]);
        }
        self.set("nand.latency.erase_ns", time("Block_Erase_Latency")? as i64);
        let suspension = flash.given(&["CMD_Suspension_Support"])?;
        let support = suspension.one_of(&[
            ("NONE", 0),
            ("PROGRAM", 1),
            ("ERASE", 2),
            ("PROGRAM_ERASE", 3),
        ])?;
        if support != 0 {
            self.note(&suspension, "has no effect in MQSim, and none here");
        }
        let unused = ["Suspend_Erase_Time", "Suspend_Program_Time"];
        self.without_effect(flash, &unused, "has no effect in MQSim, and none here")?;
        self.without_effect(
            flash,
            &["Block_PE_Cycles_Limit"],
            "has no effect in MQSim, and none here",
        )
    }

    /// Times of the pages of a cell.
    pub(super) fn page_types(&mut self, given: &Given<'_>, key: &'static str, times: &[u64]) {
        let each: Vec<Value> = times.iter().map(|time| Value::from(*time as i64)).collect();
        if self
            .builder
            .replace(key, &Value::Array(each.clone()))
            .is_ok()
        {
            return self.set(key, each);
        }
        if times.iter().any(|time| *time != times[0]) {
            self.note(
                given,
                format!("{key}: all pages of a cell take as long as the first"),
            );
        }
        self.set(key, times[0] as i64);
    }

    pub(super) fn packages(
        &mut self,
        device: &Section<'_>,
        flash: &Section<'_>,
    ) -> Result<[u32; 4], MqsimError> {
        let packages = [
            device.given(&["Flash_Channel_Count"])?.number(1..=65_535)?,
            device.given(&["Chip_No_Per_Channel"])?.number(1..=65_535)?,
            flash.given(&["Die_No_Per_Chip"])?.number(1..=256)?,
            flash.given(&["Plane_No_Per_Die"])?.number(1..=4)?,
        ];
        self.set("nand.geometry.channels", packages[0]);
        self.set("nand.geometry.chips_per_channel", packages[1]);
        self.set("nand.geometry.dies_per_chip", packages[2]);
        self.set("nand.geometry.planes_per_die", packages[3]);
        Ok(packages)
    }

    pub(super) fn sizes(
        &mut self,
        flash: &Section<'_>,
        packages: [u32; 4],
    ) -> Result<(), MqsimError> {
        self.planes = packages.iter().product();
        self.blocks_per_plane = flash.given(&["Block_No_Per_Plane"])?.number(4..=1 << 24)?;
        self.pages_per_block = flash.given(&["Page_No_Per_Block"])?.number(1..=65_535)?;
        let page = flash.given(&["Page_Capacity"])?;
        self.page_bytes = page.number(512..=1 << 20)?;
        if !self.page_bytes.is_multiple_of(512) {
            return Err(page.refused("it must be a multiple of 512"));
        }
        self.pages = u64::from(self.planes)
            * u64::from(self.blocks_per_plane)
            * u64::from(self.pages_per_block);
        Ok(())
    }

    /// Strings of a block, cells of a string, and the pages that they make: as many as the file says,
    /// or a few less if cells of several bits do not make as many.
    pub(super) fn strings(&mut self, given: &Given<'_>) -> Result<(u32, u32, u32), MqsimError> {
        let mode = self.keys.iter().find(|(key, _)| *key == "ftl.mode");
        let bits = match mode.and_then(|(_, mode)| mode.as_str()) {
            Some("tlc") => 3,
            Some("mlc") => 2,
            _ => 1,
        };
        let wordlines = self.pages_per_block / bits;
        let strings = (1..=wordlines).find(|strings| {
            wordlines.is_multiple_of(*strings) && wordlines / strings <= 64 && *strings <= 256
        });
        let Some(strings) = strings else {
            return Err(given.refused(format!(
                "with {bits} bits a cell, it must be a product of {bits}, up to 256 strings and up to 64 cells"
            )));
        };
        let kept = wordlines * bits;
        if kept != self.pages_per_block {
            self.note(
                given,
                format!("is {kept} here, since {bits} pages share their cells"),
            );
        }
        Ok((strings, wordlines / strings, kept))
    }
}
