//! What the configuration says of tasks that the host runs itself: its cores, and what its operating system takes.

use device::task::CycleCosts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Tasks that the host runs itself over files that it reads from the drive and writes to it, to compare with: its processor,
/// and its operating system with pages of files in memory. What a run may have is as in the drive (`task`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HostTaskConfig {
    /// Cores of the host.
    pub cores: u32,
    /// Clock of each at work, in megahertz.
    pub clock_megahertz: u32,
    /// Time of a core for a call that reads or writes a file: into the kernel and back.
    pub call_ns: u64,
    /// Time of a core for each request to the drive: file system, block layer, driver.
    pub request_ns: u64,
    /// Time of a core to go on after it has waited for the drive: the interrupt, and a switch of threads.
    pub wake_ns: u64,
    /// Bytes of a page of a file in memory, a multiple of a logical block.
    pub page_bytes: u32,
    /// Bytes that are read ahead of a program that reads on and on, at most.
    pub read_ahead_bytes: u64,
    /// Bytes of a file, at a multiple of it, that are sent to the drive as soon as all of them are written, while the program
    /// goes on; the rest follows when it ends.
    pub write_behind_bytes: u64,
    /// What instructions take.
    pub cycles: CycleCosts,
}

impl HostTaskConfig {
    /// Checks that there can be such a host before a drive of logical blocks of so many bytes.
    pub(super) fn validate(&self, block_bytes: u32) -> Result<(), ConfigError> {
        let (block, page) = (u64::from(block_bytes), u64::from(self.page_bytes));
        for (key, value, least, most) in [
            ("host.tasks.cores", self.cores.into(), 1, 1024),
            (
                "host.tasks.clock_megahertz",
                self.clock_megahertz.into(),
                1,
                100_000,
            ),
            ("host.tasks.call_ns", self.call_ns, 0, 1_000_000_000),
            ("host.tasks.request_ns", self.request_ns, 0, 1_000_000_000),
            ("host.tasks.wake_ns", self.wake_ns, 0, 1_000_000_000),
            ("host.tasks.page_bytes", page, block, 1 << 21),
            (
                "host.tasks.read_ahead_bytes",
                self.read_ahead_bytes,
                page,
                1 << 30,
            ),
            (
                "host.tasks.write_behind_bytes",
                self.write_behind_bytes,
                page,
                1 << 40,
            ),
        ] {
            if !(least..=most).contains(&value) {
                return Err(ConfigError::Range {
                    key,
                    value,
                    least,
                    most,
                });
            }
        }
        for (key, value, of, unit) in [
            ("host.tasks.page_bytes", page, "frontend.block_bytes", block),
            (
                "host.tasks.write_behind_bytes",
                self.write_behind_bytes,
                "host.tasks.page_bytes",
                page,
            ),
        ] {
            if !value.is_multiple_of(unit) {
                return Err(ConfigError::Value {
                    key: key.into(),
                    value: value.to_string(),
                    reason: format!("it is no multiple of {of} = {unit}"),
                });
            }
        }
        self.cycles.validate().map_err(|error| ConfigError::Value {
            key: format!("host.tasks.{}", error.key),
            value: error.value.to_string(),
            reason: format!("it must be {}", error.allowed),
        })
    }
}
