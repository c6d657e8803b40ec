//! A file system on a drive's file, over a loop device: made if the drive is blank, mounted, and all of it undone again, be it
//! by the next start after a crash.
//!
//! The process that serves a drive must not look into what is mounted from it: it would wait for itself. Commands that do are
//! processes of their own, and the kernel's tables say the rest.

mod file_system;
mod record;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

pub use file_system::{FOR_FILE_SYSTEMS, FileSystem, FileSystemError, for_file_systems};

pub use crate::commands::CommandError;
use crate::commands::run;
use crate::system;
use crate::unmount::{Unmount, unmount_at};
use record::{Record, SetUp};

/// Why a file system is not mounted, or not unmounted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// A command that it takes.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The drive holds something else; it is left as it is.
    #[error(
        "the drive holds {held}, not {wanted}: it is left as it is. Mount it as that, or give its blocks back first"
    )]
    Held {
        /// What it holds.
        held: String,
        /// What was asked for.
        wanted: FileSystem,
    },
    /// The drive holds data, and nothing that says which; it is left as it is.
    #[error(
        "the drive holds {bytes} bytes of data that are no file system: {wanted} would be made over them, and they are left as they \
         are. Give another image; or, if nobody needs them, attach the drive without a file system and give them back (blkdiscard)"
    )]
    Data {
        /// How many bytes of it are mapped.
        bytes: u64,
        /// What was asked for.
        wanted: FileSystem,
    },
    /// Another drive is mounted at the folder, which would be hidden.
    #[error("{}: another drive is mounted there: umount it first, or give another folder", path.display())]
    Taken {
        /// The folder.
        path: PathBuf,
    },
    /// Files in it are open, or a program works in it.
    #[error("{}: files there are open, a program works there, or another mount namespace has it", path.display())]
    Busy {
        /// Where it is mounted.
        path: PathBuf,
    },
    /// The operating system refuses something.
    #[error("{}: cannot {what}: {source}", path.display())]
    System {
        /// Where.
        path: PathBuf,
        /// What.
        what: &'static str,
        /// What it says.
        source: io::Error,
    },
}

/// What a file system has to know of the drive that it is to be on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beneath {
    /// Bytes of a flash page, which the drive writes at once.
    pub page_bytes: u64,
    /// Bytes of its file that hold data.
    pub held_bytes: u64,
}

/// What is set up for a drive that is served: its record, and the steps above its file.
pub(crate) struct Mounts {
    record: Option<Record>,
    set_up: SetUp,
}

