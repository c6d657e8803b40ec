//! How collections begin, whoever waits for that: one that is opened though nobody waits any more is ended again.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use host::volume::Object;

use super::Attach;
use crate::error::Error;
use crate::host_end::Host;

/// Where a collection began, and its object.
type Opened = (u64, Option<Object>);

/// A collection that is being opened.
struct Opening {
    host: Host,
    port: u16,
    opened: RefCell<Option<Result<Opened, Error>>>,
    /// Nobody waits any more.
    is_abandoned: Cell<bool>,
}

/// Who waits for it; dropped before the end, it is abandoned.
struct Waiting(Rc<Opening>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.is_abandoned.set(true);
        if let Some(Ok(_)) = self.0.opened.take() {
            self.0.undo();
        }
    }
}

impl Opening {
    fn undo(&self) {
        let (host, port) = (self.host.clone(), self.port);
        self.host.sim().spawn_detached(async move {
            let device = host.collector_device();
            for _ in 0..2 {
                // The first time it is ended, the second time forgotten. Nobody is left to hear of it.
                let _ = device.close(port).await;
            }
            host.collecting.forget(port);
        });
    }
}

/// Opens a collection; gives where it begins, and what it works on.
pub(super) async fn opened(host: Host, asked: Attach) -> Result<Opened, Error> {
    let opening = Rc::new(Opening {
        host: host.clone(),
        port: asked.port,
        opened: RefCell::default(),
        is_abandoned: Cell::new(false),
    });
    let waiting = Waiting(opening.clone());
    let inside = host.clone();
    host.sim().spawn_detached(async move {
        let opened = inside.open_collector(&asked).await;
        if !opening.is_abandoned.get() {
            opening.opened.replace(Some(opened));
        } else if opened.is_ok() {
            opening.undo();
        }
        inside.collecting.announce();
    });
    loop {
        if let Some(opened) = waiting.0.opened.take() {
            return opened;
        }
        host.collecting.changed().await;
    }
}
