//! A file system on a loop device over a file, which stands for the drive: what is written there, no host has seen.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use attach::mounted::{Mounted, MountedFile};

pub(crate) const BLOCK_BYTES: u32 = 4096;
const BYTES: u64 = 512 << 20;

/// A file system that is mounted until this is dropped.
pub(crate) struct Place {
    folder: PathBuf,
    device: String,
}

/// Unmounts a folder. A process that another test starts has everything open for a moment, until it becomes another program.
pub(crate) fn unmount(at: &str) -> Result<String, String> {
    let mut tries = 0..100;
    loop {
        let unmounted = tool("umount", &[at]);
        let is_busy = unmounted.as_ref().is_err_and(|why| why.contains("busy"));
        if !is_busy || tries.next().is_none() {
            return unmounted;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Runs a program; what it said if it failed.
pub(crate) fn tool(program: &str, arguments: &[&str]) -> Result<String, String> {
    let ran = Command::new(program).args(arguments).output();
    let ran = ran.map_err(|error| format!("{program}: {error}"))?;
    match ran.status.success() {
        true => Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned()),
        false => Err(format!(
            "{program} {arguments:?}: {}",
            String::from_utf8_lossy(&ran.stderr)
        )),
    }
}

/// A file system of a kind, mounted; none where that cannot be, which is said.
pub(crate) fn mounted(kind: &str, mkfs: &[&str], options: &str) -> Option<Place> {
    match Place::new(kind, mkfs, options) {
        Ok(place) => Some(place),
        Err(why) => {
            eprintln!("SKIPPED, as {kind} cannot be mounted here: {why}");
            None
        }
    }
}

impl Place {
    fn new(kind: &str, mkfs: &[&str], options: &str) -> Result<Place, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("bitline-mounted-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let text = |error: std::io::Error| error.to_string();
        fs::create_dir_all(folder.join("mount")).map_err(text)?;
        let drive = File::create(folder.join("drive")).map_err(text)?;
        drive.set_len(BYTES).map_err(text)?;
        let path = folder.join("drive").display().to_string();
        let setup = ["--find", "--show", "--sector-size", "4096", path.as_str()];
        let device = tool("losetup", &setup)?;
        let place = Place { folder, device };
        let mut arguments = mkfs.to_vec();
        arguments.push(&place.device);
        tool(&format!("mkfs.{kind}"), &arguments)?;
        let mount = place.mount().display().to_string();
        tool("mount", &["-o", options, &place.device, &mount])?;
        Ok(place)
    }

    pub(crate) fn mount(&self) -> PathBuf {
        self.folder.join("mount")
    }

    pub(crate) fn open(&self) -> Mounted {
        Mounted::open(self.mount(), BLOCK_BYTES).expect("a file system on a loop device")
    }

    /// What the drive has where a file lies.
    pub(crate) fn read(&self, file: &MountedFile) -> Vec<u8> {
        let drive = File::open(self.folder.join("drive")).expect("it is there");
        let mut found = Vec::new();
        for extent in file.extents() {
            let mut bytes = vec![0; (extent.blocks * u64::from(BLOCK_BYTES)) as usize];
            let at = extent.first * u64::from(BLOCK_BYTES);
            drive.read_exact_at(&mut bytes, at).expect("it is within");
            found.extend(bytes);
        }
        found.truncate(file.bytes() as usize);
        found
    }

    /// Has the drive write a file where it lies, without the host: through the loop device's file.
    pub(crate) fn write(&self, file: &MountedFile, data: &[u8]) {
        let drive = OpenOptions::new()
            .write(true)
            .open(self.folder.join("drive"));
        let drive = drive.expect("it is there");
        let mut rest = data;
        for extent in file.extents() {
            let bytes = (extent.blocks * u64::from(BLOCK_BYTES)) as usize;
            let (now, later) = rest.split_at(bytes.min(rest.len()));
            let at = extent.first * u64::from(BLOCK_BYTES);
            drive.write_all_at(now, at).expect("it is within");
            rest = later;
        }
        assert!(rest.is_empty());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.mount().join(name)
    }

    /// Ends it; what fsck says of it.
    pub(crate) fn check(self) -> Result<String, String> {
        let mount = self.mount().display().to_string();
        let kind = tool("stat", &["-f", "-c", "%T", &mount])?;
        unmount(&mount)?;
        match kind.as_str() {
            "xfs" => tool("xfs_repair", &["-n", &self.device]),
            _ => tool("e2fsck", &["-fn", &self.device]),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mount = self.mount().display().to_string();
        // It may not be mounted any more, or never have been.
        let _ = tool("umount", &[&mount]);
        let _ = tool("losetup", &["--detach", &self.device]);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Bytes that are nowhere twice.
pub(crate) fn data(bytes: u32, seed: u32) -> Vec<u8> {
    let words = (0..bytes.div_ceil(4)).map(|word| word.wrapping_mul(0x9E37_79B1) ^ seed);
    let mut all: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    all.truncate(bytes as usize);
    all
}

pub(crate) fn write_file(path: &Path, data: &[u8]) {
    fs::write(path, data).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