impl Mounts {
    /// Undoes what servers that crashed have left, each with a line that says so, or why it cannot.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub(crate) fn undo_stale() -> Result<Vec<String>, MountError> {
        let folder = records()?;
        let found =
            record::stale(&folder).map_err(refused(&folder, "read the records of servers"))?;
        let mut lines = Vec::new();
        for (record, set_up) in found {
            if let Some(set_up) = set_up {
                let image = set_up.image.as_ref();
                let image = image.map_or("a drive in memory".into(), |image| {
                    image.display().to_string()
                });
                let at = set_up.mount.as_ref().unwrap_or(&set_up.folder);
                let at = at.display();
                let what =
                    format!("what a server of {image} that ended without a word had left at {at}");
                match undo(&set_up, Unmount::ByForce) {
                    Ok(()) => lines.push(format!("undone: {what}")),
                    // It is no reason not to serve another drive; the next start tries again.
                    Err(error) => {
                        lines.push(format!("cannot undo {what}: {error}"));
                        continue;
                    }
                }
            }
            record
                .remove()
                .map_err(refused(&folder, "remove a record"))?;
        }
        Ok(lines)
    }

    /// Records what is to be set up: the file of the drive in `image` at `folder`; with `mount`, a file system there, over a
    /// file in a folder of its own.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub(crate) fn plan(
        image: Option<&Path>,
        folder: &Path,
        is_mounted: bool,
    ) -> Result<Mounts, MountError> {
        let absolute = |path: &Path| {
            path.canonicalize()
                .map_err(refused(path, "find this folder"))
        };
        let image = image.map(std::path::absolute).transpose();
        let mut set_up = SetUp {
            image: image.map_err(refused(folder, "find the image"))?,
            folder: absolute(folder)?,
            ..SetUp::default()
        };
        // A server that has just been killed may be about to let go of what is mounted there: that is told as it is.
        let there = std::fs::metadata(&set_up.folder).map_err(refused(folder, "mount here"))?;
        if !there.is_dir() {
            let source = io::Error::from(io::ErrorKind::NotADirectory);
            return Err(refused(folder, "mount here")(source));
        }
        let all = system::mounted().map_err(refused(folder, "read what is mounted"))?;
        let is_taken = |one: &system::MountEntry| {
            let is_on_loop = one.source.to_string_lossy().starts_with("/dev/loop");
            one.at == set_up.folder && (is_on_loop || is_drives_file(one))
        };
        if all.iter().any(is_taken) {
            return Err(MountError::Taken {
                path: set_up.folder,
            });
        }
        let records = records()?;
        if is_mounted {
            set_up.mount = Some(std::mem::take(&mut set_up.folder));
            set_up.folder = own_folder(&records)?;
            set_up.is_own_folder = true;
        }
        let record = Record::new(&records, &set_up);
        Ok(Mounts {
            record: Some(record.map_err(refused(&records, "write a record"))?),
            set_up,
        })
    }

    /// Where the drive's file is to be.
    pub(crate) fn folder(&self) -> &Path {
        &self.set_up.folder
    }

    /// Where processes of this user are to reach the drive, until all is forgotten.
    pub(crate) fn control(&self) -> Option<PathBuf> {
        self.record.as_ref().map(Record::socket)
    }

    /// Where the file system is to be, if there is to be one.
    pub(crate) fn mount_point(&self) -> Option<&Path> {
        self.set_up.mount.as_deref()
    }

    /// Sets up a file system on the file of a drive; gives the loop device, and whether it was made.
    ///
    /// # Errors
    /// [`MountError::Held`], [`MountError::Data`] and all others; [`Mounts::undo`] undoes what was done by then.
    pub(crate) fn mount(
        &self,
        file: &Path,
        file_system: FileSystem,
        drive: &Beneath,
    ) -> Result<(PathBuf, bool), MountError> {
        let Some(at) = self.mount_point() else {
            let source = io::Error::from(io::ErrorKind::InvalidInput);
            return Err(refused(file, "mount what was not planned to be")(source));
        };
        let file = file.as_os_str();
        let options = [
            "--direct-io=on",
            "--sector-size",
            "4096",
            "--find",
            "--show",
        ];
        let arguments: Vec<_> = options.iter().map(AsRef::as_ref).chain([file]).collect();
        let device = PathBuf::from(run("losetup", "util-linux", &arguments)?);
        let held = file_system::held_by(&device)?;
        let is_new = held.is_none();
        match held {
            None if drive.held_bytes > 0 => {
                return Err(MountError::Data {
                    bytes: drive.held_bytes,
                    wanted: file_system,
                });
            }
            None => file_system.make(&device, drive.page_bytes)?,
            Some(held) if held == file_system.to_string() => {}
            Some(held) => {
                let wanted = file_system;
                return Err(MountError::Held { held, wanted });
            }
        }
        let kind = file_system.to_string();
        let mut arguments: Vec<&OsStr> = ["-o", file_system.mount_options(), "-t", &kind]
            .map(OsStr::new)
            .into();
        arguments.extend([device.as_os_str(), at.as_os_str()]);
        run("mount", "util-linux", &arguments)?;
        Ok((device, is_new))
    }

    /// Whether the file system that was mounted still is.
    pub(crate) fn is_mounted(&self, device: &Path) -> bool {
        let Some(at) = self.mount_point() else {
            return false;
        };
        // Who cannot read the table does not know that it is gone.
        system::mounted().map_or(true, |all| {
            all.iter().any(|one| one.at == at && one.source == device)
        })
    }

    /// Undoes what is above the drive's file: the file system is unmounted, the loop device let go.
    ///
    /// # Errors
    /// [`MountError::Busy`], if in order.
    pub(crate) fn undo(&self, how: Unmount) -> Result<(), MountError> {
        undo_above(&self.set_up, how)
    }

    /// Forgets it all, after the drive's file was unmounted.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub(crate) fn forget(&mut self) -> Result<(), MountError> {
        remove_own_folder(&self.set_up)?;
        let folder = &self.set_up.folder;
        match self.record.take() {
            Some(record) => record
                .remove()
                .map_err(refused(folder, "remove the record")),
            None => Ok(()),
        }
    }
}

