//! Ports and shares of the switch, each of which one collection has.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

/// What collections have together.
#[derive(Default)]
pub(super) struct Claimed {
    ports: RefCell<BTreeSet<u32>>,
    bytes: Cell<u64>,
}

/// The port of a collection, and its share of the switch, which nobody else has until this is dropped.
pub(super) struct Claim {
    claimed: Rc<Claimed>,
    port: u32,
    share: u64,
}

impl Claimed {
    /// Whether somebody has a port.
    pub(super) fn has(&self, port: u32) -> bool {
        self.ports.borrow().contains(&port)
    }

    /// Bytes of all shares.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}

impl Claim {
    /// Claims a port, which nobody has, and a share.
    pub(super) fn new(claimed: &Rc<Claimed>, port: u32, share: u64) -> Claim {
        claimed.ports.borrow_mut().insert(port);
        claimed.bytes.set(claimed.bytes.get() + share);
        Claim {
            claimed: claimed.clone(),
            port,
            share,
        }
    }

    /// Bytes of the share.
    pub(super) fn share(&self) -> u64 {
        self.share
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claimed.ports.borrow_mut().remove(&self.port);
        self.claimed
            .bytes
            .set(self.claimed.bytes.get() - self.share);
    }
}
