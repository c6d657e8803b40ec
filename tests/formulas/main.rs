//! A whole drive held against closed formulas: latency of a drive at rest to the
//! picosecond, bandwidth of whatever saturates, utilization, write amplification and
//! wear, fetches of mapping entries, copies between blocks, and what recovery reads.

mod bandwidth;
mod cache;
mod cells;
mod copies;
mod firmware;
mod latency;
mod mapping;
mod model;
mod precondition;
mod recovery;
mod wear;
mod write_amplification;
