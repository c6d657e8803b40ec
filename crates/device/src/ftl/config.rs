//! How the flash translation layer is configured.

use media::nand::{Geometry, ProgramMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checkpoint::CheckpointConfig;
use super::gc::{GC_RESERVE_BLOCKS, GcConfig};
use super::mapping::{MappingConfig, MappingKind};
use super::order::AllocationOrder;
use super::slc_cache::SlcCacheConfig;
use super::spare::data_record_bytes;
use super::unit::MappingUnit;
use super::wear::WearLevellingConfig;
use super::written::PartialPages;

/// Spare bytes that a page needs for the record of what it holds, and more than any has.
const SPARE_BYTES_MIN: u32 = 32;
const SPARE_BYTES_MAX: u32 = 65_535;

/// Configuration of the flash translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FtlConfig {
    /// How ordinary data is programmed.
    pub mode: ProgramMode,
    /// Fraction of the data blocks that is not exported: 0.07 keeps 7 % back.
    pub overprovisioning: f64,
    /// Bytes of a logical page, which is what an entry of the mapping table stands for: a flash page, which 0 stands for
    /// too, or a half, a quarter, an eighth or a sixteenth of one. A multiple of the logical block.
    pub mapping_unit_bytes: u32,
    /// In which order consecutive flash pages' worth of logical pages go round the planes.
    pub plane_allocation: AllocationOrder,
    /// How the mapping table is kept.
    pub mapping: MappingConfig,
    /// When checkpoints are made, so that recovery reads little.
    pub checkpoint: CheckpointConfig,
    /// Since when planes have a block open for each purpose. Set in `[compatibility]`.
    #[serde(skip)]
    pub frontiers: Frontiers,
    /// What is known of pages that were written in part.
    pub partial_pages: PartialPages,
    /// Garbage collection.
    pub gc: GcConfig,
    /// The blocks that host writes go to first.
    pub slc_cache: SlcCacheConfig,
    /// How erases are spread over the blocks of a plane.
    pub wear_levelling: WearLevellingConfig,
}

/// Since when a plane has a block open for the host, for collection and for mapping pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Frontiers {
    /// Since there was something to write to it.
    #[default]
    OnDemand,
    /// From the first life on, used or not. As MQSim.
    Ahead,
}

