//! A file of a mounted file system while it is registered for a run.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bitline::{Extent, Placed, TaskFile};
use rustix::fs::{AtFlags, CWD, FallocateFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

use super::cache::drop_pages;
use super::error::MountedError;
use super::extents::{Blocks, extents, moved};
use super::{lease, map};

/// Zeroes that are written at a time.
const ZEROES_BYTES: usize = 4 << 20;
/// Flags of inodes (linux/fs.h): what the drive would write does not come where it counts.
const FLAGS: [(u32, &str, &str); 3] = [
    (0x4000, "its data is journalled", "chattr -j, and copy it"),
    (0x0800, "it is encrypted", "copy it to a folder that is not"),
    (
        0x0010_0000,
        "it is protected by fs-verity",
        "copy it: the copy is not",
    ),
];
/// The flag of a file on the realtime device of xfs.
const REALTIME: u32 = 1;

/// What a file is registered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    WriteAlone,
    WriteShared,
    /// It has no name before it is written.
    Create,
}

/// What a new file is to get.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Its length.
    pub(super) bytes: u64,
    /// Bytes of the drive of which its first block is at a multiple.
    pub(super) alignment: u64,
}

/// A file that is registered for a run. It stays where it is until it is settled, or dropped.
#[derive(Debug)]
#[must_use = "it is registered as long as this is held"]
pub struct MountedFile {
    path: PathBuf,
    file: File,
    purpose: Use,
    blocks: Blocks,
    bytes: u64,
    extents: Vec<Extent>,
}

impl MountedFile {
    pub(super) fn open(
        path: PathBuf,
        purpose: Use,
        device: u64,
        blocks: Blocks,
    ) -> Result<MountedFile, MountedError> {
        let mut options = OpenOptions::new();
        options.read(true).write(purpose != Use::Read);
        // A file that somebody else has leased is told of at once, and a pipe does not block.
        options.custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
        let file = options
            .open(&path)
            .map_err(|error| MountedError::system(&path, "open", error))?;
        check_kind(&path, &file, device)?;
        if purpose == Use::WriteAlone {
            lease::take(&file).map_err(|error| not_alone(&path, error))?;
        }
        MountedFile::registered(path, file, purpose, blocks)
    }

    pub(super) fn create(
        path: PathBuf,
        room: Room,
        device: u64,
        blocks: Blocks,
    ) -> Result<MountedFile, MountedError> {
        if path.symlink_metadata().is_ok() {
            let why = "there is one of that name";
            let instead = "remove it, or have the run write it where it lies";
            return Err(MountedError::refused(&path, why, instead));
        }
        if room.bytes == 0 {
            let why = "a run is to write it, and it has no bytes";
            let instead = "say how many bytes it gets: a run does not make it longer";
            return Err(MountedError::refused(&path, why, instead));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o666);
        options.custom_flags(libc::O_TMPFILE | libc::O_CLOEXEC);
        let file = options
            .open(folder_of(&path))
            .map_err(|error| MountedError::system(&path, "create a file in its folder", error))?;
        check_kind(&path, &file, device)?;
        reserve(&file, room, blocks)
            .and_then(|()| fill(&file, room.bytes))
            .map_err(|error| MountedError::system(&path, "give it its bytes", error))?;
        MountedFile::registered(path, file, Use::Create, blocks)
    }

