//! The firmware of the drive, a folder a job: `frontend` fetches commands, `ftl`
//! finds pages, `region` says where those lie that are to be computed with, `cache` stands between front end and `ftl`,
//! `bits` computes in the array, `port` leads to host memory, `schedule` decides when and on which die. [`Device`] puts
//! them together.

mod backend;
pub mod bits;
mod buffer;
pub mod cache;
mod config;
mod device;
mod energy;
mod faults;
pub mod frontend;
pub mod ftl;
pub mod planted;
pub mod port;
pub mod region;
pub mod schedule;
mod slab;

pub use backend::Backend;
pub use config::{ConfigError, DeviceConfig};
pub use device::{Device, MediaState, PowerUpError};
pub use faults::FaultConfig;
