//! A whole drive held against closed formulas: latency of a drive at rest to the
//! picosecond, bandwidth of whatever saturates, utilization, write amplification and wear.

mod bandwidth;
mod cache;
mod latency;
mod model;
mod wear;
mod write_amplification;
