//! Files made for MQSim (CMU-SAFARI, FAST'18): its drives and workloads are used unmodified, and
//! its results are what ours are held against.
//!
//! `ssdconfig.xml` becomes a [`Config`](bitline::Config), `workload.xml` becomes scenarios of flows.
//! A key that neither MQSim nor this module knows is an error; one that changes nothing here is told
//! in a [`Note`].

mod compare;
mod device;
mod error;
mod random;
mod requests;
mod run;
mod section;
mod state;
mod workload;
mod xml;

use std::fmt;
use std::path::{Path, PathBuf};

pub use compare::{Comparison, Reference};
pub use device::MqsimDevice;
pub use error::{MqsimError, RunError};
pub use run::{FlashWork, FlowResult, ScenarioResult};
pub use workload::{
    Addresses, Arrivals, CachingMode, FlowSource, MqsimFlow, MqsimPriority, Scenario, Synthetic,
    TraceFile,
};

/// Something that a reader of an imported file should know, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
    /// Key, value, and what became of them.
    pub what: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

/// A drive and what runs on it, from the two files that MQSim is given.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The drive.
    pub device: MqsimDevice,
    /// What runs on it, one scenario after another, each on a fresh drive.
    pub scenarios: Vec<Scenario>,
    /// What a reader should know.
    pub notes: Vec<Note>,
    workload: PathBuf,
}

impl Import {
    /// Reads both files.
    ///
    /// # Errors
    /// A file that cannot be read, or is not as MQSim's files are.
    pub fn read(ssdconfig: &Path, workload: &Path) -> Result<Import, MqsimError> {
        let mut notes = Vec::new();
        Ok(Import {
            device: device::read(ssdconfig, &mut notes)?,
            scenarios: workload::read(workload, &mut notes)?,
            notes,
            workload: workload.to_owned(),
        })
    }

    /// The configuration of the drive on which a scenario runs.
    ///
    /// # Errors
    /// A scenario that cannot be on this drive, or values that make no drive.
    pub fn config(&self, scenario: &Scenario) -> Result<bitline::Config, MqsimError> {
        self.device.config(&self.workload, scenario)
    }

    /// Runs a scenario on a fresh drive; `progress` is called now and then with the number of
    /// requests completed.
    ///
    /// # Errors
    /// Flows that cannot be on this drive, a trace that cannot be read, or a request that failed.
    pub fn run(
        &self,
        scenario: &Scenario,
        progress: impl FnMut(u64),
    ) -> Result<ScenarioResult, RunError> {
        run::run(&self.device, &self.workload, scenario, progress)
    }

    /// Requests of all scenarios, as far as that is known.
    ///
    /// # Errors
    /// A trace that cannot be read.
    pub fn requests(&self) -> Result<u64, MqsimError> {
        let mut sum = 0;
        for scenario in &self.scenarios {
            let ranges = requests::ranges(&self.device, scenario);
            for (flow, range) in scenario.flows.iter().zip(ranges) {
                sum += requests::Requests::new(flow, range)?.count().unwrap_or(0);
            }
        }
        Ok(sum)
    }
}

/// A folder with the two files and, where they are known, MQSim's results, `reference.json`.
#[derive(Clone, Debug)]
pub struct Case {
    /// What to run.
    pub import: Import,
    /// Its name: that of its folder, if MQSim's results do not tell.
    pub name: String,
    /// What MQSim reported.
    pub reference: Option<Reference>,
}

impl Case {
    /// Reads the case in `folder`.
    ///
    /// # Errors
    /// A file that is absent, or not as it should be.
    pub fn read(folder: &Path) -> Result<Case, MqsimError> {
        let import = Import::read(&folder.join("ssdconfig.xml"), &folder.join("workload.xml"))?;
        let path = folder.join("reference.json");
        if !path.exists() {
            let name = folder.file_name().unwrap_or(folder.as_os_str());
            return Ok(Case {
                import,
                name: name.to_string_lossy().into_owned(),
                reference: None,
            });
        }
        let reference = Reference::read(&path)?;
        let ours: Vec<_> = import.scenarios.iter().map(|s| s.flows.len()).collect();
        if reference.flows() != ours {
            let what = format!(
                "it has scenarios of {:?} flows; workload.xml has {ours:?}",
                reference.flows()
            );
            return Err(MqsimError::whole(&path, what));
        }
        Ok(Case {
            import,
            name: reference.case.clone(),
            reference: Some(reference),
        })
    }

    /// Runs it and holds the results against MQSim's, if these are known.
    ///
    /// # Errors
    /// As [`Import::run`].
    pub fn validate(&self, mut progress: impl FnMut(u64)) -> Result<Vec<Comparison>, RunError> {
        let (mut results, mut done) = (Vec::new(), 0);
        for scenario in &self.import.scenarios {
            let result = self
                .import
                .run(scenario, |requests| progress(done + requests))?;
            done += result
                .flows
                .iter()
                .map(|flow| flow.reads + flow.writes)
                .sum::<u64>();
            results.push(result);
        }
        let planes = self.import.device.packages[3];
        Ok(match &self.reference {
            Some(reference) => reference.compare(&results, planes),
            None => Reference::alone(&self.name, &results, planes),
        })
    }
}
