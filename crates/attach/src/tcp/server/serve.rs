//! The loop of the thread: what sockets have, what the drive tells, what is to be sent.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};

use super::ServerSnapshot;
use super::stream::{Listener, Stream};
use crate::engine::{Handle, Kept};
use crate::tcp::connection::SLICES_MAX;
use crate::tcp::mailbox::Mailbox;
use crate::tcp::message::Told;
use crate::tcp::on_drive::OnDrive;
use crate::tcp::target::Target;

pub(super) const WAKER_TOKEN: Token = Token(0);
/// Tokens of listeners begin here, those of connections behind them.
pub(super) const LISTENER_TOKENS: usize = 1;
/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;
/// Bytes read from one connection before others have their turn.
const TURN_BYTES: usize = 2 << 20;
/// Events taken from the operating system at once.
const EVENTS: usize = 1024;
/// How often silent hosts and peers that do not move are looked for, and figures told.
const LOOK_AROUND: Duration = Duration::from_millis(200);

/// See the module.
pub(super) struct Loop {
    poll: Poll,
    listeners: Vec<Listener>,
    /// By the target's keys.
    sockets: Vec<Option<Socket>>,
    target: Target,
    mailbox: Arc<Mailbox>,
    handle: Handle,
    kept: Kept<OnDrive>,
    figures: Arc<Mutex<ServerSnapshot>>,
    /// Of the hosts' names in there.
    hosts_version: u64,
    began: Instant,
    looked_at: Instant,
    /// Connections from which more could be read.
    readable: Vec<usize>,
    scratch: Box<[u8]>,
}

struct Socket {
    stream: Stream,
    /// The operating system has said so, and not taken it back since.
    can_read: bool,
    can_write: bool,
    /// It has said that nothing more comes. That is said once, so that what is left is read to its end.
    is_read_closed: bool,
    /// It is on the list of those to be read from.
    is_listed: bool,
    is_finished: bool,
}

/// What became of reading.
enum Read {
    /// There is nothing more now, or more is not wanted.
    Enough,
    /// Others have their turn.
    More,
    /// The peer is gone.
    Gone,
}

impl Loop {
    pub(super) fn new(
        poll: Poll,
        listeners: Vec<Listener>,
        target: Target,
        mailbox: Arc<Mailbox>,
        handle: Handle,
        kept: Kept<OnDrive>,
        figures: Arc<Mutex<ServerSnapshot>>,
    ) -> Loop {
        let now = Instant::now();
        Loop {
            poll,
            listeners,
            sockets: Vec::new(),
            target,
            mailbox,
            handle,
            kept,
            figures,
            hosts_version: 0,
            began: now,
            looked_at: now,
            readable: Vec::new(),
            scratch: vec![0; READ_BYTES].into(),
        }
    }

