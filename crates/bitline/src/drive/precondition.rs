//! What earlier writes would have left on a drive, set up at once.

use std::ops::ControlFlow;

use device::ftl::{Precondition, Preconditioned};

use super::Drive;
use crate::error::Error;

impl Drive {
    /// Sets up at once what earlier writes would have left on a drive that was never written:
    /// mapping, needed and replaced pages, worn blocks. It takes no simulated time, and a
    /// power cut right after it loses nothing. The pages read as zeroes.
    ///
    /// # Errors
    /// [`Error::NoPower`]; [`Error::Precondition`] for shares that make no sense, a drive that was
    /// written before, or media that cannot be written.
    pub fn precondition(&mut self, plan: &Precondition) -> Result<Preconditioned, Error> {
        self.precondition_while(plan, |_| ControlFlow::Continue(()))
    }

    /// The same, telling `observe` now and then the share of the drive that is set up. If that
    /// breaks off, the rest of the drive stays blank.
    ///
    /// # Errors
    /// As [`Drive::precondition`].
    pub fn precondition_while(
        &mut self,
        plan: &Precondition,
        observe: impl FnMut(f64) -> ControlFlow<()>,
    ) -> Result<Preconditioned, Error> {
        let powered = self.powered()?;
        let mut random = powered.host.sim().random("precondition");
        let ftl = &powered.end.device("to be preconditioned")?.ftl;
        Ok(ftl.precondition(plan, &mut random, observe)?)
    }
}
