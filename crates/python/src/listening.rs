//! Where servers of drives listen, as Python says it.

use std::path::PathBuf;

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
