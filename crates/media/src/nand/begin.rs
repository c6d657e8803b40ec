//! Beginning commands: what happens at their start, how long they take, what they cost.

use super::command::{BlockSet, Mws, MwsPlane, PageSet};
use super::die::{Operation, Suspended};
use super::sense::Stored;
use super::{
    Busy, Command, DieId, Feature, Iscm, Nand, NandError, PageAddress, PageState, PageStatus,
    PlaneId, PlaneMask, ProgramMode,
};
use sim::{Energy, Span, Time};
use std::cell::Cell;

/// The longest ESP program, in percent of an SLC program.
const ESP_EFFORT_MAX: u32 = 1000;
/// Steps that the read references can be lowered by.
const READ_REFERENCE_MAX: u32 = 64;

impl Nand {
    /// Begins a command on a die.
    ///
    /// What a sense brings is in the latches at once but hidden until [`Nand::finish`]; what a program
    /// or erase does to the cells happens at its finish.
    ///
    /// # Errors
    /// Whatever is illegal now, see [`NandError`]; nothing has changed then. A page that the storage of bits
    /// has lost is no error: it reads as one whose code gives up.
    pub fn begin(&mut self, die: DieId, command: &Command, now: Time) -> Result<Busy, NandError> {
        self.check_die(die)?;
        match command {
            Command::Suspend => return self.begin_suspend(die, now),
            Command::Reset => return self.begin_reset(die, now),
            Command::ReadStatus => {
                return Ok(Busy {
                    span: Span::ZERO,
                    energy: Energy::ZERO,
                });
            }
            _ => self.check_idle(die, command.name(), now)?,
        }
        match command {
            Command::Read { pages, inverse } => {
                let iscm = Iscm {
                    inverse: *inverse,
                    ..Iscm::READ
                };
                self.begin_read(die, pages, iscm, command.name(), now)
            }
            Command::CacheRead { pages } => self.begin_cache_read(die, pages, now),
            Command::CopybackRead { pages } => self.begin_copyback_read(die, pages, now),
            Command::Mws(mws) => self.begin_mws(die, mws, now),
            Command::Xor { planes }
            | Command::LatchTransfer { planes }
            | Command::LatchLoad { planes }
            | Command::CacheReadEnd { planes } => self.begin_latches(die, command, *planes, now),
            Command::Program { pages, mode } => {
                self.check_program(die, pages, *mode, command.name())?;
                self.fill_registers(pages);
                self.begin_program(die, pages, *mode, now)
            }
            Command::CopybackProgram { pages, mode } => {
                self.check_program(die, pages, *mode, command.name())?;
                self.check_registers(pages, command.name())?;
                self.begin_program(die, pages, *mode, now)
            }
            Command::ProgramComplement { pages, mode } => {
                self.check_program(die, pages, *mode, command.name())?;
                self.check_programmed(pages, command.name())?;
                self.invert_registers(pages);
                self.begin_program(die, pages, *mode, now)
            }
            Command::Raise { pages } => self.begin_raise(die, pages, now),
            Command::Erase { blocks } => self.begin_erase(die, blocks, now),
            Command::Resume => self.begin_resume(die, now),
            Command::SetFeature { feature, value } => {
                self.begin_set_feature(die, *feature, *value, now)
            }
            Command::Suspend | Command::Reset | Command::ReadStatus => {
                unreachable!("handled above, whether the die is idle or not")
            }
        }
    }

    pub(super) fn start(
        &mut self,
        die: DieId,
        operation: Operation,
        now: Time,
        span: Span,
        energy: Energy,
    ) -> Busy {
        self.dies[die.0 as usize].start(operation, now, span);
        Busy { span, energy }
    }

    fn begin_read(
        &mut self,
        die: DieId,
        pages: &PageSet,
        iscm: Iscm,
        name: &'static str,
        now: Time,
    ) -> Result<Busy, NandError> {
        self.check_read(die, pages, name)?;
        let (span, energy) = self.read_pages(die, pages, iscm);
        Ok(self.start(die, Operation::Latches, now, span, energy))
    }

    /// A read after which the channel changes single bytes of the register, not all of it.
    fn begin_copyback_read(
        &mut self,
        die: DieId,
        pages: &PageSet,
        now: Time,
    ) -> Result<Busy, NandError> {
        let busy = self.begin_read(die, pages, Iscm::READ, "copyback read", now)?;
        for page in pages {
            let plane = self.geometry().plane_of_block(page.block);
            self.planes[plane.0 as usize].loading = true;
        }
        Ok(busy)
    }

