//! What is asked of names and attributes: the library answers it, on a thread of its own. What the kernel asks is passed on to it
//! over a socket, and what it answers is passed back.

use std::io;
use std::mem::size_of;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

use fuser::{BackgroundSession, Config, Session, SessionACL};
use rustix::io::{read, retry_on_intr};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use zerocopy::IntoBytes;

use super::device::Device;
use super::folder::Folder;
use super::wire::{Header, Offer, opcode};

/// Who answers. Cheap to clone; it ends with the last of them.
#[derive(Clone)]
pub(super) struct Names(Arc<Inner>);

struct Inner {
    asked: OwnedFd,
    session: BackgroundSession,
}

/// Most bytes of an answer: a page of names.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// The version of the protocol that is offered to the library: what it is asked of names is the same in later ones.
const MAJOR: u32 = 7;
const MINOR: u32 = 31;

impl Names {
    /// Starts to answer what is asked of a folder.
    pub(super) fn start(folder: Folder, device: Device) -> io::Result<Names> {
        let (asked, asks) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        // It begins as the kernel does.
        let offer = Offer {
            major: MAJOR,
            minor: MINOR,
            read_ahead_bytes: 0,
            flags: 0,
        };
        tell(&asked, &request(opcode::INIT, offer.as_bytes()))?;
        // The kernel has looked who may ask.
        let session = Session::from_fd(folder, asks, SessionACL::All, Config::default())?;
        let mut answer = vec![0; ANSWER_BYTES_MAX];
        retry_on_intr(|| read(&asked, &mut *answer))?;
        let session = session.spawn()?;
        let answers = asked.try_clone()?;
        thread::Builder::new()
            .name("bitline names".into())
            .spawn(move || {
                while let Ok(bytes @ 1..) = retry_on_intr(|| read(&answers, &mut *answer)) {
                    device.send(&answer[..bytes]);
                }
            })?;
        Ok(Names(Arc::new(Inner { asked, session })))
    }

    /// Has a request answered. If many wait, this waits until some of them have been answered.
    ///
    /// # Errors
    /// It is longer than any of names; who answers has panicked.
    pub(super) fn ask(&self, request: &[u8]) -> io::Result<()> {
        match self.0.session.guard.is_finished() {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => tell(&self.0.asked, request),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // It has ended if it takes no more.
        let _ = tell(&self.asked, &request(opcode::DESTROY, &[]));
    }
}

fn tell(asked: &OwnedFd, request: &[u8]) -> io::Result<()> {
    retry_on_intr(|| send(asked, request, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// A request that is not the kernel's.
fn request(opcode: u32, more: &[u8]) -> Vec<u8> {
    let header = Header {
        bytes: (size_of::<Header>() + more.len()) as u32,
        opcode,
        unique: 1,
        ..Header::default()
    };
    [header.as_bytes(), more].concat()
}
