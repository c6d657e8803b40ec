//! How far a run has come, and whether it is to go on.

use std::cell::{Cell, RefCell};

use super::latencies::Latencies;

/// What the workloads and who waits for them tell each other.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) completed: Cell<u64>,
    /// Nobody waits any more: no further request is sent.
    pub(super) stopped: Cell<bool>,
    /// Single requests, if they are asked for.
    pub(super) latencies: Option<RefCell<Latencies>>,
}
