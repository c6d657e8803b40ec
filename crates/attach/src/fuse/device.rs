//! The kernel's end: where requests of a mounted folder are received and answered.

use std::io::{IoSlice, IoSliceMut};
use std::mem::size_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use fuser::Errno;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{self, Errno as Failed};
use zerocopy::IntoBytes;

use super::data::Room;
use super::wire::{Answered, AnsweredWrite, Written};

/// What became of a request.
pub(super) enum Outcome {
    /// It read this.
    Read(Room),
    /// It wrote so many bytes.
    Written(u32),
    /// There is no more to tell than that, as of a read of nothing.
    Done,
    Failed(Errno),
}

/// What is opened of /dev/fuse for a folder that is mounted. Cheap to clone.
#[derive(Clone)]
pub(super) struct Device(Arc<OwnedFd>);

/// How a request is answered: with an error, if it is dropped.
pub(super) struct Reply {
    device: Device,
    unique: u64,
    is_told: bool,
}

impl Device {
    /// What is opened already, for a server that does not wait for requests.
    pub(super) fn of(opened: BorrowedFd<'_>) -> std::io::Result<Device> {
        let opened = opened.try_clone_to_owned()?;
        fcntl_setfl(&opened, fcntl_getfl(&opened)? | OFlags::NONBLOCK)?;
        Ok(Device(Arc::new(opened)))
    }

    /// Receives a request, which is as long as this gives; none if there is none.
    ///
    /// # Errors
    /// Nothing is mounted any more; the kernel cannot copy it.
    pub(super) fn receive(&self, into: &mut [u8]) -> Result<Option<usize>, Failed> {
        received(|| io::read(&*self.0, &mut *into))
    }

    /// The same into several pieces of memory, one after another, which takes the kernel a little longer.
    ///
    /// # Errors
    /// As above.
    pub(super) fn receive_in(
        &self,
        pieces: &mut [IoSliceMut<'_>],
    ) -> Result<Option<usize>, Failed> {
        received(|| io::readv(&*self.0, pieces))
    }

    /// Whether something is mounted still, or will be.
    pub(super) fn is_connected(&self) -> bool {
        let mut states = [PollFd::new(&self.0, PollFlags::empty())];
        let now = Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        });
        let is_known = poll(&mut states, now).is_ok();
        let is_gone = states[0]
            .revents()
            .intersects(PollFlags::ERR | PollFlags::HUP);
        // What cannot be asked is taken for mounted: whoever receives from it sees more.
        !(is_known && is_gone)
    }

    /// Sends a whole answer.
    pub(super) fn send(&self, answer: &[u8]) {
        // The kernel takes all of it, unless nobody waits for it any more.
        let _ = io::write(&*self.0, answer);
    }

    /// The same of one in two parts.
    fn send_both(&self, header: &Answered, data: &[u8]) {
        let parts = [IoSlice::new(header.as_bytes()), IoSlice::new(data)];
        // As above.
        let _ = io::writev(&*self.0, &parts);
    }

    /// How the request of this number is answered.
    pub(super) fn reply(&self, unique: u64) -> Reply {
        Reply {
            device: self.clone(),
            unique,
            is_told: false,
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Reply {
    /// Tells what became of the request.
    pub(super) fn tell(mut self, outcome: &Outcome) {
        self.is_told = true;
        let header = |more| Answered::to(self.unique, 0, more);
        match outcome {
            Outcome::Read(data) => {
                let data = data.bytes();
                self.device.send_both(&header(data.len()), data);
            }
            Outcome::Written(bytes) => {
                // In one piece: the kernel takes as long to find memory as to copy so little.
                let answer = AnsweredWrite {
                    header: header(size_of::<Written>()),
                    written: Written {
                        bytes: *bytes,
                        padding: 0,
                    },
                };
                self.device.send(answer.as_bytes());
            }
            Outcome::Done => self.device.send(header(0).as_bytes()),
            Outcome::Failed(errno) => self.fail(*errno),
        }
    }

    fn fail(&self, errno: Errno) {
        let header = Answered::to(self.unique, -errno.code(), 0);
        self.device.send(header.as_bytes());
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.is_told {
            self.fail(Errno::EIO);
        }
    }
}

/// What a call has received that does not wait.
fn received(mut receive: impl FnMut() -> Result<usize, Failed>) -> Result<Option<usize>, Failed> {
    loop {
        match receive() {
            // No request is empty.
            Ok(0) => return Err(Failed::NODEV),
            Ok(bytes) => return Ok(Some(bytes)),
            Err(Failed::AGAIN) => return Ok(None),
            // The one that was next was given up.
            Err(Failed::NOENT | Failed::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}
