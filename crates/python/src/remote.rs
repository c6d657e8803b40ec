//! Drives of other processes.

use std::time::Duration;

use attach::initiator::{self, Address, AddressError, Options};
use pyo3::prelude::*;

use crate::drive::Drive;
use crate::error::{to_python, usage, watch};
use crate::keeper::keep;

/// Connects to a drive elsewhere, at `nvme+tcp://HOST[:PORT][/NQN]` or `nvme+unix://PATH`; its silence for longer than `timeout` seconds is an error.
#[pyfunction]
#[pyo3(signature = (address, timeout, header_digest = false, data_digest = false, host_nqn = None))]
pub(crate) fn connect(
    address: &str,
    timeout: f64,
    header_digest: bool,
    data_digest: bool,
    host_nqn: Option<String>,
) -> PyResult<Drive> {
    let address: Address = address
        .parse()
        .map_err(|error: AddressError| usage(error.to_string()))?;
    let span = Duration::try_from_secs_f64(timeout).ok();
    let span = span.filter(|span| !span.is_zero()).ok_or_else(|| {
        usage(format!(
            "timeout is {timeout}; it must be a time in seconds, more than 0"
        ))
    })?;
    let mut options = Options::default();
    options.timeout = span;
    options.digests.header = header_digest;
    options.digests.data = data_digest;
    if let Some(name) = host_nqn {
        options.host_nqn = name;
    }
    let key = keep(|| initiator::connect(&address, options, watch()).map_err(to_python))?;
    Ok(Drive(key))
}

/// What a drive elsewhere is called; none for one in this process.
#[pyfunction]
pub(crate) fn remote_name(drive: &Drive) -> PyResult<Option<String>> {
    drive.0.with(|drive| Ok(drive.remote_name()))
}