    /// Serves until the mailbox is closed, or the drive is.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        let (mut told, mut touched) = (Vec::new(), Vec::new());
        let connections = LISTENER_TOKENS + self.listeners.len();
        while !self.mailbox.is_closed() {
            let may_sleep = self.readable.is_empty() && self.mailbox.may_sleep();
            let timeout = if may_sleep {
                LOOK_AROUND
            } else {
                Duration::ZERO
            };
            if let Err(error) = self.poll.poll(&mut events, Some(timeout))
                && error.kind() != std::io::ErrorKind::Interrupted
            {
                return;
            }
            self.mailbox.is_awake();
            self.target.set_time(self.began.elapsed());
            let mut accepts = false;
            for event in &events {
                let token = event.token().0;
                if token >= connections {
                    self.heard(token - connections, event);
                } else if token >= LISTENER_TOKENS {
                    accepts = true;
                }
            }
            self.mailbox.take(&mut told);
            told.drain(..).for_each(|one: Told| self.target.told(one));
            self.target.feed();
            self.read_in_turn();
            let looks = self.looked_at.elapsed() >= LOOK_AROUND;
            if looks {
                self.looked_at = Instant::now();
                self.target.look_around();
                self.tell_figures();
            }
            self.send(&mut touched);
            self.drop_closed();
            if !self.hand_over() {
                return;
            }
            // Edges are lost when no descriptor is to be had, so that it is tried again.
            if accepts || looks {
                self.accept(connections);
            }
        }
    }

    /// The operating system says what can be done with a socket.
    fn heard(&mut self, key: usize, event: &mio::event::Event) {
        let Some(Some(socket)) = self.sockets.get_mut(key) else {
            return;
        };
        if event.is_writable() {
            socket.can_write = true;
            self.target.touch(key);
        }
        let is_over = event.is_read_closed() || event.is_error();
        socket.is_read_closed |= is_over;
        socket.can_read |= is_over || event.is_readable();
        self.list(key);
    }

    /// Has a connection be read from, if there is something to be read and it wants that.
    fn list(&mut self, key: usize) {
        let Some(Some(socket)) = self.sockets.get_mut(key) else {
            return;
        };
        let wants = self
            .target
            .connection(key)
            .is_some_and(|one| one.wants_input() || one.is_ending());
        if socket.can_read && wants && !socket.is_listed {
            socket.is_listed = true;
            self.readable.push(key);
        }
    }

    /// Reads from those that have something, each for a while.
    fn read_in_turn(&mut self) {
        for key in std::mem::take(&mut self.readable) {
            let Some(Some(socket)) = self.sockets.get_mut(key) else {
                continue;
            };
            socket.is_listed = false;
            match self.read(key) {
                Read::Enough => {}
                Read::More => self.list(key),
                Read::Gone => self.target.close(key),
            }
        }
    }

    fn read(&mut self, key: usize) -> Read {
        let Some(Some(socket)) = self.sockets.get_mut(key) else {
            return Read::Enough;
        };
        let mut bytes = 0;
        while bytes < TURN_BYTES {
            let most = self.target.input_bytes(key, READ_BYTES);
            let Some(connection) = self.target.connection(key) else {
                return Read::Enough;
            };
            let is_ending = connection.is_ending();
            if !connection.wants_input() && !is_ending {
                return Read::Enough;
            }
            let direct = connection.direct();
            let (read, wanted, is_direct) = match direct {
                Some(place) => {
                    let wanted = place.len();
                    (socket.stream.read(place), wanted, true)
                }
                None => (socket.stream.read(&mut self.scratch[..most]), most, false),
            };
            match read {
                Ok(Some(0)) | Err(_) => return Read::Gone,
                Ok(None) => {
                    socket.can_read = false;
                    return Read::Enough;
                }
                Ok(Some(read)) => {
                    bytes += read;
                    match is_direct {
                        true => self.target.received_directly(key, read),
                        // What comes after the end is nobody's.
                        false if is_ending => {}
                        false => self.target.receive(key, &self.scratch[..read]),
                    }
                    // Fewer bytes than there was room for: the next edge says that there are more, unless that was the last.
                    if read < wanted && !is_direct && !socket.is_read_closed {
                        socket.can_read = false;
                        return Read::Enough;
                    }
                }
            }
        }
        Read::More
    }

    /// Sends what is to be sent.
    fn send(&mut self, touched: &mut Vec<usize>) {
        loop {
            touched.clear();
            self.target.take_touched(touched);
            if touched.is_empty() {
                // What was sent has given memory back, for which commands may wait.
                match self.target.feed() {
                    true => continue,
                    false => return,
                }
            }
            for key in &*touched {
                self.send_to(*key);
                // Room for output may be what input waited for.
                self.list(*key);
            }
        }
    }

    fn send_to(&mut self, key: usize) {
        let Some(Some(socket)) = self.sockets.get_mut(key) else {
            return;
        };
        while socket.can_write {
            let Some(connection) = self.target.connection(key) else {
                return;
            };
            if !connection.has_output() {
                if connection.is_over() && !socket.is_finished {
                    socket.is_finished = true;
                    socket.stream.finish();
                }
                return;
            }
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let count = connection.output(&mut slices);
            match socket.stream.write(&slices[..count]) {
                Ok(Some(sent)) => self.target.sent(key, sent),
                Ok(None) => socket.can_write = false,
                Err(_) => return self.target.close(key),
            }
        }
    }

    /// Sockets of connections that are gone go.
    fn drop_closed(&mut self) {
        for key in self.target.take_closed() {
            if let Some(socket) = self.sockets.get_mut(key)
                && let Some(mut socket) = socket.take()
            {
                // It goes with the socket in any case.
                let _ = socket.stream.deregister(self.poll.registry());
            }
        }
    }

    /// Hands the drive its commands; says whether there still is a drive.
    fn hand_over(&mut self) -> bool {
        let orders = self.target.take_orders();
        if orders.is_empty() {
            return true;
        }
        let kept = self.kept;
        let submitted = self.handle.submit(move |_, served| {
            if let Some(on_drive) = served.kept(kept) {
                on_drive.take(orders);
            }
        });
        submitted.is_ok()
    }

    fn accept(&mut self, connections: usize) {
        for number in 0..self.listeners.len() {
            // An error is of the connection, or there are no descriptors: others are accepted later.
            while let Ok((stream, reached_at)) = self.listeners[number].accept() {
                self.accepted(stream, reached_at, connections);
            }
        }
    }

    fn accepted(&mut self, mut stream: Stream, reached_at: Option<SocketAddr>, connections: usize) {
        let Some(key) = self.target.open(reached_at) else {
            return;
        };
        let token = Token(connections + key);
        if stream.register(self.poll.registry(), token).is_err() {
            self.target.close(key);
            // Its key may be given to the next connection at once.
            self.drop_closed();
            return;
        }
        if self.sockets.len() <= key {
            self.sockets.resize_with(key + 1, || None);
        }
        self.sockets[key] = Some(Socket {
            stream,
            can_read: true,
            can_write: true,
            is_read_closed: false,
            is_listed: false,
            is_finished: false,
        });
        self.list(key);
    }

    fn tell_figures(&mut self) {
        let (connections, controllers, buffered_bytes) = self.target.present();
        let (counted, connects_refused) = self.target.counted();
        // As for who reads them.
        let figures = self.figures.lock();
        let mut figures = figures.unwrap_or_else(|poisoned| poisoned.into_inner());
        let version = self.target.hosts_version();
        // Names are many, and change rarely.
        if self.hosts_version != version {
            self.hosts_version = version;
            figures.hosts = self.target.hosts();
        }
        (figures.connections, figures.controllers) = (connections, controllers);
        (figures.connects_refused, figures.counted) = (connects_refused, counted);
        figures.buffered_bytes = buffered_bytes;
    }
}
