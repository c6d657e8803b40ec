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
pub(super) fn is_held(file: &File) -> io::Result<bool> {
    // The kernel takes back here what was held for too long. While somebody waits it tells the kind that the lease is to get.
    if call(file, libc::F_GETLEASE, 0)? == libc::F_WRLCK {
        return Ok(true);
    }
    // Whether it is still to get that, or has, is told here alone (proc(5)): "lock: 1: LEASE  BREAKING  UNLCK ...".
    let told = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()))?;
    Ok(told.lines().any(is_waited_for))
}

/// Whether a line of fdinfo tells of a lease for whose end somebody waits.
fn is_waited_for(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    words.windows(2).any(|pair| pair == ["LEASE", "BREAKING"])
}

fn call(file: &File, command: i32, argument: i32) -> io::Result<i32> {
    // SAFETY: these commands take a number and touch no memory of this process.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::PathBuf;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A file with a lease.
    fn leased(name: &str) -> (PathBuf, File) {
        let path = std::env::temp_dir().join(format!("bitline-{name}-{}", std::process::id()));
        std::fs::write(&path, "data").expect("there is room");
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.expect("it is there");
        take(&file).expect("nobody has it open");
        (path, file)
    }

    #[test]
    fn who_waits_does_not_take_a_lease() {
        for writes in [false, true] {
            let (path, file) = leased(&format!("lease-{writes}"));
            assert!(is_held(&file).expect("it is told"));
            let mut options = OpenOptions::new();
            options.read(true).write(writes);
            let who_cannot_wait = options.clone().custom_flags(libc::O_NONBLOCK).open(&path);
            let refused = who_cannot_wait.expect_err("it is leased");
            assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
            let waiting = {
                let path = path.clone();
                thread::spawn(move || options.open(path).map(drop))
            };
            thread::sleep(Duration::from_millis(100));
            assert!(is_held(&file).expect("it is told"), "writes: {writes}");
            assert!(!waiting.is_finished());
            drop(file);
            waiting.join().expect("it ends").expect("it is let in");
            std::fs::remove_file(path).expect("it is there");
        }
    }

    /// It waits for as long as the kernel has who opens such a file wait.
    #[test]
    #[ignore = "it takes 45 seconds"]
    fn who_was_let_in_is_told_of() {
        for writes in [false, true] {
            let (path, file) = leased(&format!("let-in-{writes}"));
            let mut options = OpenOptions::new();
            let other = options.read(true).write(writes).open(&path);
            assert!(!is_held(&file).expect("it is told"), "writes: {writes}");
            drop(other.expect("it is let in"));
            assert!(!is_held(&file).expect("it is told"), "writes: {writes}");
            std::fs::remove_file(path).expect("it is there");
        }
    }
}
