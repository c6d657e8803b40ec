//! Drives that Linux mounts, for Python: no call holds the interpreter while it waits.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::attach::attachment::{Attachment as Attached, Options, State};
use ::attach::engine::{Handle, Pace};
use ::attach::mount::FileSystem;
use ::attach::tcp::ServerOptions;
use ::attach::unmount::Unmount;
use pyo3::prelude::*;

use crate::config::Config;
use crate::error::{attaching, engine, internal, json, said};
use crate::listening::places;
use crate::opening::opening;
use crate::waiting::wait_while;

/// A drive that is served as a file, and mounted, until it is stopped.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Attachment {
    attached: Mutex<Attached>,
    /// Asks the drive whatever a call is at that has the attachment.
    handle: Handle,
}

#[pymethods]
impl Attachment {
    /// Attaches a drive to the folder `at`: of the configuration, in the image if one is given, which is made if it does not
    /// exist; or without a configuration the one in an existing image.
    #[new]
    #[pyo3(signature = (at, config = None, image = None, *, pace = "none", mount = None, trace = None, listen = Vec::new(), socket = None))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn new(
        py: Python<'_>,
        at: PathBuf,
        config: Option<&Config>,
        image: Option<PathBuf>,
        pace: &str,
        mount: Option<&str>,
        trace: Option<PathBuf>,
        listen: Vec<String>,
        socket: Option<PathBuf>,
    ) -> PyResult<Attachment> {
        let pace: Pace = pace.parse().map_err(said)?;
        let mut options = Options::new(pace);
        options.mount = mount
            .map(str::parse::<FileSystem>)
            .transpose()
            .map_err(said)?;
        options.trace = trace;
        let places = places(&listen, socket)?;
        options.target = (!places.is_empty()).then(|| ServerOptions::listening_at(places));
        let path = image.clone();
        let open = opening(config, image);
        let image = path;
        let start = || Attached::start(open, image.as_deref(), &at, &options);
        let attached = py.detach(start).map_err(attaching)?;
        Ok(Attachment {
            handle: attached.handle(),
            attached: Mutex::new(attached),
        })
    }

    /// What the drive has done so far, as JSON.
    fn snapshot(&self, py: Python<'_>) -> PyResult<String> {
        let snapshot = py.detach(|| self.handle.snapshot());
        json(&snapshot.map_err(engine)?)
    }

    /// Waits until it is not attached any more, but no longer than so many seconds: "attached", "unmounted", "aborted" or "ended".
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<&'static str> {
        match wait_while(py, seconds, State::Attached, || self.attached().state())? {
            State::Attached => Ok("attached"),
            State::Unmounted => Ok("unmounted"),
            State::Aborted => Ok("aborted"),
            State::Ended => Ok("ended"),
            other => Err(internal(format!("an attachment is {other:?}"))),
        }
    }

    /// What there is to tell besides the figures, a line each, since the last time.
    fn notes(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.attached().notes().take())
    }

    /// The drive's file.
    fn file(&self, py: Python<'_>) -> PathBuf {
        py.detach(|| self.attached().file())
    }

    /// Bytes of the drive's file.
    fn bytes(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.attached().bytes())
    }

    /// The addresses at which hosts connect to it besides, with the ports that it was given.
    fn addresses(&self, py: Python<'_>) -> Vec<String> {
        let all = py.detach(|| self.attached().target().map(|target| target.addresses()));
        all.iter().flatten().map(ToString::to_string).collect()
    }

    /// The loop device beneath the file system, if there is one.
    fn device(&self, py: Python<'_>) -> Option<PathBuf> {
        py.detach(|| self.attached().device().map(PathBuf::from))
    }

    /// Unmounts and closes the drive; by force even if files are open there.
    #[pyo3(signature = (force = false))]
    fn stop(&self, py: Python<'_>, force: bool) -> PyResult<()> {
        let how = match force {
            true => Unmount::ByForce,
            // It is tried again.
            false => Unmount::InOrderSoon,
        };
        py.detach(|| self.attached().stop(how)).map_err(attaching)
    }
}

impl Attachment {
    fn attached(&self) -> MutexGuard<'_, Attached> {
        self.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
