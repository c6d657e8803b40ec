//! A file system that is mounted, and lies on the drive.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::device::Device;
use super::error::MountedError;
use super::extents::Blocks;
use super::file::{MountedFile, Room, Use};
use crate::fuse::ABOUT;

/// Bytes of a file system with its UUID.
const HEAD_BYTES: u64 = 4096;

/// Whether others may have a file open that a run writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody else has it open: who opens it waits until the run is over. This takes a lease.
    #[default]
    Alone,
    /// Others may have it open, and write it: what they have written to the drive by the time the run commits makes that a
    /// conflict. What their page cache still holds then is written after the run, as if it came later.
    Shared,
}

/// A file system that is mounted, and lies on a drive.
#[derive(Clone, Debug)]
pub struct Mounted {
    folder: PathBuf,
    device: Device,
    blocks: Blocks,
}

/// What is beside the file of a drive that is attached.
#[derive(Deserialize)]
struct About {
    control: Option<PathBuf>,
}

/// The socket at which this user reaches the drive that a folder is mounted from, if it is attached to this machine.
///
/// # Errors
/// A file system that is not on an attached drive, or on one without such a socket.
pub fn control_socket(folder: impl AsRef<Path>) -> Result<PathBuf, MountedError> {
    let folder = folder.as_ref();
    let device = Device::of(folder)?;
    let instead = "say which drive it is, by a connection to it";
    let Some(file) = &device.backing else {
        let why = "it is not mounted from the file of an attached drive";
        return Err(MountedError::refused(folder, why, instead));
    };
    let about = file.with_file_name(ABOUT);
    let told = |error| MountedError::system(&about, "what its drive says of itself", error);
    let text = std::fs::read(&about).map_err(told)?;
    let About { control } = serde_json::from_slice(&text).map_err(|error| told(error.into()))?;
    control.ok_or_else(|| MountedError::refused(folder, "its drive has no control socket", instead))
}

impl Mounted {
    /// The file system that a folder belongs to, on a drive with logical blocks of so many bytes.
    ///
    /// # Errors
    /// A file system that does not tell where files lie; one that is on no loop device and no NVMe namespace.
    pub fn open(folder: impl AsRef<Path>, block_bytes: u32) -> Result<Mounted, MountedError> {
        let folder = folder.as_ref();
        let device = Device::of(folder)?;
        let blocks = Blocks {
            bytes: block_bytes.into(),
            offset: device.offset,
        };
        if !device.offset.is_multiple_of(blocks.bytes) {
            let why = format!(
                "it begins {} bytes into the drive, whose blocks have {block_bytes} bytes",
                device.offset
            );
            let instead = "begin its partition with a block";
            return Err(MountedError::refused(folder, why, instead));
        }
        Ok(Mounted {
            folder: folder.to_owned(),
            device,
            blocks,
        })
    }

    /// That the file system lies on the drive whose blocks `read` reads: both have the same UUID there. Reading the host's side takes
    /// the right to read the block device.
    ///
    /// # Errors
    /// It lies on another one; what `read` reports.
    pub fn check(
        &self,
        read: impl FnOnce(u64, u64) -> Result<Vec<u8>, bitline::Error>,
    ) -> Result<(), MountedError> {
        let (first, blocks) = self.head();
        self.check_head(&read(first, blocks)?)
    }

    /// The first block of the file system, and how many have its UUID.
    pub fn head(&self) -> (u64, u64) {
        let first = self.blocks.offset / self.blocks.bytes;
        (first, HEAD_BYTES.div_ceil(self.blocks.bytes))
    }

    /// As [`Mounted::check`], of what the drive has in its [`Mounted::head`].
    ///
    /// # Errors
    /// As there.
    pub fn check_head(&self, of_drive: &[u8]) -> Result<(), MountedError> {
        let (node, (first, _)) = (&self.device.node, self.head());
        let mut of_host = vec![0; HEAD_BYTES as usize];
        File::open(node)
            .and_then(|mut device| device.read_exact(&mut of_host))
            .map_err(|error| MountedError::system(node, "read its superblock", error))?;
        let uuid = self.device.uuid_at..self.device.uuid_at + 16;
        match of_drive.get(uuid.clone()) == of_host.get(uuid) {
            true => Ok(()),
            false => Err(MountedError::refused(
                &self.folder,
                format!(
                    "{} is not on this drive, which has no superblock of its UUID at block {first}",
                    node.display()
                ),
                "name a folder of a file system that was made on the drive, and mounted from it",
            )),
        }
    }

    /// The folder that it was opened by.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What kind of file system it is.
    pub fn kind(&self) -> &'static str {
        self.device.kind
    }

    /// Bytes of the drive before it.
    pub fn offset(&self) -> u64 {
        self.blocks.offset
    }

    /// The file that its loop device stands for, as it was called when that was set up.
    pub fn backing_file(&self) -> Option<&Path> {
        self.device.backing.as_deref()
    }

    /// A file that a run reads, as it is now. Others may go on writing it: a run sees what the drive has when it begins.
    ///
    /// # Errors
    /// [`MountedError::Refused`] with why the drive does not see it as the host does; what the operating system refuses.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<MountedFile, MountedError> {
        self.existing(path.as_ref(), Use::Read)
    }

    /// A file that a run reads and writes where it lies. Its length stays what it is.
    ///
    /// # Errors
    /// As [`Mounted::read`]; alone, that somebody else has it open; shared, that its pages stay in the page cache.
    pub fn write(
        &self,
        path: impl AsRef<Path>,
        sharing: Sharing,
    ) -> Result<MountedFile, MountedError> {
        let purpose = match sharing {
            Sharing::Alone => Use::WriteAlone,
            Sharing::Shared => Use::WriteShared,
        };
        self.existing(path.as_ref(), purpose)
    }

    /// A new file of so many bytes, all zero, which a run writes. Nobody sees it before a run has committed that was to write it, and it is
    /// gone if none has, however this process ends.
    ///
    /// # Errors
    /// There is one of that name; no space; as [`Mounted::read`].
    pub fn create(&self, path: impl AsRef<Path>, bytes: u64) -> Result<MountedFile, MountedError> {
        self.create_aligned(path, bytes, self.blocks.bytes)
    }

    /// The same, of a file that begins at a multiple of so many bytes of the drive: of a flash page, if it is to have bitmaps
    /// ([`Rows`](super::Rows)). It lies in one piece if there is room for it as a whole.
    ///
    /// # Errors
    /// As [`Mounted::create`].
    pub fn create_aligned(
        &self,
        path: impl AsRef<Path>,
        bytes: u64,
        alignment: u64,
    ) -> Result<MountedFile, MountedError> {
        let (path, number) = (self.within(path.as_ref()), self.device.number);
        MountedFile::create(path, Room { bytes, alignment }, number, self.blocks)
    }

    fn existing(&self, path: &Path, purpose: Use) -> Result<MountedFile, MountedError> {
        let path = self.within(path);
        MountedFile::open(path, purpose, self.device.number, self.blocks)
    }

    /// A path of the file system, which may be given from its folder on.
    fn within(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }
}
