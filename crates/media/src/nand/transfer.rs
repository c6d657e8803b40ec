//! The channel's side of the page registers: data and spare bytes in and out, and how
//! long commands take on the bus.

use super::config::Timing;
use super::latches::PlaneLatches;
use super::{
    Command, CommandPhases, Geometry, Nand, NandConfig, NandError, PageStatus, PlaneId,
    StatedPhases,
};
use crate::words::count_first_ones;
use sim::Span;
use sim::memory::Frame;
use zerocopy::IntoBytes;

impl Nand {
    /// Loads bytes into the page register of a plane from byte `column` on. The first load after a
    /// command fills the register with ones first, as a program command does (ONFI's 80h); after a
    /// copyback read it keeps what was read. Where the storage keeps no data, only the firmware sends
    /// any, whole pages of it, and these are kept with the states of pages.
    ///
    /// # Errors
    /// While the die is at work, or past the end of the page.
    pub fn data_in(
        &mut self,
        plane: PlaneId,
        column: usize,
        bytes: &[u8],
    ) -> Result<(), NandError> {
        self.check_register(plane, "data in")?;
        self.check_latch_free(plane, false, "data in")?;
        self.check_column(plane, column, bytes.len(), "data in")?;
        let (words, holds_data) = (self.register_words(), self.holds_data);
        let latches = self.settle(plane);
        if holds_data {
            latches.load(words, column, bytes);
        } else {
            latches.fill_unless_loaded(words);
            let length = bytes
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |last| last + 1);
            latches.firmware_in = Some(bytes[..length].into());
        }
        Ok(())
    }

    /// As [`Nand::data_in`] of a whole page, of which nothing is copied where the storage keeps data.
    ///
    /// # Errors
    /// As [`Nand::data_in`].
    pub fn frame_in(&mut self, plane: PlaneId, frame: &Frame) -> Result<(), NandError> {
        let is_page = frame.words().len() == self.geometry().page_words();
        if !self.holds_data || !is_page {
            return self.data_in(plane, 0, frame.bytes());
        }
        self.check_register(plane, "data in")?;
        self.check_latch_free(plane, false, "data in")?;
        // What is in S stays there.
        self.settle(plane).load_all(frame);
        Ok(())
    }

    /// Sets the spare bytes that the next program of a plane writes with the page.
    ///
    /// # Errors
    /// While the die is at work, or more than a page has.
    pub fn set_spare(&mut self, plane: PlaneId, bytes: &[u8]) -> Result<(), NandError> {
        self.check_register(plane, "spare in")?;
        let size = self.geometry().spare_bytes as usize;
        if bytes.len() > size {
            return Err(NandError::PastEnd {
                what: "spare in",
                bytes: bytes.len(),
                column: 0,
                plane: self.geometry().plane_place(plane),
                size,
            });
        }
        let latches = &mut self.planes[plane.0 as usize];
        latches.spare_is_given = true;
        latches.spare_in.clear();
        latches.spare_in.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads bytes out of the page register of a plane from byte `column` on. Where the storage keeps
    /// no data, these are zeroes unless the firmware programmed the page; a latch that holds nothing reads as zeros.
    ///
    /// # Errors
    /// While the die is at work (but for a cache read), or past the end of the page.
    pub fn data_out(
        &self,
        plane: PlaneId,
        column: usize,
        bytes: &mut [u8],
    ) -> Result<(), NandError> {
        self.check_register(plane, "data out")?;
        self.check_column(plane, column, bytes.len(), "data out")?;
        let latches = &self.planes[plane.0 as usize];
        if latches.deferred.is_some() {
            self.make_bytes(latches, column, bytes);
        } else if self.holds_data {
            get_bytes(latches.bits.c(), column, bytes);
        } else if let Some(page) = latches.c.page {
            bytes.fill(0);
            let kept = self.firmware_pages.get(&self.geometry().ppa(page));
            let kept = kept.and_then(|kept| kept.get(column..)).unwrap_or(&[]);
            let length = kept.len().min(bytes.len());
            bytes[..length].copy_from_slice(&kept[..length]);
        }
        Ok(())
    }

    /// The frame that the page register shares with others, if it does: its content is what [`Nand::data_out`] gives.
    ///
    /// # Errors
    /// While the die is at work (but for a cache read).
    pub fn frame_out(&self, plane: PlaneId) -> Result<Option<&Frame>, NandError> {
        self.check_register(plane, "data out")?;
        Ok(self.register_frame(plane))
    }

    pub(super) fn register_frame(&self, plane: PlaneId) -> Option<&Frame> {
        let latches = &self.planes[plane.0 as usize];
        if latches.deferred.is_some() {
            return latches
                .deferred
                .only_page()
                .and_then(|page| self.store.frame(page));
        }
        latches.bits.shared_c()
    }

    /// The words of the page register; empty without data kept, or while it holds nothing.
    ///
    /// # Errors
    /// While the die is at work (but for a cache read).
    pub fn page_register(&mut self, plane: PlaneId) -> Result<&[u64], NandError> {
        self.check_register(plane, "data out")?;
        Ok(self.settle(plane).bits.c())
    }

    /// How many of the first `bits` bits of the page register are ones: what reading them out and counting would give.
    /// Zero where the storage keeps no data.
    ///
    /// # Errors
    /// While the die is at work (but for a cache read).
    pub fn count_ones(&self, plane: PlaneId, bits: u64) -> Result<u64, NandError> {
        self.check_register(plane, "data out")?;
        let latches = &self.planes[plane.0 as usize];
        if !latches.deferred.is_some() {
            return Ok(count_first_ones(latches.bits.c().as_bytes(), bits));
        }
        let (mut ones, mut left) = (0, bits);
        let words = self.register_words();
        latches.deferred.make(&*self.store, 0..words, |_, c| {
            ones += count_first_ones(c.as_bytes(), left);
            left = left.saturating_sub(c.len() as u64 * 64);
        });
        Ok(ones)
    }

    /// The latches of a plane, with their bits.
    #[inline]
    pub(super) fn settle(&mut self, plane: PlaneId) -> &mut PlaneLatches {
        let latches = &mut self.planes[plane.0 as usize];
        latches.settle(&*self.store, self.config.geometry.page_words());
        latches
    }

    /// Bytes of the page register whose bits were not made yet: that many from byte `column` on.
    fn make_bytes(&self, latches: &PlaneLatches, column: usize, bytes: &mut [u8]) {
        let range = column / 8..(column + bytes.len()).div_ceil(8);
        let (mut skipped, mut left) = (column % 8, bytes);
        latches.deferred.make(&*self.store, range, |_, c| {
            let made = &c.as_bytes()[skipped..];
            let count = made.len().min(left.len());
            let (here, rest) = std::mem::take(&mut left).split_at_mut(count);
            here.copy_from_slice(&made[..count]);
            (skipped, left) = (0, rest);
        });
    }

    /// Whether what the page register holds can be trusted.
    ///
    /// # Errors
    /// While the die is at work (but for a cache read).
    pub fn page_status(&self, plane: PlaneId) -> Result<PageStatus, NandError> {
        self.check_register(plane, "status of the page register")?;
        Ok(self.planes[plane.0 as usize].c.status)
    }

    /// The spare bytes of the page in the page register; empty if it holds no single page, or one
    /// that cannot be read.
    ///
    /// # Errors
    /// While the die is at work (but for a cache read).
    pub fn spare_out(&self, plane: PlaneId) -> Result<&[u8], NandError> {
        self.check_register(plane, "spare out")?;
        Ok(self.register_spare(plane.0 as usize))
    }

    /// How long the command and address cycles of a command keep the channel busy: the cycles, tADL a page
    /// programmed, and tWB for a command that makes the die busy; or what is stated.
    pub fn command_span(&self, command: &Command) -> Span {
        self.timing.command_span(command, self.geometry())
    }

    /// What a data-in phase that no program follows takes on the channel before its first byte: a
    /// command cycle, five of address, and tADL (ONFI 4.2, Change Row Address).
    pub fn data_in_setup(&self) -> Span {
        self.timing.command_cycle * 6 + self.timing.t_adl
    }

    /// What a data-out phase takes on the channel before its first byte (tRR).
    pub fn data_out_setup(&self) -> Span {
        self.timing.t_rr
    }

    pub(super) fn register_spare(&self, plane: usize) -> &[u8] {
        let latches = &self.planes[plane];
        match latches.c.page {
            Some(page) if latches.c.status != PageStatus::Uncorrectable => {
                self.array.spare(page).unwrap_or(&[])
            }
            _ => &latches.spare_kept,
        }
    }

    /// Words a page register has room for.
    pub(super) fn register_words(&self) -> usize {
        if self.holds_data {
            self.geometry().page_words()
        } else {
            0
        }
    }

    fn check_column(
        &self,
        plane: PlaneId,
        column: usize,
        bytes: usize,
        what: &'static str,
    ) -> Result<(), NandError> {
        let size = self.geometry().page_bytes as usize;
        if column.checked_add(bytes).is_some_and(|end| end <= size) {
            return Ok(());
        }
        Err(NandError::PastEnd {
            what,
            bytes,
            column,
            plane: self.geometry().plane_place(plane),
            size,
        })
    }
}

