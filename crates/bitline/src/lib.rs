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

#![warn(unnameable_types)]

pub mod advise;
mod ageing;
pub mod bench;
mod bits;
mod cells;
mod collectors;
mod config;
mod drive;
mod driver;
mod error;
mod error_kind;
mod explain;
mod footprint;
mod health;
mod host_end;
mod inventory;
mod key_value;
mod logical_pages;
mod lookups;
mod media_state;
mod memory;
mod pending;
mod placed;
mod platforms;
mod request_kind;
mod search;
mod sentences;
mod statistics;
mod streams;
mod tasks;
mod traced;
mod traces;
mod volume;
pub mod workload;

/// What a drive is made of, for who looks inside: the crates beneath this one, and the parts of a drive and its host. None of
/// it is stable, and it has no place in programs that are to outlive a release: it changes when the inside does.
pub mod inside {
    pub use {device, host, media, nvme, sim};

    pub use crate::config::InsideConfig;
    pub use crate::drive::{Durable, InsideDrive, InsideHost};
    pub use crate::driver::{Capsule, Fabric, Queue, Response, send_raw, send_raw_admin};
}

// The drive and its host.
pub use bits::{Answer, Query, Received, Reply, Request};
pub use cells::BlockQuality;
pub use collectors::{
    Attach, Collector, Collectors, Generator, Pace, Packet, Source, Timing, Wiring,
};
pub use drive::{Drive, Unclosed, Watch};
pub use error::{Error, KeyValueError, PlaceError};
pub use error_kind::ErrorKind;
pub use explain::{Explanation, Labels, PlanPart, StepReport};
pub use health::Health;
pub use host_end::Host;
pub use inventory::{Identity, Inventory, VectorSpace};
pub use key_value::{KeyValue, KeyValueMap, KeyValueOptions, Pairs};
pub use lookups::{NameLookupErrors, NameLookups};
pub use memory::Memory;
pub use pending::{Finished, Pending};
pub use placed::Placed;
pub use platforms::{EstimateReport, EstimatedEnergy, Platform};
pub use search::{NameTerm, Returns, Search, StoreInfo};
pub use statistics::{EnergyEntry, LatencyEntry, Statistics, TenantEntry};
pub use streams::{Stream, StreamRun, StreamShape, Streams};
pub use tasks::{Program, TaskFile, TaskRun, Tasks};
pub use volume::{
    Array, Content, Extent, Group, GroupInfo, Kind, Move, Object, ObjectId, Rows, Usage, Vector,
    Volume, VolumeError, Writer,
};

// What a drive is to be.
pub use config::{
    CardConfig, Choice, Config, ConfigBuilder, ConfigError, DEFAULT_PRESET, DataConfig, HostConfig,
    HostTaskConfig, Key, QueueClass, ReceiverConfig, StorageKind, most_similar, reference_of_keys,
};

// What its parts count, what they answer, and how they fail: types that other names here have in them.
pub use device::accelerators::AcceleratorCounts;
pub use device::bits::{BitsCounts, ExecuteError};
pub use device::cache::CacheCounts;
pub use device::frontend::FrontendCounts;
pub use device::ftl::{
    FtlCounts, FtlError, History, Precondition, PreconditionError, Preconditioned,
};
pub use device::region::HandleError;
pub use device::schedule::{Fault, FlashCounts};
pub use device::search::{ExpectedMatches, SearchCounts};
pub use device::stream::{CollectorCounts, StreamCounts};
pub use device::task::CycleCosts;
pub use device::tx::TxCounts;
pub use host::bits::Checked;
pub use host::memory::{MemoryRun, RangeSets, RunRanges};
pub use host::search::{
    Appended, DataRegion, Found, NameField, NameKind, SearchError, Updated, Wanted, numbers, ranges,
};
pub use host::tasks::{Loading, TaskError};
pub use host::volume::{Group as GroupContent, NewStore, Store, Vector as VectorContent};
pub use host::{Error as HostError, StatusError};
pub use media::nand::cells::Condition;
pub use media::nand::{
    Ageing, BlockId, BlockPlace, ConfigError as NandConfigError, DriveAge, GeometryError,
    ImageCheck, MediaError, NandError, PageAddress, PagePlace, PlanePlace, ProgramMode,
    StorageError, Wordline,
};
pub use nvme::collector::{CollectorRecord, CollectorState, Policy as CollectorPolicy};
pub use nvme::command::{Home, RegionRecord};
pub use nvme::query::{Part, Pattern, QueryError};
pub use nvme::task::{
    Ended, Isolation, Limits as TaskLimits, Outcome, ProgramLimits, ProgramList, ProgramRecord,
    ProgramState, RequestError,
};
pub use nvme::{Expression, ExpressionError, MemoryError, RegionId, Status, StatusType, VectorId};

// Simulated time, and what is measured in it.
pub use sim::{Energy, Excerpt, Histogram, JoinHandle, Keep, Sim, Simulation, Span, Stalled, Time};

/// The README's examples, which run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
