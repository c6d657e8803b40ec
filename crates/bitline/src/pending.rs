//! Calls in flight together: what is submitted goes on while others are waited for.

use std::rc::{Rc, Weak};

use sim::{JoinHandle, Span, Time};

use crate::drive::Drive;
use crate::error::Error;
use crate::host_end::Host;

/// Work that was submitted to a drive, and what will come of it.
///
/// ```
/// use bitline::{Config, Drive, Expression, Request};
///
/// let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
/// let columns = drive.group("columns")?.write(16, [[3_u8, 1], [5, 3]])?;
/// let both = Expression::all(&columns)?;
/// let count = drive.submit(async move |host| host.ask(&Request::new(&both)).await)?;
/// let block = drive.submit(async |host| host.read(0, 1).await)?;
/// assert_eq!(drive.wait(&block)?.answer?, vec![0; 4096]);
/// assert_eq!(drive.wait(&count)?.answer?.ones, 2);
/// # Ok::<(), bitline::Error>(())
/// ```
#[must_use = "nobody hears of its errors but who waits for it"]
pub struct Pending<T> {
    task: JoinHandle<(T, Time)>,
    begun: Time,
    drive: Weak<()>,
    /// Of the drive's lives, from power-up to power cut.
    life: u64,
}

/// What came of something that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finished<T> {
    /// What it gave.
    pub answer: T,
    /// The simulated time from when it was submitted until it ended.
    pub took: Span,
}

impl<T> Pending<T> {
    /// Whether it has ended, so that waiting for it takes no time.
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

impl Drive {
    /// Begins an async function in this instant of simulated time. It goes on while other calls let time pass, and ends
    /// at the latest when it is waited for; it is dropped when the power goes.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn submit<T: 'static>(
        &mut self,
        function: impl AsyncFnOnce(Host) -> T + 'static,
    ) -> Result<Pending<T>, Error> {
        let host = self.host()?;
        let (sim, begun) = (host.sim().clone(), self.now());
        let task = sim.clone().spawn(async move {
            let answer = function(host).await;
            (answer, sim.now())
        });
        Ok(Pending {
            task,
            begun,
            drive: Rc::downgrade(self.identity()),
            life: self.life(),
        })
    }

    /// Lets time pass until something that was submitted has ended. It can be waited for once.
    ///
    /// # Errors
    /// [`Error::PowerLost`] if the power was cut before; [`Error::Interrupted`], after which it can be waited for again;
    /// [`Error::Pending`] if it was waited for before, or is another drive's; [`Error::Stalled`] if it waits for what never
    /// happens.
    pub fn wait<T>(&mut self, pending: &Pending<T>) -> Result<Finished<T>, Error> {
        if !pending.drive.ptr_eq(&Rc::downgrade(self.identity())) {
            return Err(Error::Pending("it was submitted to another drive"));
        }
        if !pending.is_finished() {
            if pending.life != self.life() || self.host().is_err() {
                return Err(Error::PowerLost);
            }
            self.live_until(&pending.task)?;
        }
        let waited = || Error::Pending("it was waited for before");
        let (answer, ended) = pending.task.take().ok_or_else(waited)?;
        let took = ended.since(pending.begun);
        Ok(Finished { answer, took })
    }
}
