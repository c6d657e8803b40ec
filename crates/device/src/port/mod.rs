//! What crosses the drive's borders: the way to host memory, and what a host gives of itself; and the switch
//! between collectors, DRAM and what they are for.

mod switch;
mod transfer;
mod wire;

use std::cell::RefCell;
use std::rc::Rc;

use nvme::{Dma, QueueId};
use sim::Time;

pub use switch::Switch;
pub use transfer::HostTransfer;
pub(crate) use transfer::{Fetch, fetch_over, post_fetch};
pub use wire::{Wire, Wiring};

/// Bytes of a doorbell write.
pub const DOORBELL_BYTES: u64 = 4;

/// The host's side of a controller: what a driver gives it.
#[derive(Clone)]
pub struct HostPort {
    /// Memory that the controller reads and writes.
    pub memory: Rc<RefCell<dyn Dma>>,
    /// Called when a completion for this completion queue is sent, with the instant
    /// at which it arrives; the host must not act on it before.
    pub interrupt: Rc<dyn Fn(QueueId, Time)>,
}
