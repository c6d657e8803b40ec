//! A drive in this process: power it up, talk to it, cut its power.

mod blocks;
mod durable;
mod end;
mod erase;
mod inside;
mod life;
mod open;
mod precondition;
mod remote;
mod tracing;
mod unclosed;

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use device::Device;
use device::memory::Dumped;
use media::nand::Nand;
use nvme::command::LogPageId;
use sim::{JoinHandle, Sim, Simulation, Time};

use crate::config::Config;
use crate::driver::Far;
use crate::error::Error;
use crate::host_end::{Host, Kept};
use crate::statistics::Statistics;
pub use durable::Durable;
use end::{End, live_on, lived};
pub use inside::{InsideDrive, InsideHost};
pub use unclosed::Unclosed;

/// Events of the simulation between two looks at the watch. An event may be as long as a command of 256 MiB
/// takes to be copied, and a look takes some nanoseconds.
const EVENTS_PER_LOOK: u64 = 4;

/// Asked again and again while a call lets simulated time pass, whether to go on.
///
/// What breaks off ends with [`Error::Interrupted`]. Commands that were sent by then are carried out in
/// the time of later calls, as after a host that has crashed; no further ones are sent. A power-up
/// that breaks off is a power cut.
pub type Watch = Rc<dyn Fn() -> ControlFlow<()>>;

/// Lets every call go on to its end.
fn unwatched() -> Watch {
    Rc::new(|| ControlFlow::Continue(()))
}

/// A drive, and the simulated time in which it and its host live.
///
/// The synchronous calls let simulated time pass until they are done. For many
/// requests in flight, [`Drive::run`] takes an async function that talks to the
/// drive through a [`Host`].
pub struct Drive {
    config: Config,
    /// The flash packages, if they are in this process.
    nand: Option<Rc<RefCell<Nand>>>,
    powered: Option<Powered>,
    /// When the power was last cut, or the beginning.
    off_since: Time,
    /// What a capacitor saved when the power was last cut.
    dumped: Dumped,
    image: Option<PathBuf>,
    /// What tells it from other drives, wherever it is moved to: the address of its counts.
    identity: Rc<()>,
    watch: Watch,
    /// The process that opened it. A fork of it has a copy, but the image is not the copy's to write.
    process: u32,
    /// How often it was powered up.
    lives: u64,
    /// How often its image was opened before.
    pub(crate) opened_before: u64,
    /// Workloads measured since it was opened.
    pub(crate) runs: u64,
    /// What is known of its volume while it has no power.
    kept: Kept,
    /// The priority of commands that are given none.
    priority: Rc<Cell<u32>>,
    /// The life that has the last trace, which may be over.
    traced: Option<Sim>,
}

struct Powered {
    host: Host,
    end: End,
    since: Time,
    // Last, so that tasks go before what they refer to.
    simulation: Simulation,
}

impl Drive {
    /// Runs an async function in simulated time, until it returns.
    ///
    /// # Errors
    /// [`Error::NoPower`]; [`Error::Stalled`] if it waits for what never happens.
    pub fn run<T: 'static, F>(&mut self, function: impl FnOnce(Host) -> F) -> Result<T, Error>
    where
        F: Future<Output = T> + 'static,
    {
        let powered = self.powered()?;
        let task = powered.host.sim.spawn(function(powered.host.clone()));
        let End::Here(device) = &powered.end else {
            return self.lived(powered.simulation_and_far(), &task);
        };
        // Nobody comes from outside before this is over.
        powered.simulation.set_closed(true);
        let outcome = self.lived(powered.simulation_and_far(), &task);
        powered.simulation.set_closed(false);
        device.schedule.pay_all();
        outcome
    }

    /// Lets time pass until `task` has finished.
    pub(crate) fn live_until<T>(&self, task: &JoinHandle<T>) -> Result<(), Error> {
        live_on(self.powered()?.simulation_and_far(), &self.watch, task)
    }

    /// Lets time pass until `task` has finished. If it does not, or is broken off, it is dropped.
    pub(super) fn lived<T>(
        &self,
        within: (&Simulation, Option<&Far>),
        task: &JoinHandle<T>,
    ) -> Result<T, Error> {
        lived(within, &self.watch, task)
    }

    /// The simulation, to step it event by event.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn simulation(&self) -> Result<&Simulation, Error> {
        Ok(&self.powered()?.simulation)
    }

    /// The host's end, for tasks spawned on the simulation.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn host(&self) -> Result<Host, Error> {
        Ok(self.powered()?.host.clone())
    }

    fn powered(&self) -> Result<&Powered, Error> {
        self.powered.as_ref().ok_or(Error::NoPower)
    }

    /// The firmware, if it is in this process; `asked` says what is wanted of the drive, as [`Error::Remote`] tells it.
    pub(crate) fn device_for(&self, asked: &'static str) -> Result<&Device, Error> {
        Ok(self.powered()?.end.device(asked)?)
    }

    /// The flash packages, likewise.
    pub(crate) fn flash(&self, asked: &'static str) -> Result<&Rc<RefCell<Nand>>, Error> {
        match (&self.nand, self.far()) {
            (Some(nand), _) => Ok(nand),
            (None, Some(end)) => Err(end.refusal(asked)),
            (None, None) => Err(Error::NoPower),
        }
    }

    /// Who may break off what takes long.
    pub(crate) fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// Gives I/O commands that are sent from now on a priority, `A` of TH-iSSD 3.3, Equation 1: with the policy
    /// `priority_aware`, what has the highest of `A + 1 / B` goes first, `B` its size in units of 2^30 bytes. 0 is what commands
    /// have otherwise. Runs and streams may have one of their own ([`crate::TaskRun::priority`]). Simple lookups, whose entries
    /// have no room for one, have 0.
    pub fn set_priority(&mut self, priority: u32) {
        self.priority.set(priority);
    }

    /// The priority of commands that are given no other.
    pub fn priority(&self) -> u32 {
        self.priority.get()
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The image file, if it has one.
    pub fn image(&self) -> Option<&Path> {
        self.image.as_deref()
    }

    /// Whether this is the copy, in a forked process, of a drive whose image the process that opened it
    /// goes on using: nothing may be done with it but to drop it.
    pub fn is_foreign(&self) -> bool {
        self.image.is_some() && self.process != std::process::id()
    }

    /// What tells it from other drives.
    pub(crate) fn identity(&self) -> &Rc<()> {
        &self.identity
    }

    /// Which of its lives this is, from power-up to power cut.
    pub(crate) fn life(&self) -> u64 {
        self.lives
    }

    /// The present instant. A drive elsewhere is asked for its clock, to which is added what time the host's own work has taken.
    pub fn now(&self) -> Time {
        self.follow_clock();
        self.powered
            .as_ref()
            .map_or(self.off_since, |powered| powered.simulation.now())
    }

    /// Everything counted since power-up.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn statistics(&self) -> Result<Statistics, Error> {
        let powered = self.powered()?;
        let End::Here(device) = &powered.end else {
            return self.told(LogPageId::STATISTICS);
        };
        let now = powered.simulation.now();
        Ok(Statistics::of(device, powered.since, now))
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        // A capacitor still does its work; nobody is left to hear of an image that cannot be
        // written. After a panic nothing of the drive is to be touched, and its image not by a fork.
        if !std::thread::panicking() && !self.is_foreign() {
            let _ = self.power_cut();
        }
    }
}
