//! What a configuration says of lookups of names: how often they miss or find too much, and how far firmware tunes them.

use media::nand::{LookupErrors, LookupRates, Lookups, MISSED_CELLS_MAX, ProgramMode, RAISE_MAX};
use serde::Serialize;

use crate::config::Config;

/// How names are looked up.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NameLookups {
    /// Whether names are programmed as ESP, or as plain SLC.
    pub enhanced: bool,
    /// Whether firmware raises the read voltage of searches as it deems necessary (false-negative voltage tuning).
    pub tuned: bool,
    /// Program and erase cycles before the names were programmed.
    pub cycles: u32,
    /// Hours since, at the reference temperature.
    pub hours: u32,
    /// Reads of each block since.
    pub reads: u32,
    /// How many names there are; each is looked up once.
    pub names: u64,
    /// Bytes of a name.
    pub name_bytes: u32,
    /// Low cells of a block that firmware lets read as high, in the mean over the worst blocks.
    pub missed_cells_max: f64,
    /// Which cells are weak.
    pub seed: u64,
}

impl NameLookups {
    /// Those of ANVIL's Figure 9: 33 million names of twelve bytes, after so many cycles.
    pub const fn of_figure_9(enhanced: bool, tuned: bool, cycles: u32) -> NameLookups {
        NameLookups {
            enhanced,
            tuned,
            cycles,
            hours: 0,
            reads: 0,
            names: 33_000_000,
            name_bytes: 12,
            missed_cells_max: MISSED_CELLS_MAX,
            seed: 0,
        }
    }
}

/// How lookups of names fare.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NameLookupErrors {
    /// Steps of `nand.mws.raise_step_mv` by which firmware raised the read voltage.
    pub raise: u8,
    /// Whether these are enough to keep to `missed_cells_max`.
    pub is_enough: bool,
    /// Names of which the weak cells were looked at.
    pub names: u64,
    /// Of these, names that their own key missed.
    pub misses: u64,
    /// Of these, matches of a key of another name.
    pub false_matches: u64,
    /// The share of names expected to be missed.
    pub expected_misses: f64,
    /// False matches expected for each name.
    pub expected_false_matches: f64,
}

impl Config {
    /// Looks up names that are numbered, each by its own key, in cells of a drive of this configuration: by the
    /// cells that are weak, and by what is to be expected. Less than a minute for those of Figure 9.
    ///
    /// # Panics
    /// If there are no names, or they have no bytes.
    pub fn name_lookups(&self, asked: &NameLookups) -> NameLookupErrors {
        assert!(asked.names > 0 && asked.name_bytes > 0, "there are names");
        let nand = &self.device.nand;
        let mode = match asked.enhanced {
            true => ProgramMode::Esp,
            false => ProgramMode::Slc,
        };
        let mut lookups = Lookups::of_figure_9(mode);
        (lookups.erases, lookups.hours, lookups.reads) = (asked.cycles, asked.hours, asked.reads);
        (lookups.names, lookups.seed) = (asked.names, asked.seed);
        lookups.name_bits = asked.name_bytes * 8;
        let condition = lookups.condition(nand);
        let enough = nand.tuned_raise(mode, &condition, asked.missed_cells_max);
        lookups.raise = match asked.tuned {
            true => enough.unwrap_or(RAISE_MAX),
            false => 0,
        };
        let LookupRates {
            misses: expected_misses,
            false_matches: expected_false_matches,
            ..
        } = lookups.expected(nand);
        let LookupErrors {
            names,
            misses,
            false_matches,
            ..
        } = lookups.sample(nand);
        NameLookupErrors {
            raise: lookups.raise,
            is_enough: enough.is_some_and(|enough| enough <= lookups.raise),
            names,
            misses,
            false_matches,
            expected_misses,
            expected_false_matches,
        }
    }
}
