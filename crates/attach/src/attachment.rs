//! A drive that is served as a file, and mounted: everything from the image to the mount point, set up and undone.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use bitline::{Drive, Keep};

use crate::engine::{Engine, EngineError, Handle, Pace, Snapshot};
use crate::fuse::{FuseError, FuseServer, Threads};
use crate::mount::{FileSystem, MountError, Mounts};
use crate::notes::Notes;
use crate::unmount::Unmount;

/// Why a drive is not attached, or not detached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The drive.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Its file.
    #[error(transparent)]
    Fuse(#[from] FuseError),
    /// The file system on it.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The trace.
    #[error("{}: cannot write the trace: {source}", path.display())]
    Trace {
        /// Its file.
        path: PathBuf,
        /// What the operating system or the drive says.
        source: bitline::Error,
    },
}

/// How a drive is attached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How fast its time passes.
    pub pace: Pace,
    /// The file system that is mounted; none if only its file is there.
    pub mount: Option<FileSystem>,
    /// Where a trace is written at the end; everything until then is kept in memory.
    pub trace: Option<PathBuf>,
    /// The threads between the kernel and the drive.
    pub threads: Threads,
}

impl Options {
    /// Only the file, at this pace.
    pub fn new(pace: Pace) -> Options {
        Options {
            pace,
            mount: None,
            trace: None,
            threads: Threads::default(),
        }
    }
}

/// What has become of an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// It is there.
    Attached,
    /// Somebody has unmounted it.
    Unmounted,
    /// The drive's thread has ended, which it does by itself only after a bug of Bitline.
    Ended,
}

/// An attached drive. Dropping it detaches it, by force.
pub struct Attachment {
    engine: Option<Engine>,
    handle: Handle,
    server: Option<FuseServer>,
    mounts: Mounts,
    /// The loop device.
    device: Option<PathBuf>,
    trace: Option<PathBuf>,
    notes: Notes,
}

impl Attachment {
    /// Undoes what servers that crashed have left, opens a drive, and attaches it to the folder `at`: its file is there, or the
    /// file system on it, which is made if the drive is blank. What was done is undone if something fails.
    ///
    /// # Errors
    /// [`AttachError`].
    pub fn start(
        open: impl FnOnce() -> Result<Drive, bitline::Error> + Send + 'static,
        image: Option<&Path>,
        at: &Path,
        options: &Options,
    ) -> Result<Attachment, AttachError> {
        let notes = Notes::default();
        for line in Mounts::undo_stale()? {
            notes.note(line);
        }
        let mut mounts = Mounts::plan(image, at, options.mount.is_some())?;
        let engine = match Engine::start(open, options.pace) {
            Ok(engine) => engine,
            Err(error) => {
                mounts.forget()?;
                return Err(error.into());
            }
        };
        let mut attachment = Attachment {
            handle: engine.handle(),
            engine: Some(engine),
            server: None,
            mounts,
            device: None,
            trace: options.trace.clone(),
            notes,
        };
        // Dropping it undoes what was done.
        attachment.set_up(options)?;
        Ok(attachment)
    }

    fn set_up(&mut self, options: &Options) -> Result<(), AttachError> {
        if self.trace.is_some() {
            let started = self.handle.ask(|drive, _| drive.start_trace(Keep::All))?;
            started.map_err(EngineError::from)?;
        }
        let folder = self.mounts.folder();
        let server = FuseServer::mount(&self.handle, folder, options.threads, &self.notes)?;
        let file = server.file();
        self.server = Some(server);
        if let Some(file_system) = options.mount {
            let (device, is_new) = self.mounts.mount(&file, file_system)?;
            let device_name = device.display();
            self.notes.note(match is_new {
                true => format!("the drive was blank: made {file_system} on {device_name}"),
                false => format!("found {file_system} on {device_name}"),
            });
            self.device = Some(device);
        }
        Ok(())
    }

    /// Who hands jobs to the drive: other servers may share it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The drive's file.
    pub fn file(&self) -> PathBuf {
        self.mounts.folder().join(crate::fuse::DRIVE)
    }

    /// Bytes of the drive's file.
    pub fn bytes(&self) -> u64 {
        self.server.as_ref().map_or(0, FuseServer::bytes)
    }

    /// The loop device, if there is one.
    pub fn device(&self) -> Option<&Path> {
        self.device.as_deref()
    }

    /// What there is to tell besides the figures.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// What the drive has done so far.
    ///
    /// # Errors
    /// As [`Handle::snapshot`].
    pub fn snapshot(&self) -> Result<Snapshot, AttachError> {
        Ok(self.handle.snapshot()?)
    }

    /// What has become of it by now.
    pub fn state(&self) -> State {
        let is_served = self.server.as_ref().is_some_and(FuseServer::is_serving);
        if !self.engine.as_ref().is_some_and(Engine::is_serving) {
            State::Ended
        } else if !is_served {
            State::Unmounted
        } else {
            match &self.device {
                Some(device) if !self.mounts.is_mounted(device) => State::Unmounted,
                _ => State::Attached,
            }
        }
    }

    /// Undoes everything, in order: unmounts, lets the loop device go, makes the image durable and closes it. What is done stays
    /// done if it fails, so that it can be called again.
    ///
    /// # Errors
    /// Files that are open, unless by force; an image or a trace that cannot be written.
    pub fn stop(&mut self, how: Unmount) -> Result<(), AttachError> {
        self.mounts.undo(how)?;
        self.device = None;
        if let Some(server) = &mut self.server {
            server.unmount(how)?;
        }
        self.server = None;
        let traced = self.write_trace();
        let closed = self.engine.take().map_or(Ok(()), Engine::close);
        self.mounts.forget()?;
        closed?;
        traced
    }

    fn write_trace(&mut self) -> Result<(), AttachError> {
        let Some(path) = self.trace.take() else {
            return Ok(());
        };
        let file = path.clone();
        let written = self.handle.ask(move |drive, _| {
            drive.stop_trace()?;
            let file = File::create(file).map_err(bitline::Error::TraceWrite)?;
            let mut file = BufWriter::new(file);
            drive.write_trace(&mut file)?;
            file.flush().map_err(bitline::Error::TraceWrite)
        })?;
        written.map_err(|source| AttachError::Trace { path, source })
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        // Who wants to hear of it calls `stop`.
        let _ = self.stop(Unmount::ByForce);
    }
}