/// A configuration of the flash translation layer that cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FtlConfigError {
    /// The fraction makes no sense.
    #[error("ftl.overprovisioning = {0} is out of range; it must be at least 0 and less than 1")]
    Overprovisioning(f64),
    /// Garbage collection would begin too late.
    #[error(
        "ftl.gc.threshold_blocks = {threshold} is out of range; it must be {least} to {most}, a half of the plane's data blocks"
    )]
    Threshold {
        /// What was asked for.
        threshold: u32,
        /// The least that works.
        least: u32,
        /// The most that makes sense.
        most: u32,
    },
    /// A key of garbage collection is out of its range.
    #[error("ftl.gc.{key} = {value} is out of range; it must be {allowed}")]
    Gc {
        /// The key.
        key: &'static str,
        /// What was asked for.
        value: u32,
        /// What works.
        allowed: String,
    },
    /// A key of the mapping table is out of range.
    #[error("ftl.mapping.{key} = {value} is out of range; it must be {allowed}")]
    Mapping {
        /// The key.
        key: &'static str,
        /// What was asked for.
        value: u32,
        /// What works.
        allowed: String,
    },
    /// The SLC cache cannot be as described.
    #[error("ftl.slc_cache.{key} = {value} is out of range; it must be {allowed}")]
    SlcCache {
        /// The key.
        key: &'static str,
        /// What was asked for.
        value: u32,
        /// What works.
        allowed: String,
    },
    /// Too little is left of a plane.
    #[error(
        "a plane has {blocks} blocks for data; garbage collection, open blocks and the SLC cache take {needed}: \
         raise nand.geometry.blocks_per_plane, or lower bits.compute_blocks_percent or cache.capacity_bytes"
    )]
    Blocks {
        /// Blocks of a plane left for data.
        blocks: u32,
        /// Blocks that must not hold exported data.
        needed: u32,
    },
    /// Spare bytes that hold no record of the page.
    #[error(
        "nand.geometry.spare_bytes = {given} is out of range; it must be {least} to {SPARE_BYTES_MAX}{}",
        listing(*units)
    )]
    SpareBytes {
        /// What was given.
        given: u32,
        /// The least that works.
        least: u32,
        /// Logical pages of a flash page.
        units: u32,
    },
    /// A logical page that is no part of a flash page.
    #[error(
        "ftl.mapping_unit_bytes = {given} cannot be with nand.geometry.page_bytes = {page_bytes}; it must be 0, for a flash page, or a page divided by 1, 2, 4, 8 or 16"
    )]
    Unit {
        /// What was given.
        given: u32,
        /// Bytes of a page.
        page_bytes: u32,
    },
    /// Cells that do not hold what the mode asks for.
    #[error("ftl.mode = {mode} does not fit cells of at most {most} bits")]
    TooDense {
        /// The mode.
        mode: ProgramMode,
        /// Bits that a cell can hold.
        most: u32,
    },
    /// The mapping table's entries have 31 bits.
    #[error(
        "the geometry has {pages} pages{}; the mapping table can name {max}",
        each(*units), max = super::mapping::UNITS_MAX
    )]
    Pages {
        /// Flash pages.
        pages: u64,
        /// Logical pages of each.
        units: u32,
    },
}

/// What remains for the host after everything that is kept back, in logical pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// How long a logical page is.
    pub unit: MappingUnit,
    /// Pages exported: those of data, and as many as computing's share can hold placed.
    pub logical_pages: u32,
    /// Of these, so many have room in the blocks that are not kept for computing.
    pub data_pages: u32,
    /// Needed pages of each plane, mapping pages included, for which it has blocks that are not kept for
    /// computing.
    pub data_pages_per_plane: u32,
    /// Blocks of each plane that computing may take.
    pub compute_blocks_per_plane: u32,
    /// Blocks of each plane that can be bad before it cannot hold its share of these.
    pub spare_blocks_per_plane: u32,
    /// Blocks of each plane that stay erased for a dump when the power goes.
    pub dump_blocks_per_plane: u32,
}

impl Capacity {
    /// Pages that computing's share can hold placed.
    pub fn compute_pages(&self) -> u32 {
        self.logical_pages - self.data_pages
    }

    /// Units that other versions of logical pages than the newest may keep: three quarters of what is spare, for collection has
    /// to win blocks all the same; at least a block of each plane, of those that collection has before it is urgent.
    pub(super) fn units_for_versions(&self, config: &FtlConfig, geometry: &Geometry) -> u64 {
        let row = u64::from(geometry.planes()) * u64::from(geometry.pages_per_block(config.mode));
        let pages = u64::from(self.spare_blocks_per_plane) * row * 3 / 4;
        pages.max(row) * u64::from(self.unit.per_page())
    }
}

