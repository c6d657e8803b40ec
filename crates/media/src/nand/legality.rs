//! Whether a command is legal now: checks that change nothing.

use super::array::BlockCondition;
use super::command::{BlockSet, Mws, MwsPlane, PageSet, RAISE_MAX};
use super::die::Operation;
use super::{BlockId, DieId, Nand, NandError, PageAddress, PlaneId, PlaneMask, ProgramMode};
use sim::Time;

impl Nand {
    #[inline]
    pub(super) fn check_die(&self, die: DieId) -> Result<(), NandError> {
        if (die.0 as usize) < self.dies.len() {
            return Ok(());
        }
        Err(NandError::NoSuchDie {
            die: die.0,
            last: self.dies.len() as u32 - 1,
        })
    }

    #[inline]
    pub(super) fn check_plane(&self, plane: PlaneId) -> Result<(), NandError> {
        if (plane.0 as usize) < self.planes.len() {
            return Ok(());
        }
        Err(NandError::NoSuchPlane {
            plane: plane.0,
            last: self.planes.len() as u32 - 1,
        })
    }

    /// Refuses while the die is at work.
    #[inline]
    pub(super) fn check_idle(
        &self,
        die: DieId,
        command: &'static str,
        now: Time,
    ) -> Result<(), NandError> {
        let state = &self.dies[die.0 as usize];
        if state.is_idle() {
            return Ok(());
        }
        Err(if now < state.ends {
            NandError::Busy {
                command,
                die: die.0,
                until: state.ends,
                now,
            }
        } else {
            NandError::NotFinished {
                command,
                die: die.0,
                since: state.ends,
            }
        })
    }

    /// Refuses while something is suspended.
    #[inline]
    pub(super) fn check_not_suspended(
        &self,
        die: DieId,
        command: &'static str,
    ) -> Result<(), NandError> {
        if self.dies[die.0 as usize].suspended.is_none() {
            return Ok(());
        }
        Err(NandError::Suspended {
            command,
            die: die.0,
        })
    }

    /// The plane of a block that must be in `die`.
    #[inline]
    pub(super) fn check_block(
        &self,
        die: DieId,
        block: BlockId,
        command: &'static str,
    ) -> Result<PlaneId, NandError> {
        let geometry = self.geometry();
        let first = die.0 * geometry.blocks_per_die();
        let last = first + geometry.blocks_per_die() - 1;
        if block.0 < first || block.0 > last {
            return Err(NandError::ForeignBlock {
                command,
                block: block.0,
                die: die.0,
                first,
                last,
            });
        }
        Ok(geometry.plane_of_block(block))
    }

    /// Refuses reads of a block that a suspended operation is changing.
    #[inline]
    pub(super) fn check_block_readable(
        &self,
        die: DieId,
        block: BlockId,
        command: &'static str,
    ) -> Result<(), NandError> {
        match &self.dies[die.0 as usize].suspended {
            Some(suspended) if suspended.operation.changes(block) => {
                Err(NandError::BlockSuspended {
                    command,
                    block: self.geometry().block_place(block),
                })
            }
            _ => Ok(()),
        }
    }

    /// Adds the plane of `block` to `seen`, once.
    #[inline]
    pub(super) fn check_plane_once(
        &self,
        plane: PlaneId,
        seen: &mut PlaneMask,
        command: &'static str,
    ) -> Result<(), NandError> {
        let bit = PlaneMask::single(self.geometry().plane_in_die(plane));
        if seen.0 & bit.0 != 0 {
            return Err(NandError::PlaneTwice {
                command,
                plane: self.geometry().plane_place(plane),
            });
        }
        seen.0 |= bit.0;
        Ok(())
    }

    #[inline]
    pub(super) fn check_some(&self, count: usize, command: &'static str) -> Result<(), NandError> {
        if count > 0 {
            return Ok(());
        }
        Err(NandError::BadPlanes {
            command,
            mask: 0,
            planes: self.geometry().planes_per_die,
        })
    }

    /// The pages of a sense: existing, one a plane, not suspended.
    #[inline]
    pub(super) fn check_read(
        &self,
        die: DieId,
        pages: &PageSet,
        command: &'static str,
    ) -> Result<(), NandError> {
        if let [page] = pages[..] {
            return self.check_read_page(die, page, command).map(|_| ());
        }
        self.check_some(pages.len(), command)?;
        let mut seen = PlaneMask::default();
        for &page in pages {
            let plane = self.check_read_page(die, page, command)?;
            self.check_plane_once(plane, &mut seen, command)?;
        }
        Ok(())
    }

