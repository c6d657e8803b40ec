//! How the front end is configured.

use media::OutOfRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::namespace::check_namespaces;
use super::{Arbitration, HealthConfig, NamespaceConfig, NamespaceError};
use crate::ftl::MappingUnit;

/// How the front end is configured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrontendConfig {
    /// I/O queue pairs that may exist.
    pub io_queues: u16,
    /// Largest queue, in entries.
    pub queue_entries: u32,
    /// Commands fetched and not completed, over all queues.
    pub commands_in_flight: u32,
    /// Commands of one I/O queue fetched and not completed (MQSim's `Queue_Fetch_Size`).
    pub fetch_limit_per_queue: u32,
    /// When the next entry is asked for. Set in `[compatibility]`.
    #[serde(skip)]
    pub entry_fetch: EntryFetch,
    /// How queues take turns.
    pub arbitration: Arbitration,
    /// Commands fetched from a queue in one turn, log2; 7 is no limit. The host can set it.
    pub arbitration_burst: u8,
    /// Commands of the high, medium and low class in one round of weighted arbitration, 1 to 256
    /// each. The host can set them.
    pub arbitration_weights: [u32; 3],
    /// The most data of one command, log2 of pages of 4096 bytes (MDTS); 0 is no limit.
    pub max_data_transfer: u8,
    /// Size of a logical block, in bytes; divides the page size.
    pub block_bytes: u32,
    /// The namespaces; none here stands for one of all blocks.
    pub namespaces: Vec<NamespaceConfig>,
    /// Power of the controller and its DRAM while any command is in flight, in milliwatts; arrays, channels
    /// and link have accounts of their own.
    pub active_milliwatts: u64,
    /// What the drive's health is judged by.
    pub health: HealthConfig,
}

/// When the next entry of a submission queue is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryFetch {
    /// When the one before it has arrived.
    #[default]
    OneByOne,
    /// When its doorbell has arrived, however many are on their way. As MQSim.
    Pipelined,
}

/// A front end that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FrontendConfigError {
    /// A number out of range.
    #[error("frontend.{0}")]
    Range(#[from] OutOfRange),
    /// Pages that whole blocks do not fill.
    #[error(
        "{key} = {unit_bytes} and frontend.block_bytes = {block_bytes} cannot be together; a page must be a multiple of a block"
    )]
    PageOfBlocks {
        /// The key that says how long a logical page is.
        key: &'static str,
        /// Bytes of it.
        unit_bytes: u32,
        /// Bytes of a block.
        block_bytes: u32,
    },
    /// Namespaces that cannot be.
    #[error(transparent)]
    Namespaces(#[from] NamespaceError),
}

impl FrontendConfig {
    /// Checks everything, for a drive of so many logical pages.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(
        &self,
        unit: MappingUnit,
        logical_pages: u32,
    ) -> Result<(), FrontendConfigError> {
        self.check_blocks(unit)?;
        let check = OutOfRange::check::<u32>;
        OutOfRange::check("io_queues", self.io_queues, 1, 65534)?;
        check("queue_entries", self.queue_entries, 2, 65536)?;
        check("commands_in_flight", self.commands_in_flight, 1, 65536)?;
        let limit = self.fetch_limit_per_queue;
        check("fetch_limit_per_queue", limit, 1, 65536)?;
        OutOfRange::check("arbitration_burst", self.arbitration_burst, 0, 7)?;
        for weight in self.arbitration_weights {
            check("arbitration_weights", weight, 1, 256)?;
        }
        OutOfRange::check("max_data_transfer", self.max_data_transfer, 0, 20)?;
        let threshold = self.health.spare_threshold_percent;
        OutOfRange::check("health.spare_threshold_percent", threshold, 0, 100)?;
        let rated = self.health.rated_erases;
        check("health.rated_erases", rated, 1, 10_000_000)?;
        check_namespaces(&self.namespaces, logical_pages, unit)?;
        Ok(())
    }

    fn check_blocks(&self, unit: MappingUnit) -> Result<(), FrontendConfigError> {
        let block_bytes = self.block_bytes;
        if !block_bytes.is_power_of_two() || !(512..=4096).contains(&block_bytes) {
            return Err(FrontendConfigError::Range(OutOfRange {
                key: "block_bytes",
                value: u64::from(block_bytes),
                allowed: "512, 1024, 2048 or 4096".to_owned(),
            }));
        }
        if !unit.bytes().is_multiple_of(block_bytes) {
            return Err(FrontendConfigError::PageOfBlocks {
                key: unit.key(),
                unit_bytes: unit.bytes(),
                block_bytes,
            });
        }
        Ok(())
    }
}