impl FtlConfig {
    /// Checks everything, and says how much of `geometry` is exported when `compute_percent` of the blocks
    /// are set aside for computing, and `dump_blocks` of each plane for what a capacitor saves.
    ///
    /// # Errors
    /// If the configuration cannot work with this geometry.
    pub fn validate(
        &self,
        geometry: &Geometry,
        compute_percent: u32,
        dump_blocks: u32,
    ) -> Result<Capacity, FtlConfigError> {
        let unit = self.check_unit(geometry)?;
        self.check_density(geometry)?;
        let compute = (u64::from(geometry.blocks_per_plane) * u64::from(compute_percent.min(100))
            / 100) as u32;
        let data = (geometry.blocks_per_plane - compute).saturating_sub(dump_blocks);
        self.check_threshold(data)?;
        self.check_gc()?;
        self.slc_cache.check(self.mode)?;
        self.check_mapping(geometry)?;
        let mapping = self.mapping_blocks(geometry, data, compute);
        let needed = self.check_room(data, mapping)?;
        let block = u64::from(geometry.pages_per_block(self.mode));
        let most = f64::from(data - needed) * packed_share(unit, block);
        let exported = (f64::from(data) * (1.0 - self.overprovisioning)).min(most);
        // Rounded once for the whole drive, as MQSim does.
        let block_pages = block * u64::from(geometry.planes());
        let data_pages = (exported * block_pages as f64) as u32;
        let placed = u64::from(compute) * u64::from(geometry.pages_per_block(ProgramMode::Esp));
        let pages = data_pages + (placed * u64::from(geometry.planes())) as u32;
        let per_plane = data_pages.div_ceil(geometry.planes()) + mapping * block as u32;
        Ok(Capacity {
            unit,
            // No more than there are units, which the check of the unit bounds.
            logical_pages: pages * unit.per_page(),
            data_pages: data_pages * unit.per_page(),
            data_pages_per_plane: per_plane * unit.per_page(),
            compute_blocks_per_plane: compute,
            spare_blocks_per_plane: data - needed - (exported.ceil() as u32).min(data - needed),
            dump_blocks_per_plane: dump_blocks,
        })
    }

    /// Bits a cell, and the share of them that is not exported.
    fn check_density(&self, geometry: &Geometry) -> Result<(), FtlConfigError> {
        if self.mode.bits_per_cell() > geometry.bits_per_cell_max {
            return Err(FtlConfigError::TooDense {
                mode: self.mode,
                most: geometry.bits_per_cell_max,
            });
        }
        if !(0.0..1.0).contains(&self.overprovisioning) {
            return Err(FtlConfigError::Overprovisioning(self.overprovisioning));
        }
        Ok(())
    }

    /// When collection begins, where a plane has `data` blocks for data.
    fn check_threshold(&self, data: u32) -> Result<(), FtlConfigError> {
        let (least, most) = (GC_RESERVE_BLOCKS + 1, data / 2);
        if !(least..=most.max(least)).contains(&self.gc.threshold_blocks) {
            return Err(FtlConfigError::Threshold {
                threshold: self.gc.threshold_blocks,
                least,
                most: most.max(least),
            });
        }
        Ok(())
    }

    fn check_mapping(&self, geometry: &Geometry) -> Result<(), FtlConfigError> {
        let checked = self.mapping.check(geometry.page_bytes);
        checked.map_err(|wrong| FtlConfigError::Mapping {
            key: wrong.key,
            value: wrong.value,
            allowed: wrong.allowed,
        })
    }

    /// Blocks of a plane's `data` that hold no host data, if there are more than those; `mapping` hold mapping pages.
    fn check_room(&self, data: u32, mapping: u32) -> Result<u32, FtlConfigError> {
        // Two blocks are open at any time, one for the host and one for collection; static
        // wear levelling has one of its own.
        let levelling = u32::from(self.wear_levelling.static_threshold > 0);
        let unused = u32::from(self.frontiers == Frontiers::Ahead && mapping == 0);
        let cache = self.slc_cache.blocks_per_plane.min(data);
        let needed = self.gc.threshold_blocks + 2 + cache + levelling + mapping + unused;
        if data <= needed {
            return Err(FtlConfigError::Blocks {
                blocks: data,
                needed,
            });
        }
        Ok(needed)
    }

