//! Drives on a network, for Python: no call holds the interpreter while it waits.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::attach::engine::Pace;
use ::attach::serving::Serving;
use ::attach::tcp::ServerOptions;
use pyo3::prelude::*;

use crate::config::Config;
use crate::error::{json, said, serving};
use crate::listening::places;
use crate::opening::opening;
use crate::waiting::wait_while;

/// A drive that is served over NVMe/TCP until it is stopped.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Server(Mutex<Serving>);

#[pymethods]
impl Server {
    /// Serves a drive at `listen`, addresses with their ports, and at the Unix-domain socket `socket`: of the configuration, in the
    /// image if one is given, which is made if it does not exist; or without a configuration the one in an existing image.
    #[new]
    #[pyo3(signature = (listen, config = None, image = None, *, socket = None, pace = "none", hosts = None, nqn = None, trace = None))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn new(
        py: Python<'_>,
        listen: Vec<String>,
        config: Option<&Config>,
        image: Option<PathBuf>,
        socket: Option<PathBuf>,
        pace: &str,
        hosts: Option<Vec<String>>,
        nqn: Option<String>,
        trace: Option<PathBuf>,
    ) -> PyResult<Server> {
        let pace: Pace = pace.parse().map_err(said)?;
        let mut options = ServerOptions::listening_at(places(&listen, socket)?);
        options.allowed_hosts = hosts;
        if let Some(nqn) = nqn {
            options.subsystem_nqn = nqn;
        }
        let open = opening(config, image);
        let started = py.detach(|| Serving::start(open, pace, &options, trace));
        Ok(Server(Mutex::new(started.map_err(serving)?)))
    }

    /// The addresses at which it listens, with the ports that it was given.
    fn addresses(&self, py: Python<'_>) -> Vec<String> {
        let all = py.detach(|| self.serving().target().map(|target| target.addresses()));
        all.iter().flatten().map(SocketAddr::to_string).collect()
    }

    /// What drive and server have done so far, as JSON.
    fn snapshot(&self, py: Python<'_>) -> PyResult<String> {
        let snapshot = py.detach(|| self.serving().snapshot());
        json(&snapshot.map_err(serving)?)
    }

    /// Waits until it is not served any more, but no longer than so many seconds; whether it still is.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        wait_while(py, seconds, true, || self.serving().is_serving())
    }

    /// Closes all connections, writes the trace, and closes the drive.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.serving().stop()).map_err(serving)
    }
}

impl Server {
    fn serving(&self) -> MutexGuard<'_, Serving> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
