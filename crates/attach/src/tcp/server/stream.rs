//! Sockets to listen at and sockets of connections, of either kind.

use std::fs;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Interest, Registry, Token};

use crate::tcp::options::{Listen, ServerError};

/// Where connections come in.
pub(super) enum Listener {
    Tcp(TcpListener, SocketAddr),
    /// With the path, which goes with the listener.
    Unix(UnixListener, PathBuf),
}

/// A connection's socket.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Permissions of a Unix-domain socket: its owner's alone.
const SOCKET_MODE: u32 = 0o600;

impl Listener {
    pub(super) fn open(place: &Listen) -> Result<Listener, ServerError> {
        let opened = match place {
            Listen::Tcp(address) => TcpListener::bind(*address).and_then(|listener| {
                let address = listener.local_addr()?;
                Ok(Listener::Tcp(listener, address))
            }),
            Listen::Unix(path) => open_unix(path),
        };
        opened.map_err(|error| ServerError::Listen {
            place: match place {
                Listen::Tcp(address) => address.to_string(),
                Listen::Unix(path) => path.display().to_string(),
            },
            error,
        })
    }

    /// Where it listens.
    pub(super) fn place(&self) -> Listen {
        match self {
            Listener::Tcp(_, address) => Listen::Tcp(*address),
            Listener::Unix(_, path) => Listen::Unix(path.clone()),
        }
    }

    pub(super) fn source(&mut self) -> &mut dyn Source {
        match self {
            Listener::Tcp(listener, _) => listener,
            Listener::Unix(listener, _) => listener,
        }
    }

    /// The next connection, and the address that it came to.
    pub(super) fn accept(&self) -> io::Result<(Stream, Option<SocketAddr>)> {
        match self {
            Listener::Tcp(listener, _) => {
                let (stream, _) = listener.accept()?;
                // Answers are complete when they are sent, so that nothing is gained by waiting for more.
                stream.set_nodelay(true)?;
                let reached = stream.local_addr()?;
                Ok((Stream::Tcp(stream), Some(reached)))
            }
            Listener::Unix(listener, _) => Ok((Stream::Unix(listener.accept()?.0), None)),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // Somebody else may have removed it.
            let _ = fs::remove_file(path);
        }
    }
}

fn open_unix(path: &Path) -> io::Result<Listener> {
    use std::os::unix::fs::PermissionsExt;
    let is_socket = fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket());
    // A socket at which nobody listens any more.
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(SOCKET_MODE))?;
    Ok(Listener::Unix(listener, path.to_owned()))
}

impl Stream {
    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self {
            Stream::Tcp(stream) => registry.register(stream, token, interest),
            Stream::Unix(stream) => registry.register(stream, token, interest),
        }
    }

    pub(super) fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => registry.deregister(stream),
            Stream::Unix(stream) => registry.deregister(stream),
        }
    }

    /// Reads what there is; none if nothing more is to be had now.
    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        ready(|| match self {
            Stream::Tcp(stream) => stream.read(into),
            Stream::Unix(stream) => stream.read(into),
        })
    }

    /// Writes as much as is taken; none if nothing is taken now.
    pub(super) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        ready(|| match self {
            Stream::Tcp(stream) => stream.write_vectored(slices),
            Stream::Unix(stream) => stream.write_vectored(slices),
        })
    }

    /// Nothing more is sent.
    pub(super) fn finish(&self) {
        // A peer that is gone needs not be told.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

/// What can be done now.
fn ready(mut attempt: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match attempt() {
            Ok(bytes) => return Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}
