//! Ending commands: well, by failure, or by a power cut.

use super::array::{BlockCondition, PageState};
use super::cells::Birth;
use super::die::{Die, Operation};
use super::storage::PageRecord;
use super::{
    BlockId, BlockSet, DieId, Nand, NandError, Outcome, PageAddress, PageSet, PlaneLatches,
    PlaneMask, Ppa, ProgramMode, StorageError,
};
use sim::Time;

impl Nand {
    /// Ends the command in progress on a die; what it did is visible from now on.
    ///
    /// # Errors
    /// [`NandError::NotReady`] before its time, [`NandError::Idle`] without one, and failures of the storage of bits.
    #[inline]
    pub fn finish(&mut self, die: DieId, now: Time) -> Result<Outcome, NandError> {
        self.check_die(die)?;
        let state = &mut self.dies[die.0 as usize];
        if now < state.ends && !state.is_idle() {
            return Err(NandError::NotReady {
                die: die.0,
                now,
                until: state.ends,
            });
        }
        match state.operation {
            Operation::Idle => Err(NandError::Idle { die: die.0 }),
            Operation::Latches | Operation::CacheSense | Operation::Wait => {
                state.operation = Operation::Idle;
                Ok(Outcome::Done)
            }
            Operation::Program(..) | Operation::Raise(_) | Operation::Erase(_) => {
                Ok(self.finish_change(die)?)
            }
        }
    }

    /// Lets a program or erase do to the cells what it does.
    fn finish_change(&mut self, die: DieId) -> Result<Outcome, StorageError> {
        let state = &mut self.dies[die.0 as usize];
        let operation = std::mem::replace(&mut state.operation, Operation::Idle);
        match operation {
            Operation::Program(pages, mode) => {
                let failed = self.program_cells(&pages, mode, false)?;
                Ok(Outcome::of_program(failed))
            }
            Operation::Raise(pages) => {
                let failed = self.raise_cells(&pages, false)?;
                Ok(Outcome::of_program(failed))
            }
            Operation::Erase(blocks) => {
                let failed = self.erase_cells(&blocks, false)?;
                Ok(match failed {
                    PlaneMask(0) => Outcome::Done,
                    planes => Outcome::EraseFailed { planes },
                })
            }
            _ => Ok(Outcome::Done),
        }
    }

    /// Consumes pages; the planes in which that failed. `torn` if the program was interrupted.
    fn program_cells(
        &mut self,
        pages: &PageSet,
        mode: ProgramMode,
        torn: bool,
    ) -> Result<PlaneMask, StorageError> {
        let mut failed = PlaneMask::default();
        for &page in pages {
            let plane = self.geometry().plane_of_block(page.block);
            let birth = self.birth_of(page, mode);
            let fails = !torn && self.draw_failure(|failures| failures.program_per_million);
            if fails {
                failed.0 |= PlaneMask::single(self.geometry().plane_in_die(plane)).0;
            }
            let state = match (torn, fails) {
                (true, _) => PageState::Torn,
                (false, true) => PageState::Failed,
                (false, false) => PageState::Programmed,
            };
            let spare = &self.planes[plane.0 as usize].spare_programming;
            let record = PageRecord {
                page,
                state,
                mode,
                birth,
                spare,
            };
            self.store
                .record_page(&record, &self.array.block(page.block))?;
            self.array.program(page, mode, state, birth, spare);
            let content = self.planes[plane.0 as usize].firmware_programming.take();
            if let Some(content) = content.filter(|_| state == PageState::Programmed) {
                let page = self.geometry().ppa(page);
                self.firmware_pages.insert(page, content);
            }
        }
        Ok(failed)
    }

    /// When and how a page is programmed whose program ends now.
    fn birth_of(&self, page: PageAddress, mode: ProgramMode) -> Birth {
        let effort = match mode {
            ProgramMode::Esp => {
                let die = self.geometry().die_of_block(page.block);
                self.dies[die.0 as usize].esp_effort
            }
            _ => 0,
        };
        self.cells.birth(effort)
    }

    /// Erases blocks; the planes in which that failed. `torn` if the erase was interrupted.
    fn erase_cells(&mut self, blocks: &BlockSet, torn: bool) -> Result<PlaneMask, StorageError> {
        let mut failed = PlaneMask::default();
        for &block in blocks {
            let plane = self.geometry().plane_of_block(block);
            let fails = !torn && self.draw_failure(|failures| failures.erase_per_million);
            if fails {
                failed.0 |= PlaneMask::single(self.geometry().plane_in_die(plane)).0;
            }
            // What is in the latches outlives the block; with a copy of its own, C holds no frame of it.
            self.settle(plane).bits.own_c();
            self.keep_spare(plane.0 as usize, block);
            self.forget_firmware_pages(block);
            self.array.erase(block, !torn && !fails);
            self.store.record_block(block, &self.array.block(block))?;
            self.store.erase(block)?;
        }
        Ok(failed)
    }

    fn forget_firmware_pages(&mut self, block: BlockId) {
        let first = self.geometry().ppa(PageAddress { block, page: 0 });
        let end = Ppa(first.0 + self.geometry().pages_per_block_max());
        while let Some((&page, _)) = self.firmware_pages.range(first..end).next() {
            self.firmware_pages.remove(&page);
        }
    }

