//! Advice on where to put vectors, for the drive of a configuration.

use std::collections::BTreeMap;

pub use device::bits::advise::{Advice, Asked, Given, Member, PageCost, Placed, Replacing};
use device::bits::advise::{Strings, advise as advise_for};
use device::bits::plan::{Limits, Weights};
use nvme::VectorId;

use crate::config::Config;
use crate::error::Error;

/// Proposes groups and inversions for expressions that are asked so and so often, on a drive like
/// `config`'s. Vectors that `given` does not place are, before, in one further group, as they are.
///
/// # Errors
/// An expression that no plan can be made for.
pub fn advise(
    config: &Config,
    asked: &[Asked],
    given: &BTreeMap<VectorId, Given>,
) -> Result<Advice, Error> {
    let nand = &config.device.nand;
    let strings = Strings {
        limits: Limits {
            blocks_max: nand.mws.blocks_max as usize,
            weights: Weights::SENSES_FIRST,
        },
        cells_per_string: nand.geometry.cells_per_string,
    };
    Ok(advise_for(
        asked,
        given,
        &strings,
        &config.device.cost_model(),
    ))
}
