//! The firmware of the drive, a folder a job: `frontend` fetches commands, `ftl`
//! finds pages, `cache` stands between them, `bits` computes in the array, `schedule` decides when and on which
//! die. [`Device`] puts them together.

pub mod bits;
mod buffer;
pub mod cache;
mod config;
mod device;
mod energy;
pub mod frontend;
pub mod ftl;
pub mod journal;
pub mod memory;
pub mod planted;
pub mod schedule;
mod slab;

pub use config::{ConfigError, DeviceConfig, FaultConfig};
pub use device::{Device, MediaState, PowerUpError};