    #[inline]
    fn check_read_page(
        &self,
        die: DieId,
        page: PageAddress,
        command: &'static str,
    ) -> Result<PlaneId, NandError> {
        let plane = self.check_block(die, page.block, command)?;
        // An erased block has no mode yet: it reads as ones at every page a mode could have.
        let mode = self
            .array
            .mode(page.block)
            .unwrap_or_else(|| self.geometry().densest_mode());
        self.check_page(page, mode)?;
        self.check_block_readable(die, page.block, command)?;
        self.check_free(plane, command)?;
        Ok(plane)
    }

    #[inline]
    pub(super) fn check_page(&self, page: PageAddress, mode: ProgramMode) -> Result<(), NandError> {
        let most = self.geometry().bits_per_cell_max;
        if mode.bits_per_cell() > most {
            return Err(NandError::TooDense { mode, most });
        }
        let pages = self.geometry().pages_per_block(mode);
        if page.page < pages {
            return Ok(());
        }
        Err(NandError::NoSuchPage {
            page: self.geometry().page_place(page, mode),
            mode,
            last: pages - 1,
        })
    }

    /// The pages of a program: one a plane, each its block's turn.
    pub(super) fn check_program(
        &self,
        die: DieId,
        pages: &PageSet,
        mode: ProgramMode,
        command: &'static str,
    ) -> Result<(), NandError> {
        self.check_not_suspended(die, command)?;
        self.check_some(pages.len(), command)?;
        let mut seen = PlaneMask::default();
        for &page in pages {
            let plane = self.check_block(die, page.block, command)?;
            self.check_plane_once(plane, &mut seen, command)?;
            self.check_page(page, mode)?;
            self.check_turn(page, mode, command)?;
            self.check_free(plane, command)?;
        }
        Ok(())
    }

    #[inline]
    fn check_turn(
        &self,
        address: PageAddress,
        mode: ProgramMode,
        command: &'static str,
    ) -> Result<(), NandError> {
        let block = self.array.block(address.block);
        let in_turn = address.page >= block.next_page;
        let same_mode = block.mode.is_none_or(|block_mode| block_mode == mode);
        if in_turn && same_mode && block.condition == BlockCondition::Good {
            return Ok(());
        }
        let page = self.geometry().page_place(address, mode);
        Err(match (block.condition, block.mode) {
            (BlockCondition::NeedsErase, _) => NandError::NeedsErase { page },
            (BlockCondition::Bad, _) => NandError::Bad {
                command,
                block: page.block,
            },
            (BlockCondition::Good, Some(block_mode)) if !same_mode => NandError::WrongMode {
                page,
                mode,
                block_mode,
            },
            (BlockCondition::Good, _) => NandError::NotInOrder {
                page,
                next: block.next_page,
                last: self.geometry().pages_per_block(mode) - 1,
            },
        })
    }

    /// The blocks of an erase: one a plane, none bad from the factory on. One that went bad in use may
    /// be erased to get rid of what it holds, and stays bad.
    pub(super) fn check_erase(&self, die: DieId, blocks: &BlockSet) -> Result<(), NandError> {
        const COMMAND: &str = "erase";
        self.check_not_suspended(die, COMMAND)?;
        self.check_some(blocks.len(), COMMAND)?;
        let mut seen = PlaneMask::default();
        for &block in blocks {
            let plane = self.check_block(die, block, COMMAND)?;
            self.check_plane_once(plane, &mut seen, COMMAND)?;
            // It is verified through the sensing latch.
            self.check_free(plane, COMMAND)?;
            let state = self.array.block(block);
            let never_used = state.erase_count == 0 && state.mode.is_none();
            if state.condition == BlockCondition::Bad && never_used {
                return Err(NandError::Bad {
                    command: COMMAND,
                    block: self.geometry().block_place(block),
                });
            }
        }
        Ok(())
    }

    /// The planes of a latch command: existing, with what the command combines in their latches.
    pub(super) fn check_latches(
        &self,
        die: DieId,
        planes: PlaneMask,
        (needs_s, needs_c): (bool, bool),
        command: &'static str,
    ) -> Result<(), NandError> {
        let geometry = self.geometry();
        if planes.0 == 0 || planes.0 & !PlaneMask::first(geometry.planes_per_die).0 != 0 {
            return Err(NandError::BadPlanes {
                command,
                mask: planes.0,
                planes: geometry.planes_per_die,
            });
        }
        for plane in planes.iter() {
            let plane = geometry.plane_of_die(die, plane);
            self.check_holds(plane, needs_s, needs_c, command)?;
        }
        Ok(())
    }

