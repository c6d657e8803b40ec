//! Calls that wait for a server, without holding the interpreter.

use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::error::usage;

/// How often a call that waits looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Looks until what there is to see is no longer `still`, but no longer than so many seconds; gives what was seen last.
pub(crate) fn wait_while<T: PartialEq + Send>(
    py: Python<'_>,
    seconds: f64,
    still: T,
    look: impl Fn() -> T + Send,
) -> PyResult<T> {
    let most = Duration::try_from_secs_f64(seconds);
    let most = most.map_err(|error| usage(format!("wait {seconds} seconds: {error}")))?;
    let began = Instant::now();
    Ok(py.detach(move || {
        loop {
            let seen = look();
            let left = most.saturating_sub(began.elapsed());
            if seen != still || left.is_zero() {
                return seen;
            }
            thread::sleep(left.min(LOOK_AGAIN));
        }
    }))
}
