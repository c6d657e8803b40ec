//! The lives of a drive, from power-up to power cut.

use std::rc::Rc;

use device::{Device, MediaState, tenants};
use sim::{Keep, Simulation};

use super::Unclosed;
use super::end::End;
use super::{Drive, EVENTS_PER_LOOK, Powered};
use crate::driver::Driver;
use crate::error::Error;
use crate::host_end::Host;

impl Drive {
    /// Powers up after a power cut; the drive recovers from its media. Does
    /// nothing to a drive that has power.
    ///
    /// # Errors
    /// None that did not already show when the drive was opened; [`Error::Interrupted`], after which
    /// the drive has no power.
    pub fn power_up(&mut self) -> Result<(), Error> {
        if self.powered.is_some() {
            return Ok(());
        }
        self.power_up_on(MediaState::Used, None)
    }

    /// Powers up, and has a trace begin with that which keeps so much.
    pub(super) fn power_up_on(
        &mut self,
        media: MediaState,
        traced: Option<Keep>,
    ) -> Result<(), Error> {
        let simulation = Simulation::starting_at(self.config.seed, self.off_since);
        let sim = simulation.handle();
        if let Some(keep) = traced {
            sim.trace().start(sim.now(), keep);
            self.traced = Some(sim.clone());
        }
        let driver = Driver::new(&sim, &self.priority)?;
        let (config, nand) = (
            self.config.clone(),
            self.flash("its power to be switched on")?.clone(),
        );
        let flash = nand.clone();
        let since = simulation.now();
        let is_used = media == MediaState::Used;
        let task = simulation.handle().spawn(async move {
            let device = Device::power_up(
                &sim,
                &config.device,
                nand,
                media,
                driver.port(),
                driver.admin_queues(),
            )
            .await?;
            let host = Host::connect(&sim, &config, &device, driver, is_used).await?;
            Ok::<_, Error>((Rc::new(device), host))
        });
        let (device, host) = match self.lived((&simulation, None), &task) {
            Ok(powered) => powered?,
            Err(error) => {
                // Whatever the recovery was programming or erasing is torn.
                self.cut(&simulation, None)?;
                return Err(error);
            }
        };
        Drive::tell(&self.config, (&device, &flash), since)?;
        self.lives += 1;
        host.mount.take_up(std::mem::take(&mut self.kept));
        let dumped = std::mem::take(&mut self.dumped);
        if dumped.pages > 0 {
            // The capacitor's work is on the account of the life that it made possible.
            let account = device.ledger.open("capacitor", "dump");
            device.ledger.spend(account, tenants::DRIVE, dumped.energy);
        }
        self.powered = Some(Powered {
            host,
            end: End::Here(device),
            since,
            simulation,
        });
        Ok(())
    }

    /// Cuts the power in this instant: whatever was not on flash is gone, unless a capacitor
    /// saves it, and what was being programmed or erased is torn. The media stays.
    ///
    /// # Errors
    /// If the image file cannot be written; [`Error::Remote`], as the power of a drive elsewhere is not this process's to cut.
    pub fn power_cut(&mut self) -> Result<(), Error> {
        if let Some(end) = self.far() {
            return Err(end.refusal("its power to be cut"));
        }
        let Some(powered) = self.powered.take() else {
            return Ok(());
        };
        let device = powered.end.device("its power to be cut")?.clone();
        let cut = self.cut(&powered.simulation, Some(&device));
        // Tasks give back what they had reserved when they are dropped.
        self.kept = powered.host.mount.take_kept();
        cut
    }

    /// The power goes: tasks are dropped, what the flash was at is torn, and what the capacitor of a `device` that was up covers
    /// is saved.
    fn cut(&mut self, simulation: &Simulation, device: Option<&Device>) -> Result<(), Error> {
        self.off_since = simulation.now();
        simulation.handle().trace().stop(self.off_since);
        simulation.cut();
        let nand = self.flash("its power to be cut")?;
        nand.borrow_mut().power_cut(self.off_since)?;
        if let Some(device) = device {
            self.dumped = device.power_lost();
        }
        Ok(())
    }