    fn begin_cache_read(
        &mut self,
        die: DieId,
        pages: &PageSet,
        now: Time,
    ) -> Result<Busy, NandError> {
        const COMMAND: &str = "cache read";
        self.check_read(die, pages, COMMAND)?;
        for page in pages {
            let plane = self.geometry().plane_of_block(page.block);
            self.check_holds(plane, true, false, COMMAND)?;
        }
        for page in pages {
            let plane = self.geometry().plane_of_block(page.block);
            self.settle(plane).copy_s_to_c();
        }
        let iscm = Iscm {
            init_s: true,
            ..Iscm::default()
        };
        let (span, energy) = self.read_pages(die, pages, iscm);
        let energy = energy + self.costs.latch_transfer * pages.len() as u64;
        Ok(self.start(die, Operation::CacheSense, now, span, energy))
    }

    /// Senses one page a plane; how long that takes and what it costs.
    fn read_pages(&mut self, die: DieId, pages: &PageSet, iscm: Iscm) -> (Span, Energy) {
        let (mut span, mut energy) = (Span::ZERO, Energy::ZERO);
        let level = self.dies[die.0 as usize].reference_level;
        for &page in pages {
            let mode = self.array.mode(page.block).unwrap_or(ProgramMode::Slc);
            span = span.max(self.timing.read(mode, page.page));
            energy += self.costs.read(mode, page.page);
            let plane = self.geometry().plane_of_block(page.block);
            let mut damaged = false;
            if self.holds_data {
                self.sensor.clear(None);
                self.sensor.slot([page]);
                damaged = self.sense(plane, iscm);
            }
            let mut status = self.status_of(page, mode, level);
            if damaged {
                // The code of the data gives up; spare bytes have one of their own.
                status = status.max(PageStatus::TooManyErrors);
            }
            self.planes[plane.0 as usize].note_sense(iscm, Some(page), status);
        }
        (span, energy)
    }

    /// Whether a page that is read alone reads well, with its code if it has one.
    #[inline]
    fn status_of(&mut self, page: PageAddress, mode: ProgramMode, level: u32) -> PageStatus {
        let (erase_count, reads) = self.array.note_read(page.block);
        if !self.array.is_readable(page) {
            return PageStatus::Uncorrectable;
        }
        if mode == ProgramMode::Esp || self.cells.is_quiet(erase_count, reads) && level == 0 {
            return PageStatus::Ok;
        }
        self.status_of_worn(page, level)
    }

    /// The same of a page that may have more wrong bits than its code corrects.
    #[cold]
    fn status_of_worn(&self, page: PageAddress, level: u32) -> PageStatus {
        let programmed = self.array.page_state(page) == PageState::Programmed;
        match self.array.past(page).filter(|_| programmed) {
            Some(past) if !self.cells.is_correctable(page, &past, level) => {
                PageStatus::TooManyErrors
            }
            _ => PageStatus::Ok,
        }
    }

    /// Senses what the sensor was given into the latches of `plane`; whether the storage of bits has lost
    /// some of it.
    fn sense(&mut self, plane: PlaneId, iscm: Iscm) -> bool {
        let stored = Stored {
            store: &*self.store,
            array: &self.array,
            geometry: &self.config.geometry,
            cells: &self.cells,
            damaged: Cell::new(false),
        };
        let latches = &mut self.planes[plane.0 as usize];
        if self.sensor.defer(&stored, iscm, latches) {
            return false;
        }
        latches.settle(&*self.store, self.config.geometry.page_words());
        self.sensor.sense(&stored, iscm, latches);
        stored.damaged.get()
    }

    fn begin_mws(&mut self, die: DieId, mws: &Mws, now: Time) -> Result<Busy, NandError> {
        self.check_mws(die, mws)?;
        let (mut span, mut energy) = (Span::ZERO, Energy::ZERO);
        for sense in &mws.planes {
            let (plane_span, plane_energy) = self.config.mws_cost(mws.iscm, sense);
            span = span.max(plane_span);
            energy += plane_energy;
            self.mws_plane(mws.iscm, mws.raise, sense);
        }
        Ok(self.start(die, Operation::Latches, now, span, energy))
    }

