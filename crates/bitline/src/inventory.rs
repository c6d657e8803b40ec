//! What a drive says of itself, and what its media holds: identity, use, wear.

use host::identify::identify_controller;
use host::volume::Extent;
use media::nand::{BlockCondition, BlockId};
use nvme::command::LogPageId;
use serde::Serialize;

use crate::config::ConfigError;
use crate::drive::Drive;
use crate::error::Error;
use crate::media_state::{Media, is_mapped};

/// What the drive answers to Identify.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Identity {
    /// Model number.
    pub model_number: String,
    /// Serial number.
    pub serial_number: String,
    /// Firmware revision.
    pub firmware_revision: String,
    /// Version of the NVMe base specification, such as 2.1.
    pub nvme_version: String,
    /// The most bytes of one command; absent if unlimited.
    pub max_transfer_bytes: Option<u64>,
    /// Whether writes complete before they are durable.
    pub volatile_write_cache: bool,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// Logical blocks of the namespace.
    pub blocks: u64,
    /// Bytes of the namespace.
    pub capacity_bytes: u64,
}

/// What the media holds, and how worn it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Inventory {
    /// Bytes of a flash page, without its spare bytes.
    pub page_bytes: u32,
    /// Bytes of a logical page: of a flash page, or of a part of it (`ftl.mapping_unit_bytes`).
    pub logical_page_bytes: u32,
    /// Logical pages exported.
    pub logical_pages: u64,
    /// Of these, how many are for ordinary data: beyond them there is room for vectors only while nothing else takes it.
    pub data_pages: u64,
    /// How many hold data, vectors and the catalogue of names not counted.
    pub mapped_pages: u64,
    /// Vectors stored.
    pub vectors: u64,
    /// The space that vectors take.
    pub vector_space: VectorSpace,
    /// Flash blocks.
    pub flash_blocks: u64,
    /// Of these, how many hold something.
    pub flash_blocks_used: u64,
    /// Of these, how many were marked bad or must be erased before use.
    pub flash_blocks_unusable: u64,
    /// The least erases of a block.
    pub erase_count_min: u32,
    /// The mean.
    pub erase_count_mean: f64,
    /// The most.
    pub erase_count_max: u32,
}

/// The space that vectors take, and what it would hold otherwise: a vector is programmed with one bit
/// a cell (ESP), other data with as many as the drive's mode has (Flash-Cosmos 8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VectorSpace {
    /// Pages that vectors occupy, one wordline each.
    pub pages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bits that a cell holds of ordinary data.
    pub data_bits_per_cell: u32,
    /// Bytes of ordinary data that the same cells would hold.
    pub bytes_as_data: u64,
    /// What ESP costs: the difference.
    pub bytes_given_up: u64,
    /// Flash blocks that hold vectors and nothing else. Wordlines of theirs that are free, or whose
    /// vector was overwritten, are not among `pages`.
    pub blocks: u64,
    /// Bytes of ordinary data that these blocks would hold.
    pub blocks_as_data: u64,
    /// Flash blocks that vectors may occupy.
    pub blocks_max: u64,
}

impl Drive {
    /// What the drive answers to Identify.
    ///
    /// # Errors
    /// What the drive reports, or [`Error::NoPower`].
    pub fn identify(&mut self) -> Result<Identity, Error> {
        let page = self.run(|host| async move {
            let transport = host.block.transport().clone();
            identify_controller(&transport).await
        })??;
        let (block_bytes, blocks) = (self.block_bytes()?, self.blocks()?);
        let version = page.version.get();
        Ok(Identity {
            model_number: text(&page.model_number),
            serial_number: text(&page.serial_number),
            firmware_revision: text(&page.firmware_revision),
            // VS: major in 31:16, minor in 15:8 (Base 3.1.4.2).
            nvme_version: format!("{}.{}", version >> 16, (version >> 8) & 0xFF),
            max_transfer_bytes: page.max_transfer_bytes(),
            volatile_write_cache: page.volatile_write_cache & 1 != 0,
            block_bytes,
            blocks,
            capacity_bytes: blocks * u64::from(block_bytes),
        })
    }

