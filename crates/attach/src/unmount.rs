//! How what is mounted is unmounted.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

/// How what is mounted is unmounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmount {
    /// Not while somebody uses it.
    InOrder,
    /// Whoever uses it: they get errors once the drive is gone.
    ByForce,
}

/// How long the kernel may take to let go of what nobody uses any more: it closes files after the call that does so has
/// returned.
pub(crate) const LETTING_GO: Duration = Duration::from_secs(2);

/// Unmounts what is at `at`. What somebody uses is unmounted by force alone, after `before`.
///
/// # Errors
/// What the kernel says.
pub(crate) fn unmount_at(at: &Path, how: Unmount, before: impl FnOnce()) -> Result<(), Errno> {
    let began = Instant::now();
    loop {
        match unmount(at, UnmountFlags::empty()) {
            Err(Errno::BUSY) if began.elapsed() < LETTING_GO => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(Errno::BUSY) if how == Unmount::ByForce => {
                before();
                return unmount(at, UnmountFlags::DETACH);
            }
            done => return done,
        }
    }
}
