//! Files of a mounted file system, for Python: where they lie on the drive, as long as they are registered.

use std::path::PathBuf;
use std::sync::Mutex;

use ::attach::mounted::{
    self, Mounted as System, MountedError, MountedFile as Registered, Sharing,
};
use pyo3::prelude::*;

use crate::error::{self, usage};
use crate::tasks::PlacedRow;

/// A file system that is mounted, and lies on a drive.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Mounted(System);

/// A file of one that is registered, until it is settled.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct MountedFile(Mutex<Option<Registered>>);

/// The socket at which this user reaches the drive that a folder is mounted from.
#[pyfunction]
pub(crate) fn control_socket(py: Python<'_>, folder: &str) -> PyResult<PathBuf> {
    told(py.detach(|| mounted::control_socket(folder)))
}

#[pymethods]
impl Mounted {
    /// That of a folder, on a drive with blocks of so many bytes.
    #[new]
    fn new(folder: &str, block: u32) -> PyResult<Mounted> {
        Ok(Mounted(told(System::open(folder, block))?))
    }

    /// The first block of the file system, and how many tell which it is.
    fn head(&self) -> (u64, u64) {
        self.0.head()
    }

    /// Whether it is on the drive that has these bytes there.
    fn check(&self, head: &[u8]) -> PyResult<()> {
        told(self.0.check_head(head))
    }

    /// What kind it is, and the bytes of the drive before it.
    fn place(&self) -> (&'static str, u64) {
        (self.0.kind(), self.0.offset())
    }

    /// Registers a file to be read.
    fn read(&self, py: Python<'_>, path: &str) -> PyResult<MountedFile> {
        registered(py.detach(|| self.0.read(path)))
    }

    /// Registers one to be written, which others may have open or not.
    fn write(&self, py: Python<'_>, path: &str, shared: bool) -> PyResult<MountedFile> {
        let sharing = match shared {
            true => Sharing::Shared,
            false => Sharing::Alone,
        };
        registered(py.detach(|| self.0.write(path, sharing)))
    }

    /// Registers a new one, of so many bytes.
    fn create(&self, py: Python<'_>, path: &str, size: u64) -> PyResult<MountedFile> {
        registered(py.detach(|| self.0.create(path, size)))
    }
}

#[pymethods]
impl MountedFile {
    /// Its path, whether it may be written, and where it lies.
    fn row(&self) -> PyResult<(String, bool, PlacedRow)> {
        let file = self.lock();
        let file = file.as_ref().ok_or_else(gone)?;
        let extents = file.extents().iter();
        let extents = extents.map(|extent| (extent.first, extent.blocks));
        let path = file.path().display().to_string();
        Ok((path, file.is_writable(), (file.bytes(), extents.collect())))
    }

    /// Ends its registration, after what the drive did with it.
    fn settle(&self, py: Python<'_>, good: bool) -> PyResult<()> {
        let file = self.lock().take().ok_or_else(gone)?;
        told(py.detach(|| file.settle(good)))
    }

    /// Ends it, if nobody has.
    fn forget(&self) {
        self.lock().take();
    }
}

impl MountedFile {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Registered>> {
        // What it has is whole whatever became of who had it.
        self.0.lock().unwrap_or_else(|error| error.into_inner())
    }
}

fn registered(file: Result<Registered, MountedError>) -> PyResult<MountedFile> {
    Ok(MountedFile(Mutex::new(Some(told(file)?))))
}

fn gone() -> PyErr {
    usage("the file is not registered any more: register it anew")
}

fn told<T>(result: Result<T, MountedError>) -> PyResult<T> {
    result.map_err(error::mounted)
}
