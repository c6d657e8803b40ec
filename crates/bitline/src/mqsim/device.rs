//! `ssdconfig.xml`: a drive.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::Note;
use super::error::MqsimError;
use super::section::{Given, Section};
use super::workload::{CachingMode, MqsimPriority, Scenario};
use super::xml::{self, Element};
use crate::config::{Config, ConfigBuilder};

/// The preset that an imported file starts from. It is MQSim's own default drive, with what MQSim
/// has no word for: energies, computing, errors.
const BASE: &str = "mqsim-default";

/// A drive as `ssdconfig.xml` describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct MqsimDevice {
    file: PathBuf,
    /// Keys of [`Config`] with their values.
    overrides: Vec<(&'static str, Value)>,
    /// `Seed`.
    pub seed: u32,
    /// `Enabled_Preconditioning`.
    pub preconditioning: bool,
    /// Channels, chips a channel, dies a chip and planes a die.
    pub packages: [u32; 4],
    /// `Block_No_Per_Plane`.
    pub blocks_per_plane: u32,
    /// `Page_No_Per_Block`.
    pub pages_per_block: u32,
    /// Sectors of 512 bytes in a page.
    pub page_sectors: u32,
    /// `Overprovisioning_Ratio`.
    pub overprovisioning: f64,
    /// `Caching_Mechanism` is SIMPLE, which knows no cached reads.
    simple_cache: bool,
    /// `Queue_Fetch_Size`.
    fetch: u32,
}

/// Reads the drive in the file at `path`.
///
/// # Errors
/// A file that cannot be read, or anything in it that is not as MQSim's files are.
pub(super) fn read(path: &Path, notes: &mut Vec<Note>) -> Result<MqsimDevice, MqsimError> {
    let text =
        std::fs::read_to_string(path).map_err(|error| MqsimError::unreadable(path, &error))?;
    device(path, &xml::parse(&text, path)?, notes)
}

fn device(file: &Path, root: &Element, notes: &mut Vec<Note>) -> Result<MqsimDevice, MqsimError> {
    if root.name != "Execution_Parameter_Set" {
        let what = format!("<{}> must be <Execution_Parameter_Set>", root.name);
        return Err(MqsimError::at(file, root.line, what));
    }
    let top = Section::new(file, root);
    let parts = [
        one(&top, "Host_Parameter_Set")?,
        one(&top, "Device_Parameter_Set")?,
    ];
    top.finish()?;
    let [host, device] = parts.map(|element| Section::new(file, element));
    let flash = Section::new(file, one(&device, "Flash_Parameter_Set")?);
    let base = ConfigBuilder::preset(BASE);
    let mut import = Import {
        keys: Vec::new(),
        builder: base.map_err(|error| MqsimError::whole(file, error.to_string()))?,
        notes,
        planes: 0,
        blocks_per_plane: 0,
        pages_per_block: 0,
        page_bytes: 0,
        pages: 0,
    };
    let packages = import.packages(&device, &flash)?;
    import.sizes(&flash, packages)?;
    import.link(&host)?;
    import.queues(&device)?;
    import.cache(&device)?;
    import.mapping(&device)?;
    import.collection(&device)?;
    import.schedule(&device)?;
    import.channels(&device)?;
    import.times(&flash)?;
    let found = import.finish(file, &device, &flash, packages)?;
    for section in [&host, &device, &flash] {
        section.finish()?;
    }
    Ok(found)
}

fn one<'a>(section: &Section<'a>, name: &str) -> Result<&'a Element, MqsimError> {
    match section.all(&[name])[..] {
        [element] => Ok(element),
        [] => {
            let what = format!("<{}> lacks <{name}>", section.element.name);
            Err(MqsimError::at(section.file, section.element.line, what))
        }
        [_, second, ..] => {
            let what = format!("<{name}> is given again");
            Err(MqsimError::at(section.file, second.line, what))
        }
    }
}

