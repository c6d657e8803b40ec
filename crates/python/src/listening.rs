//! Where servers of drives listen, as Python says it.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use ::attach::tcp::Listen;
use pyo3::prelude::*;

use crate::error::usage;

/// Addresses with their ports, and the Unix-domain socket.
pub(crate) fn places(addresses: &[String], socket: Option<PathBuf>) -> PyResult<Vec<Listen>> {
    let addresses: PyResult<Vec<Listen>> = addresses.iter().map(|text| place(text)).collect();
    let mut places = addresses?;
    places.extend(socket.map(Listen::Unix));
    Ok(places)
}

/// Where to listen.
fn place(text: &str) -> PyResult<Listen> {
    let address = text.parse().map_err(|_| {
        usage(format!(
            "listen at {text:?}: it is an address with its port, such as 127.0.0.1:4420 or [::1]:4420"
        ))
    })?;
    Ok(Listen::Tcp(address))
}

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
