//! What an evaluation or a lookup is estimated to take.

use device::cost::{Cost, Spending};
use serde::Serialize;

/// An estimate, in the units of reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EstimateReport {
    /// From the host's doorbell to its completion, in nanoseconds.
    pub time_ns: f64,
    /// How long the busiest die senses.
    pub array_ns: f64,
    /// How long the busiest channel is occupied.
    pub channel_ns: f64,
    /// How long the accelerator is at work.
    pub accelerator_ns: f64,
    /// How long the link to the host is occupied.
    pub link_ns: f64,
    /// How long the drive's cores work, all of them together.
    pub cores_ns: f64,
    /// How long the drive's DRAM moves data.
    pub dram_ns: f64,
    /// How long the host computes.
    pub host_ns: f64,
    /// What is waited for: `array`, `channel`, `accelerator`, `link`, `cores`, `dram` or `host`.
    pub bottleneck: &'static str,
    /// Energy of everything, in picojoules.
    pub energy_pj: u64,
    /// By account.
    pub energy: Vec<EstimatedEnergy>,
}

/// What will be booked on an account.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EstimatedEnergy {
    /// The part that spends.
    pub component: String,
    /// On what.
    pub cause: String,
    /// How much, in picojoules.
    pub energy_pj: u64,
}

impl EstimateReport {
    pub(crate) fn add(&mut self, component: &str, cause: &str, picojoules: u64) {
        self.energy_pj += picojoules;
        self.energy.push(EstimatedEnergy {
            component: component.to_owned(),
            cause: cause.to_owned(),
            energy_pj: picojoules,
        });
    }

    pub(crate) fn of(cost: &Cost) -> EstimateReport {
        EstimateReport {
            time_ns: cost.time.as_ns(),
            array_ns: cost.array.as_ns(),
            channel_ns: cost.channel.as_ns(),
            accelerator_ns: cost.accelerator.as_ns(),
            link_ns: cost.link.as_ns(),
            cores_ns: cost.cores.as_ns(),
            dram_ns: cost.dram.as_ns(),
            host_ns: 0.0,
            bottleneck: cost.bottleneck().name(),
            energy_pj: cost.total_energy().as_pj(),
            energy: cost.spendings().map(|spending| entry(&spending)).collect(),
        }
    }
}

fn entry(spending: &Spending) -> EstimatedEnergy {
    EstimatedEnergy {
        component: spending.component.to_owned(),
        cause: spending.cause.to_owned(),
        energy_pj: spending.energy.as_pj(),
    }
}
