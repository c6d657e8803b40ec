//! Runs: begun, waited for, and what became of them.

use std::ffi::{c_char, c_int, c_void};

use bitline::{Ended, Outcome};

use crate::drive::Task;
use crate::error::{Failure, border, border_int};
use crate::handles::{Context, ContextName, with_context, with_drive};
use crate::memory::{check_place, copy, copy_text, put};

/// `isc_usage`: what a run took.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Usage {
    /// Cycles of a core, all attempts together.
    pub cycles: u64,
    /// The most bytes of memory that it had.
    pub memory_bytes: u64,
    /// Simulated time in the drive, nanoseconds.
    pub nanoseconds: u64,
    /// How often it was begun.
    pub attempts: u32,
    /// What a task that failed returned.
    pub code: i32,
}

const _: () = assert!(size_of::<Usage>() == 32);

/// Runs a task, and waits until it is over.
#[unsafe(no_mangle)]
pub extern "C" fn isc_run_task(context: ContextName, task: Task) -> c_int {
    border_int(|| {
        begin(context, task)?;
        wait(context)
    })
}

/// Begins to run a task.
#[unsafe(no_mangle)]
pub extern "C" fn isc_submit_task(context: ContextName, task: Task) -> c_int {
    border_int(|| begin(context, task).map(|()| 0))
}

/// Waits until a context's run is over.
#[unsafe(no_mangle)]
pub extern "C" fn isc_wait_task(context: ContextName) -> c_int {
    border_int(|| wait(context))
}

/// Whether a context's run is over, so that waiting for it takes no time.
#[unsafe(no_mangle)]
pub extern "C" fn isc_is_finished(context: ContextName) -> c_int {
    border_int(|| {
        with_context(context, |context| {
            let pending = context.pending.as_ref().ok_or_else(none)?;
            Ok(c_int::from(pending.is_finished()))
        })
    })
}

fn begin(name: ContextName, task: Task) -> Result<(), Failure> {
    let program = task.program()?;
    let (drive, run) = with_context(name, |context| {
        let context = context.idle()?;
        context.outcome = None;
        Ok((context.drive, context.run.clone()))
    })?;
    let pending = with_drive(drive, |drive| Ok(drive.tasks().submit(&program, &run)?))?;
    with_context(name, |context| {
        context.pending = Some(pending);
        Ok(())
    })
}

fn wait(name: ContextName) -> Result<c_int, Failure> {
    let (drive, pending) = with_context(name, |context| {
        Ok((context.drive, context.pending.take().ok_or_else(none)?))
    })?;
    let outcome = with_drive(drive, |drive| Ok(drive.wait(&pending)?.answer?))?;
    let status = c_int::from(outcome.ended.code());
    with_context(name, |context| {
        context.outcome = Some(outcome);
        Ok(status)
    })
}

fn none() -> Failure {
    Failure::usage("the context has no run in flight")
}

/// Calls `work` with what became of a context's run.
fn told<T>(
    context: ContextName,
    work: impl FnOnce(&Outcome) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let look = |context: &mut Context| {
        let outcome = context.idle()?.outcome.as_ref();
        work(outcome.ok_or_else(|| Failure::usage("the context has not run yet"))?)
    };
    with_context(context, look)
}

/// Copies what the task returned.
///
/// # Safety
/// `to` has room for `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_get_ret(context: ContextName, to: *mut c_void, count: usize) -> i64 {
    border(|| {
        // SAFETY: the caller's promise.
        let copied = |outcome: &Outcome| unsafe { copy(&outcome.value, to, count) };
        told(context, copied)
    })
}

/// Copies why a run did not commit.
///
/// # Safety
/// `to` has room for `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_get_reason(
    context: ContextName,
    to: *mut c_char,
    count: usize,
) -> i64 {
    border(|| {
        // SAFETY: the caller's promise.
        let copied = |outcome: &Outcome| unsafe { copy_text(&outcome.reason, to, count) };
        told(context, copied)
    })
}

/// Copies what a run logged.
///
/// # Safety
/// `to` has room for `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_get_log(context: ContextName, to: *mut c_char, count: usize) -> i64 {
    border(|| {
        // SAFETY: the caller's promise.
        let copied = |outcome: &Outcome| unsafe { copy_text(&outcome.log, to, count) };
        told(context, copied)
    })
}

/// Tells what a run took.
///
/// # Safety
/// `usage` is the place of such a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isc_get_usage(context: ContextName, usage: *mut Usage) -> c_int {
    border_int(|| {
        check_place(usage, "the place of what it took")?;
        let found = told(context, |outcome| {
            Ok(Usage {
                cycles: outcome.cycles,
                memory_bytes: outcome.memory_bytes,
                nanoseconds: outcome.nanoseconds,
                attempts: outcome.attempts,
                code: match outcome.ended {
                    Ended::Failed(code) => code,
                    _ => 0,
                },
            })
        })?;
        // SAFETY: the caller's promise.
        unsafe { put(found, usage, "the place of what it took") }?;
        Ok(0)
    })
}
