//! That nobody else has a file open, as long as somebody works on it: a lease (fcntl(2), F_SETLEASE).
//!
//! A flag that makes a file immutable would stay on it when the process ends suddenly; a lock is heeded by those who ask for it.
//! The kernel has whoever opens a leased file, or truncates it, wait until the lease is given up, and takes it back when its holder ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Which signal announces that somebody wants to open the file (asm-generic/fcntl.h).
const F_SETSIG: i32 = 10;

/// A lease to write, until the file is closed or this is given up.
///
/// # Errors
/// Somebody else has it open (`EAGAIN`), or the file is another user's (`EACCES`).
pub(super) fn take(file: &File) -> io::Result<()> {
    // Who wants to open the file is announced by a signal, which ends a process that does not expect it; this one is ignored by default.
    call(file, F_SETSIG, libc::SIGURG)?;
    call(file, libc::F_SETLEASE, libc::F_WRLCK).map(drop)
}

/// Whether the lease was not given up, and nobody was let in because it was held for too long (`/proc/sys/fs/lease-break-time`).
pub(super) fn is_held(file: &File) -> bool {
    call(file, libc::F_GETLEASE, 0).is_ok_and(|kind| kind != libc::F_UNLCK)
}

fn call(file: &File, command: i32, argument: i32) -> io::Result<i32> {
    // SAFETY: these commands take a number and touch no memory of this process.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer),
    }
}
