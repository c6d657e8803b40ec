//! `ssdconfig.xml`: a drive.

mod firmware;
mod flash;
mod host;
mod import;
mod schedule;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use toml::Value;

use super::error::MqsimError;
use super::section::Section;
use super::workload::{CachingMode, MqsimFlow, MqsimPriority, Scenario};
use super::xml::{self, Element};
use crate::Note;
use bitline::{Config, ConfigBuilder};
use import::{Divided, Import, one};

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
    divided: Divided,
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
        divided: Divided::default(),
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

impl Import<'_> {
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
        let (strings, cells, kept) = self.strings(&pages)?;
        self.set("nand.geometry.page_bytes", page_bytes);
        self.set("nand.geometry.spare_bytes", spare);
        self.set("nand.geometry.blocks_per_plane", blocks_per_plane);
        self.set("nand.geometry.strings_per_block", strings);
        self.set("nand.geometry.cells_per_string", cells);
        let ratio: f64 = device
            .given(&["Overprovisioning_Ratio"])?
            .number(0.0..=0.99)?;
        // A block that cannot have all its pages here leaves the host no fewer.
        let kept_back = if kept == self.pages_per_block {
            ratio
        } else {
            1.0 - (1.0 - ratio) * f64::from(self.pages_per_block) / f64::from(kept)
        };
        self.set("ftl.overprovisioning", kept_back);
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
            pages_per_block: self.pages_per_block,
            page_sectors: page_bytes / 512,
            overprovisioning: ratio,
            simple_cache,
            divided: self.divided,
            fetch: device.given(&["Queue_Fetch_Size"])?.number(1..=65_535)?,
            overrides: self.keys,
        })
    }
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

impl MqsimDevice {
    /// The configuration of this drive for the flows of `scenario`.
    ///
    /// # Errors
    /// A flow that this drive cannot serve, or values that make no drive.
    pub fn config(&self, workload: &Path, scenario: &Scenario) -> Result<Config, MqsimError> {
        let refused =
            |error: bitline::ConfigError| MqsimError::whole(&self.file, error.to_string());
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
            self.check_sharing(workload, flow, scenario)?;
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

    /// This drive has one data cache and one mapping table for all flows.
    fn check_sharing(
        &self,
        workload: &Path,
        flow: &MqsimFlow,
        scenario: &Scenario,
    ) -> Result<(), MqsimError> {
        let first = &scenario.flows[0];
        if flow.caching != first.caching {
            let what = format!(
                "Device_Level_Data_Caching_Mode must be the same for all flows of a scenario; that of the flow in line {} is another",
                first.line
            );
            return Err(MqsimError::at(workload, flow.line, what));
        }
        let cached = flow.caching != CachingMode::TurnedOff;
        let divided = match self.divided {
            Divided { cache: true, .. } if cached => "Data_Cache_Sharing_Mode",
            Divided { mapping: true, .. } => "CMT_Sharing_Mode",
            _ => return Ok(()),
        };
        if scenario.flows.len() == 1 {
            return Ok(());
        }
        let what = format!("{divided} must be SHARED for a scenario of several flows");
        Err(MqsimError::whole(&self.file, what))
    }

    /// Planes of the drive.
    pub fn planes(&self) -> u32 {
        self.packages.iter().product()
    }
}