    /// What the media holds, and how worn it is. Takes no simulated time, unless the volume's catalogue was not read since
    /// power-up.
    ///
    /// # Errors
    /// [`Error::NoPower`]; what reading the catalogue reports.
    pub fn inventory(&mut self) -> Result<Inventory, Error> {
        self.know_vectors()?;
        let media: Media = match self.remote_name() {
            Some(_) => self.told(LogPageId::MEDIA)?,
            None => {
                let nand = self.flash("its inventory")?.borrow();
                Media::of(self.device_for("its inventory")?, &nand)
            }
        };
        let of_vectors = self.mapped_by_vectors()?;
        Ok(Inventory {
            page_bytes: media.page_bytes,
            logical_page_bytes: media.logical_page_bytes,
            logical_pages: media.logical_pages,
            data_pages: media.data_pages,
            mapped_pages: media.mapped_pages.saturating_sub(of_vectors),
            vectors: self.host()?.mount.index().places().count() as u64,
            vector_space: self.vector_space(media.compute_blocks)?,
            flash_blocks: media.flash_blocks,
            flash_blocks_used: media.flash_blocks_used,
            flash_blocks_unusable: media.flash_blocks_unusable,
            erase_count_min: media.erase_count_min,
            erase_count_mean: media.erase_count_mean,
            erase_count_max: media.erase_count_max,
        })
    }

    /// Logical pages mapped that vectors and the catalogue of them have.
    fn mapped_by_vectors(&self) -> Result<u64, Error> {
        let (pages, host) = (self.first_namespace()?, self.host()?);
        let index = host.mount.index();
        let vectors = index.places();
        let vectors = vectors.map(|place| place.first..place.first + place.blocks);
        let blocks = vectors.chain([host.mount.catalogue()]);
        let touched = blocks.flat_map(|blocks| pages.touched(blocks));
        let mapped = self.mapped_pages()?;
        let mapped = touched.filter(|page| mapped.binary_search(page).is_ok());
        Ok(mapped.count() as u64)
    }

    fn vector_space(&self, blocks: u64) -> Result<VectorSpace, Error> {
        let config = &self.config().device;
        let capacity = config.validate().map_err(ConfigError::from)?;
        let geometry = &config.nand.geometry;
        let page_bytes = u64::from(geometry.page_bytes);
        let page_bits = page_bytes * 8;
        let host = self.host()?;
        let index = host.mount.index();
        let pages = index
            .places()
            .map(|vector| vector.bits.div_ceil(page_bits))
            .sum();
        let bits_per_cell = config.ftl.mode.bits_per_cell();
        let block_pages = u64::from(geometry.pages_per_block(config.ftl.mode));
        let bytes = pages * page_bytes;
        let bytes_as_data = bytes * u64::from(bits_per_cell);
        Ok(VectorSpace {
            pages,
            bytes,
            data_bits_per_cell: bits_per_cell,
            bytes_as_data,
            bytes_given_up: bytes_as_data - bytes,
            blocks,
            blocks_as_data: blocks * block_pages * page_bytes,
            blocks_max: u64::from(capacity.compute_blocks_per_plane) * u64::from(geometry.planes()),
        })
    }

    /// The logical blocks of the first namespace that hold data, in order, as few runs of whole pages as that takes.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn mapped_runs(&self) -> Result<Vec<Extent>, Error> {
        let mut runs: Vec<Extent> = Vec::new();
        let pages = self.first_namespace()?;
        let blocks_per_page = pages.blocks();
        for page in self.mapped_pages()? {
            let first = pages.first_block(page);
            match runs.last_mut() {
                Some(run) if run.first + run.blocks == first => run.blocks += blocks_per_page,
                _ => runs.push(Extent {
                    first,
                    blocks: blocks_per_page,
                }),
            }
        }
        // The namespace may end within a page.
        let end = self.blocks()?;
        if let Some(run) = runs.last_mut() {
            run.blocks = run.blocks.min(end - run.first);
        }
        Ok(runs)
    }

    /// Whether no block was ever programmed or erased.
    pub(crate) fn is_blank(&self) -> Result<bool, Error> {
        let nand = self.flash("whether it is blank")?.borrow();
        let mut blocks =
            (0..nand.geometry().blocks()).map(|block| nand.block_state(BlockId(block)));
        Ok(blocks.all(|state| {
            let untouched = state.condition != BlockCondition::NeedsErase;
            state.mode.is_none() && state.erase_count == 0 && untouched
        }))
    }

    /// The logical pages of the first namespace that hold data on flash, ascending; of a drive elsewhere also what its cache has.
    fn mapped_pages(&self) -> Result<Vec<u32>, Error> {
        let pages = self.first_namespace()?.all();
        if self.remote_name().is_some() {
            return self.holding(pages);
        }
        let ftl = &self.device_for("its mapped pages")?.ftl;
        Ok(pages.filter(|page| is_mapped(ftl, *page)).collect())
    }
}

/// The text of an identify field, which is padded with blanks.
fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field)
        .trim_end_matches([' ', '\0'])
        .to_owned()
}
