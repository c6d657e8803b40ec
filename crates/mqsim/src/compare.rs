//! Our results beside those that MQSim reported.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::MqsimError;
use crate::run::{FlashWork, ScenarioResult};

/// One quantity of one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The case's name.
    pub case: String,
    /// What was measured; its unit is its last word.
    pub quantity: String,
    /// By this drive; times are truncated to whole microseconds, as MQSim's are.
    pub ours: u64,
    /// By MQSim, if that is known.
    pub theirs: Option<u64>,
    /// `ours / theirs - 1`; none if theirs is not known, or 0 and ours is not.
    pub deviation: Option<f64>,
    /// Whether they agree as well as they shall; none if there is nothing to compare with.
    pub ok: Option<bool>,
}

/// What MQSim reported of a case.
#[derive(Clone, Debug, Deserialize)]
pub struct Reference {
    /// The case's name.
    pub case: String,
    scenarios: Vec<ReferenceScenario>,
}

#[derive(Clone, Debug, Deserialize)]
struct ReferenceScenario {
    flows: Vec<ReferenceFlow>,
    #[serde(default)]
    ftl: Counts,
}

#[derive(Clone, Debug, Deserialize)]
struct ReferenceFlow {
    device_response_time: String,
    min_device_response_time: String,
}

/// Counts by name; what did not happen is not there.
#[derive(Clone, Debug, Default, Deserialize)]
struct Counts(std::collections::BTreeMap<String, String>);

/// How far ours may be from theirs: by so much, or by this share of theirs.
#[derive(Clone, Copy)]
struct Tolerance {
    absolute: u64,
    share: f64,
}

const LEAST_TIME: Tolerance = Tolerance {
    absolute: 1,
    share: 0.0,
};

impl Reference {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// A file that cannot be read, or is no reference.
    pub(super) fn read(path: &Path) -> Result<Reference, MqsimError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| MqsimError::unreadable(path, &error))?;
        let reference: Reference = serde_json::from_str(&text).map_err(|error| {
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or(&what);
            MqsimError::at(path, error.line(), what)
        })?;
        for scenario in &reference.scenarios {
            scenario.check(path)?;
        }
        Ok(reference)
    }

    /// The quantities of `results`, of which nobody knows what MQSim reported.
    pub(super) fn alone(case: &str, results: &[ScenarioResult], planes: u32) -> Vec<Comparison> {
        let nothing = || "0".to_owned();
        let flow = || ReferenceFlow {
            device_response_time: nothing(),
            min_device_response_time: nothing(),
        };
        let scenario = |result: &ScenarioResult| ReferenceScenario {
            flows: result.flows.iter().map(|_| flow()).collect(),
            ftl: Counts::default(),
        };
        let unknown = Reference {
            case: case.to_owned(),
            scenarios: results.iter().map(scenario).collect(),
        };
        let compared = unknown.compare(results, planes).into_iter();
        let alone = compared.map(|comparison| Comparison {
            theirs: None,
            deviation: None,
            ok: None,
            ..comparison
        });
        alone.collect()
    }

    /// How many scenarios it has, and flows in each.
    pub(super) fn flows(&self) -> Vec<usize> {
        let flows = |scenario: &ReferenceScenario| scenario.flows.len();
        self.scenarios.iter().map(flows).collect()
    }

    /// All quantities of `results`, which are those of its scenarios on dies of `planes` planes.
    pub(super) fn compare(&self, results: &[ScenarioResult], planes: u32) -> Vec<Comparison> {
        let mut found = Vec::new();
        for (number, (theirs, ours)) in self.scenarios.iter().zip(results).enumerate() {
            let prefix = if self.scenarios.len() > 1 {
                format!("scenario {} ", number + 1)
            } else {
                String::new()
            };
            let mut add = |quantity: String, ours, theirs: (u64, u64), tolerance| {
                let quantity = format!("{prefix}{quantity}");
                found.push(comparison(&self.case, quantity, ours, theirs, tolerance));
            };
            let collects = theirs.ftl.get("total_gc_executions") > 0;
            let mean = Tolerance {
                absolute: 2,
                share: if collects { 0.05 } else { 0.02 },
            };
            for (number, (theirs, ours)) in theirs.flows.iter().zip(&ours.flows).enumerate() {
                let flow = if self.scenarios[0].flows.len() > 1 {
                    format!("flow {} ", number + 1)
                } else {
                    String::new()
                };
                let us = |ns: f64| (ns / 1000.0) as u64;
                let exactly = |text: &String| (number_of(text), number_of(text));
                let times = [
                    ("mean", ours.mean_ns, &theirs.device_response_time, mean),
                    (
                        "minimum",
                        ours.min_ns,
                        &theirs.min_device_response_time,
                        LEAST_TIME,
                    ),
                ];
                for (what, ours, theirs, tolerance) in times {
                    let quantity = format!("{flow}{what} response us");
                    add(quantity, us(ours), exactly(theirs), tolerance);
                }
            }
            for (quantity, ours, pages, tolerance) in theirs.ftl.work(&ours.flash, planes, collects)
            {
                add(quantity.to_owned(), ours, pages, tolerance);
            }
        }
        found
    }
}

