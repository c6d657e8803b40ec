//! The host's page cache: what it has of a file that the drive is to see, or has changed.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::time::Duration;

use rustix::fs::{Advice, fadvise};

/// How often it is tried to drop pages, which who reads ahead or writes back holds for a moment.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// Drops what the page cache has of a file; how many of its pages stay there nevertheless, as they are dirty or mapped by somebody.
pub(super) fn drop_pages(file: &File, bytes: u64) -> io::Result<u64> {
    let mut staying = 0;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        fadvise(file, 0, None, Advice::DontNeed)?;
        staying = resident(file, bytes)?;
        if staying == 0 {
            break;
        }
    }
    Ok(staying)
}

/// How many pages of a file the page cache has (mincore(2)). The caller owns the file or may write it: of others the kernel tells nothing.
fn resident(file: &File, bytes: u64) -> io::Result<u64> {
    if bytes == 0 {
        return Ok(0);
    }
    let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut pages = vec![0_u8; length.div_ceil(rustix::param::page_size())];
    let shared = (libc::PROT_READ, libc::MAP_SHARED);
    // SAFETY: a new mapping at an address of the kernel's choice, which nobody reads.
    let map = unsafe { libc::mmap(null_mut(), length, shared.0, shared.1, file.as_raw_fd(), 0) };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is as long as it is said to be, and `pages` has a byte for each of its pages.
    let told = unsafe { libc::mincore(map, length, pages.as_mut_ptr().cast()) };
    let error = io::Error::last_os_error();
    // SAFETY: the mapping that was made above; nothing refers to it.
    unsafe { libc::munmap(map, length) };
    match told {
        0 => Ok(pages.iter().filter(|page| **page & 1 != 0).count() as u64),
        _ => Err(error),
    }
}
