//! What a connection's bytes go over: TCP, or a Unix-domain socket, which carries the same.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use super::address::Place;

/// Where connections are made to, as its name was looked up.
#[derive(Clone, Debug)]
pub(super) enum Peer {
    Network(Vec<SocketAddr>),
    Socket(PathBuf),
}

/// A connection's bytes.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Peer {
    /// # Errors
    /// A name that is not known.
    pub(super) fn of(place: &Place) -> Result<Peer, String> {
        match place {
            Place::Network { host, port } => {
                let found = (&**host, *port).to_socket_addrs();
                let found = found.map_err(|error| format!("its name is not known: {error}"))?;
                Ok(Peer::Network(found.collect()))
            }
            Place::Socket(path) => Ok(Peer::Socket(path.clone())),
        }
    }

    /// Connects; whoever is there has so long to say something.
    ///
    /// # Errors
    /// Nobody takes the connection.
    pub(super) fn connect(&self, timeout: Duration) -> Result<Stream, String> {
        let stream = match self {
            Peer::Network(addresses) => Stream::Tcp(connect(addresses, timeout)?),
            Peer::Socket(path) => {
                let stream = UnixStream::connect(path);
                Stream::Unix(stream.map_err(|error| format!("{}: {error}", path.display()))?)
            }
        };
        let set = stream.set_up(timeout);
        set.map_err(|error| format!("the socket cannot be set up: {error}"))?;
        Ok(stream)
    }
}

fn connect(addresses: &[SocketAddr], timeout: Duration) -> Result<TcpStream, String> {
    let mut why = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = format!("{address}: {error}"),
        }
    }
    Err(why)
}

impl Stream {
    fn set_up(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(timeout))?;
            }
            Stream::Unix(stream) => stream.set_write_timeout(Some(timeout))?,
        }
        self.wait_at_most(Some(timeout))
    }

    /// How long reading waits.
    pub(super) fn wait_at_most(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(time),
            Stream::Unix(stream) => stream.set_read_timeout(time),
        }
    }

    /// Another end of the same connection, for another thread.
    pub(super) fn twin(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
        })
    }

    /// Closes it, for all threads.
    pub(super) fn close(&self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(bytes),
            Stream::Unix(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write_vectored(parts),
            Stream::Unix(stream) => stream.write_vectored(parts),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
