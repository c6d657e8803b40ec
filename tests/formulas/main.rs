//! A whole drive held against closed formulas: latency of a drive at rest to the
//! picosecond, bandwidth of whatever saturates, and utilization.

mod bandwidth;
mod latency;
mod model;
