//! Bitline: a computational SSD in one process.
//!
//! ```
//! use bitline::{Config, Drive};
//!
//! let config = Config::preset("flash-cosmos")?;
//! let mut drive = Drive::open(config)?;
//! let block = vec![7; drive.block_bytes()? as usize];
//! drive.write(3, &block)?;
//! assert_eq!(drive.read(3, 1)?, block);
//! println!("{} passed in the drive", drive.now());
//! # Ok::<(), bitline::Error>(())
//! ```

pub mod advise;
mod ageing;
pub mod bench;
mod bits;
mod config;
mod drive;
mod driver;
mod error;
mod explain;
mod footprint;
mod health;
mod inventory;
mod pending;
mod statistics;
mod volume;
pub mod workload;

pub use ageing::BlockQuality;
pub use bits::{Labels, Platform, Query};
pub use config::{
    Choice, Config, ConfigBuilder, ConfigError, DEFAULT_PRESET, DataConfig, HostConfig, Key,
    QueueClass, StorageKind, most_similar, reference_of_keys,
};
pub use device::PowerUpError;
pub use device::ftl::{History, Lpn, Precondition, PreconditionError, Preconditioned};
pub use drive::{Drive, Host, Watch};
pub use driver::{Queue, send_raw, send_raw_admin};
pub use error::{Error, Unclosed};
pub use explain::{EstimateReport, EstimatedEnergy, Explanation, Part, StepReport};
pub use health::Health;
pub use host::bits::Checked;
pub use host::{Error as HostError, StatusError};
pub use inventory::{BlockRun, Identity, Inventory, VectorSpace};
pub use media::nand::cells::Condition;
pub use media::nand::{
    Ageing, DriveAge, ImageCheck, MediaError, NandError, ProgramMode, StorageError,
};
pub use nvme::command::Home;
pub use nvme::{Expression, ExpressionError, Status, StatusType, VectorId};
pub use pending::{Finished, Pending};
pub use sim::{Energy, Histogram, JoinHandle, Sim, Simulation, Span, Stalled, Time};
pub use statistics::{EnergyEntry, LatencyEntry, Statistics, TenantEntry};
pub use volume::{
    Array, Content, Extent, Group, GroupInfo, Kind, Object, ObjectId, PlaceError, Rows, Usage,
    Vector, Volume, VolumeError,
};

/// The README's examples, which run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