/// An import under way: what the file says, in our words.
struct Import<'n> {
    keys: Vec<(&'static str, Value)>,
    /// As far as it is put together.
    builder: ConfigBuilder,
    notes: &'n mut Vec<Note>,
    /// What some keys depend on.
    planes: u32,
    blocks_per_plane: u32,
    pages_per_block: u32,
    page_bytes: u64,
    /// Flash pages of the drive.
    pages: u64,
}

impl Import<'_> {
    fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        self.keys.push((key, value.into()));
    }

    /// As [`Import::set`], with a value that the drive may refuse: then `given` is told to be wrong.
    fn set_checked(
        &mut self,
        given: &Given<'_>,
        key: &'static str,
        value: impl Into<Value>,
    ) -> Result<(), MqsimError> {
        let value = value.into();
        let replaced = self.builder.replace(key, &value);
        replaced.map_err(|error| given.refused(error))?;
        self.keys.push((key, value));
        Ok(())
    }

    fn note(&mut self, given: &Given<'_>, reason: impl std::fmt::Display) {
        self.notes.push(given.note(reason));
    }

    /// Notes keys that change nothing here, where the file has them.
    fn without_effect(
        &mut self,
        section: &Section<'_>,
        keys: &[&str],
        reason: &str,
    ) -> Result<(), MqsimError> {
        for key in keys {
            if let Some(given) = section.optional(&[key])? {
                given.number(0..=u64::MAX)?;
                self.note(&given, reason);
            }
        }
        Ok(())
    }

    fn link(&mut self, host: &Section<'_>) -> Result<(), MqsimError> {
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

    fn queues(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        only(device, "Memory_Type", "FLASH")?;
        only(device, "HostInterface_Type", "NVME")?;
        let depth: u32 = device.given(&["IO_Queue_Depth"])?.number(2..=65_535)?;
        self.set("frontend.queue_entries", depth);
        self.set("host.queue_entries", depth);
        Ok(())
    }

    fn cache(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        if let Some(sharing) = device.optional(&["Data_Cache_Sharing_Mode"])? {
            sharing.one_of(&[("SHARED", ()), ("EQUAL_PARTITIONING", ())])?;
        }
        let page: u64 = self.page_bytes;
        let capacity = device.given(&["Data_Cache_Capacity"])?;
        let bytes: u64 = capacity.number(0..=1 << 40)?;
        self.set_checked(&capacity, "cache.capacity_bytes", bytes.max(page) as i64)?;
        self.set_checked(&capacity, "cache.write_back", "hot_cold")?;
        self.set_checked(&capacity, "cache.capacitor", false)?;
        self.set_checked(&capacity, "cache.back_pressure_pages", self.planes)?;
        let burst = [
            "Data_Cache_DRAM_Data_Busrt_Size",
            "Data_Cache_DRAM_Data_Burst_Size",
        ];
        let keys: [(&[&str], _); 6] = [
            (&["Data_Cache_DRAM_Row_Size"], "dram.row_bytes"),
            (&["Data_Cache_DRAM_Data_Rate"], "dram.clock_megahertz"),
            (&burst, "dram.transfer_bytes"),
            (&["Data_Cache_DRAM_tRCD"], "dram.t_rcd_ns"),
            (&["Data_Cache_DRAM_tCL"], "dram.t_cl_ns"),
            (&["Data_Cache_DRAM_tRP"], "dram.t_rp_ns"),
        ];
        for (names, key) in keys {
            let given = device.given(names)?;
            let number: i64 = given.number(0..=1 << 30)?;
            self.set_checked(&given, key, number)?;
        }
        Ok(())
    }

    fn mapping(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        only(device, "Address_Mapping", "PAGE_LEVEL")?;
        let ideal = device.given(&["Ideal_Mapping_Table"])?.flag()?;
        let capacity = device.given(&["CMT_Capacity"])?;
        let bytes: u32 = capacity.number(0..=u32::MAX)?;
        // As MQSim has them: an entry of the cache names two pages and has a bit for each sector,
        // one of a mapping page names one.
        let (bits, sectors) = ((self.pages as f64).log2(), (self.page_bytes / 512) as f64);
        let cached = ((2.0 * bits + sectors) / 8.0).ceil() as u32;
        let stored = ((bits + sectors) / 8.0).ceil() as u32;
        let entries = (bytes / cached).max(1);
        let kind = if ideal { "ideal" } else { "cached" };
        self.set_checked(
            &device.given(&["Ideal_Mapping_Table"])?,
            "ftl.mapping.kind",
            kind,
        )?;
        self.set_checked(&capacity, "ftl.mapping.cache_entries", entries)?;
        self.set_checked(&capacity, "ftl.mapping.entry_bytes", stored)?;
        self.set_checked(&capacity, "ftl.mapping.fetch_bytes", 512)?;
        if let Some(sharing) = device.optional(&["CMT_Sharing_Mode"])? {
            sharing.one_of(&[("SHARED", ()), ("EQUAL_PARTITIONING", ())])?;
        }
        let scheme = device.given(&["Plane_Allocation_Scheme"])?;
        self.set("ftl.plane_allocation", scheme.text().to_uppercase());
        Ok(())
    }

    fn collection(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        let policy = device.given(&["GC_Block_Selection_Policy"])?;
        // RANDOM may take a block that is not full, which gains less; RANDOM_PP has no counterpart.
        let name = policy.one_of(&[
            ("GREEDY", "greedy"),
            ("RGA", "rga"),
            ("FIFO", "fifo"),
            ("RANDOM", "random"),
            ("RANDOM_P", "random"),
        ])?;
        if policy.text().eq_ignore_ascii_case("RANDOM") {
            self.note(&policy, "takes full blocks only here, as RANDOM_P does");
        }
        self.set_checked(&policy, "ftl.gc.policy", name)?;
        let copyback = device.given(&["Use_Copyback_for_GC"])?;
        if copyback.flag()? {
            self.note(
                &copyback,
                "ends MQSim; here collection copies through the controller",
            );
        }
        let preemptible = device.given(&["Preemptible_GC_Enabled"])?;
        let flag = preemptible.flag()?;
        self.set_checked(&preemptible, "ftl.gc.preemptible", flag)?;
        let hard = device.given(&["GC_Hard_Threshold"])?;
        hard.number(0.0..=1.0)?;
        let start = device.given(&["GC_Exec_Threshold"])?;
        let share: f64 = start.number(0.0..=1.0)?;
        let threshold = ((share * f64::from(self.blocks_per_plane)) as u32).max(10);
        self.set("ftl.gc.threshold_blocks", threshold);
        self.set_checked(&hard, "ftl.gc.hard_threshold_blocks", 10.min(threshold - 1))?;
        self.set_checked(&start, "ftl.gc.pace", "per_host_block")?;
        self.set_checked(&start, "ftl.gc.concurrent_blocks", 10)?;
        self.set_checked(&start, "ftl.gc.concurrent_copies", self.pages_per_block)?;
        let dynamic = device.given(&["Dynamic_Wearleveling_Enabled"])?;
        let flag = dynamic.flag()?;
        self.set_checked(&dynamic, "ftl.wear_levelling.dynamic", flag)?;
        let level = device.given(&["Static_Wearleveling_Enabled"])?;
        if level.flag()? {
            self.note(&level, "has no effect in MQSim, and none here");
        }
        self.set_checked(&level, "ftl.wear_levelling.static_threshold", 0)?;
        device.optional(&["Static_Wearleveling_Threshold"])?;
        Ok(())
    }

    fn schedule(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        let policy = device.given(&["Transaction_Scheduling_Policy"])?;
        let name = policy.one_of(&[
            ("OUT_OF_ORDER", "read_priority"),
            ("PRIORITY_OUT_OF_ORDER", "priority_classes"),
        ])?;
        self.set_checked(&policy, "schedule.policy", name)?;
        self.set_checked(&policy, "schedule.interleave", "chip")?;
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

    fn channels(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        only(device, "Flash_Comm_Protocol", "NVDDR2")?;
        let protocol = device.given(&["Flash_Comm_Protocol"])?;
        self.set_checked(&protocol, "nand.bus.phases", command_phases())?;
        if self
            .builder
            .leaves()
            .iter()
            .any(|(key, _)| key.starts_with("nand.bus.phases"))
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

    fn times(&mut self, flash: &Section<'_>) -> Result<(), MqsimError> {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let time = |key| flash.given(&[key])?.number(1..=HOUR_NS);
        let mode = flash.given(&["Flash_Technology"])?.one_of(&[
            ("SLC", "slc"),
            ("MLC", "mlc"),
            ("TLC", "tlc"),
        ])?;
        let read = [
            time("Page_Read_Latency_LSB")?,
            time("Page_Read_Latency_CSB")?,
            time("Page_Read_Latency_MSB")?,
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
    fn page_types(&mut self, given: &Given<'_>, key: &'static str, times: &[u64]) {
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

    fn packages(
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

    fn sizes(&mut self, flash: &Section<'_>, packages: [u32; 4]) -> Result<(), MqsimError> {
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

    fn finish(
        mut self,
        file: &Path,
        device: &Section<'_>,
        flash: &Section<'_>,
        packages: [u32; 4],
    ) -> Result<MqsimDevice, MqsimError> {
        let (page_bytes, blocks_per_plane) = (self.page_bytes as u32, self.blocks_per_plane);
        // The spelling is MQSim's.
        let spare: u32 = flash
            .given(&["Page_Metadat_Capacity"])?
            .number(32..=65_535)?;
        let pages = flash.given(&["Page_No_Per_Block"])?;
        let pages_per_block = self.pages_per_block;
        let (strings, cells) = self.strings(&pages, pages_per_block)?;
        self.set("nand.geometry.page_bytes", page_bytes);
        self.set("nand.geometry.spare_bytes", spare);
        self.set("nand.geometry.blocks_per_plane", blocks_per_plane);
        self.set("nand.geometry.strings_per_block", strings);
        self.set("nand.geometry.cells_per_string", cells);
        let ratio: f64 = device
            .given(&["Overprovisioning_Ratio"])?
            .number(0.0..=0.99)?;
        self.set("ftl.overprovisioning", ratio);
        let seed: u32 = device.given(&["Seed"])?.number(0..=i32::MAX as u32)?;
        self.set("seed", seed);
        self.set("frontend.block_bytes", 512);
        self.set("data.storage", "none");
        let simple_cache = device
            .given(&["Caching_Mechanism"])?
            .one_of(&[("SIMPLE", true), ("ADVANCED", false)])?;
        Ok(MqsimDevice {
            file: file.to_owned(),
            seed,
            preconditioning: device.given(&["Enabled_Preconditioning"])?.flag()?,
            packages,
            blocks_per_plane,
            pages_per_block,
            page_sectors: page_bytes / 512,
            overprovisioning: ratio,
            simple_cache,
            fetch: device.given(&["Queue_Fetch_Size"])?.number(1..=65_535)?,
            overrides: self.keys,
        })
    }

    /// Strings of a block and cells of a string that make so many pages.
    fn strings(&self, given: &Given<'_>, pages: u32) -> Result<(u32, u32), MqsimError> {
        let mode = self.keys.iter().find(|(key, _)| *key == "ftl.mode");
        let bits = match mode.and_then(|(_, mode)| mode.as_str()) {
            Some("tlc") => 3,
            Some("mlc") => 2,
            _ => 1,
        };
        let wordlines = pages / bits;
        let strings = (1..=wordlines).find(|strings| {
            wordlines.is_multiple_of(*strings) && wordlines / strings <= 64 && *strings <= 256
        });
        match strings {
            Some(strings) if pages.is_multiple_of(bits) => Ok((strings, wordlines / strings)),
            _ => Err(given.refused(format!(
                "with {bits} bits a cell, it must be a product of {bits}, up to 256 strings and up to 64 cells"
            ))),
        }
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

impl From<MqsimPriority> for Value {
    fn from(priority: MqsimPriority) -> Value {
        Value::from(match priority {
            MqsimPriority::Urgent => "urgent",
            MqsimPriority::High => "high",
            MqsimPriority::Medium => "medium",
            MqsimPriority::Low => "low",
        })
    }
}

impl From<CachingMode> for Value {
    fn from(mode: CachingMode) -> Value {
        Value::from(match mode {
            CachingMode::TurnedOff => "off",
            CachingMode::WriteCache => "write",
            CachingMode::ReadCache => "read",
            CachingMode::WriteReadCache => "read_write",
        })
    }
}

/// A key that may have one value only.
fn only(section: &Section<'_>, key: &str, value: &'static str) -> Result<(), MqsimError> {
    section.given(&[key])?.one_of(&[(value, ())])
}

impl MqsimDevice {
    /// The configuration of this drive for the flows of `scenario`.
    ///
    /// # Errors
    /// A flow that this drive cannot serve, or values that make no drive.
    pub fn config(&self, workload: &Path, scenario: &Scenario) -> Result<Config, MqsimError> {
        let refused = |error: crate::ConfigError| MqsimError::whole(&self.file, error.to_string());
        let mut builder = ConfigBuilder::preset(BASE).map_err(refused)?;
        for (key, value) in &self.overrides {
            builder.replace(key, value).map_err(refused)?;
        }
        let flows = scenario.flows.len() as u32;
        let in_flight = (self.fetch * flows).min(65_536);
        let priorities: Vec<Value> = scenario
            .flows
            .iter()
            .map(|flow| flow.priority.into())
            .collect();
        let caching = scenario
            .flows
            .first()
            .map_or(CachingMode::TurnedOff, |flow| flow.caching);
        let of_the_flows = [
            ("host.queue_pairs", Value::from(flows)),
            ("frontend.commands_in_flight", in_flight.into()),
            ("frontend.fetch_limit_per_queue", self.fetch.into()),
            ("host.queue_priorities", Value::Array(priorities)),
            ("cache.mode", caching.into()),
        ];
        for (key, value) in of_the_flows {
            builder.replace(key, &value).map_err(refused)?;
        }
        self.check_flows(workload, scenario)?;
        builder.build().map_err(refused)
    }

    fn check_flows(&self, workload: &Path, scenario: &Scenario) -> Result<(), MqsimError> {
        const NAMES: [&str; 4] = ["Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs"];
        for flow in &scenario.flows {
            for ((ids, count), name) in flow.resources.iter().zip(self.packages).zip(NAMES) {
                if ids.iter().copied().ne(0..count) {
                    let what = format!(
                        "{name} = {ids:?} does not name all {count}: flows share all planes of this drive"
                    );
                    return Err(MqsimError::at(workload, flow.line, what));
                }
            }
            if self.simple_cache && flow.caching != CachingMode::TurnedOff {
                let what = "Device_Level_Data_Caching_Mode must be TURNED_OFF with Caching_Mechanism SIMPLE, as in MQSim";
                return Err(MqsimError::at(workload, flow.line, what));
            }
        }
        Ok(())
    }

    /// Planes of the drive.
    pub fn planes(&self) -> u32 {
        self.packages.iter().product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mqsim::{FlowSource, MqsimFlow, TraceFile};

    const DRIVE: &str = "<Execution_Parameter_Set>
<Host_Parameter_Set>
<PCIe_Lane_Bandwidth>1.00000</PCIe_Lane_Bandwidth><PCIe_Lane_Count>4</PCIe_Lane_Count>
</Host_Parameter_Set>
<Device_Parameter_Set>
<Seed>321</Seed><Enabled_Preconditioning>true</Enabled_Preconditioning>
<Memory_Type>FLASH</Memory_Type><HostInterface_Type>NVME</HostInterface_Type>
<IO_Queue_Depth>1024</IO_Queue_Depth><Queue_Fetch_Size>512</Queue_Fetch_Size>
<Caching_Mechanism>ADVANCED</Caching_Mechanism><Data_Cache_Capacity>268435456</Data_Cache_Capacity>
<Data_Cache_DRAM_Row_Size>8192</Data_Cache_DRAM_Row_Size>
<Data_Cache_DRAM_Data_Rate>100</Data_Cache_DRAM_Data_Rate>
<Data_Cache_DRAM_Data_Busrt_Size>1</Data_Cache_DRAM_Data_Busrt_Size>
<Data_Cache_DRAM_tRCD>13</Data_Cache_DRAM_tRCD><Data_Cache_DRAM_tCL>13</Data_Cache_DRAM_tCL>
<Data_Cache_DRAM_tRP>13</Data_Cache_DRAM_tRP>
<Address_Mapping>PAGE_LEVEL</Address_Mapping><Ideal_Mapping_Table>true</Ideal_Mapping_Table>
<CMT_Capacity>2097152</CMT_Capacity><Plane_Allocation_Scheme>cwpd</Plane_Allocation_Scheme>
<Transaction_Scheduling_Policy>OUT_OF_ORDER</Transaction_Scheduling_Policy>
<Overprovisioning_Ratio>0.2</Overprovisioning_Ratio><GC_Exec_Threshold>0.05</GC_Exec_Threshold>
<GC_Block_Selection_Policy>GREEDY</GC_Block_Selection_Policy>
<Use_Copyback_for_GC>false</Use_Copyback_for_GC><Preemptible_GC_Enabled>true</Preemptible_GC_Enabled>
<GC_Hard_Threshold>0.005</GC_Hard_Threshold>
<Dynamic_Wearleveling_Enabled>true</Dynamic_Wearleveling_Enabled>
<Static_Wearleveling_Enabled>true</Static_Wearleveling_Enabled>
<Prefered_suspend_erase_time_for_read>700000</Prefered_suspend_erase_time_for_read>
<Flash_Channel_Count>2</Flash_Channel_Count><Flash_Channel_Width>1</Flash_Channel_Width>
<Channel_Transfer_Rate>333</Channel_Transfer_Rate><Chip_No_Per_Channel>1</Chip_No_Per_Channel>
<Flash_Comm_Protocol>NVDDR2</Flash_Comm_Protocol>
<Flash_Parameter_Set>
<Flash_Technology>MLC</Flash_Technology><CMD_Suspension_Support>ERASE</CMD_Suspension_Support>
<Page_Read_Latency_LSB>40000</Page_Read_Latency_LSB><Page_Read_Latency_CSB>50000</Page_Read_Latency_CSB>
<Page_Read_Latency_MSB>60000</Page_Read_Latency_MSB>
<Page_Program_Latency_LSB>400000</Page_Program_Latency_LSB>
<Page_Program_Latency_CSB>500000</Page_Program_Latency_CSB>
<Page_Program_Latency_MSB>600000</Page_Program_Latency_MSB>
<Block_Erase_Latency>3800000</Block_Erase_Latency>
<Die_No_Per_Chip>1</Die_No_Per_Chip><Plane_No_Per_Die>2</Plane_No_Per_Die>
<Block_No_Per_Plane>256</Block_No_Per_Plane><Page_No_Per_Block>128</Page_No_Per_Block>
<Page_Capacity>8192</Page_Capacity><Page_Metadat_Capacity>448</Page_Metadat_Capacity>
</Flash_Parameter_Set>
</Device_Parameter_Set>
</Execution_Parameter_Set>";

    fn imported(text: &str) -> Result<(MqsimDevice, Vec<Note>), MqsimError> {
        let file = Path::new("d.xml");
        let mut notes = Vec::new();
        let root = xml::parse(text, file)?;
        Ok((device(file, &root, &mut notes)?, notes))
    }

    fn error_of(text: &str) -> String {
        imported(text).map_or_else(|error| error.to_string(), |found| panic!("{found:?}"))
    }

    fn scenario(channels: &[u32], caching: CachingMode) -> Scenario {
        let trace = TraceFile {
            path: "t".into(),
            percent: 100,
            replays: 1,
            unit_ps: 1000,
        };
        let flow = MqsimFlow {
            priority: MqsimPriority::High,
            caching,
            resources: [channels.to_vec(), vec![0], vec![0], vec![0, 1]],
            initial_occupancy_percent: 0,
            source: FlowSource::Trace(trace),
            line: 7,
        };
        Scenario { flows: vec![flow] }
    }

    #[test]
    fn a_drive_becomes_a_configuration() {
        let (device, notes) = imported(DRIVE).expect("a drive");
        let scenario = scenario(&[0, 1], CachingMode::TurnedOff);
        let config = device.config(Path::new("w.xml"), &scenario);
        let config = config.expect("a configuration");
        let geometry = &config.device.nand.geometry;
        assert_eq!((geometry.channels, geometry.planes_per_die), (2, 2));
        assert_eq!(geometry.pages_per_block(config.device.ftl.mode), 128);
        assert_eq!(config.device.ftl.overprovisioning, 0.2);
        assert_eq!(config.device.ftl.gc.threshold_blocks, 12);
        assert_eq!(config.seed, 321);
        assert!((config.device.channel.megabytes_per_second - 1000.0 / 3.0).abs() < 1e-9);
        let told: Vec<_> = notes.iter().map(ToString::to_string).collect();
        for key in ["Channel_Transfer_Rate = 333", "Static_Wearleveling_Enabled"] {
            assert!(
                told.iter().any(|note| note.contains(key)),
                "{key}: {told:?}"
            );
        }
    }

    #[test]
    fn what_this_drive_cannot_do_is_refused() {
        let (device, _) = imported(DRIVE).expect("a drive");
        let some = device.config(Path::new("w.xml"), &scenario(&[1], CachingMode::TurnedOff));
        assert_eq!(
            some.map_err(|error| error.to_string())
                .expect_err("one channel of two"),
            "w.xml:7: Channel_IDs = [1] does not name all 2: flows share all planes of this drive"
        );
        assert_eq!(
            error_of(&DRIVE.replace(">NVME<", ">SATA<")),
            "d.xml:7: HostInterface_Type = \"SATA\" cannot be: it must be NVME"
        );
        assert_eq!(
            error_of(&DRIVE.replace(">128<", ">129<")),
            "d.xml:45: Page_No_Per_Block = \"129\" cannot be: with 2 bits a cell, it must be a product of 2, up to 256 strings and up to 64 cells"
        );
    }

    #[test]
    fn keys_that_are_wrong_are_told_with_their_lines() {
        assert_eq!(
            error_of(&DRIVE.replace("Page_Capacity", "Page_Capacitie")),
            "d.xml:33: <Flash_Parameter_Set> lacks the key Page_Capacity"
        );
        assert_eq!(
            error_of(&DRIVE.replace("<Seed>", "<Sed>1</Sed><Seed>")),
            "d.xml:5: <Device_Parameter_Set> has no key Sed; did you mean Seed?"
                .replace(":5:", ":6:")
        );
        assert_eq!(
            error_of(&DRIVE.replace(">CWPD<", ">1<").replace(">4<", ">four<")),
            "d.xml:3: PCIe_Lane_Count = \"four\" cannot be: it must be a number from 1 to 64"
        );
    }

    #[test]
    fn rates_that_do_not_divide_1000_behave_as_in_mqsim() {
        for (rate, megabytes) in [
            ("800", 1000.0),
            ("200", 200.0),
            ("400", 500.0),
            ("2000", 1e6),
        ] {
            let text = DRIVE.replace(">333<", &format!(">{rate}<"));
            let (device, notes) = imported(&text).expect("a drive");
            let scenario = scenario(&[0, 1], CachingMode::TurnedOff);
            let config = device.config(Path::new("w.xml"), &scenario);
            let found = config
                .expect("a configuration")
                .device
                .channel
                .megabytes_per_second;
            assert_eq!(found, megabytes, "{rate}");
            let noted = notes.iter().any(|note| note.what.contains(rate));
            assert_eq!(noted, rate != "200", "{rate}: {notes:?}");
        }
    }
}
