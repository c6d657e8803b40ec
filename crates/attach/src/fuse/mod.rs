//! A drive as a file: a folder with `drive`, whose bytes are those of the drive's first namespace before its volume, and
//! `about`, which says what the drive is. Any file system may be made in that file, by way of a loop device.

mod attributes;
mod budget;
mod data;
mod device;
mod drive_file;
mod errors;
mod folder;
mod intake;
mod landing;
mod names;
mod reader;
mod replies;
mod requests;
#[cfg(test)]
mod tests;
mod wire;

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use bitline::inside::{InsideConfig, InsideHost};
use fuser::{Config, MountOption, Session, SessionACL};
use rustix::io::Errno;
use serde::Serialize;

use crate::engine::{EngineError, Handle};
use crate::notes::Notes;
use crate::system;
use crate::unmount::{Unmount, unmount_at};
pub(crate) use attributes::ABOUT;
use attributes::Attributes;
pub use attributes::DRIVE;
use data::DataPool;
use device::Device;
use drive_file::{DriveFile, Parts};
use folder::{Folder, Settings};
use intake::Intake;
use landing::Landing;
use names::Names;
use reader::Reader;
use replies::ReplyThread;

/// What the kernel's table calls the source of what is mounted.
pub(crate) const NAME: &str = "bitline";

/// Why a drive is not served as a file, or not any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FuseError {
    /// The folder cannot be mounted on.
    #[error("{}: cannot mount the drive's file here: {source} (it needs /dev/fuse, an existing folder, and root or fusermount3)", path.display())]
    Mount {
        /// The folder.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Files in it are open, or a program works in it.
    #[error("{}: files there are open, a program works there, or another mount namespace has it", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The folder cannot be unmounted.
    #[error("{}: cannot unmount the drive's file: {source}", path.display())]
    Unmount {
        /// The folder.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The drive itself.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It has no room for a file.
    #[error("the drive has no logical blocks for ordinary data")]
    Empty,
}

/// A drive that is served as a file. Dropping it unmounts, as well as it can.
pub(crate) struct FuseServer {
    session: Option<Session<Settings>>,
    device: Device,
    folder: PathBuf,
    /// The number of what is mounted there, by which the kernel's table tells it from what others mount there.
    number: Option<String>,
    bytes: u64,
}

/// Where a drive is served as a file.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    /// The folder, by the name that the kernel's tables have of it.
    pub folder: &'a Path,
    /// The socket at which the drive is controlled, if it has one: `about` tells of it.
    pub control: Option<PathBuf>,
}

/// What `about` says.
#[derive(Clone, Debug, Serialize)]
struct About {
    bytes: u64,
    block_bytes: u32,
    page_bytes: u64,
    namespace_blocks: u64,
    image: Option<PathBuf>,
    control: Option<PathBuf>,
}

impl FuseServer {
    /// Mounts the drive's file.
    ///
    /// # Errors
    /// [`FuseError`].
    pub(crate) fn mount(
        drive: &Handle,
        place: Place<'_>,
        notes: &Notes,
    ) -> Result<FuseServer, FuseError> {
        let Place { folder, control } = place;
        let about = drive.ask(
            move |drive, served| -> Result<(About, u32), bitline::Error> {
                let block = served.host().block();
                let block_bytes = block.block_bytes();
                let about = About {
                    bytes: drive.data_blocks()? * u64::from(block_bytes),
                    block_bytes,
                    page_bytes: u64::from(block.unit_blocks()) * u64::from(block_bytes),
                    namespace_blocks: block.blocks(),
                    image: drive.image().map(Path::to_owned),
                    control,
                };
                Ok((about, drive.config().device().nand.geometry.page_bytes))
            },
        )?;
        let (about, page_bytes) = about.map_err(EngineError::from)?;
        if about.bytes == 0 {
            return Err(FuseError::Empty);
        }
        let text = serde_json::to_string(&about).map_err(|error| FuseError::Mount {
            path: folder.to_owned(),
            source: error.into(),
        })? + "\n";
        let contents = Folder {
            attributes: Attributes {
                drive_bytes: about.bytes,
                about_bytes: text.len() as u64,
                block_bytes: about.block_bytes,
                since: SystemTime::now(),
            },
            about: text,
        };
        let failed = |source| FuseError::Mount {
            path: folder.to_owned(),
            source,
        };
        let session = Session::new(Settings, folder, &options()).map_err(failed)?;
        let device = Device::of(session.as_fd()).map_err(failed)?;
        let pool = DataPool::new(drive.doorbell().clone(), page_bytes as usize);
        let intake = Intake {
            names: Names::start(contents, device.clone()).map_err(failed)?,
            device: device.clone(),
            landing: Landing::new(&pool),
            pool,
            bytes: about.bytes,
            block_bytes: about.block_bytes,
        };
        let parts = Parts {
            intake,
            reader: Reader::start(drive.doorbell().clone()).map_err(EngineError::from)?,
            thread: ReplyThread::start().map_err(EngineError::from)?,
            is_on_disk: about.image.is_some(),
            notes: notes.clone(),
        };
        drive.take_from(|| DriveFile::from(parts))?;
        let entry = system::at(folder).map_err(failed)?;
        Ok(FuseServer {
            session: Some(session),
            device,
            number: entry.map(|entry| entry.number),
            folder: folder.to_owned(),
            bytes: about.bytes,
        })
    }

