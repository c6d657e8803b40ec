//! Flash that fails: weak cells, factory bad blocks, programs and erases that do not succeed.

use std::cell::RefCell;

use media::OutOfRange;
use media::nand::{BlockId, Failures, Nand, PlaneId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::Sim;

use crate::ftl::Capacity;

/// Random failures of flash operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultConfig {
    /// Of a million blocks, so many are marked bad at the factory; never so many of a plane
    /// that it could not hold its share of the capacity.
    pub factory_bad_blocks_per_million: u32,
    /// Of a million pages programmed, so many fail.
    pub program_failures_per_million: u32,
    /// Of a million blocks erased, so many fail.
    pub erase_failures_per_million: u32,
}

impl FaultConfig {
    /// Checks everything.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        const MILLION: u64 = 1_000_000;
        let bad = self.factory_bad_blocks_per_million;
        OutOfRange::check("factory_bad_blocks_per_million", bad, 0, MILLION)?;
        let programs = self.program_failures_per_million;
        OutOfRange::check("program_failures_per_million", programs, 0, MILLION)?;
        let erases = self.erase_failures_per_million;
        OutOfRange::check("erase_failures_per_million", erases, 0, MILLION)
    }
}

/// Marks blocks bad as a factory does before a drive is used for the first time.
pub(crate) fn mark_factory_bad_blocks(
    sim: &Sim,
    config: &FaultConfig,
    capacity: Capacity,
    nand: &RefCell<Nand>,
) {
    let rate = config.factory_bad_blocks_per_million;
    if rate == 0 {
        return;
    }
    let mut random = sim.random("factory bad blocks");
    let mut nand = nand.borrow_mut();
    let geometry = nand.geometry().clone();
    for plane in (0..geometry.planes()).map(PlaneId) {
        let mut spare = capacity.spare_blocks_per_plane;
        for block in geometry.blocks_of_plane(plane).map(BlockId) {
            let bad = random.below(1_000_000) < u64::from(rate);
            if bad && spare > 0 {
                let marked = nand.mark_bad(block);
                debug_assert!(marked.is_ok(), "marking a block bad: {marked:?}");
                spare -= 1;
            }
        }
    }
}

/// Gives the drive its own weak cells and good blocks, the same in every life.
pub(crate) fn seed_cells(sim: &Sim, nand: &RefCell<Nand>) {
    nand.borrow_mut().set_seed(sim.random("cells").bits());
}

/// Lets programs and erases fail as configured, from a stream of their own.
pub(crate) fn inject_failures(sim: &Sim, config: &FaultConfig, nand: &RefCell<Nand>) {
    let any = config.program_failures_per_million > 0 || config.erase_failures_per_million > 0;
    // Each life has a stream of its own; one for all would begin anew with each.
    let mut random = sim.random(&format!("faults from {} on", sim.now().as_ps()));
    nand.borrow_mut().set_failures(any.then(|| Failures {
        program_per_million: config.program_failures_per_million,
        erase_per_million: config.erase_failures_per_million,
        draw: Box::new(move || random.bits()),
    }));
}
