//! Raising single cells of programmed pages: what it takes to be legal, its beginning, and what it does to the cells.

use super::array::{BlockCondition, PageState};
use super::cells::mix;
use super::command::PageSet;
use super::die::Operation;
use super::{Busy, DieId, Nand, NandError, PageAddress, PlaneMask, Ppa, ProgramMode, StorageError};
use sim::{Energy, Span, Time};
use zerocopy::IntoBytes;

const COMMAND: &str = "raise";

impl Nand {
    /// Takes what is to be raised out of the page registers, which are free for reads while the raise is suspended. It takes
    /// and spends what a program in the mode of the block does.
    pub(super) fn begin_raise(
        &mut self,
        die: DieId,
        pages: &PageSet,
        now: Time,
    ) -> Result<Busy, NandError> {
        self.check_raise(die, pages)?;
        self.store.make_room()?;
        // Registers that the channel did not load raise nothing. What was sensed of the pages is made before they change.
        self.fill_registers(pages);
        let (mut span, mut energy) = (Span::ZERO, Energy::ZERO);
        for &page in pages {
            let plane = self.geometry().plane_of_block(page.block);
            let latches = &mut self.planes[plane.0 as usize];
            let register = latches.bits.c();
            if latches.raising.len() == register.len() {
                latches.raising.copy_from_slice(register);
            } else {
                latches.raising = register.into();
            }
            latches.firmware_programming = latches.firmware_in.take();
            latches.spare_is_given = false;
            latches.loading = false;
            let mode = self.array.mode(page.block).unwrap_or(ProgramMode::Slc);
            let (plane_span, plane_energy) = self.program_cost(die, mode, page.page);
            span = span.max(plane_span);
            energy += plane_energy;
        }
        Ok(self.start(die, Operation::Raise(pages.clone()), now, span, energy))
    }

    /// Raises cells; the planes in which that failed. `torn` if it was interrupted: then, as when it fails, each cell is
    /// raised or not, always the same ones.
    pub(super) fn raise_cells(
        &mut self,
        pages: &PageSet,
        torn: bool,
    ) -> Result<PlaneMask, StorageError> {
        let mut failed = PlaneMask::default();
        for &page in pages {
            let fails = !torn && self.draw_failure(|failures| failures.program_per_million);
            let plane = self.geometry().plane_of_block(page.block);
            if fails {
                failed.0 |= PlaneMask::single(self.geometry().plane_in_die(plane)).0;
            }
            if self.holds_data {
                self.raise_stored(page, torn || fails)?;
            } else {
                self.raise_kept(page, torn || fails);
            }
        }
        Ok(failed)
    }

    /// What a raise does to the bits of a page in the store.
    fn raise_stored(&mut self, page: PageAddress, partly: bool) -> Result<(), StorageError> {
        let (ppa, plane) = (
            self.geometry().ppa(page),
            self.geometry().plane_of_block(page.block),
        );
        let raising = &self.planes[plane.0 as usize].raising;
        let mut words = vec![0; raising.len()];
        if self.store.read(page, 0..words.len(), &mut words).is_err() {
            // What the page held is lost, and whoever reads it learns so: there is nothing left to raise.
            return Ok(());
        }
        let mut changes = false;
        for ((index, word), &stay) in (0..).zip(&mut words).zip(raising) {
            let left = if partly { left_low(ppa, index) } else { 0 };
            changes |= *word & !(stay | left) != 0;
            *word &= stay | left;
        }
        match changes {
            true => self.store.raise(page, &words),
            false => Ok(()),
        }
    }

    /// The same of a page that the firmware keeps where the store keeps no data.
    fn raise_kept(&mut self, page: PageAddress, partly: bool) {
        let (ppa, plane) = (
            self.geometry().ppa(page),
            self.geometry().plane_of_block(page.block),
        );
        let raising = self.planes[plane.0 as usize].firmware_programming.take();
        let (Some(raising), Some(kept)) = (raising, self.firmware_pages.get_mut(&ppa)) else {
            return;
        };
        for (at, byte) in kept.iter_mut().enumerate() {
            // Zeroes at the end are left out.
            let stay = raising.get(at).copied().unwrap_or(0);
            let left = if partly {
                left_low(ppa, at as u64 / 8).as_bytes()[at % 8]
            } else {
                0
            };
            *byte &= stay | left;
        }
    }

    /// The pages of a raise: one a plane, each programmed, in a good block of one bit a cell.
    fn check_raise(&self, die: DieId, pages: &PageSet) -> Result<(), NandError> {
        self.check_not_suspended(die, COMMAND)?;
        self.check_some(pages.len(), COMMAND)?;
        let mut seen = PlaneMask::default();
        for &page in pages {
            let plane = self.check_block(die, page.block, COMMAND)?;
            self.check_plane_once(plane, &mut seen, COMMAND)?;
            self.check_raisable(page)?;
            self.check_free(plane, COMMAND)?;
        }
        Ok(())
    }

    fn check_raisable(&self, page: PageAddress) -> Result<(), NandError> {
        let block = self.array.block(page.block);
        let mode = block.mode.unwrap_or(ProgramMode::Slc);
        self.check_page(page, mode)?;
        let what = match (block.condition, self.array.page_state(page)) {
            (BlockCondition::Bad, _) => {
                return Err(NandError::Bad {
                    command: COMMAND,
                    block: self.geometry().block_place(page.block),
                });
            }
            (BlockCondition::NeedsErase, _) => "the last erase of its block did not complete",
            _ if mode.bits_per_cell() > 1 => "its cells hold several bits",
            (_, PageState::Erased) => "it is erased",
            (_, PageState::Torn) => "its program was interrupted",
            (_, PageState::Failed) => "its program failed",
            (_, PageState::Programmed) => return Ok(()),
        };
        let page = self.geometry().page_place(page, mode);
        Err(NandError::NotRaisable { page, what })
    }
}

/// Which cells of word `index` of a page stay low of those that a raise should have raised but did not complete: a function
/// of their address.
fn left_low(page: Ppa, index: u64) -> u64 {
    /// Tells them from the garbage of torn pages.
    const RAISED: u64 = 1 << 31;
    mix(u64::from(page.0) << 32 | RAISED | index)
}
