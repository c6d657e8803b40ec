//! Traces: what every part of a drive does in a section of its life.

use std::io;

use device::MediaState;
use sim::{Excerpt, Keep, Sim};

use super::Drive;
use crate::error::Error;

impl Drive {
    /// Records from now on what every part does, until [`Drive::stop_trace`] or a power cut. Nothing of
    /// an earlier trace is kept, and nothing of what the drive does or counts changes.
    ///
    /// # Errors
    /// [`Error::NoPower`]; [`Error::Tracing`] if one is recorded already.
    pub fn start_trace(&mut self, keep: Keep) -> Result<(), Error> {
        self.refuse_nested()?;
        let powered = self.powered()?;
        let sim = powered.host.sim.clone();
        let device = powered.end.device("to be traced")?;
        sim.trace().start(sim.now(), keep);
        device.schedule.trace_queues();
        powered.host.driver.trace_outstanding();
        self.traced = Some(sim);
        Ok(())
    }

    /// Ends the trace; it can be had until another begins.
    ///
    /// # Errors
    /// [`Error::Tracing`] if none was begun.
    pub fn stop_trace(&mut self) -> Result<(), Error> {
        let sim = self.traced()?;
        sim.trace().stop(sim.now());
        Ok(())
    }

    /// As [`Drive::start_trace`], but powers the drive down in order and up again first, so that the
    /// trace begins with a recovery. Counts begin at zero.
    ///
    /// # Errors
    /// [`Error::Tracing`] if a trace is recorded; as [`Drive::power_up`].
    pub fn restart_traced(&mut self, keep: Keep) -> Result<(), Error> {
        self.refuse_nested()?;
        if self.powered.is_some() {
            self.device_for("to be traced")?;
            // What flash does not take is lost with the power, as by any power cut.
            let _ = self.write_back_cache()?;
        }
        self.power_cut()?;
        // The scan of a blank drive would fill the trace for nothing.
        let media = if self.is_blank()? {
            MediaState::Blank
        } else {
            MediaState::Used
        };
        self.power_up_on(media, Some(keep))
    }

    /// Whether a trace was begun, be it over or not.
    pub fn has_trace(&self) -> bool {
        self.traced.is_some()
    }

    /// Whether a trace is being recorded.
    pub fn is_traced(&self) -> bool {
        self.traced
            .as_ref()
            .is_some_and(|sim| sim.trace().enabled())
    }

    /// Writes the trace, or what of it is recorded by now, as JSON in the trace-event format.
    ///
    /// # Errors
    /// [`Error::Tracing`] if none was begun; [`Error::TraceWrite`] for what `out` reports.
    pub fn write_trace(&self, out: impl io::Write) -> Result<(), Error> {
        let sim = self.traced()?;
        let written = sim.trace().write_json(sim.now(), out);
        written.map_err(Error::TraceWrite)
    }

    /// What happened in the busiest [`sim::Trace::BUSIEST`] of the trace; `None` without one, or if
    /// nothing did.
    pub fn busiest(&self) -> Option<Excerpt> {
        self.traced.as_ref()?.trace().busiest()
    }

    fn traced(&self) -> Result<&Sim, Error> {
        self.traced.as_ref().ok_or(Error::Tracing(
            "the drive has recorded no trace: start one before what is to be in it",
        ))
    }

    fn refuse_nested(&self) -> Result<(), Error> {
        if self.is_traced() {
            return Err(Error::Tracing(
                "the drive records a trace already: stop it first, as traces do not nest",
            ));
        }
        Ok(())
    }
}
