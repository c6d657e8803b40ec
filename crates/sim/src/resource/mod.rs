//! What tasks wait for: servers, pipes, semaphores, locks on ranges, channels.
//!
//! A resource knows how long it was busy, so utilization comes for free. Its
//! guards and waiting futures give back what they hold when they are dropped, in
//! whatever state they are.

mod channel;
mod oneshot;
mod pipe;
mod range_lock;
mod semaphore;
mod server;
mod signal;

pub use channel::{Receiver, Sender, channel};
pub use oneshot::{OneshotReceiver, OneshotSender, oneshot};
pub use pipe::Pipe;
pub use range_lock::{Access, PartGuard, RangeClaim, RangeGuard, RangeLock};
pub use semaphore::{Permit, Reserve, Semaphore};
pub use server::{Hold, Priority, Serve, Server};
pub use signal::{Broadcast, Signal};
