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
pub mod planted;
pub mod schedule;
mod slab;

/// The layout of what the firmware programs into pages: records in spare bytes, notes, mapping pages, roots of
/// checkpoints, vectors. It rises with every change of those, so that no drive takes what another version
/// left in an image for something else.
pub const CONTENT_VERSION: u32 = 1;

pub use config::{ConfigError, DeviceConfig, FaultConfig};
pub use device::{Device, MediaState, PowerUpError};
