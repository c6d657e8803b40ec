//! Drives opened and closed, and the programs that they have.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::path::Path;

use bitline::{Config, DEFAULT_PRESET, Drive, Loading, Program, StorageKind};

use crate::error::{Failure, border_int};
use crate::handles::{DriveName, close_drive, keep_drive, with_drive};
use crate::memory::{bytes, check_place, put, text_if_any};

/// `isc_task`: a program that a drive has.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Task {
    /// What tells its module from others.
    pub identifier: u64,
    /// Its index in the first namespace.
    pub index: u16,
    /// 0.
    pub reserved: [u16; 3],
}

const _: () = assert!(size_of::<Task>() == 16);

/// `ISC_PERSISTENT`.
const PERSISTENT: c_uint = 1;

impl Task {
    pub(crate) fn program(self) -> Result<Program, Failure> {
        if self.reserved != [0; 3] {
            return Err(Failure::usage(
                "this task was not loaded: its reserved numbers are not 0",
            ));
        }
        Ok(Program::new(self.index, self.identifier))
    }
}

/// Opens a drive.
///
/// # Safety
/// As the header says of each pointer; what is not NULL is what it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_open_drive(
    config: *const c_char,
    image: *const c_char,
    drive: *mut DriveName,
) -> c_int {
    border_int(|| {
        check_place(drive, "the place of the drive")?;
        // SAFETY: the caller's promise, of both.
        let config = unsafe { text_if_any(config, "the configuration") }?;
        // SAFETY: likewise.
        let image = unsafe { text_if_any(image, "the path of the image") }?;
        let name = keep_drive(opened(config, image.map(Path::new))?)?;
        // SAFETY: the caller's promise.
        unsafe { put(name, drive, "the place of the drive") }?;
        Ok(0)
    })
}

fn opened(config: Option<&str>, image: Option<&Path>) -> Result<Drive, Failure> {
    let given = match config {
        Some(text) => Some(Config::from_toml(text).map_err(bitline::Error::from)?),
        None => None,
    };
    let usual = || Config::preset(DEFAULT_PRESET).map_err(bitline::Error::from);
    let Some(path) = image else {
        return Ok(Drive::open(given.map_or_else(usual, Ok)?)?);
    };
    if given.is_none() && path.exists() {
        return Ok(Drive::open_existing_image(path)?);
    }
    let config = given.map_or_else(usual, Ok)?;
    if config.data.storage == StorageKind::None {
        return Err(Failure::usage(
            "data.storage = \"none\" keeps no bits: an image has nothing to keep then",
        ));
    }
    let config = config.with([("data.storage", "image")]);
    Ok(Drive::open_image(
        config.map_err(bitline::Error::from)?,
        path,
    )?)
}

/// Gives commands that are sent from now on a priority.
#[unsafe(no_mangle)]
pub extern "C" fn isc_set_priority(drive: DriveName, priority: u32) -> c_int {
    border_int(|| {
        with_drive(drive, |drive| {
            drive.set_priority(priority);
            Ok(())
        })?;
        Ok(0)
    })
}

/// Closes a drive.
#[unsafe(no_mangle)]
pub extern "C" fn isc_close_drive(drive: DriveName) -> c_int {
    border_int(|| close_drive(drive).map(|()| 0))
}

/// Loads a module.
///
/// # Safety
/// `module` has `module_bytes` bytes; `task` is the place of a task.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_load_task(
    drive: DriveName,
    module: *const c_void,
    module_bytes: usize,
    flags: c_uint,
    task: *mut Task,
) -> c_int {
    border_int(|| {
        check_place(task, "the place of the task")?;
        if flags & !PERSISTENT != 0 {
            return Err(Failure::usage(format!(
                "flags are {flags:#x}; they must be 0 or ISC_PERSISTENT"
            )));
        }
        // SAFETY: the caller's promise.
        let module = unsafe { bytes(module, module_bytes) }?;
        let loading = Loading {
            persistent: flags & PERSISTENT != 0,
            ..Loading::default()
        };
        let program = with_drive(drive, |drive| Ok(drive.tasks().load(module, loading)?))?;
        let loaded = Task {
            identifier: program.identifier,
            index: program.index,
            reserved: [0; 3],
        };
        // SAFETY: the caller's promise.
        unsafe { put(loaded, task, "the place of the task") }?;
        Ok(0)
    })
}

/// Unloads a task.
#[unsafe(no_mangle)]
pub extern "C" fn isc_unload_task(drive: DriveName, task: Task) -> c_int {
    border_int(|| {
        let index = task.program()?.index;
        with_drive(drive, |drive| Ok(drive.tasks().unload(index)?))?;
        Ok(0)
    })
}
