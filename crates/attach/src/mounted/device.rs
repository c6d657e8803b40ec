//! Which file system a folder belongs to, and on what it lies.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::MountedError;
use crate::system;

/// File systems whose FIEMAP tells bytes of their block device, and where they have a UUID in their first 4096 bytes.
const KNOWN: [(i64, &str, usize); 2] = [(0xEF53, "ext4", 1024 + 0x68), (0x5846_5342, "xfs", 32)];
/// Others, and why the drive cannot work on their files.
const OTHERS: [(i64, &str, &str); 7] = [
    (
        0x9123_683E,
        "btrfs",
        "FIEMAP tells addresses of its own, which no drive has, and its data has checksums, which a drive would not keep right",
    ),
    (
        0x794C_7630,
        "overlay",
        "its files lie in other file systems",
    ),
    (0x0102_1994, "tmpfs", "its files lie in memory"),
    (0x6969, "nfs", "its files lie on another machine"),
    (0x6573_5546, "FUSE", "its files lie where a process says"),
    (
        0xF2F5_2010,
        "f2fs",
        "it writes its files elsewhere each time, and its cleaner moves them",
    ),
    (
        0x2FC1_2FC1,
        "zfs",
        "it writes its files elsewhere each time, and its data has checksums",
    ),
];
const INSTEAD: &str = "the drive works on files of ext4 and xfs";

/// What a file system lies on.
#[derive(Clone, Debug)]
pub(super) struct Device {
    /// Its number, as files have it (`st_dev`).
    pub(super) number: u64,
    /// The kind of the file system.
    pub(super) kind: &'static str,
    /// Where its UUID is, in bytes from its beginning.
    pub(super) uuid_at: usize,
    /// Its node.
    pub(super) node: PathBuf,
    /// Bytes of the drive before it: of a partition, or a loop device with an offset.
    pub(super) offset: u64,
    /// The file that a loop device stands for, as it was called when that was set up.
    pub(super) backing: Option<PathBuf>,
}

impl Device {
    /// What the file system of a folder lies on.
    pub(super) fn of(folder: &Path) -> Result<Device, MountedError> {
        let system = |what| move |error: io::Error| MountedError::system(folder, what, error);
        let number = fs::metadata(folder).map_err(system("stat"))?.dev();
        let facts = rustix::fs::statfs(folder).map_err(|error| system("statfs")(error.into()))?;
        let magic = facts.f_type as i64;
        let Some((_, kind, uuid_at)) = KNOWN.iter().find(|(known, ..)| *known == magic) else {
            let why = match OTHERS.iter().find(|(other, ..)| *other == magic) {
                Some((_, name, why)) => format!("it is on {name}: {why}"),
                None => format!("it is on a file system of type {magic:#x}"),
            };
            return Err(MountedError::refused(folder, why, INSTEAD));
        };
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let link = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        let place = fs::canonicalize(&link).map_err(system("which block device it lies on"))?;
        check_options(folder, &format!("{major}:{minor}"))?;
        let (mut whole, mut offset) = (place.clone(), 0);
        if place.join("partition").exists() {
            offset = number_in(folder, &place.join("start"))? * 512;
            whole.pop();
        }
        let mut backing = None;
        let name = whole.file_name().unwrap_or_default().to_string_lossy();
        if whole.join("loop").exists() {
            offset += number_in(folder, &whole.join("loop/offset"))?;
            let path = fs::read_to_string(whole.join("loop/backing_file"));
            backing = Some(path.map_err(system("the file of its loop device"))?);
        } else if !name.starts_with("nvme") {
            let why = format!("it lies on {name}, which is no loop device and no NVMe namespace");
            let instead = "mount the drive's own file by a loop device, or its namespace, without LVM, RAID or encryption between";
            return Err(MountedError::refused(folder, why, instead));
        }
        let node = Path::new("/dev").join(place.file_name().unwrap_or_default());
        Ok(Device {
            number,
            kind,
            uuid_at: *uuid_at,
            node,
            offset,
            backing: backing.map(|path| PathBuf::from(path.trim_end())),
        })
    }
}

/// That data is where the file system says it is: with `data=journal` it may be in the journal only.
fn check_options(folder: &Path, device: &str) -> Result<(), MountedError> {
    let mounted = system::mounted()
        .map_err(|error| MountedError::system(folder, "/proc/self/mountinfo", error))?;
    let mut of_device = mounted.iter().filter(|one| one.number == device);
    let journals = |one: &system::MountEntry| one.options.iter().any(|word| word == "data=journal");
    match of_device.any(journals) {
        false => Ok(()),
        true => Err(MountedError::refused(
            folder,
            "it is mounted with data=journal: what was synchronized may be in the journal, and not where the file lies",
            "mount it with data=ordered",
        )),
    }
}

fn number_in(folder: &Path, path: &Path) -> Result<u64, MountedError> {
    let told = |error| MountedError::system(folder, "where on its device it lies", error);
    let text = fs::read_to_string(path).map_err(told)?;
    let number = text.trim().parse();
    number.map_err(|_| told(io::ErrorKind::InvalidData.into()))
}
