//! The calls of TxISC's host library (TxISC, Listing 1): files are registered, arguments put, the task is run, what it returned
//! is got.

use nvme::RegionId;
use nvme::task::{Ended, File, Isolation, Limits, Outcome, Request};

use super::{TaskDevice, TaskError, file_of};
use crate::transport::Transport;
use crate::volume::Object;

/// A run that is being put together, and then what became of it.
pub struct Context<'a, T> {
    device: &'a TaskDevice<T>,
    program: u16,
    request: Request,
    outcome: Option<Outcome>,
}

impl<'a, T: Transport> Context<'a, T> {
    /// A run of an active program, without files and arguments, in a transaction.
    pub fn new(device: &'a TaskDevice<T>, program: u16) -> Context<'a, T> {
        Context {
            device,
            program,
            request: Request::default(),
            outcome: None,
        }
    }

    /// Registers an object of the volume, `isc_register_file`; gives its number for the task. Whoever calls sees to it that
    /// the object stays where it is until the run is over.
    pub fn register_object(&mut self, object: &Object, writable: bool) -> u32 {
        self.register_file(file_of(object, writable))
    }

    /// Registers a file, `isc_register_file`; gives its number for the task.
    pub fn register_file(&mut self, file: File) -> u32 {
        self.request.files.push(file);
        self.request.files.len() as u32 - 1
    }

    /// Registers a search region in which the task may look names up; gives its number for the task.
    pub fn register_store(&mut self, region: RegionId) -> u32 {
        self.request.stores.push(region);
        self.request.stores.len() as u32 - 1
    }

    /// Appends to the arguments, `isc_put_args`.
    pub fn put_args(&mut self, bytes: &[u8]) {
        self.request.arguments.extend(bytes);
    }

    /// How the run is kept apart from others.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.request.isolation = isolation;
    }

    /// How often it is begun anew after a conflict.
    pub fn set_retries(&mut self, retries: u16) {
        self.request.retries = retries;
    }

    /// What it may use.
    pub fn set_limits(&mut self, limits: Limits) {
        self.request.limits = limits;
    }

    /// Runs the task, `isc_run_task`, and tells how that ended.
    ///
    /// # Errors
    /// As [`TaskDevice::run`].
    pub async fn run_task(&mut self) -> Result<Ended, TaskError> {
        let outcome = self.device.run(self.program, &self.request).await?;
        let ended = outcome.ended;
        self.outcome = Some(outcome);
        Ok(ended)
    }

    /// What it returned, `isc_get_ret`; nothing before it ran.
    pub fn get_ret(&self) -> &[u8] {
        self.outcome.as_ref().map_or(&[], |outcome| &outcome.value)
    }

    /// All that became of it.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }
}
