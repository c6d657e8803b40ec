//! Simulated time: a deterministic executor, resources, seeded randomness, an
//! energy ledger, statistics and a trace. No word of SSDs.

mod quantity;

pub use quantity::{Energy, Span, Time};