    fn mws_plane(&mut self, iscm: Iscm, raise: u8, sense: &MwsPlane) {
        let strings = self.geometry().strings_per_block;
        let plane = self.geometry().plane_of_block(sense.slots[0].block);
        let (mut readable, mut count, mut lone) = (true, 0, None);
        self.sensor.clear(Some(raise));
        for slot in &sense.slots {
            self.array.note_read(slot.block);
            let pages = slot.wordlines.iter().map(|layer| PageAddress {
                block: slot.block,
                page: layer * strings + slot.string,
            });
            for page in pages.clone() {
                readable &= self.array.is_readable(page);
                (count, lone) = (count + 1, Some(page));
            }
            if self.holds_data {
                self.sensor.slot(pages);
            }
        }
        if self.holds_data {
            readable &= !self.sense(plane, iscm);
        }
        let page = if count == 1 { lone } else { None };
        let status = match readable {
            true => PageStatus::Ok,
            false => PageStatus::Uncorrectable,
        };
        self.planes[plane.0 as usize].note_sense(iscm, page, status);
    }

    /// Moves between latches: what they hold, how long it takes and what it costs a plane.
    fn begin_latches(
        &mut self,
        die: DieId,
        command: &Command,
        planes: PlaneMask,
        now: Time,
    ) -> Result<Busy, NandError> {
        let name = command.name();
        match command {
            Command::LatchLoad { .. } => self.check_latches(die, planes, (false, true), name)?,
            Command::CacheReadEnd { .. } => self.check_latches(die, planes, (true, false), name)?,
            _ => self.check_latches(die, planes, (true, true), name)?,
        }
        self.check_latches_free(
            die,
            planes,
            matches!(command, Command::LatchLoad { .. }),
            name,
        )?;
        for plane in planes.iter() {
            let plane = self.geometry().plane_of_die(die, plane);
            match command {
                Command::Xor { .. } if self.planes[plane.0 as usize].xor_is_deferred() => {}
                Command::Xor { .. } => self.settle(plane).xor_s_into_c(),
                Command::LatchTransfer { .. } => self.settle(plane).or_s_into_c(),
                Command::LatchLoad { .. } => self.settle(plane).copy_c_to_s(),
                _ => self.settle(plane).copy_s_to_c(),
            }
        }
        let (span, energy) = match command {
            Command::Xor { .. } => self.config.xor_cost(),
            _ => (self.timing.latch_transfer, self.costs.latch_transfer),
        };
        let energy = energy * u64::from(planes.count());
        Ok(self.start(die, Operation::Latches, now, span, energy))
    }

    /// Registers that the channel did not load are programmed as ones.
    pub(super) fn fill_registers(&mut self, pages: &PageSet) {
        let words = self.register_words();
        for page in pages {
            let plane = self.geometry().plane_of_block(page.block);
            self.settle(plane).fill_unless_loaded(words);
        }
    }

    /// Refuses to program the complement of registers that do not hold what was programmed last.
    fn check_programmed(&self, pages: &PageSet, name: &'static str) -> Result<(), NandError> {
        pages.iter().try_for_each(|page| {
            let plane = self.geometry().plane_of_block(page.block);
            match self.planes[plane.0 as usize].is_programmed {
                true => Ok(()),
                false => Err(NandError::RegisterChanged {
                    command: name,
                    plane: self.geometry().plane_place(plane),
                }),
            }
        })
    }

    /// Where the storage keeps no data there is nothing to invert, and nothing is kept of the complement either.
    fn invert_registers(&mut self, pages: &PageSet) {
        for page in pages {
            let plane = self.geometry().plane_of_block(page.block);
            self.settle(plane).bits.invert_c();
        }
    }

    /// Refuses to program registers that hold nothing.
    fn check_registers(&self, pages: &PageSet, name: &'static str) -> Result<(), NandError> {
        pages.iter().try_for_each(|page| {
            let plane = self.geometry().plane_of_block(page.block);
            self.check_holds(plane, false, true, name)
        })
    }

    /// Takes data and spare bytes out of the page registers, which are free for reads while
    /// the program is suspended.
    fn begin_program(
        &mut self,
        die: DieId,
        pages: &PageSet,
        mode: ProgramMode,
        now: Time,
    ) -> Result<Busy, NandError> {
        for &page in pages {
            let plane = self.geometry().plane_of_block(page.block);
            if let Some(frame) = self.register_frame(plane).cloned() {
                self.store.keep(page, frame)?;
            } else if self.holds_data {
                self.settle(plane);
                self.store
                    .write(page, self.planes[plane.0 as usize].bits.c())?;
            }
            self.take_spare(plane.0 as usize);
        }
        let (mut span, mut energy) = (Span::ZERO, Energy::ZERO);
        for page in pages {
            let (plane_span, plane_energy) = self.program_cost(die, mode, page.page);
            span = span.max(plane_span);
            energy += plane_energy;
        }
        Ok(self.start(
            die,
            Operation::Program(pages.clone(), mode),
            now,
            span,
            energy,
        ))
    }

