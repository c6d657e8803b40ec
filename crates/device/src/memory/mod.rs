//! The controller's memory: what of it outlives the power, and what that takes.

mod capacitor;

pub(crate) use capacitor::{Capacitor, Claim, DUMP_FAILURES, Means, Need};
pub use capacitor::{CapacitorConfig, Dumped, TooWeak};
