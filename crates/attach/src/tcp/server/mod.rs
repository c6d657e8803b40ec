//! A drive's target on sockets: one thread for all connections, which hands the drive its commands in batches.

mod serve;
mod stream;

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use bitline::StorageKind;
use bitline::inside::InsideHost;
use mio::{Interest, Poll, Token, Waker};
use serde::Serialize;

use self::serve::{LISTENER_TOKENS, Loop, WAKER_TOKEN};
use self::stream::Listener;
use super::facts::DriveFacts;
use super::mailbox::Mailbox;
use super::on_drive::OnDrive;
use super::options::{Listen, ServerError, ServerOptions};
use super::target::{Counted, Target};
use crate::engine::{Handle, Kept};

/// A drive that is served over NVMe/TCP. Dropping it closes it.
pub struct Server {
    handle: Handle,
    places: Vec<Listen>,
    mailbox: Arc<Mailbox>,
    figures: Arc<Mutex<ServerSnapshot>>,
    /// What it keeps on the drive's thread.
    kept: Kept<OnDrive>,
    thread: Option<JoinHandle<()>>,
}

/// What a server has done so far, a few times a second anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ServerSnapshot {
    /// Connections now.
    pub connections: usize,
    /// Hosts that are connected to the drive now: controllers.
    pub controllers: usize,
    /// Their names.
    pub hosts: Vec<String>,
    /// Connects that were refused: an unknown subsystem, a host that is not allowed, no controller to be had.
    pub connects_refused: u64,
    /// Bytes of commands' data that are kept now.
    pub buffered_bytes: u64,
    /// What was counted.
    pub counted: Counted,
}

impl Server {
    /// Serves the drive behind `handle`.
    ///
    /// # Errors
    /// An option that cannot be; a place that cannot be listened at; a drive that is not served any more.
    pub fn start(handle: Handle, options: &ServerOptions) -> Result<Server, ServerError> {
        options.validate()?;
        let poll = Poll::new()?;
        let mailbox = Arc::new(Mailbox::new(Waker::new(poll.registry(), WAKER_TOKEN)?));
        let listeners: Result<Vec<Listener>, ServerError> =
            options.listen.iter().map(Listener::open).collect();
        let mut listeners = listeners?;
        for (number, listener) in listeners.iter_mut().enumerate() {
            let token = Token(LISTENER_TOKENS + number);
            poll.registry()
                .register(listener.source(), token, Interest::READABLE)?;
        }
        let places: Vec<Listen> = listeners.iter().map(Listener::place).collect();
        let (facts, kept) = keep(&handle, &mailbox)?;
        let target = Target::new(options, addresses(&places), facts);
        let figures = Arc::new(Mutex::new(ServerSnapshot::default()));
        let serving = Loop::new(
            poll,
            listeners,
            target,
            mailbox.clone(),
            handle.clone(),
            kept,
            figures.clone(),
        );
        let thread = thread::Builder::new()
            .name("bitline nvme/tcp".into())
            .spawn(move || serving.run())?;
        Ok(Server {
            handle,
            places,
            mailbox,
            figures,
            kept,
            thread: Some(thread),
        })
    }

    /// Where it listens, with the ports that it was given.
    pub fn places(&self) -> &[Listen] {
        &self.places
    }

    /// The TCP addresses at which it listens.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        addresses(&self.places)
    }

    /// Whether its thread is still there; it ends when the drive is closed.
    pub fn is_serving(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// What it has done so far.
    pub fn snapshot(&self) -> ServerSnapshot {
        let figures = self.figures.lock();
        // Whoever holds it copies figures, and nothing else.
        figures
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .clone()
    }

    /// Closes all connections and stops listening. Commands that the drive has begun end; nobody hears of them.
    pub fn close(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.mailbox.close();
        // It has told of its panic by itself.
        let _ = thread.join();
        let kept = self.kept;
        // With a drive that is gone, so is what it kept.
        let _ = self.handle.submit(move |_, served| {
            if let Some(on_drive) = served.give_back(kept) {
                on_drive.stop();
            }
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Has the drive's thread keep what carries out commands there; says what is to be known of the drive, and where that is kept.
fn keep(
    handle: &Handle,
    mailbox: &Arc<Mailbox>,
) -> Result<(DriveFacts, Kept<OnDrive>), ServerError> {
    let mailbox = mailbox.clone();
    handle.ask(move |drive, served| {
        let on_drive = Rc::new(OnDrive::new(served, &mailbox)?);
        served.spawn(on_drive.clone().tell_events());
        let facts = DriveFacts {
            has_image: served.durable().has_image(),
            is_without_data: drive.config().data.storage == StorageKind::None,
            others: served.host().namespaces_of_other_sets(),
        };
        Ok((facts, served.keep(on_drive)))
    })?
}

fn addresses(places: &[Listen]) -> Vec<SocketAddr> {
    let tcp = places.iter().filter_map(|place| match place {
        Listen::Tcp(address) => Some(*address),
        Listen::Unix(_) => None,
    });
    tcp.collect()
}
