//! The drive at the other end of a host: in this process, or elsewhere; and how a host lives until a task of its is over.

use std::rc::Rc;

use device::Device;
use sim::{JoinHandle, Simulation, Stalled, Time};

use super::{EVENTS_PER_LOOK, Powered, Watch};
use crate::driver::Far;
use crate::error::Error;

/// Where the drive is.
pub(super) enum End {
    /// In this process, in the simulation of its host.
    Here(Rc<Device>),
    /// Behind a fabric. The simulation has the host only.
    Far(FarEnd),
}

/// A drive behind a fabric, and what of its clock is known.
pub(super) struct FarEnd {
    pub(super) far: Rc<Far>,
    /// What its clock told last, and how many commands had been sent by then.
    pub(super) clock: std::cell::Cell<(Time, u64)>,
}

impl End {
    /// The device, if it is in this process; `asked` says what for.
    ///
    /// # Errors
    /// [`Error::Remote`].
    pub(super) fn device(&self, asked: &'static str) -> Result<&Rc<Device>, Error> {
        match self {
            End::Here(device) => Ok(device),
            End::Far(end) => Err(end.refusal(asked)),
        }
    }
}

impl FarEnd {
    /// Why something cannot be had of it.
    pub(super) fn refusal(&self, asked: &'static str) -> Error {
        Error::Remote {
            asked,
            drive: self.far.name(),
        }
    }
}

impl Powered {
    /// Where time passes, and what may come from elsewhere meanwhile.
    pub(super) fn simulation_and_far(&self) -> (&Simulation, Option<&Far>) {
        let far = match &self.end {
            End::Here(_) => None,
            End::Far(end) => Some(&*end.far),
        };
        (&self.simulation, far)
    }
}

/// Lets time pass until `task` has finished. If nothing is left to happen here, what a drive elsewhere answers is waited for.
///
/// # Errors
/// [`Error::Interrupted`], [`Error::Stalled`].
pub(super) fn live_on<T>(
    (simulation, far): (&Simulation, Option<&Far>),
    watch: &Watch,
    task: &JoinHandle<T>,
) -> Result<(), Error> {
    loop {
        let stalled = match simulation.advance(task, EVENTS_PER_LOOK) {
            Ok(true) => return Ok(()),
            Ok(false) => None,
            Err(stalled) => Some(stalled),
        };
        match (far, stalled) {
            (None, None) => {}
            (None, Some(stalled)) => return Err(stalled.into()),
            (Some(far), stalled) => {
                if let Some(stalled) = stalled
                    && !far.is_awaited()
                {
                    return Err(stalled.into());
                }
                far.take_in(stalled.is_some());
            }
        }
        if watch().is_break() {
            return Err(Error::Interrupted);
        }
    }
}

/// Lets time pass until `task` has finished. If it does not, or is broken off, it is dropped.
pub(super) fn lived<T>(
    within: (&Simulation, Option<&Far>),
    watch: &Watch,
    task: &JoinHandle<T>,
) -> Result<T, Error> {
    if let Err(error) = live_on(within, watch, task) {
        task.abort();
        return Err(error);
    }
    let at = within.0.now();
    task.take().ok_or_else(|| Stalled { at }.into())
}
