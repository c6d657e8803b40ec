//! The firmware of the drive, a folder a job: `frontend` fetches commands, `ftl`
//! finds pages, `region` says where those lie that are to be computed with, `cache` stands between front end and `ftl`,
//! `bits` computes in the array, `port` leads to host memory, `schedule` decides when and on which die. [`Device`] puts
//! them together.

pub mod accelerators;
mod backend;
pub mod bits;
pub mod cache;
mod compatibility;
mod config;
pub mod cores;
pub mod cost;
mod device;
mod energy;
mod faults;
pub mod frontend;
pub mod ftl;
pub mod journal;
pub mod local_memory;
pub mod memory;
mod part;
pub mod planted;
pub mod port;
pub mod programs;
pub mod region;
pub mod schedule;
pub mod search;
mod served;
mod slab;
pub mod stream;
pub mod task;
pub mod tenants;
pub mod tx;

/// The layout of what the firmware programs into pages: records in spare bytes, facts, mapping pages, roots of
/// checkpoints, placed pages; and of where the host library's volume is. It rises with every change of those, so that
/// no drive takes what another version left in an image for something else.
pub const CONTENT_VERSION: u32 = 6;

pub use backend::Backend;
pub use compatibility::CompatibilityConfig;
pub use config::{ConfigError, DeviceConfig};
pub use device::{Device, MediaState, PowerUpError};
pub use faults::FaultConfig;
pub use served::Served;
