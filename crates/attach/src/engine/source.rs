//! Where the drive's thread itself takes requests, without a thread between it and who makes them.

use std::os::fd::BorrowedFd;

use super::Served;

/// Somewhere requests come from.
pub(crate) trait Source {
    /// Receives a request, if there is one and it may begin; false if not.
    fn receive(&mut self) -> bool;

    /// Has work on the request that was received begin.
    fn begin(&mut self, served: &Served);

    /// Tells what became of requests. It may wait for what becomes of others unless the drive is idle.
    fn tell(&self, is_idle: bool);

    /// What there is to wait for before something can be received.
    fn awaits(&self) -> Await<'_>;
}

/// What the drive's thread waits for.
pub(crate) enum Await<'a> {
    /// There is something to receive.
    Nothing,
    /// There is when this can be read.
    Read(BorrowedFd<'a>),
    /// Who has something rings the drive's [`Doorbell`](super::Doorbell).
    Bell,
}
