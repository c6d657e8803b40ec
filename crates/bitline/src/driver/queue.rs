//! A queue pair as what the host library sends commands through.

use std::rc::Rc;

use host::{Error, Memory, Transport};
use nvme::{CompletionEntry, Status, SubmissionEntry};

use super::Driver;

/// One queue pair of a driver, as the transport of the host library. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    driver: Rc<Driver>,
    pair: usize,
}

impl Queue {
    /// Queue pair `pair` of `driver`, counted from zero.
    ///
    /// # Errors
    /// If there is no such pair.
    pub(crate) fn new(driver: Rc<Driver>, pair: usize) -> Result<Queue, Error> {
        driver.pair(pair)?;
        Ok(Queue { driver, pair })
    }

    /// The admin queue of a driver that may have no other yet.
    pub(crate) fn of_admin(driver: Rc<Driver>) -> Queue {
        Queue { driver, pair: 0 }
    }
}

impl Transport for Queue {
    fn memory(&self) -> &Memory {
        &self.driver.memory
    }

    async fn admin(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
        self.driver.submit(Ok(&self.driver.admin), entry).await
    }

    // Not a future around a future: each costs at every poll.
    #[inline]
    fn io(&self, entry: &SubmissionEntry) -> impl Future<Output = Result<CompletionEntry, Error>> {
        self.driver.submit(self.driver.pair(self.pair), entry)
    }
}

/// Sends an entry as it is and gives the status: for tests of what the drive
/// makes of malformed commands.
///
/// # Errors
/// If the transport fails.
pub async fn send_raw(queue: &Queue, entry: SubmissionEntry) -> Result<Status, Error> {
    Ok(queue.io(&entry).await?.status())
}

/// As [`send_raw`], for the admin queue.
///
/// # Errors
/// If the transport fails.
pub async fn send_raw_admin(queue: &Queue, entry: SubmissionEntry) -> Result<Status, Error> {
    Ok(queue.admin(&entry).await?.status())
}
