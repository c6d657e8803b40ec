//! A whole drive held against closed formulas: latency of a drive at rest to the
//! picosecond, bandwidth of whatever saturates, utilization, write amplification and
//! wear, fetches of mapping entries, copies between blocks, and what recovery reads.

mod bandwidth;
mod cache;
mod capacitor;
mod cells;
mod copies;
mod firmware;
mod journal;
mod latency;
mod lookup;
mod mapping;
mod model;
mod precondition;
mod recovery;
mod together;
mod wear;
mod write_amplification;