    /// Has the drive and the host see one truth of the file, and looks where it lies.
    fn registered(
        path: PathBuf,
        file: File,
        purpose: Use,
        blocks: Blocks,
    ) -> Result<MountedFile, MountedError> {
        let place = &path;
        let system = |what| move |error: io::Error| MountedError::system(place, what, error);
        file.sync_all().map_err(system("fsync"))?;
        let bytes = file.metadata().map_err(system("stat"))?.len();
        if purpose != Use::Read {
            let staying = drop_pages(&file, bytes).map_err(system("drop its pages"))?;
            if staying > 0 {
                let why = format!(
                    "{staying} of its pages stay in the page cache, as somebody has them mapped or writes them"
                );
                let instead = "have that process close the file first";
                return Err(MountedError::refused(&path, why, instead));
            }
        }
        let extents = extents_of(&path, &file, bytes, blocks)?;
        Ok(MountedFile {
            path,
            file,
            purpose,
            blocks,
            bytes,
            extents,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its logical blocks, in its order.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Bytes of one.
    pub fn block_bytes(&self) -> u64 {
        self.blocks.bytes
    }

    /// Where it lies, for what takes such files: tasks, streams and collectors.
    pub fn placed(&self) -> Placed {
        Placed::new(self.bytes, self.extents.clone())
    }

    /// Whether it is one that a run may write.
    pub fn is_writable(&self) -> bool {
        self.purpose != Use::Read
    }

    /// The file as a run is told of it.
    pub fn task_file(&self) -> TaskFile {
        let name = self.path.display().to_string();
        let file = match self.is_writable() {
            true => TaskFile::write(name),
            false => TaskFile::read(name),
        };
        file.at(self.placed())
    }

    /// Ends its registration, after what the drive did with it: looks whether it is where it was, drops what the page cache has
    /// of one that was written, says when it changed, and gives a new one its name, if it `is_good`. All of that is durable then.
    ///
    /// # Errors
    /// [`MountedError::Changed`] if it is not where it was, or stays in the page cache as it was before; what the operating system
    /// refuses.
    pub fn settle(self, is_good: bool) -> Result<(), MountedError> {
        if !self.is_writable() {
            return Ok(());
        }
        let path = &self.path;
        let system = |what| move |error: io::Error| MountedError::system(path, what, error);
        let bytes = self.bytes;
        let staying = drop_pages(&self.file, bytes).map_err(system("drop its pages"))?;
        if !is_good {
            return Ok(());
        }
        self.check_place()?;
        let is_let_in = self.purpose == Use::WriteAlone
            && !lease::is_held(&self.file).map_err(system("its lease"))?;
        if is_let_in {
            let what = "the kernel let somebody open it, who had waited for as long as a lease lasts (fs.lease-break-time)";
            return Err(self.changed(what, "what was written then may be on either side"));
        }
        if staying > 0 {
            let what = format!(
                "somebody has mapped or written it, and {staying} of its pages stay in the page cache"
            );
            return Err(self.changed(&what, "the host reads these as they were before"));
        }
        // The drive has written it: who compares times is to see that. Its length is what it was.
        let times = Timestamps {
            last_access: moment(UTIME_OMIT),
            last_modification: moment(UTIME_NOW),
        };
        rustix::fs::futimens(&self.file, &times)
            .map_err(|error| system("say when it changed")(error.into()))?;
        self.file.sync_all().map_err(system("fsync"))?;
        if self.purpose == Use::Create {
            self.give_name().map_err(system("give it its name"))?;
        }
        Ok(())
    }

    fn check_place(&self) -> Result<(), MountedError> {
        let stat = self.file.metadata();
        let now = stat
            .map_err(|error| MountedError::system(&self.path, "stat", error))?
            .len();
        if now < self.bytes {
            let what = format!("it was cut from {} to {now} bytes", self.bytes);
            return Err(self.changed(&what, "what was written behind its end is lost"));
        }
        let extents = match extents_of(&self.path, &self.file, self.bytes, self.blocks) {
            Ok(extents) => extents,
            Err(MountedError::Refused { why, .. }) => {
                return Err(self.changed(&why, "what was written there may be lost"));
            }
            Err(other) => return Err(other),
        };
        match moved(&self.extents, &extents, self.blocks.bytes) {
            None => Ok(()),
            Some((from, to)) => {
                let affected = format!("its bytes {from} to {to} are not what was written");
                Err(self.changed("the file system moved some of it", &affected))
            }
        }
    }

    fn changed(&self, what: &str, affected: &str) -> MountedError {
        MountedError::Changed {
            path: self.path.clone(),
            what: what.to_owned(),
            affected: affected.to_owned(),
        }
    }

    /// Gives a file that has none its name (open(2), O_TMPFILE).
    fn give_name(&self) -> io::Result<()> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(CWD, own, CWD, &self.path, AtFlags::SYMLINK_FOLLOW)?;
        File::open(folder_of(&self.path))?.sync_all()
    }
}

/// That a file is one of the file system, whose data lies in its blocks as it is.
fn check_kind(path: &Path, file: &File, device: u64) -> Result<(), MountedError> {
    let system = |what| move |error: io::Error| MountedError::system(path, what, error);
    let facts = file.metadata().map_err(system("stat"))?;
    if !facts.is_file() {
        let instead = "name a file that has data";
        return Err(MountedError::refused(
            path,
            "it is no regular file",
            instead,
        ));
    }
    if facts.dev() != device {
        let why = "it is on another file system than the one that was opened";
        let instead = "name a file of that, or open the file system it is on";
        return Err(MountedError::refused(path, why, instead));
    }
    let flags = map::flags(file).map_err(system("its flags"))?;
    if let Some((_, why, instead)) = FLAGS.iter().find(|(flag, ..)| flags & flag != 0) {
        return Err(MountedError::refused(path, *why, *instead));
    }
    let extended = map::extended_flags(file).map_err(system("its flags"))?;
    if extended & REALTIME != 0 {
        let why = "it lies on the realtime device of its file system";
        let instead = "copy it to a folder without that flag (xfs_io -c 'chattr -t')";
        return Err(MountedError::refused(path, why, instead));
    }
    Ok(())
}

fn extents_of(
    path: &Path,
    file: &File,
    bytes: u64,
    blocks: Blocks,
) -> Result<Vec<Extent>, MountedError> {
    let pieces =
        map::pieces(file, bytes).map_err(|error| MountedError::system(path, "FIEMAP", error))?;
    extents(&pieces, bytes, blocks)
        .map_err(|(why, instead)| MountedError::refused(path, why, instead))
}

fn not_alone(path: &Path, error: io::Error) -> MountedError {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => MountedError::refused(
            path,
            "somebody else has it open",
            "have it closed, or let others share it, whose writes are conflicts then",
        ),
        Some(libc::EACCES) => MountedError::refused(
            path,
            "it belongs to another user, whose files can be leased with CAP_LEASE only",
            "run as that user, or share it",
        ),
        _ => MountedError::system(path, "take a lease", error),
    }
}

/// Sets blocks aside for a file, one behind the other where there is room. The first begins at a multiple of `alignment` bytes of
/// the drive: there are some more at first, and those before it are taken out again, which moves nothing.
fn reserve(file: &File, room: Room, blocks: Blocks) -> io::Result<()> {
    let Room { bytes, alignment } = room;
    let slack = alignment.saturating_sub(blocks.bytes);
    rustix::fs::fallocate(
        file,
        FallocateFlags::empty(),
        0,
        bytes.saturating_add(slack),
    )?;
    if slack == 0 {
        return Ok(());
    }
    if let Some(first) = map::pieces(file, bytes)?.first() {
        let place = first.physical + blocks.offset;
        let before = place.next_multiple_of(alignment) - place;
        if before > 0 {
            rustix::fs::fallocate(file, FallocateFlags::COLLAPSE_RANGE, 0, before)?;
        }
    }
    file.set_len(bytes)
}

/// Gives a file so many zeroes. Blocks that are only set aside (fallocate) would read as zeroes whatever the drive puts there, and nothing
/// but a write makes them written ones.
fn fill(mut file: &File, bytes: u64) -> io::Result<()> {
    let zeroes = vec![0; ZEROES_BYTES.min(usize::try_from(bytes).unwrap_or(usize::MAX))];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(zeroes.len() as u64);
        file.write_all(&zeroes[..now as usize])?;
        left -= now;
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

fn moment(nanoseconds: i64) -> Timespec {
    Timespec {
        tv_sec: 0,
        tv_nsec: nanoseconds,
    }
}
