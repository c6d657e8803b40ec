//! What a host knows of its collectors.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use nvme::collector::{CollectorRecord, CollectorState};

use crate::error::Error;

/// Objects of collectors that are to grow, and sources that are not at their end, by port.
#[derive(Default)]
pub(crate) struct Collecting {
    sending: RefCell<BTreeMap<u16, u32>>,
    pub(crate) objects: RefCell<BTreeMap<u16, (String, u64, u64)>>,
    pub(crate) failures: RefCell<BTreeMap<u16, Error>>,
    pub(crate) is_watched: Cell<bool>,
}

impl Collecting {
    /// What is to be added to a collection: its port, its object, and how much.
    pub(crate) fn of(&self, record: &CollectorRecord) -> Option<(u16, String, u64)> {
        let port = u16::try_from(record.port.get()).ok()?;
        let objects = self.objects.borrow();
        let (name, by, low) = objects.get(&port)?;
        let is_collecting =
            CollectorState::of_code(record.state) == Some(CollectorState::Collecting);
        let left = record.room_bytes.get().saturating_sub(record.bytes.get());
        // What has arrived and is not durable yet needs room, too.
        let waiting = record
            .packet_bytes
            .get()
            .saturating_sub(record.oldest_bytes.get());
        let is_low = left <= *low || waiting + low >= record.room_bytes.get();
        (is_collecting && is_low).then(|| (port, name.clone(), *by))
    }

    /// Whether a collector will send more by itself.
    pub(crate) fn sends(&self, port: u16) -> bool {
        self.sending.borrow().contains_key(&port)
    }

    /// A source begins.
    pub(crate) fn begin(&self, port: u16) {
        *self.sending.borrow_mut().entry(port).or_default() += 1;
    }

    /// A source is at its end.
    pub(crate) fn end(&self, port: u16) {
        let mut sending = self.sending.borrow_mut();
        if let Some(count) = sending.get_mut(&port) {
            *count -= 1;
            if *count == 0 {
                sending.remove(&port);
            }
        }
    }

    pub(crate) fn failed(&self, port: u16, error: Error) {
        self.failures.borrow_mut().insert(port, error);
        self.objects.borrow_mut().remove(&port);
    }
}
