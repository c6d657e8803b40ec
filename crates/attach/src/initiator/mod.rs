//! The host's end of NVMe/TCP: drives of other processes and machines, as if they were in this one.
//!
//! [`connect`] gives a [`Drive`] whose commands cross a network. A thread for each connection reads what comes; everything
//! else happens on the thread that uses the drive.

mod address;
mod association;
mod connection;
mod fabric;
mod options;
mod pdu;
mod setup;
mod stream;

use bitline::{Drive, Error, Watch};

pub use address::{Address, AddressError, Place};
pub use fabric::Initiator;
pub use options::Options;

/// Connects to the drive at an address, `nvme+tcp://HOST[:PORT][/NQN]` or `nvme+unix://PATH`.
///
/// # Errors
/// As [`Initiator::connect`] and [`Drive::connect_through`].
pub fn connect(address: &Address, options: Options, watch: Watch) -> Result<Drive, Error> {
    let initiator = Initiator::connect(address, options)?;
    Drive::connect_through(Box::new(initiator), watch)
}