    /// The drive's file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(attributes::DRIVE)
    }

    /// Bytes of the drive's file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it is served: not any more once somebody has unmounted it.
    pub(crate) fn is_serving(&self) -> bool {
        self.session.is_some() && !self.has_ended() && self.is_mounted()
    }

    /// Whether it is mounted, and who has its file open gets errors: somebody has aborted the connection, as `umount -f` does.
    pub(crate) fn is_aborted(&self) -> bool {
        self.number.is_some() && self.has_ended() && self.is_mounted()
    }

    /// Whether the kernel has let go of it.
    fn has_ended(&self) -> bool {
        !self.device.is_connected()
    }

    /// Whether what is at its folder is what was mounted there; it is, where the kernel's table cannot be read.
    fn is_mounted(&self) -> bool {
        match (&self.number, system::at(&self.folder)) {
            (Some(number), Ok(entry)) => entry.is_some_and(|entry| entry.number == *number),
            _ => true,
        }
    }

    /// Unmounts, after what is under way.
    ///
    /// # Errors
    /// [`FuseError::Busy`] unless by force, [`FuseError::Unmount`]; it is then still served.
    pub(crate) fn unmount(&mut self, how: Unmount) -> Result<(), FuseError> {
        let Some(session) = self.session.take() else {
            return Ok(());
        };
        let failed = |source| FuseError::Unmount {
            path: self.folder.clone(),
            source,
        };
        let busy = || FuseError::Busy {
            path: self.folder.clone(),
        };
        // What the kernel has let go of is there still if somebody has aborted it.
        let is_known = self.number.is_some() || !self.has_ended();
        let is_there = is_known && self.is_mounted();
        if is_there && let Err(error) = unmount_at(&self.folder, how, || ()) {
            self.session = Some(session);
            return Err(match error {
                Errno::BUSY => busy(),
                error => failed(error.into()),
            });
        }
        // Where it was unmounted lazily, by force or by somebody else, somebody may have its file open still.
        if !self.ends_within(how.patience()) {
            if how != Unmount::ByForce {
                self.session = Some(session);
                return Err(busy());
            }
            // They get errors from now on. It must not unmount its folder again, where something else may be by then.
            std::mem::forget(session);
            return Ok(());
        }
        if system::at(&self.folder).is_ok_and(|entry| entry.is_some()) {
            // Dropping it would unmount that, which is another's: the library looks only whether the kernel has let go of it.
            std::mem::forget(session);
        }
        Ok(())
    }

    /// Whether what is not mounted any more ends within some time.
    fn ends_within(&self, patience: Duration) -> bool {
        let began = Instant::now();
        while !self.has_ended() {
            if began.elapsed() > patience {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

fn options() -> Config {
    let mut options = Config::default();
    options.mount_options = vec![
        MountOption::FSName(NAME.into()),
        MountOption::Subtype(NAME.into()),
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::NoExec,
        MountOption::DefaultPermissions,
    ];
    options.acl = SessionACL::Owner;
    options
}
