//! The flash packages of a drive: dies that sense, program and erase, and the bits in them.
//!
//! [`Nand`] is a part without a clock: firmware asks with the time as an argument. [`Nand::begin`]
//! refuses what is illegal or too early and says how long the die will be busy and what energy it
//! spends; [`Nand::finish`] refuses before that time and then tells the outcome. Data passes
//! through the page registers (C-latches) by [`Nand::data_in`] and [`Nand::data_out`]; the time on the
//! channel is the channel's.

mod array;
mod begin;
pub mod cells;
mod check;
pub mod command;
mod config;
mod costs;
mod deferred;
mod die;
mod error;
mod finish;
mod geometry;
mod latch_bits;
mod latches;
mod lease;
mod legality;
mod lookups;
mod mode;
mod mws;
mod power;
mod raise;
mod sense;
mod storage;
#[cfg(test)]
mod tests;
mod transfer;

pub use array::{BlockCondition, BlockState, PageState};
pub use check::ConfigError;
pub use command::{
    BlockSet, Command, Feature, Iscm, Mws, MwsPlane, MwsSlot, PageSet, PlaneMask, WordlineBitmap,
};
pub use command::{MWS_BLOCKS_MAX, RAISE_MAX};
pub use config::{
    BusTiming, CommandPhases, EnergyConfig, Latency, NandConfig, ReadCosts, StatedPhases,
};
pub use error::{MediaError, NandError};
pub use geometry::{
    BlockId, BlockPlace, CELLS_PER_STRING_MAX, ChannelId, DieId, Geometry, GeometryError,
    PLANES_PER_DIE_MAX, PageAddress, PagePlace, PlaneId, PlanePlace, Ppa, Wordline,
};
pub use latches::{Latches, PageStatus};
pub use lookups::{LookupErrors, LookupRates, Lookups, MISSED_CELLS_MAX, SearchRates};
pub use mode::{BITS_PER_CELL_USUAL, ProgramMode};
pub use mws::{MwsLimits, MwsTime, Precharge};
pub use storage::{Image, ImageCheck, Storage, StorageError, TEXT_BYTES_MAX};

use array::Array;
use cells::Cells;
pub use cells::{Ageing, DriveAge};
use config::{Costs, Timing};
use die::Die;
use latches::PlaneLatches;
use sense::Sensor;
use sim::memory::Frames;
use sim::{Energy, Span, Time};
use std::collections::BTreeMap;
use storage::BitStore;

/// What a command that was accepted costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// How long the die is busy; [`Nand::finish`] is legal from then on. Zero for [`Command::ReadStatus`],
    /// which is complete at once and is not finished.
    pub span: Span,
    /// The energy spent in the die.
    pub energy: Energy,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Done,
    /// Programs failed in these planes: their pages are consumed and cannot be read. Or raises: then any of the cells to
    /// be raised may be so, and their pages can be read as before.
    ProgramFailed {
        /// The planes of the die.
        planes: PlaneMask,
    },
    /// Erases failed in these planes; their blocks need another erase.
    EraseFailed {
        /// The planes of the die.
        planes: PlaneMask,
    },
}

impl Outcome {
    /// Of programs or raises that failed in these planes.
    fn of_program(failed: PlaneMask) -> Outcome {
        match failed {
            PlaneMask(0) => Outcome::Done,
            planes => Outcome::ProgramFailed { planes },
        }
    }
}

/// What a read status command shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DieStatus {
    /// When the die becomes or became ready; `None` while it has no command in progress.
    pub ready_at: Option<Time>,
    /// Whether a program or erase is suspended.
    pub suspended: bool,
}

/// Programs and erases that fail at random.
pub struct Failures {
    /// Of a million pages programmed, so many fail.
    pub program_per_million: u32,
    /// Of a million blocks erased, so many fail.
    pub erase_per_million: u32,
    /// Where randomness comes from: uniform over 64 bits, drawn once a page programmed or block erased.
    pub draw: Box<dyn FnMut() -> u64>,
}

/// All the flash of a drive.
pub struct Nand {
    config: NandConfig,
    timing: Timing,
    costs: Costs,
    dies: Box<[Die]>,
    planes: Box<[PlaneLatches]>,
    array: Array,
    store: Box<dyn BitStore>,
    frames: Frames,
    /// What the firmware programmed for itself, without the zeroes at the end, where the store
    /// keeps no data.
    firmware_pages: BTreeMap<Ppa, Box<[u8]>>,
    sensor: Sensor,
    cells: Cells,
    failures: Option<Failures>,
    holds_data: bool,
}

impl Nand {
    /// Makes the flash that `config` describes, with its bits in `storage`.
    ///
    /// # Errors
    /// A configuration out of range, or a storage that cannot be opened or is not this geometry's.
    pub fn open(config: &NandConfig, storage: Storage) -> Result<Nand, MediaError> {
        config.validate()?;
        let geometry = &config.geometry;
        let frames = Frames::of_pages(geometry.page_words());
        let mut store = storage.open(geometry, &frames)?;
        let mut array = Array::new(geometry);
        store.load(&mut array)?;
        let age = store.age()?;
        Ok(Nand {
            cells: config.cells_of_age(age),
            timing: Timing::new(&config.latency, &config.bus),
            costs: Costs::new(config),
            dies: (0..geometry.dies()).map(|_| Die::new()).collect(),
            planes: (0..geometry.planes())
                .map(|_| PlaneLatches::default())
                .collect(),
            array,
            holds_data: store.holds_data(),
            store,
            frames,
            sensor: Sensor::new(),
            failures: None,
            firmware_pages: BTreeMap::new(),
            config: config.clone(),
        })
    }

