//! Contexts (TxISC, Listing 1): what a run is asked to do, put together call by call.

use std::ffi::{c_char, c_int, c_uint, c_void};

use bitline::{Isolation, TaskFile, TaskLimits, TaskRun};

use crate::error::{Failure, border_int};
use crate::handles::{
    Context, ContextName, DriveName, free_context, keep_context, with_context, with_drive,
};
use crate::memory::{bytes, check_place, get, put, text};

/// `isc_limits`: what a run may use; 0 is what is usual.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Limits {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Cycles of a core.
    pub cycles: u64,
    /// Bytes of the log.
    pub log_bytes: u32,
    /// Bytes of the value.
    pub return_bytes: u32,
    /// Calls under way at once.
    pub tickets: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Limits>() == 32);

/// Changes what a run is asked to do, which cannot be changed while it is in flight.
fn change(
    context: ContextName,
    work: impl FnOnce(&mut TaskRun) -> Result<c_int, Failure>,
) -> c_int {
    border_int(|| with_context(context, |context| work(&mut context.idle()?.run)))
}

/// Makes a context for runs on a drive.
///
/// # Safety
/// `context` is the place of a context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_new_context(drive: DriveName, context: *mut ContextName) -> c_int {
    border_int(|| {
        check_place(context, "the place of the context")?;
        with_drive(drive, |_| Ok(()))?;
        let name = keep_context(Context {
            drive,
            run: TaskRun::default(),
            pending: None,
            outcome: None,
        })?;
        // SAFETY: the caller's promise.
        unsafe { put(name, context, "the place of the context") }?;
        Ok(0)
    })
}

/// Gives a context up.
#[unsafe(no_mangle)]
pub extern "C" fn isc_free_context(context: ContextName) -> c_int {
    border_int(|| free_context(context).map(|()| 0))
}

/// Registers a file.
///
/// # Safety
/// `name` and `mode` are texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_register_file(
    context: ContextName,
    name: *const c_char,
    mode: *const c_char,
) -> c_int {
    change(context, |run| {
        // SAFETY: the caller's promise, of both.
        let name = unsafe { text(name, "the name of the file") }?;
        // SAFETY: likewise.
        let mode = unsafe { text(mode, "the mode") }?;
        let file = match mode {
            "r" => TaskFile::read(name),
            "w" | "rw" => TaskFile::write(name),
            _ => {
                let text = format!("the mode is {mode:?}; it must be \"r\", \"w\" or \"rw\"");
                return Err(Failure::usage(text));
            }
        };
        number(run.register_file(file))
    })
}

/// Registers a store.
///
/// # Safety
/// `name` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_register_store(context: ContextName, name: *const c_char) -> c_int {
    change(context, |run| {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, "the name of the store") }?;
        number(run.register_store(name))
    })
}

fn number(found: u32) -> Result<c_int, Failure> {
    c_int::try_from(found).map_err(|_| Failure::usage("too many are registered"))
}

/// Appends to the arguments.
///
/// # Safety
/// `from` has `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_put_args(
    context: ContextName,
    from: *const c_void,
    count: usize,
) -> c_int {
    change(context, |run| {
        // SAFETY: the caller's promise.
        run.put_args(unsafe { bytes(from, count) }?);
        Ok(0)
    })
}

/// Says how runs are kept apart from others.
#[unsafe(no_mangle)]
pub extern "C" fn isc_set_isolation(context: ContextName, isolation: c_int) -> c_int {
    change(context, |run| {
        let known = usize::try_from(isolation).ok();
        let known = known.and_then(|number| Isolation::ALL.get(number));
        run.isolation = *known.ok_or_else(|| {
            Failure::usage(format!("isolation is {isolation}; it must be 0 to 3"))
        })?;
        Ok(0)
    })
}

/// Says how often a run is begun anew after a conflict.
#[unsafe(no_mangle)]
pub extern "C" fn isc_set_retries(context: ContextName, retries: c_uint) -> c_int {
    change(context, |run| {
        run.retries = u16::try_from(retries).map_err(|_| {
            Failure::usage(format!("retries are {retries}; they must be at most 65535"))
        })?;
        Ok(0)
    })
}

/// Says what runs may use.
///
/// # Safety
/// `limits` is a value, all bytes of which were set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_set_limits(context: ContextName, limits: *const Limits) -> c_int {
    change(context, |run| {
        // SAFETY: the caller's promise.
        let limits = unsafe { get(limits, "what runs may use") }?;
        if limits.reserved != 0 {
            return Err(Failure::usage("the reserved number of the limits is not 0"));
        }
        run.limits = TaskLimits {
            memory_bytes: limits.memory_bytes,
            cycles: limits.cycles,
            log_bytes: limits.log_bytes,
            return_bytes: limits.return_bytes,
            tickets: limits.tickets,
        };
        Ok(0)
    })
}
