//! How the front end is configured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arbitration, HealthConfig, NamespaceConfig};

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
