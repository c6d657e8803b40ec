//! A drive for hosts on a network: an NVMe/TCP target (NVMe TCP Transport 1.1, NVMe Base 2.1).
//!
//! `Server` has one thread for all connections and hands the drive's thread their commands. Beneath it nothing knows sockets:
//! `connection` is the state machine of one, `target` all of them with the controllers that hosts see (`controller`, `subsystem`),
//! and `on_drive` carries commands out through the drive's queue pairs.

mod connection;
mod controller;
mod discovery;
mod facts;
mod identify;
mod mailbox;
mod message;
mod on_drive;
mod options;
mod server;
mod subsystem;
mod target;
#[cfg(test)]
mod tests;

pub(crate) use options::check_nqn;
pub use options::{Listen, NVME_TCP_PORT, SUBSYSTEM_NQN, ServerError, ServerOptions};
pub use server::{Server, ServerSnapshot};
pub use target::Counted;
