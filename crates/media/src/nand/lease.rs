//! Leases: latches whose contents somebody still needs, though the die does other work meanwhile.
//!
//! Whoever interrupts a sequence of senses leases what it left in the latches. Until the lease ends,
//! the die refuses whatever would change them: senses, programs and erases (verified through the
//! sensing latch) of the plane, moves between latches, and data from the channel. Reading them out is
//! allowed.

use super::{DieId, Latches, Nand, NandError, PageStatus, PlaneId, PlaneMask};
use sim::Span;

impl Nand {
    /// Leases latches of planes of an idle die.
    ///
    /// # Errors
    /// A die at work, planes that it has not, or a latch that holds nothing.
    pub fn lease(
        &mut self,
        die: DieId,
        planes: PlaneMask,
        latches: Latches,
    ) -> Result<(), NandError> {
        const WHAT: &str = "lease";
        self.check_die(die)?;
        self.check_latches(die, planes, (latches.s, latches.c), WHAT)?;
        for plane in planes.iter() {
            let plane = self.geometry().plane_of_die(die, plane);
            self.check_register(plane, WHAT)?;
            self.planes[plane.0 as usize].leased = latches;
        }
        Ok(())
    }

    /// Ends the leases of planes of a die: what their latches hold may be changed.
    pub fn end_lease(&mut self, die: DieId, planes: PlaneMask) {
        for plane in planes.iter() {
            let plane = self.geometry().plane_of_die(die, plane);
            self.planes[plane.0 as usize].leased = Latches::NONE;
        }
    }

    /// Fills the page register of a plane with what was read out of a latch before, and with what was
    /// known of it then; nothing but its status where the storage keeps no data.
    ///
    /// # Errors
    /// As [`Nand::data_in`].
    pub fn restore(
        &mut self,
        plane: PlaneId,
        bytes: Option<&[u8]>,
        status: PageStatus,
    ) -> Result<(), NandError> {
        if let Some(bytes) = bytes {
            self.data_in(plane, 0, bytes)?;
        }
        self.check_register(plane, "data in")?;
        self.check_latch_free(plane, false, "data in")?;
        let latches = &mut self.planes[plane.0 as usize];
        latches.loading = false;
        latches.is_programmed = false;
        latches.c.holds = true;
        latches.c.page = None;
        latches.c.status = status;
        Ok(())
    }

    /// How long the array takes for a sense or a move between latches.
    pub fn array_span(&self, command: &super::Command) -> Span {
        use super::Command;
        match command {
            Command::Mws(mws) => {
                let planes = mws.planes.iter();
                let spans = planes.map(|plane| self.config.mws_cost(mws.iscm, plane).0);
                spans.max().unwrap_or_default()
            }
            Command::Read { pages, .. } => pages
                .iter()
                .map(|page| {
                    let mode = self.array.mode(page.block);
                    let mode = mode.unwrap_or(super::ProgramMode::Slc);
                    self.timing.read(mode, page.page)
                })
                .max()
                .unwrap_or_default(),
            Command::Xor { .. } => self.config.xor_cost().0,
            _ => self.timing.latch_transfer,
        }
    }

    /// Refuses to change leased latches of a plane.
    #[inline]
    pub(super) fn check_free(
        &self,
        plane: PlaneId,
        command: &'static str,
    ) -> Result<(), NandError> {
        if self.planes[plane.0 as usize].leased == Latches::NONE {
            return Ok(());
        }
        self.refuse_leased(plane, command)
    }

    /// Refuses to change one latch of a plane, the sensing or the cache latch, if it is leased.
    pub(super) fn check_latch_free(
        &self,
        plane: PlaneId,
        sensing: bool,
        command: &'static str,
    ) -> Result<(), NandError> {
        let leased = self.planes[plane.0 as usize].leased;
        if sensing && leased.s || !sensing && leased.c {
            return self.refuse_leased(plane, command);
        }
        Ok(())
    }

    /// The same for several planes.
    pub(super) fn check_latches_free(
        &self,
        die: DieId,
        planes: PlaneMask,
        sensing: bool,
        command: &'static str,
    ) -> Result<(), NandError> {
        let planes = planes.iter();
        let mut planes = planes.map(|plane| self.geometry().plane_of_die(die, plane));
        planes.try_for_each(|plane| self.check_latch_free(plane, sensing, command))
    }

    #[cold]
    fn refuse_leased(&self, plane: PlaneId, command: &'static str) -> Result<(), NandError> {
        let leased = self.planes[plane.0 as usize].leased;
        Err(NandError::LatchLeased {
            command,
            latch: if leased.s { "S" } else { "C" },
            plane: self.geometry().plane_place(plane),
        })
    }
}