    /// What the flash was made from.
    pub fn config(&self) -> &NandConfig {
        &self.config
    }

    /// Counts and sizes.
    pub fn geometry(&self) -> &Geometry {
        &self.config.geometry
    }

    /// Whether data is kept, or only timing.
    pub fn holds_data(&self) -> bool {
        self.holds_data
    }

    /// Where pages of data are, that flash holds and whoever else does.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Makes the cells those of another drive of the same kind: which are weak, and which blocks
    /// are good, follows from `seed`.
    pub fn set_seed(&mut self, seed: u64) {
        self.cells.reseed(seed);
    }

    /// Makes the drive older at once: time passes at a temperature, and every block has been
    /// through so many more cycles before it was last programmed.
    ///
    /// # Errors
    /// Failures of the storage of bits.
    pub fn grow_older(&mut self, ageing: &Ageing) -> Result<(), NandError> {
        let age = self.cells.older(ageing);
        self.store.record_age(&age)?;
        self.cells.set_age(age);
        Ok(())
    }

    /// How old the drive is, beyond what was done to it in simulated time.
    pub fn age(&self) -> &DriveAge {
        self.cells.age()
    }

    /// The share of a page's bits that read wrong, before any correction; `None` unless it was
    /// programmed.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn raw_bit_error_rate(&self, page: Ppa) -> Option<f64> {
        let page = self.geometry().page_address(page);
        let programmed = self.array.page_state(page) == PageState::Programmed;
        let past = self.array.past(page).filter(|_| programmed)?;
        Some(self.cells.error_rate(page, &past))
    }

    /// Lets programs and erases fail from now on, or never again.
    pub fn set_failures(&mut self, failures: Option<Failures>) {
        self.failures = failures;
    }

    /// Inverts a bit of the spare bytes of a page, as damage that their code does not notice would; for tests of what reads
    /// them. An image keeps them as they were. Whether there is such a bit.
    pub fn damage_spare(&mut self, page: Ppa, bit: u32) -> bool {
        let page = self.geometry().page_address(page);
        let mut spare = self.array.spare(page).unwrap_or_default().to_vec();
        let Some(byte) = spare.get_mut(bit as usize / 8) else {
            return false;
        };
        *byte ^= 1 << (bit % 8);
        self.array.set_spare(page, &spare);
        true
    }

    /// The wear, mode, write frontier and condition of a block.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn block_state(&self, block: BlockId) -> BlockState {
        self.array.block(block)
    }

    /// Erases of all blocks so far, interrupted ones included.
    pub fn erases(&self) -> u64 {
        self.array.erases()
    }

    /// Erases of the block that has had most.
    pub fn erases_most(&self) -> u32 {
        self.array.erases_most()
    }

    /// Whether every bit of a block is gone: it was never programmed, or its last erase was complete
    /// and nothing was programmed since.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn is_erased(&self, block: BlockId) -> bool {
        self.array.is_erased(block)
    }

    /// What became of a page.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn page_state(&self, page: Ppa) -> PageState {
        self.array.page_state(self.geometry().page_address(page))
    }

    /// Has the processor fetch what it knows of a block that will soon be used. Changes nothing.
    #[inline]
    pub fn prefetch_block(&self, block: BlockId) {
        self.array.prefetch_block(block);
    }

    /// Has the processor fetch what it knows of a page that will soon be used. Changes nothing.
    #[inline]
    pub fn prefetch(&self, page: PageAddress) {
        self.array.prefetch(page);
    }

    /// How often pages of a block were read, or sensed, since it was erased.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn reads_since_erase(&self, block: BlockId) -> u32 {
        self.array.reads(block)
    }

    /// How many more reads of a block it takes before its cells show more of them.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn unfelt_reads(&self, block: BlockId) -> u32 {
        cells::unfelt_reads(self.array.reads(block))
    }

    /// Counts senses of blocks that were summed up, so many each time: their reads since they were erased.
    pub fn note_senses(&mut self, blocks: &[(BlockId, u32)], times: u32) {
        for (block, senses) in blocks {
            self.array.note_reads(*block, senses.saturating_mul(times));
        }
    }

    /// The spare bytes of a page; `None` unless it was programmed completely. For recovery, which pays by ordinary reads,
    /// and for traces.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn spare(&self, page: Ppa) -> Option<&[u8]> {
        let page = self.geometry().page_address(page);
        if self.array.is_readable(page) {
            self.array.spare(page)
        } else {
            None
        }
    }

    /// What a die shows of itself at any time.
    ///
    /// # Errors
    /// [`NandError::NoSuchDie`].
    pub fn status(&self, die: DieId) -> Result<DieStatus, NandError> {
        self.check_die(die)?;
        let die = &self.dies[die.0 as usize];
        Ok(DieStatus {
            ready_at: (!die.is_idle()).then_some(die.ends),
            suspended: die.suspended.is_some(),
        })
    }
}
