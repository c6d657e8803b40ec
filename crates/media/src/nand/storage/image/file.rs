//! The file below an image, as little of it as an image needs: what tests put another thing in the place of.

use super::super::StorageError;
use super::io_error;
use rustix::fs::{FallocateFlags, FlockOperation, OFlags};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Bytes that can be read and written anywhere, and made durable.
pub(in crate::nand) trait Medium: std::fmt::Debug {
    fn length(&self) -> io::Result<u64>;
    fn set_length(&mut self, bytes: u64) -> io::Result<()>;
    /// Fills `bytes` from byte `at` on; what was never written is zero.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;
    /// Writes all of `bytes`, or an unknown part of them before an error.
    fn write_at(&mut self, bytes: &[u8], at: u64) -> io::Result<()>;
    /// Gives room back; it reads as zeroes, or where that is not supported as before.
    fn punch(&mut self, at: u64, bytes: u64) -> io::Result<()>;
    /// Returns when everything written would survive the host losing power.
    fn sync(&mut self) -> io::Result<()>;
    /// Whether nobody will find it again once it is closed.
    fn is_removed(&self) -> io::Result<bool>;
}

/// A file of the host, locked while it is open.
#[derive(Debug)]
pub(super) struct HostFile {
    file: File,
    /// The process that locked it.
    process: u32,
}

impl HostFile {
    /// Makes a new file for one writer.
    pub(super) fn create(path: &Path) -> Result<HostFile, StorageError> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create_new(true);
        let file = options
            .open(path)
            .map_err(|source| io_error(path, "create the image", source))?;
        HostFile::locked(file, path, FlockOperation::NonBlockingLockExclusive)
    }

    /// Opens a file for one writer, or for as many readers. Only a regular file: a pipe would be waited for, and a
    /// device has no length.
    pub(super) fn open(path: &Path, read_only: bool) -> Result<HostFile, StorageError> {
        let failed = |source| io_error(path, "open the image", source);
        let file = OpenOptions::new()
            .read(true)
            .write(!read_only)
            // Nobody may ever write to a pipe; a regular file is the same with it.
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(path)
            .map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            let reason = "it is a folder, pipe or device; an image is a regular file";
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, reason)));
        }
        let lock = match read_only {
            true => FlockOperation::NonBlockingLockShared,
            false => FlockOperation::NonBlockingLockExclusive,
        };
        HostFile::locked(file, path, lock)
    }

    fn locked(file: File, path: &Path, lock: FlockOperation) -> Result<HostFile, StorageError> {
        match rustix::fs::flock(&file, lock) {
            Ok(()) => Ok(HostFile {
                file,
                process: std::process::id(),
            }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StorageError::Locked {
                path: path.to_owned(),
                process: who_locked(&file),
            }),
            Err(error) => Err(io_error(path, "lock the image", error.into())),
        }
    }
}

/// A process that has locked a file, as Linux lists it; none where it does not, as of a process in another container, or lists
/// another device than the file says that it is on, as btrfs and overlays may.
fn who_locked(file: &File) -> Option<u32> {
    let facts = file.metadata().ok()?;
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let mut lines = locks.lines();
    let locker = lines.find_map(|line| locker(line, facts.dev(), facts.ino()))?;
    // A fork has the lock as well, and may outlive who took it.
    let lives = Path::new("/proc").join(locker.to_string()).exists();
    lives.then_some(locker)
}

/// The process of a line of `/proc/locks`, if it has locked the file of such a number (proc_locks(5)).
fn locker(line: &str, device: u64, inode: u64) -> Option<u32> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // Who waits for a lock has an arrow before its kind.
    let [_, "FLOCK", _, _, process, number, ..] = words[..] else {
        return None;
    };
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let is_it = number == format!("{major:02x}:{minor:02x}:{inode}");
    // 0 stands for a process that this one cannot see.
    process.parse().ok().filter(|process| is_it && *process > 0)
}

/// Makes the name of a file durable, as its own sync does not.
pub(super) fn sync_folder_of(path: &Path) -> Result<(), StorageError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| io_error(path, "sync the folder of the image", source))
}

impl Medium for HostFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_length(&mut self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, at)
    }

    fn write_at(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn punch(&mut self, at: u64, bytes: u64) -> io::Result<()> {
        use rustix::io::Errno;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, flags, at, bytes) {
            Ok(()) => Ok(()),
            // A file system without holes keeps the room.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn is_removed(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.nlink() == 0)
    }
}

impl Drop for HostFile {
    fn drop(&mut self) {
        // Closing the file would unlock it too, but not while a process that this one is just
        // starting still has a copy of the descriptor. A fork shares the lock with the process that
        // took it, so its copy is closed only.
        if self.process == std::process::id() {
            // It cannot fail on a file that is locked.
            let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::locker;

    #[test]
    fn who_has_locked_a_file_is_found() {
        let device = rustix::fs::makedev(0xfd, 0x100);
        let of = |line| locker(line, device, 77);
        assert_eq!(
            of("3: FLOCK  ADVISORY  WRITE 4821 fd:100:77 0 EOF"),
            Some(4821)
        );
        for other in [
            "3: FLOCK  ADVISORY  WRITE 0 fd:100:77 0 EOF",
            "3: FLOCK  ADVISORY  WRITE -1 fd:100:77 0 EOF",
            "3: FLOCK  ADVISORY  WRITE 4821 fd:100:78 0 EOF",
            "3: FLOCK  ADVISORY  WRITE 4821 fd:01:77 0 EOF",
            "3: POSIX  ADVISORY  WRITE 4821 fd:100:77 0 EOF",
            "3: -> FLOCK  ADVISORY  WRITE 4821 fd:100:77 0 EOF",
            "",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
