//! A drive that is elsewhere, behind a fabric: connected to, and what it tells of itself.
//!
//! Everything that commands do is the same. What looks inside of a drive, cuts its power or ages it is for the process that has
//! it ([`Error::Remote`]).

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use device::Device;
use device::memory::Dumped;
use media::nand::Nand;
use nvme::command::LogPageId;
use nvme::identify::{COMPUTE_COMMAND_SET, MEMORY_COMMAND_SET};
use nvme::{CommandSet, Status};
use serde::de::DeserializeOwned;
use sim::{Simulation, Span, Time};

use super::end::{End, FarEnd, lived};
use super::{Drive, InsideHost, Powered, Watch};
use crate::config::Config;
use crate::driver::{Controller, Driver, Fabric, Far, Queue};
use crate::error::Error;
use crate::host_end::{Host, Informant, Kept, NAMESPACE};
use crate::media_state::Media;
use crate::statistics::Statistics;

/// Asks which namespaces are of other command sets than NVM.
async fn learn_command_sets(host: &Host, far: &Far) -> Result<(), host::Error> {
    let others = [
        (MEMORY_COMMAND_SET, CommandSet::Memory),
        (COMPUTE_COMMAND_SET, CommandSet::Compute),
    ];
    for (number, set) in others {
        match host.admin().namespaces_of(number).await {
            Ok(namespaces) => namespaces.iter().for_each(|id| far.learn(*id, set)),
            // It does not have the command set.
            Err(host::Error::Status(error)) if error.status.is(Status::INVALID_FIELD) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Drive {
    /// Connects to a drive elsewhere. `watch` looks on from the first command on, as at [`Drive::open_watched`].
    ///
    /// The drive has the configuration that the other process gave it. Its clock is that of the other process
    /// ([`Drive::now`]); what the host computes itself is simulated here and added.
    ///
    /// # Errors
    /// A controller that is no drive of Bitline's, or of another version; what it reports; [`Error::Interrupted`].
    pub fn connect_through(fabric: Box<dyn Fabric>, watch: Watch) -> Result<Drive, Error> {
        let simulation = Simulation::new(0);
        let (sim, priority) = (simulation.handle(), Rc::default());
        let driver = Driver::new(&sim, &priority)?;
        let far = Far::new(&sim, fabric, driver.port(), driver.admin_queues())?;
        driver.connect(Controller::Far(far.clone()));
        let informant = Informant::far(far.limits());
        let known = far.clone();
        let task = simulation.handle().spawn(async move {
            let admin = host::admin::Admin::new(Queue::of_admin(driver.clone()));
            let text = admin.text(LogPageId::CONFIGURATION).await?;
            let config = Config::from_complete_toml(&text)?;
            let host = Host::of(&sim, &config, informant, driver, true).await?;
            learn_command_sets(&host, &known).await?;
            let clock = host.admin().drive(NAMESPACE).await?.clock_ps.get();
            Ok::<_, Error>((config, host, Time::from_ps(clock)))
        });
        let connected = lived((&simulation, Some(&far)), &watch, &task);
        let (config, host, clock) = match connected {
            Ok(Ok(connected)) => connected,
            Ok(Err(error)) => return Err(unlike_bitline(error, &far)),
            Err(error) => return Err(error),
        };
        simulation.run_until(clock);
        let end = End::Far(FarEnd {
            clock: Cell::new((clock, far.sent())),
            far,
        });
        Ok(Drive {
            nand: None,
            powered: Some(Powered {
                host,
                end,
                since: clock,
                simulation,
            }),
            off_since: clock,
            dumped: Dumped::default(),
            image: None,
            identity: Rc::default(),
            watch,
            process: std::process::id(),
            lives: 1,
            opened_before: 0,
            runs: 0,
            kept: Kept::default(),
            priority,
            traced: None,
            config,
        })
    }

    /// What a drive elsewhere is called; none for one in this process.
    pub fn remote_name(&self) -> Option<String> {
        self.far().map(|end| end.far.name())
    }

    /// The clock of a drive elsewhere has moved on since commands were sent: so does the host's, by as much. A drive that cannot
    /// be reached any more has told its last.
    pub(super) fn follow_clock(&self) {
        let Some(end) = self.far() else { return };
        let (before, sent) = end.clock.get();
        if end.far.sent() == sent {
            return;
        }
        let asked = self.ask_far(async |host| Ok(host.admin().drive(NAMESPACE).await?));
        let Ok(log) = asked else { return };
        let clock = Time::from_ps(log.clock_ps.get()).max(before);
        end.clock.set((clock, end.far.sent()));
        if let Ok(powered) = self.powered() {
            let simulation = &powered.simulation;
            // A clock beyond what a drive counts in is none of Bitline's.
            let room = Time::MAX.since(simulation.now());
            let passed = clock
                .since(before)
                .min(Span::from_ps(room.as_ps().saturating_sub(1)));
            simulation.run_until(simulation.now() + passed);
        }
    }

    /// What a drive elsewhere tells on a log page of text, as JSON.
    pub(crate) fn told<T: DeserializeOwned>(&self, page: LogPageId) -> Result<T, Error> {
        let text = self.ask_far(async move |host| Ok(host.admin().text(page).await?))?;
        serde_json::from_str(&text).map_err(|error| {
            let name = self.remote_name().unwrap_or_default();
            let page = page.0;
            host::Error::Protocol(format!("{name}: log page {page:#04x}: {error}")).into()
        })
    }

    /// Logical pages of the first namespace of a drive elsewhere that hold data, of some, ascending.
    pub(crate) fn holding(&self, pages: Range<u32>) -> Result<Vec<u32>, Error> {
        let first = self.first_namespace()?.all().start;
        let asked = pages.start.saturating_sub(first)..pages.end.saturating_sub(first);
        let holding =
            self.ask_far(async move |host| Ok(host.admin().holding(NAMESPACE, asked).await?))?;
        Ok(holding.into_iter().map(|page| page + first).collect())
    }

    /// Waits until what was sent has been answered.
    pub(super) fn settle_far(&mut self) -> Result<(), Error> {
        self.run(|host| async move { host.nothing_left().await })
    }

    /// Has an async function run without anything else of this drive's being told.
    fn ask_far<T: 'static>(
        &self,
        ask: impl AsyncFnOnce(Host) -> Result<T, Error> + 'static,
    ) -> Result<T, Error> {
        let powered = self.powered()?;
        let host = powered.host.clone();
        let task = powered.host.sim.spawn(async move { ask(host).await });
        self.lived(powered.simulation_and_far(), &task)?
    }

    pub(super) fn far(&self) -> Option<&FarEnd> {
        match &self.powered.as_ref()?.end {
            End::Here(_) => None,
            End::Far(end) => Some(end),
        }
    }

    /// Has the device tell hosts elsewhere what only this end knows.
    pub(super) fn tell(
        config: &Config,
        (device, nand): (&Rc<Device>, &Rc<RefCell<Nand>>),
        since: Time,
    ) -> Result<(), Error> {
        let (text, controller) = (config.to_toml()?, &device.controller);
        controller.tell(LogPageId::CONFIGURATION, Rc::new(move |_| text.clone()));
        // The device has the controller, which must not keep the device.
        let told = Rc::downgrade(device);
        let statistics = move |now| {
            let device = told.upgrade();
            device.map_or_else(String::new, |device| {
                json(&Statistics::of(&device, since, now))
            })
        };
        controller.tell(LogPageId::STATISTICS, Rc::new(statistics));
        let (told, nand) = (Rc::downgrade(device), nand.clone());
        let media = move |_| {
            let device = told.upgrade();
            device.map_or_else(String::new, |device| {
                json(&Media::of(&device, &nand.borrow()))
            })
        };
        controller.tell(LogPageId::MEDIA, Rc::new(media));
        Ok(())
    }
}

/// Numbers and names always have a text.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// What is wrong if a controller does not tell a configuration.
fn unlike_bitline(error: Error, far: &Far) -> Error {
    match error {
        Error::Host(host::Error::Status(status)) if status.command == "get log page" => {
            host::Error::Protocol(format!(
                "{}: {} of {:#04x}: it is no drive of Bitline's, or one of an older version; Linux can use it (nvme connect)",
                far.name(),
                status.status,
                LogPageId::CONFIGURATION.0
            ))
            .into()
        }
        other => other,
    }
}
