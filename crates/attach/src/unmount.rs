//! How what is mounted is unmounted.

use std::ffi::OsStr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use crate::commands::{CommandError, run};

/// How what is mounted is unmounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmount {
    /// Not while somebody uses it.
    InOrder,
    /// The same for who tries again: the kernel has little time to let go of what nobody uses any more.
    InOrderSoon,
    /// Whoever uses it: they get errors once the drive is gone.
    ByForce,
}

impl Unmount {
    /// How long the kernel may take to let go of what nobody uses any more: it closes files after the call that does so has
    /// returned. What goes by force goes soon.
    pub(crate) fn patience(self) -> Duration {
        match self {
            Unmount::InOrder => Duration::from_secs(5),
            Unmount::InOrderSoon => Duration::from_millis(250),
            Unmount::ByForce => Duration::from_millis(500),
        }
    }
}

/// What commands say of what somebody uses (EBUSY, without a locale).
const BUSY: &str = "resource busy";

/// Unmounts what is at `at`. What somebody uses is unmounted by force alone, after `before`.
///
/// # Errors
/// What the kernel says.
pub(crate) fn unmount_at(at: &Path, how: Unmount, before: impl FnOnce()) -> Result<(), Errno> {
    let began = Instant::now();
    loop {
        match unmount_as_user(at, UnmountFlags::empty()) {
            Err(Errno::BUSY) if began.elapsed() < how.patience() => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(Errno::BUSY) if how == Unmount::ByForce => {
                before();
                return unmount_as_user(at, UnmountFlags::DETACH);
            }
            done => return done,
        }
    }
}

/// Who is not root has fusermount3 unmount what it mounted.
fn unmount_as_user(at: &Path, flags: UnmountFlags) -> Result<(), Errno> {
    match unmount(at, flags) {
        Err(Errno::PERM) => {}
        done => return done,
    }
    let lazily = flags.contains(UnmountFlags::DETACH).then_some("-z");
    let options = ["-u"].into_iter().chain(lazily).chain(["--"]);
    let arguments: Vec<&OsStr> = options.map(OsStr::new).chain([at.as_os_str()]).collect();
    match run("fusermount3", "fuse3", &arguments) {
        Ok(_) => Ok(()),
        Err(CommandError::Failed { said, .. }) if said.contains(BUSY) => Err(Errno::BUSY),
        Err(_) => Err(Errno::PERM),
    }
}
