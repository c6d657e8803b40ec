//! A drive that is served to hosts on a network: everything from the image to the socket.

use std::path::{Path, PathBuf};

use bitline::Drive;
use serde::Serialize;

use crate::engine::{Engine, EngineError, Handle, Pace, Snapshot, TraceFile};
use crate::tcp::{Server, ServerError, ServerOptions, ServerSnapshot};

/// Why a drive is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServingError {
    /// The drive.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Where it is to be served.
    #[error(transparent)]
    Server(#[from] ServerError),
}

/// What a drive and its server have done so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ServingSnapshot {
    /// The drive.
    #[serde(flatten)]
    pub drive: Snapshot,
    /// Its target.
    #[serde(rename = "server")]
    pub target: ServerSnapshot,
}

/// A served drive. Dropping it ends it as [`Serving::stop`] does, and tells nobody of what fails.
pub struct Serving {
    engine: Option<Engine>,
    handle: Handle,
    target: Option<Server>,
    trace: Option<TraceFile>,
}

impl Serving {
    /// Opens a drive and serves it, with a trace if there is to be a file of one.
    ///
    /// # Errors
    /// [`ServingError`].
    pub fn start(
        open: impl FnOnce() -> Result<Drive, bitline::Error> + Send + 'static,
        pace: Pace,
        options: &ServerOptions,
        trace: Option<PathBuf>,
    ) -> Result<Serving, ServingError> {
        options.validate()?;
        let mut serving = Serving::open(open, pace)?;
        serving.begin_trace(trace.as_deref())?;
        serving.listen(options)?;
        Ok(serving)
    }

    /// Opens a drive, which hosts cannot connect to yet.
    pub(crate) fn open(
        open: impl FnOnce() -> Result<Drive, bitline::Error> + Send + 'static,
        pace: Pace,
    ) -> Result<Serving, EngineError> {
        let engine = Engine::start(open, pace)?;
        Ok(Serving {
            handle: engine.handle(),
            engine: Some(engine),
            target: None,
            trace: None,
        })
    }

    /// Keeps a trace from now on, if there is to be a file of one.
    pub(crate) fn begin_trace(&mut self, path: Option<&Path>) -> Result<(), EngineError> {
        let trace = path.map(|path| TraceFile::begin(&self.handle, path));
        self.trace = trace.transpose()?;
        Ok(())
    }

    /// Lets hosts connect from now on.
    pub(crate) fn listen(&mut self, options: &ServerOptions) -> Result<(), ServerError> {
        self.target = Some(Server::start(self.handle.clone(), options)?);
        Ok(())
    }

    /// Who hands jobs to the drive.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Who serves it to hosts, until it is stopped.
    pub fn target(&self) -> Option<&Server> {
        self.target.as_ref()
    }

    /// Whether the drive is still there, and who serves it to hosts.
    pub fn is_serving(&self) -> bool {
        self.engine.as_ref().is_some_and(Engine::is_serving)
            && self.target.as_ref().is_none_or(Server::is_serving)
    }

    /// What both have done so far.
    ///
    /// # Errors
    /// As [`Handle::snapshot`].
    pub fn snapshot(&self) -> Result<ServingSnapshot, ServingError> {
        let target = self.target.as_ref().map(Server::snapshot);
        Ok(ServingSnapshot {
            drive: self.handle.snapshot()?,
            target: target.unwrap_or_default(),
        })
    }

    /// Closes all connections, lets commands end that the drive has begun, writes the trace, makes the image durable and closes it.
    ///
    /// # Errors
    /// A trace or an image that cannot be written; of both, the image, as one that is not whole is worse.
    pub fn stop(&mut self) -> Result<(), ServingError> {
        if let Some(target) = self.target.take() {
            target.close();
        }
        let trace = self.trace.take();
        let traced = trace.map_or(Ok(()), |trace| trace.write(&self.handle));
        self.engine.take().map_or(Ok(()), Engine::close)?;
        Ok(traced?)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Who wants to hear of it calls `stop`.
        let _ = self.stop();
    }
}