    /// Refuses to combine with latches that hold nothing.
    pub(super) fn check_holds(
        &self,
        plane: PlaneId,
        needs_s: bool,
        needs_c: bool,
        command: &'static str,
    ) -> Result<(), NandError> {
        let latches = &self.planes[plane.0 as usize];
        let latch = match () {
            () if needs_s && !latches.s.holds => "S",
            () if needs_c && !latches.c.holds => "C",
            () => return Ok(()),
        };
        Err(NandError::LatchEmpty {
            command,
            latch,
            plane: self.geometry().plane_place(plane),
        })
    }

    /// A multi-wordline sense: flags that agree, one entry a plane, legal slots.
    pub(super) fn check_mws(&self, die: DieId, mws: &Mws) -> Result<(), NandError> {
        let command = mws.name();
        let iscm = mws.iscm;
        if iscm.inverse && !iscm.init_s {
            return Err(NandError::InverseWithoutInit);
        }
        if mws.raise > RAISE_MAX {
            return Err(NandError::BadRaise {
                raise: mws.raise,
                most: RAISE_MAX,
            });
        }
        self.check_some(mws.planes.len(), command)?;
        let mut seen = PlaneMask::default();
        for sense in &mws.planes {
            let plane = self.check_mws_plane(die, sense, command)?;
            self.check_plane_once(plane, &mut seen, command)?;
            self.check_free(plane, command)?;
            self.check_holds(plane, !iscm.init_s, iscm.transfer && !iscm.init_c, command)?;
        }
        Ok(())
    }

    fn check_mws_plane(
        &self,
        die: DieId,
        sense: &MwsPlane,
        command: &'static str,
    ) -> Result<PlaneId, NandError> {
        self.check_some(sense.slots.len(), command)?;
        let plane = self.check_block(die, sense.slots[0].block, command)?;
        let most = self.config.mws.blocks_max;
        if sense.slots.len() > most as usize {
            return Err(NandError::TooManyBlocks {
                slots: sense.slots.len(),
                plane: self.geometry().plane_place(plane),
                most,
            });
        }
        for (index, slot) in sense.slots.iter().enumerate() {
            if self.check_block(die, slot.block, command)? != plane {
                return Err(NandError::MixedPlanes {
                    plane: self.geometry().plane_place(plane),
                    block: self.geometry().block_place(slot.block),
                });
            }
            if sense.slots[..index].iter().any(|s| s.block == slot.block) {
                return Err(NandError::BlockTwice {
                    block: self.geometry().block_place(slot.block),
                });
            }
            self.check_slot(slot)?;
            self.check_block_readable(die, slot.block, command)?;
        }
        Ok(plane)
    }

    fn check_slot(&self, slot: &super::MwsSlot) -> Result<(), NandError> {
        let geometry = self.geometry();
        let block = geometry.block_place(slot.block);
        let last = slot.wordlines.last();
        if slot.string >= geometry.strings_per_block
            || last.is_none_or(|last| last >= geometry.cells_per_string)
        {
            return Err(NandError::BadWordlines {
                block,
                string: slot.string,
                wordlines: slot.wordlines.count(),
                last: last.unwrap_or(0),
                strings: geometry.strings_per_block,
                cells: geometry.cells_per_string,
            });
        }
        match self.array.mode(slot.block) {
            Some(mode) if mode.bits_per_cell() > 1 => Err(NandError::NotComputable { block, mode }),
            _ => Ok(()),
        }
    }

    /// What can be suspended: a program or erase in progress, nothing suspended already.
    pub(super) fn check_suspend(&self, die: DieId, now: Time) -> Result<(), NandError> {
        let state = &self.dies[die.0 as usize];
        if state.suspended.is_some() || !state.operation.is_suspendable() {
            return Err(NandError::NothingTo {
                command: "suspend",
                die: die.0,
                what: "program or erase in progress",
            });
        }
        if now >= state.ends {
            return self.check_idle(die, "suspend", now);
        }
        Ok(())
    }

    /// Whether the channel may use the page register now.
    pub(super) fn check_register(
        &self,
        plane: PlaneId,
        what: &'static str,
    ) -> Result<(), NandError> {
        self.check_plane(plane)?;
        let die = self.geometry().die_of_plane(plane);
        match self.dies[die.0 as usize].operation {
            Operation::Idle | Operation::CacheSense => Ok(()),
            _ => Err(NandError::NotFinished {
                command: what,
                die: die.0,
                since: self.dies[die.0 as usize].ends,
            }),
        }
    }
}