/// The socket at which processes of this user reach the drive of an image that is attached; none if it is not, or cannot be told.
pub fn control_of(image: &Path) -> Option<PathBuf> {
    let image = image.canonicalize().ok()?;
    record::control_of(&record::folder(), &image)
}

/// An error of the operating system.
fn refused<'a>(path: &'a Path, what: &'static str) -> impl FnOnce(io::Error) -> MountError + 'a {
    move |source| MountError::System {
        path: path.to_owned(),
        what,
        source,
    }
}

/// The folder of records, by the name that the kernel's tables have of what is mounted there.
fn records() -> Result<PathBuf, MountError> {
    let folder = record::folder();
    let prepared = record::prepare(&folder).and_then(|()| folder.canonicalize());
    prepared.map_err(refused(&folder, "keep records in this folder"))
}

/// A new folder for the drive's file.
fn own_folder(records: &Path) -> Result<PathBuf, MountError> {
    for number in 0..1000 {
        let path = records.join(format!("{}-{number}.drive", std::process::id()));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(refused(&path, "make a folder for the drive's file")(error)),
        }
    }
    let source = io::Error::from(io::ErrorKind::AlreadyExists);
    Err(refused(records, "make a folder for the drive's file")(
        source,
    ))
}

fn remove_own_folder(set_up: &SetUp) -> Result<(), MountError> {
    if !set_up.is_own_folder {
        return Ok(());
    }
    match std::fs::remove_dir(&set_up.folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(refused(&set_up.folder, "remove this folder")(error))
        }
        _ => Ok(()),
    }
}

/// Whether it is the file of a drive. Without fusermount3 the kernel is not told the subtype.
fn is_drives_file(one: &system::MountEntry) -> bool {
    one.kind.starts_with("fuse") && one.source == Path::new(crate::fuse::NAME)
}

/// Undoes all of what a server had set up that is gone.
fn undo(set_up: &SetUp, how: Unmount) -> Result<(), MountError> {
    undo_above(set_up, how)?;
    let is_its = |one: &system::MountEntry| one.at == set_up.folder && is_drives_file(one);
    let all = system::mounted().map_err(refused(&set_up.folder, "tell what is mounted"))?;
    for one in all.iter().filter(|one| is_its(one)) {
        unmounted(&one.at, how)?;
    }
    remove_own_folder(set_up)
}

fn undo_above(set_up: &SetUp, how: Unmount) -> Result<(), MountError> {
    let Some(at) = &set_up.mount else {
        return Ok(());
    };
    let file = set_up.folder.join(crate::fuse::DRIVE);
    let devices = system::loops_of(&file).map_err(refused(&file, "find its loop device"))?;
    let all = system::mounted().map_err(refused(at, "tell what is mounted"))?;
    for one in all.iter().rev() {
        if devices.contains(&one.source) {
            unmounted(&one.at, how)?;
        }
    }
    for device in devices {
        let arguments = ["--detach".as_ref(), device.as_os_str()];
        run("losetup", "util-linux", &arguments)?;
    }
    Ok(())
}

/// Unmounts what is at `at`.
fn unmounted(at: &Path, how: Unmount) -> Result<(), MountError> {
    let write_back = || {
        // What is written by now reaches the drive, if that is still there. If not, nothing else can be done.
        let _ = run("sync", "coreutils", &["-f".as_ref(), at.as_os_str()]);
    };
    match unmount_at(at, how, write_back) {
        Ok(()) => Ok(()),
        Err(Errno::BUSY) => Err(MountError::Busy {
            path: at.to_owned(),
        }),
        Err(error) => Err(refused(at, "unmount this")(error.into())),
    }
}