    /// Lets everything in flight finish, has what is cached written to flash and makes the image durable, as
    /// [`Drive::close`] begins with; the drive can be used on.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; what flash does not take, or the image file, such as on a full disk.
    pub fn settle(&mut self) -> Result<(), Error> {
        let Some(powered) = &self.powered else {
            return Ok(());
        };
        if self.far().is_some() {
            return self.settle_far();
        }
        while (0..EVENTS_PER_LOOK).all(|_| powered.simulation.step()) {
            if (self.watch)().is_break() {
                return Err(Error::Interrupted);
            }
        }
        let written = self.write_back_cache()?;
        self.sync()?;
        // A capacitor saves what flash does not take, as when the power is cut.
        if self.image.is_some() && !self.config.device.cache.capacitor {
            written?;
        }
        let controller = self.device_for("to be shut down")?.controller.clone();
        let down = self.run(|_| async move { controller.shut_down().await })?;
        // Counts that find no space on flash are lost; data is not concerned.
        let _ = down;
        Ok(())
    }

    /// Lets everything in flight finish, has what is cached written to flash, makes the image durable and
    /// lets go of it. Dropping a drive without closing it is a power cut.
    ///
    /// # Errors
    /// What flash does not take, or the image file, such as on a full disk. Nothing is lost then: the drive
    /// comes back with the error, to be closed again. Dropped instead, it loses what the error tells of.
    pub fn close(mut self) -> Result<(), Unclosed> {
        self.power_down().map_err(|error| Unclosed {
            drive: Box::new(self),
            error,
        })
    }

    fn power_down(&mut self) -> Result<(), Error> {
        self.settle()?;
        if self.far().is_some() {
            // The drive lives on: only the way to it goes.
            self.powered = None;
            return Ok(());
        }
        self.power_cut()?;
        self.sync()
    }

    /// Waits until the cache holds nothing that flash does not; the drive's own doing, without a
    /// command.
    pub(super) fn write_back_cache(&mut self) -> Result<Result<(), device::ftl::FtlError>, Error> {
        let cache = self
            .device_for("its cache to be written back")?
            .cache
            .clone();
        self.run(|_| async move { cache.flush().await })
    }

    pub(super) fn sync(&self) -> Result<(), Error> {
        match &self.nand {
            Some(nand) => Ok(nand.borrow_mut().sync()?),
            // Durable is what the drive says is.
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ops::ControlFlow;
    use std::rc::Rc;

    use super::*;
    use crate::{Config, Watch};

    /// Of a blank drive, and of one that has something to recover.
    #[test]
    fn parts_are_powered_up_in_one_order() {
        let config = Config::preset("flash-cosmos").expect("a preset");
        let mut drive = Drive::open(config).expect("a drive");
        for _ in 0..2 {
            let powered = drive.powered().expect("it has power");
            let device = powered.end.device("its parts").expect("it is here");
            let order: Vec<_> = device.parts().collect();
            assert_eq!(
                order,
                [
                    "schedule",
                    "ftl",
                    "cache",
                    "bits",
                    "search",
                    "tasks",
                    "tx",
                    "local memory",
                    "programs",
                    "streams",
                    "collectors",
                    "front end"
                ]
            );
            drive.power_cut().expect("no image");
            drive.power_up().expect("it recovers");
        }
    }

    /// A power-up that is broken off is a power cut, of its trace, too.
    #[test]
    fn a_trace_ends_with_the_power_up_that_is_broken_off() {
        let goes_on = Rc::new(Cell::new(true));
        let asked = goes_on.clone();
        let watch: Watch = Rc::new(move || match asked.get() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        });
        // Small: a test beside this one measures what memory the process takes.
        let small = [
            ("nand.geometry.channels", "1"),
            ("nand.geometry.blocks_per_plane", "64"),
        ];
        let preset = Config::preset("flash-cosmos").expect("a preset");
        let config = preset.with(small).expect("a drive");
        let mut drive = Drive::open_watched(config, None, watch).expect("a drive");
        let block = vec![1; drive.block_bytes().expect("power") as usize];
        drive.write(0, &block).expect("it fits");
        drive.power_cut().expect("no image");
        goes_on.set(false);
        let broken_off = drive.restart_traced(Keep::All);
        assert!(
            matches!(broken_off, Err(Error::Interrupted)),
            "{broken_off:?}"
        );
        assert!(drive.has_trace() && !drive.is_traced());
        goes_on.set(true);
        drive.restart_traced(Keep::All).expect("it recovers");
        assert!(drive.is_traced());
        assert_eq!(drive.read(0, 1).expect("it is there"), block);
    }
}