    /// Spare bytes in the page register outlive the block they were read from.
    fn keep_spare(&mut self, plane: usize, block: BlockId) {
        if self.planes[plane]
            .c
            .page
            .is_some_and(|page| page.block == block)
        {
            let kept = self.register_spare(plane).to_vec();
            self.planes[plane].spare_kept = kept;
            self.planes[plane].c.page = None;
        }
    }

    pub(super) fn draw_failure(&mut self, rate: impl Fn(&super::Failures) -> u32) -> bool {
        match &mut self.failures {
            Some(failures) if rate(failures) > 0 => {
                (failures.draw)() % 1_000_000 < u64::from(rate(failures))
            }
            _ => false,
        }
    }

    /// Programs a page at once, without taking time or energy: the state in which a drive leaves
    /// its factory, or in which earlier writes left it. Its data are `words`, or zeroes without. It
    /// must come after the pages of its block that are programmed.
    ///
    /// # Errors
    /// Failures of the storage of bits.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn place_page(
        &mut self,
        page: PageAddress,
        mode: ProgramMode,
        spare: &[u8],
        words: Option<&[u64]>,
    ) -> Result<(), NandError> {
        if let Some(words) = words {
            self.store.write(page, words)?;
        }
        let state = PageState::Programmed;
        let birth = self.cells.birth(0);
        let record = PageRecord {
            page,
            state,
            mode,
            birth,
            spare,
        };
        let block = self.array.block(page.block);
        debug_assert!(
            block.next_page <= page.page && block.mode.is_none_or(|other| other == mode),
            "pages of a block are placed in order and in one mode"
        );
        self.store.record_page(&record, &block)?;
        self.array.program(page, mode, state, birth, spare);
        Ok(())
    }

    /// Cuts the power: programs and erases in progress or suspended are torn, latches and
    /// features are lost. What had reached its end by `now` is complete, finished or not.
    ///
    /// # Errors
    /// Failures of the storage of bits.
    pub fn power_cut(&mut self, now: Time) -> Result<(), NandError> {
        for die in 0..self.geometry().dies() {
            self.abort(DieId(die), now)?;
        }
        Ok(())
    }

    /// Tears what a die has in progress or suspended and forgets its volatile state.
    pub(super) fn abort(&mut self, die: DieId, now: Time) -> Result<(), NandError> {
        let state = std::mem::replace(&mut self.dies[die.0 as usize], Die::new());
        // Until what it programmed is noted.
        self.dies[die.0 as usize].esp_effort = state.esp_effort;
        let suspended = state.suspended.map(|suspended| suspended.operation);
        let running = (state.operation, now < state.ends);
        for (operation, torn) in [Some(running), suspended.map(|operation| (operation, true))]
            .into_iter()
            .flatten()
        {
            match operation {
                Operation::Program(pages, mode) => self.program_cells(&pages, mode, torn)?,
                Operation::Raise(pages) => self.raise_cells(&pages, torn)?,
                Operation::Erase(blocks) => self.erase_cells(&blocks, torn)?,
                _ => PlaneMask::default(),
            };
        }
        self.dies[die.0 as usize].esp_effort = 0;
        for plane in 0..self.geometry().planes_per_die {
            let plane = self.geometry().plane_of_die(die, plane);
            self.planes[plane.0 as usize] = PlaneLatches::default();
        }
        Ok(())
    }

    /// Marks a block bad, as a factory does and firmware does to a worn block: it refuses to be programmed for good.
    ///
    /// # Errors
    /// Failures of the storage of bits.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn mark_bad(&mut self, block: BlockId) -> Result<(), NandError> {
        self.array.mark_bad(block);
        Ok(self.store.record_block(block, &self.array.block(block))?)
    }

    /// Gives an erased block its age in erases and programs its first pages at once, without
    /// taking time or energy: the state of a drive that was used before. `spares` are the spare
    /// bytes of page after page; their data are zeroes.
    ///
    /// # Errors
    /// Failures of the storage of bits.
    ///
    /// # Panics
    /// If there is no such block, or it has fewer pages in `mode`.
    pub fn place_pages<S: AsRef<[u8]>>(
        &mut self,
        block: BlockId,
        erase_count: u32,
        mode: ProgramMode,
        spares: impl IntoIterator<Item = S>,
    ) -> Result<(), NandError> {
        self.array.restore(block, erase_count, BlockCondition::Good);
        self.store.record_block(block, &self.array.block(block))?;
        let blank = vec![
            0;
            if self.holds_data {
                self.geometry().page_words()
            } else {
                0
            }
        ];
        let state = PageState::Programmed;
        let birth = self.cells.birth(0);
        // A store without data keeps no records of pages either.
        let keeps = self.holds_data;
        for (page, spare) in (0..).zip(spares) {
            let (page, spare) = (PageAddress { block, page }, spare.as_ref());
            if keeps {
                self.store.write(page, &blank)?;
                let record = PageRecord {
                    page,
                    state,
                    mode,
                    birth,
                    spare,
                };
                self.store.record_page(&record, &self.array.block(block))?;
            }
            self.array.program(page, mode, state, birth, spare);
        }
        Ok(())
    }

    /// Returns when everything programmed and erased so far would survive the host losing power. Without
    /// an image there is nothing to do.
    ///
    /// # Errors
    /// Failures of the storage of bits.
    pub fn sync(&mut self) -> Result<(), NandError> {
        Ok(self.store.sync()?)
    }
}
