//! The memory that the tables of a drive take, so that one that cannot fit is refused with the figure,
//! before anything is set up.

use device::ftl::MappingKind;

use crate::config::{Config, ConfigError};

/// What the simulator keeps of each block, plane and channel, in bytes: measured at drives of two
/// million blocks in 128 and in 32,768 planes, and held against the machine by a test.
const BLOCK_BYTES: u64 = 40;
const PLANE_BYTES: u64 = 2560;
const CHANNEL_BYTES: u64 = 512;
/// An entry of the mapping, and of what tells whether a page, or its entry, is in a cache.
const MAPPING_BYTES: u64 = 4;
const CACHE_INDEX_BYTES: u64 = 4;

impl Config {
    /// Bytes of memory that a blank drive of this configuration reserves for its tables. What it stores
    /// comes on top, as it is written.
    ///
    /// # Errors
    /// A configuration that makes no drive.
    pub fn table_bytes(&self) -> Result<u64, ConfigError> {
        let capacity = self.device.validate()?;
        let geometry = &self.device.nand.geometry;
        let blocks = u64::from(geometry.blocks());
        let pages = blocks * u64::from(geometry.pages_per_block(self.device.ftl.mode));
        let units = pages * u64::from(capacity.unit.per_page());
        let cached = [
            self.device.cache.mode.is_on(),
            self.device.ftl.mapping.kind == MappingKind::Cached,
        ];
        let indexes = cached.iter().filter(|cached| **cached).count() as u64;
        let entry = MAPPING_BYTES + indexes * CACHE_INDEX_BYTES;
        Ok(blocks * BLOCK_BYTES
            + u64::from(geometry.planes()) * PLANE_BYTES
            + u64::from(geometry.channels) * CHANNEL_BYTES
            + u64::from(capacity.logical_pages) * entry
            + units / 8)
    }

    /// Checks that the tables fit into `limit` bytes of memory.
    ///
    /// # Errors
    /// [`ConfigError::Memory`] if they do not.
    pub(crate) fn check_memory(&self, limit: u64) -> Result<(), ConfigError> {
        let needed = self.table_bytes()?;
        if needed <= limit {
            return Ok(());
        }
        let geometry = &self.device.nand.geometry;
        let per_block = u64::from(geometry.pages_per_block(self.device.ftl.mode));
        Err(ConfigError::Memory {
            channels: geometry.channels,
            planes: geometry.planes(),
            blocks: geometry.blocks(),
            pages: u64::from(geometry.blocks()) * per_block,
            needed,
            limit,
        })
    }
}

/// Bytes of memory that this process may have: the machine's, or less where a limit says so; no limit
/// where the system does not tell.
pub(crate) fn memory_limit() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let number = |text: &str| text.parse::<u64>().ok();
    let machine = field(&read("/proc/meminfo"), "MemTotal:", 1).map(|kib| kib.saturating_mul(1024));
    let address_space = field(&read("/proc/self/limits"), "Max address space", 3);
    let group = number(read("/sys/fs/cgroup/memory.max").trim());
    let limits = [machine, address_space, group];
    limits.into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// The number in a column of the line that begins with `name`; words count from 0.
fn field(text: &str, name: &str, column: usize) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(changes: &[(&str, &str)]) -> Config {
        let preset = Config::preset("flash-cosmos").expect("the preset exists");
        let small = [
            ("nand.geometry.strings_per_block", "1"),
            ("nand.geometry.cells_per_string", "8"),
            ("ftl.gc.threshold_blocks", "3"),
            ("data.storage", "none"),
        ];
        let all = small.iter().chain(changes).copied();
        preset.with(all).expect("a possible drive")
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_figure() {
        // As many blocks and planes as addresses have room for.
        let huge = config(&[
            ("nand.geometry.channels", "65536"),
            ("nand.geometry.chips_per_channel", "16"),
            ("nand.geometry.blocks_per_plane", "32"),
        ]);
        let needed = huge.table_bytes().expect("it is a drive");
        assert!(needed > 10 << 30, "{needed}");
        assert!(huge.check_memory(needed).is_ok());
        let error = huge.check_memory(needed - 1).expect_err("a byte too few");
        let message = error.to_string();
        for part in [
            "nand.geometry",
            "67108864 blocks",
            "channels = 65536",
            &needed.to_string(),
        ] {
            assert!(message.contains(part), "{part} is not in: {message}");
        }
    }

    #[test]
    fn every_preset_fits_a_small_machine() {
        for name in Config::preset_names() {
            let preset = Config::preset(&name).expect("it exists");
            preset
                .check_memory(4 << 30)
                .expect("4 GiB are enough for tables");
        }
    }
}