    /// The unit, if pages have such parts, their spare bytes hold a list of them, and the table can name all of them.
    fn check_unit(&self, geometry: &Geometry) -> Result<MappingUnit, FtlConfigError> {
        if !MappingUnit::divides(geometry, self.mapping_unit_bytes) {
            return Err(FtlConfigError::Unit {
                given: self.mapping_unit_bytes,
                page_bytes: geometry.page_bytes,
            });
        }
        let unit = self.unit(geometry);
        let (given, units) = (geometry.spare_bytes, unit.per_page());
        let least = SPARE_BYTES_MIN.max(data_record_bytes(unit));
        if !(least..=SPARE_BYTES_MAX).contains(&given) {
            return Err(FtlConfigError::SpareBytes {
                given,
                least,
                units,
            });
        }
        let pages = u64::from(geometry.blocks()) * u64::from(geometry.pages_per_block_max());
        if pages * u64::from(units) > u64::from(super::mapping::UNITS_MAX) {
            return Err(FtlConfigError::Pages { pages, units });
        }
        Ok(unit)
    }

    /// How long a logical page is on flash of this geometry.
    pub fn unit(&self, geometry: &Geometry) -> MappingUnit {
        MappingUnit::of(geometry, self.mapping_unit_bytes)
    }

    fn check_gc(&self) -> Result<(), FtlConfigError> {
        let gc = &self.gc;
        let checks = [
            (
                "hard_threshold_blocks",
                gc.hard_threshold_blocks,
                GC_RESERVE_BLOCKS..=gc.threshold_blocks - 1,
            ),
            (
                "urgent_threshold_blocks",
                gc.urgent_threshold_blocks,
                1..=gc.threshold_blocks,
            ),
            ("choices", gc.choices, 1..=65_535),
            ("concurrent_blocks", gc.concurrent_blocks, 1..=65_535),
            ("concurrent_copies", gc.concurrent_copies, 1..=65_535),
        ];
        for (key, value, range) in checks {
            if !range.contains(&value) {
                let allowed = format!("{} to {}", range.start(), range.end());
                return Err(FtlConfigError::Gc {
                    key,
                    value,
                    allowed,
                });
            }
        }
        Ok(())
    }

    /// Blocks of each plane that mapping pages take when all of `data` blocks, and `compute` placed ones,
    /// are exported, the open one included, and roots of checkpoints.
    fn mapping_blocks(&self, geometry: &Geometry, data: u32, compute: u32) -> u32 {
        if !self.keeps_mapping_pages() {
            return 0;
        }
        // The current root, and the next one while it is written.
        let roots = if self.checkpoint.interval_pages > 0 {
            2
        } else {
            0
        };
        let block = u64::from(geometry.pages_per_block(self.mode));
        let planes = u64::from(geometry.planes());
        let placed = u64::from(compute) * u64::from(geometry.pages_per_block(ProgramMode::Esp));
        let exported = planes * (u64::from(data) * block + placed);
        let units = exported * u64::from(self.unit(geometry).per_page());
        let pages = self.mapping.pages(units, geometry.page_bytes);
        pages.div_ceil(planes).div_ceil(block) as u32 + 1 + roots
    }

    /// Whether the mapping table is kept on flash, too.
    pub(super) fn keeps_mapping_pages(&self) -> bool {
        self.mapping.kind == MappingKind::Cached || self.checkpoint.interval_pages > 0
    }
}

/// The share of a block of so many pages that may be needed everywhere, and emptying the emptiest block still win a page: of
/// blocks that lack less than a page each, collection would make as many again.
fn packed_share(unit: MappingUnit, block_pages: u64) -> f64 {
    match unit.is_page() {
        true => 1.0,
        false => (block_pages - 1) as f64 / block_pages as f64,
    }
}

/// What the spare bytes are to list.
fn listing(units: u32) -> String {
    match units {
        1 => String::new(),
        units => format!(" to list {units} logical pages (ftl.mapping_unit_bytes)"),
    }
}

/// How many logical pages each page has.
fn each(units: u32) -> String {
    match units {
        1 => String::new(),
        units => format!(" of {units} logical pages each (ftl.mapping_unit_bytes)"),
    }
}
