//! The host library: what an application calls. It reaches the drive by commands
//! only, through a [`Transport`], and knows nothing of the firmware behind it.

pub mod admin;
pub mod bits;
pub mod block;
mod buffer;
pub mod collectors;
#[cfg(test)]
mod described;
mod error;
pub mod identify;
pub mod memory;
pub mod search;
pub mod streams;
pub mod tasks;
mod transfer;
mod transport;
pub mod volume;

pub use buffer::{Buffer, LentBuffer, Memory};
pub use error::{Error, StatusError};
pub use transport::{Prioritized, Transport};