impl StatedPhases {
    /// The phase of a page read, a program or an erase.
    fn span_of(&self, command: &Command) -> Option<Span> {
        let (first, further, planes) = match command {
            Command::Read { pages, .. }
            | Command::CacheRead { pages }
            | Command::CopybackRead { pages } => (self.read_ns, self.read_plane_ns, pages.len()),
            Command::Program { pages, .. }
            | Command::ProgramComplement { pages, .. }
            | Command::Raise { pages }
            | Command::CopybackProgram { pages, .. } => {
                (self.program_ns, self.program_plane_ns, pages.len())
            }
            Command::Erase { blocks } => (self.erase_ns, self.erase_plane_ns, blocks.len()),
            _ => return None,
        };
        Some(Span::from_ns(first + further * (planes as u64 - 1)))
    }
}

impl NandConfig {
    /// As [`Nand::command_span`], for flash that need not be there.
    pub fn command_span(&self, command: &Command) -> Span {
        Timing::new(&self.latency, &self.bus).command_span(command, &self.geometry)
    }
}

impl Timing {
    fn command_span(&self, command: &Command, geometry: &Geometry) -> Span {
        if let CommandPhases::Stated(phases) = self.phases
            && let Some(span) = phases.span_of(command)
        {
            return span;
        }
        let mut span = self.command_cycle * command.cycle_count(geometry) as u64;
        match command {
            Command::ReadStatus => return span,
            Command::Program { pages, .. }
            | Command::ProgramComplement { pages, .. }
            | Command::Raise { pages }
            | Command::CopybackProgram { pages, .. } => {
                span += self.t_adl * pages.len() as u64;
            }
            _ => {}
        }
        span + self.t_wb
    }
}

/// Reads bytes out of words; zeros if there are none.
fn get_bytes(words: &[u64], column: usize, bytes: &mut [u8]) {
    match words.as_bytes().get(column..column + bytes.len()) {
        Some(from) => bytes.copy_from_slice(from),
        None => bytes.fill(0),
    }
}
