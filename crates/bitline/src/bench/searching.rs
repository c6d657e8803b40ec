//! Searching names in the array, with data.

use std::time::Instant;

use media::nand::{
    BlockId, Command, DieId, Iscm, MwsPlane, MwsSlot, Nand, PageAddress, PlaneId, ProgramMode,
    Storage, WordlineBitmap,
};
use sim::{Random, Time};

use crate::{Config, Error};

/// Bits of a name, with that which says that it is valid; each is a pair of wordlines (ANVIL 2.2).
const BITS: u32 = 97;
/// Bytes of all wordlines that searches select: far more than any cache holds.
const SELECTED_BYTES: u64 = 384 << 20;

/// Blocks full of random names, of each block one to be found.
pub(super) struct Names {
    nand: Nand,
    now: Time,
    searches: Vec<Command>,
}

impl Names {
    /// The names, transposed as ANVIL's SSD-A has them: 131,072 a block.
    pub(super) fn write() -> Result<Names, Error> {
        let mut nand = Config::preset("anvil-ssd-a")?.device.nand;
        let geometry = &mut nand.geometry;
        let blocks = SELECTED_BYTES / u64::from(BITS * geometry.page_bytes);
        (geometry.channels, geometry.chips_per_channel) = (1, 1);
        (geometry.dies_per_chip, geometry.planes_per_die) = (1, 1);
        geometry.blocks_per_plane = blocks as u32;
        let mut names = Names {
            nand: Nand::open(&nand, Storage::Memory)?,
            now: Time::ZERO,
            searches: Vec::new(),
        };
        let mut random = Random::named(1, "names");
        for block in (0..blocks as u32).map(BlockId) {
            names.fill(block, &mut random)?;
        }
        Ok(names)
    }

    /// Fills a block, and notes a search for what its first name is.
    fn fill(&mut self, block: BlockId, random: &mut Random) -> Result<(), Error> {
        let strings = self.nand.geometry().strings_per_block;
        let mut bytes = vec![0; self.nand.geometry().page_bytes as usize];
        let mut wordlines = WordlineBitmap::EMPTY;
        for bit in 0..BITS {
            random.fill(&mut bytes);
            wordlines.insert(2 * bit + u32::from(bytes[0] & 1 == 0));
            for layer in [2 * bit, 2 * bit + 1] {
                let page = PageAddress {
                    block,
                    page: layer * strings,
                };
                self.nand.data_in(PlaneId(0), 0, &bytes)?;
                self.run(&Command::program(page, ProgramMode::Esp))?;
                bytes.iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        let slot = MwsSlot {
            block,
            string: 0,
            wordlines,
        };
        let plane = MwsPlane {
            slots: [slot].into_iter().collect(),
        };
        let search = Command::mws(Iscm::READ, [plane].into_iter().collect());
        self.searches.push(search);
        Ok(())
    }

    fn run(&mut self, command: &Command) -> Result<(), Error> {
        let busy = self.nand.begin(DieId(0), command, self.now)?;
        self.now += busy.span;
        self.nand.finish(DieId(0), self.now)?;
        Ok(())
    }

    /// Bytes of selected wordlines a second, in gigabytes (10^9).
    ///
    /// # Panics
    /// If other names were found than there are.
    pub(super) fn gbps(&mut self) -> Result<f64, Error> {
        let page_bytes = u64::from(self.nand.geometry().page_bytes);
        let searches = std::mem::take(&mut self.searches);
        let mut found = 0;
        let begin = Instant::now();
        for search in &searches {
            self.run(search)?;
            found += self.nand.count_ones(PlaneId(0), page_bytes * 8)?;
        }
        let seconds = begin.elapsed().as_secs_f64();
        assert_eq!(found, searches.len() as u64, "a name a block");
        let selected = searches.len() as u64 * u64::from(BITS) * page_bytes;
        self.searches = searches;
        Ok(selected as f64 / seconds / 1e9)
    }
}
