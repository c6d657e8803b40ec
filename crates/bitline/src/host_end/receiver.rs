//! The card in the host that collectors are connected to instead of the drive, to compare with (TH-iSSD, Figure 2).

use std::cell::OnceCell;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use device::tenants;
use media::link::{Carries, Link};
use sim::{Energy, Ledger, Sim, Time};

use super::{Collecting, ORIGIN};
use crate::config::{Config, ReceiverConfig};

/// The card, which is there from the first collector on.
pub(crate) struct Receiver {
    sim: Sim,
    config: ReceiverConfig,
    ledger: Rc<Ledger>,
    link: OnceCell<Rc<Link>>,
    /// Ports that are in use.
    ports: RefCell<BTreeSet<u16>>,
    /// What is known of those who send to it.
    pub(crate) collecting: Rc<Collecting>,
}

impl Receiver {
    /// One that nobody has used; `ledger` meters what its link spends.
    pub(crate) fn new(sim: &Sim, config: &Config, ledger: &Rc<Ledger>) -> Receiver {
        Receiver {
            sim: sim.clone(),
            config: config.host.receiver.clone(),
            ledger: ledger.clone(),
            link: OnceCell::new(),
            ports: RefCell::default(),
            collecting: Rc::new(Collecting::new(sim)),
        }
    }

    /// What the configuration says of it.
    pub(crate) fn config(&self) -> &ReceiverConfig {
        &self.config
    }

    /// Takes a port; false if it is taken.
    pub(crate) fn take(&self, port: u16) -> bool {
        self.ports.borrow_mut().insert(port)
    }

    /// Gives a port back.
    pub(crate) fn give_back(&self, port: u16) {
        self.ports.borrow_mut().remove(&port);
    }

    /// Sends bytes into the host's memory, behind those before them; gives when they are there.
    pub(crate) fn post(&self, bytes: u64) -> Time {
        self.link()
            .up
            .post(ORIGIN.requester(), Carries::Data, bytes)
    }

    fn link(&self) -> &Link {
        self.link.get_or_init(|| {
            let own = Rc::new(Ledger::default());
            let link = Link::new(&self.sim, &self.config.link, &own);
            let moved = link.clone();
            let (spent, shared) = (own.clone(), own);
            let read = move || (spent.total(), moved.up.bytes());
            let share = move |tenant| match tenant {
                tenants::HOST => shared.total(),
                _ => Energy::ZERO,
            };
            self.ledger.meter("host", "receiver", read, share);
            link
        })
    }
}