impl ReferenceScenario {
    /// # Errors
    /// What should be a number and is none.
    fn check(&self, path: &Path) -> Result<(), MqsimError> {
        let times = self
            .flows
            .iter()
            .flat_map(|flow| [&flow.device_response_time, &flow.min_device_response_time]);
        for number in times.chain(self.ftl.0.values()) {
            if number.parse::<f64>().is_err() {
                let what = format!("{number:?} is no number");
                return Err(MqsimError::whole(path, what));
            }
        }
        Ok(())
    }
}

fn number_of(text: &str) -> u64 {
    text.parse::<f64>().map_or(0, |number| number as u64)
}

impl Counts {
    fn get(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |text| number_of(text))
    }

    /// Least and most pages that MQSim's commands for `what` served. A multi-plane command
    /// serves 2 planes up to all of a die, and MQSim does not say how many.
    fn pages(&self, what: &str, suffix: &str, planes: u32) -> (u64, u64) {
        let single = self.get(&format!("issued_flash_{what}_cmd{suffix}"));
        let multi = self.get(&format!("issued_flash_multiplane_{what}_cmd{suffix}"));
        (
            single + 2 * multi,
            single + u64::from(planes.max(2)) * multi,
        )
    }

    fn work(
        &self,
        ours: &FlashWork,
        planes: u32,
        collects: bool,
    ) -> [(&'static str, u64, (u64, u64), Tolerance); 5] {
        let within = |share| Tolerance { absolute: 0, share };
        let pages = |what, suffix| self.pages(what, suffix, planes);
        let programs = within(if collects { 0.03 } else { 0.01 });
        [
            (
                "flash reads pages",
                ours.reads,
                pages("read", ""),
                within(0.01),
            ),
            (
                "flash programs pages",
                ours.programs,
                pages("program", ""),
                programs,
            ),
            (
                "flash erases blocks",
                ours.erases,
                pages("erase", ""),
                within(0.01),
            ),
            (
                "mapping reads pages",
                ours.mapping_reads,
                pages("read", "_for_mapping"),
                within(0.01),
            ),
            (
                "mapping writes pages",
                ours.mapping_writes,
                pages("program", "_for_mapping"),
                within(0.01),
            ),
        ]
    }
}

/// Ours beside theirs, of which the least and the most are known.
fn comparison(
    case: &str,
    quantity: String,
    ours: u64,
    (least, most): (u64, u64),
    tolerance: Tolerance,
) -> Comparison {
    let theirs = ours.clamp(least, most);
    let apart = ours.abs_diff(theirs);
    let deviation = match (ours, theirs) {
        (0, 0) => Some(0.0),
        (_, 0) => None,
        _ => Some(ours as f64 / theirs as f64 - 1.0),
    };
    Comparison {
        case: case.to_owned(),
        quantity,
        ours,
        theirs: Some(theirs),
        deviation,
        ok: Some(apart <= tolerance.absolute || apart as f64 <= tolerance.share * theirs as f64),
    }
}