    fn take_spare(&mut self, plane: usize) {
        if !self.planes[plane].spare_is_given {
            let mut spare = std::mem::take(&mut self.planes[plane].spare_in);
            spare.clear();
            spare.extend_from_slice(self.register_spare(plane));
            self.planes[plane].spare_in = spare;
        }
        let latches = &mut self.planes[plane];
        latches.spare_is_given = false;
        // Neither gives its memory up.
        std::mem::swap(&mut latches.spare_programming, &mut latches.spare_in);
        latches.firmware_programming = latches.firmware_in.take();
        latches.loading = false;
        latches.is_programmed = true;
    }

    /// How long a program takes and what it costs a plane; an ESP program of another length
    /// than an SLC program has the same power.
    pub(super) fn program_cost(&self, die: DieId, mode: ProgramMode, page: u32) -> (Span, Energy) {
        match (mode, u64::from(self.dies[die.0 as usize].esp_effort)) {
            (ProgramMode::Esp, effort @ 1..) => (
                self.timing.program(ProgramMode::Slc, page) * effort / 100,
                self.costs.program(ProgramMode::Slc, page) * effort / 100,
            ),
            _ => (
                self.timing.program(mode, page),
                self.costs.program(mode, page),
            ),
        }
    }

    fn begin_erase(&mut self, die: DieId, blocks: &BlockSet, now: Time) -> Result<Busy, NandError> {
        self.check_erase(die, blocks)?;
        let energy = self.costs.erase * blocks.len() as u64;
        let operation = Operation::Erase(blocks.clone());
        Ok(self.start(die, operation, now, self.timing.erase, energy))
    }

    fn begin_suspend(&mut self, die: DieId, now: Time) -> Result<Busy, NandError> {
        self.check_suspend(die, now)?;
        let state = &mut self.dies[die.0 as usize];
        let remaining = state.remaining(now);
        let operation = std::mem::replace(&mut state.operation, Operation::Wait);
        state.suspended = Some(Box::new(Suspended {
            operation,
            remaining,
        }));
        let span = self.timing.suspend;
        Ok(self.start(die, Operation::Wait, now, span, Energy::ZERO))
    }

    fn begin_resume(&mut self, die: DieId, now: Time) -> Result<Busy, NandError> {
        let state = &mut self.dies[die.0 as usize];
        let Some(suspended) = state.suspended.take() else {
            return Err(NandError::NothingTo {
                command: "resume",
                die: die.0,
                what: "suspended program or erase",
            });
        };
        let span = self.timing.resume + suspended.remaining;
        state.start(suspended.operation, now, span);
        state.work = suspended.remaining;
        Ok(Busy {
            span,
            energy: Energy::ZERO,
        })
    }

    fn begin_set_feature(
        &mut self,
        die: DieId,
        feature: Feature,
        value: u32,
        now: Time,
    ) -> Result<Busy, NandError> {
        if feature == Feature::EspEffort {
            self.check_not_suspended(die, "set feature")?;
        }
        match feature {
            Feature::EspEffort if value == 0 || (100..=ESP_EFFORT_MAX).contains(&value) => {
                self.dies[die.0 as usize].esp_effort = value;
            }
            Feature::ReadReference if value <= READ_REFERENCE_MAX => {
                self.dies[die.0 as usize].reference_level = value;
            }
            Feature::ReadReference => {
                return Err(NandError::BadFeature {
                    feature: "read reference",
                    value,
                    allowed: "0 to 64 steps below where it is by default",
                });
            }
            Feature::EspEffort => {
                return Err(NandError::BadFeature {
                    feature: "ESP effort",
                    value,
                    allowed: "0 (as configured) and 100 to 1000 percent of an SLC program",
                });
            }
        }
        let span = self.timing.set_feature;
        Ok(self.start(die, Operation::Wait, now, span, Energy::ZERO))
    }

    fn begin_reset(&mut self, die: DieId, now: Time) -> Result<Busy, NandError> {
        self.abort(die, now)?;
        let span = self.timing.reset;
        Ok(self.start(die, Operation::Wait, now, span, Energy::ZERO))
    }
}
