//! A drive that is served as a file, and mounted: everything from the image to the mount point, set up and undone.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use bitline::Drive;
use bitline::inside::InsideHost;
use rustix::io::Errno;

use crate::engine::{EngineError, Handle, Pace, Snapshot};
use crate::fuse::{FuseError, FuseServer, Place};
use crate::mount::{Beneath, FileSystem, MountError, Mounts};
use crate::notes::Notes;
use crate::serving::{Serving, ServingError};
use crate::tcp::{Listen, Server, ServerError, ServerOptions};
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
    /// Where hosts connect to it.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The file system on it.
    #[error(transparent)]
    Mount(#[from] MountError),
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
    /// Whether processes of this user reach it at a control socket, to run tasks on files of the mount: `about` beside its file says
    /// where that is, and `mounted` finds it.
    pub has_control: bool,
    /// Where hosts connect to it besides; nowhere if there is none.
    pub target: Option<ServerOptions>,
}

impl Options {
    /// The file and the control socket, at this pace.
    pub fn new(pace: Pace) -> Options {
        Options {
            pace,
            mount: None,
            trace: None,
            has_control: true,
            target: None,
        }
    }
}

impl From<ServingError> for AttachError {
    fn from(error: ServingError) -> AttachError {
        match error {
            ServingError::Engine(error) => error.into(),
            ServingError::Server(error) => error.into(),
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
    /// Somebody has had the kernel abort its connection to it, as `umount -f` does: it is there still, and gives errors.
    Aborted,
    /// The drive's thread has ended, or that of the server to which hosts connect, which they do by themselves only after a bug of
    /// Bitline.
    Ended,
}

/// An attached drive. Dropping it detaches it, by force.
pub struct Attachment {
    /// The drive, and where hosts connect to it besides.
    serving: Serving,
    fuse: Option<FuseServer>,
    mounts: Mounts,
    /// The loop device.
    device: Option<PathBuf>,
    notes: Notes,
}

/// How long a server that was killed may take until it is gone, after what it served.
const PATIENCE: Duration = Duration::from_secs(3);

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
        let began = Instant::now();
        loop {
            for line in Mounts::undo_stale()? {
                notes.note(line);
            }
            // Whose server is not wholly gone yet is left alone, and its folder cannot be mounted on.
            if !is_dead(at) || began.elapsed() > PATIENCE {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let mut mounts = Mounts::plan(image, at, options.mount.is_some())?;
        let serving = match Serving::open(open, options.pace) {
            Ok(serving) => serving,
            Err(error) => {
                // That the drive cannot be opened is what is told; the next start removes a record that stays.
                let _ = mounts.forget();
                return Err(error.into());
            }
        };
        let mut attachment = Attachment {
            serving,
            fuse: None,
            mounts,
            device: None,
            notes,
        };
        // Dropping it undoes what was done.
        attachment.set_up(options)?;
        Ok(attachment)
    }

    fn set_up(&mut self, options: &Options) -> Result<(), AttachError> {
        self.serving.begin_trace(options.trace.as_deref())?;
        let control = self.mounts.control().filter(|_| options.has_control);
        if let Some(target) = listening(options.target.as_ref(), control.as_deref()) {
            self.serving.listen(&target)?;
        }
        let place = Place {
            folder: self.mounts.folder(),
            control,
        };
        let drive = self.serving.handle();
        let fuse = FuseServer::mount(&drive, place, &self.notes)?;
        let file = fuse.file();
        self.fuse = Some(fuse);
        if let Some(file_system) = options.mount {
            let beneath = beneath(&drive)?;
            let (device, is_new) = self.mounts.mount(&file, file_system, &beneath)?;
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
        self.serving.handle()
    }

    /// The drive's file.
    pub fn file(&self) -> PathBuf {
        self.mounts.folder().join(crate::fuse::DRIVE)
    }

    /// Bytes of the drive's file.
    pub fn bytes(&self) -> u64 {
        self.fuse.as_ref().map_or(0, FuseServer::bytes)
    }

    /// Who serves it to hosts besides, if somebody does.
    pub fn target(&self) -> Option<&Server> {
        self.serving.target()
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
        Ok(self.serving.handle().snapshot()?)
    }

    /// What has become of it by now.
    pub fn state(&self) -> State {
        let is_served = self.fuse.as_ref().is_some_and(FuseServer::is_serving);
        let is_aborted = self.fuse.as_ref().is_some_and(FuseServer::is_aborted);
        if !self.serving.is_serving() {
            State::Ended
        } else if is_aborted {
            State::Aborted
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
        if let Some(fuse) = &mut self.fuse {
            fuse.unmount(how)?;
        }
        self.fuse = None;
        let stopped = self.serving.stop();
        let forgotten = self.mounts.forget();
        // An image that is not whole is the worst of it.
        stopped?;
        Ok(forgotten?)
    }
}

/// The drive that a file system is to be on: what a write has left in its cache counts as what it holds.
fn beneath(drive: &Handle) -> Result<Beneath, EngineError> {
    drive.run(|served| async move { served.durable().flush().await })??;
    let found = drive.ask(|drive, served| -> Result<Beneath, bitline::Error> {
        let (block, end) = (served.host().block(), drive.data_blocks()?);
        let runs = drive.mapped_runs()?;
        let within = runs.iter().filter(|run| run.first < end);
        Ok(Beneath {
            page_bytes: u64::from(block.preferred_write_blocks()) * u64::from(block.block_bytes()),
            held_bytes: within.map(|run| run.blocks).sum::<u64>() * u64::from(block.block_bytes()),
        })
    })?;
    Ok(found?)
}

/// Whether something is mounted in a folder that nobody serves any more.
fn is_dead(folder: &Path) -> bool {
    let found = fs::metadata(folder);
    found.is_err_and(|error| Errno::from_io_error(&error) == Some(Errno::NOTCONN))
}

/// The options of a server that listens where it is asked to, and at the control socket; none if it is to listen nowhere.
fn listening(asked: Option<&ServerOptions>, control: Option<&Path>) -> Option<ServerOptions> {
    let control = control.map(|path| Listen::Unix(path.to_owned()));
    let mut options = match asked {
        Some(asked) => asked.clone(),
        None => ServerOptions::listening_at(Vec::new()),
    };
    options.listen.extend(control);
    (!options.listen.is_empty()).then_some(options)
}

impl Drop for Attachment {
    fn drop(&mut self) {
        // Who wants to hear of it calls `stop`.
        let _ = self.stop(Unmount::ByForce);
    }
}
