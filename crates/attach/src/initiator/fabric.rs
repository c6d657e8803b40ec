//! A drive over NVMe/TCP, as the host library reaches it.

use bitline::HostError;
use bitline::inside::{Capsule, Fabric, Response};
use nvme::QueueId;
use nvme::fabrics::DISCOVERY_NQN;

use super::address::{Address, Place};
use super::association::Association;
use super::options::Options;
use super::setup::{self, Given};
use super::stream::Peer;
use crate::tcp::SUBSYSTEM_NQN;

/// A way over NVMe/TCP. When its connections are lost, the next command makes others.
pub struct Initiator {
    name: String,
    place: Place,
    nqn: String,
    options: Options,
    host_id: [u8; 16],
    given: Given,
    association: Option<Association>,
    /// Associations begun.
    begun: u64,
    /// I/O queues, and their entries.
    queues: Vec<(u16, u16)>,
}

impl Initiator {
    /// Connects to the controller of a drive; an address without an NQN is asked which drive it has.
    ///
    /// # Errors
    /// Options that cannot be; whoever does not answer, or not as the standards say; an address that has no drive, or several.
    pub fn connect(address: &Address, options: Options) -> Result<Initiator, HostError> {
        options.validate().map_err(HostError::Usage)?;
        let failed = |why: String| HostError::Transport(format!("{address}: {why}"));
        let place = address.place.clone();
        let (nqn, place) = match (&address.nqn, place) {
            (Some(nqn), place) => (nqn.clone(), place),
            // Nothing on a network is there to be discovered.
            (None, place @ Place::Socket(_)) => (SUBSYSTEM_NQN.to_owned(), place),
            (None, Place::Network { host, port }) => {
                let (nqn, port) = discovered((&host, port), &options).map_err(failed)?;
                (nqn, Place::Network { host, port })
            }
        };
        let address = Address {
            place,
            nqn: Some(nqn.clone()),
        };
        let mut initiator = Initiator {
            name: address.to_string(),
            place: address.place.clone(),
            nqn,
            host_id: options.host_id(),
            options,
            given: Given {
                queues: 0,
                entries: 0,
            },
            association: None,
            begun: 0,
            queues: Vec::new(),
        };
        let begun = initiator.begin();
        begun.map_err(|why| initiator.failed(&why))?;
        Ok(initiator)
    }

    /// Begins an association, with the queues that there were.
    fn begin(&mut self) -> Result<(), String> {
        self.begun += 1;
        let peer = Peer::of(&self.place)?;
        let options = self.options.clone();
        let mut association = Association::new(self.begun, peer, &self.nqn, options);
        self.given = setup::begin(&mut association, self.host_id)?;
        for queue in &self.queues {
            setup::open_queue(&mut association, self.host_id, *queue)?;
        }
        self.association = Some(association);
        Ok(())
    }

    fn association(&mut self) -> Result<&mut Association, HostError> {
        if self.association.is_none() {
            let again = self.begin();
            again.map_err(|why| self.failed(&why))?;
        }
        self.association
            .as_mut()
            .ok_or_else(|| HostError::Transport("there is no association".into()))
    }

    /// Nothing comes of this association any more.
    fn lost(&mut self, why: &str) -> HostError {
        self.association = None;
        let why = format!(
            "{why}; whether the drive did what it had been sent and did not answer is not known; the next call connects again"
        );
        self.failed(&why)
    }

    fn failed(&self, why: &str) -> HostError {
        HostError::Transport(format!("{}: {why}", self.name))
    }
}

impl Fabric for Initiator {
    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> (u16, u32) {
        (self.given.queues, self.given.entries)
    }

    fn open_queue(&mut self, queue: QueueId, entries: u32) -> Result<(), HostError> {
        // The greatest number of entries, 65,536, is one more than the field of Connect is told of by its type.
        let entries = u16::try_from(entries).unwrap_or(u16::MAX);
        let (host_id, queue) = (self.host_id, (queue.get(), entries));
        let opened = setup::open_queue(self.association()?, host_id, queue);
        opened.map_err(|why| self.lost(&why))?;
        self.queues.push(queue);
        Ok(())
    }

    fn send(&mut self, queue: QueueId, capsule: Capsule) -> Result<(), HostError> {
        let sent = self.association()?.send(queue.get(), capsule);
        sent.map_err(|why| self.lost(&why))
    }

    fn receive(&mut self, wait: bool) -> Result<Option<Response>, HostError> {
        let Some(association) = &mut self.association else {
            return Ok(None);
        };
        let received = association.receive(wait);
        received.map_err(|why| self.lost(&why))
    }
}

/// The only drive that a discovery controller knows, and its port.
fn discovered((host, port): (&str, u16), options: &Options) -> Result<(String, u16), String> {
    let host = host.to_owned();
    let peer = Peer::of(&Place::Network { host, port })?;
    let mut association = Association::new(0, peer, DISCOVERY_NQN, options.clone());
    setup::begin(&mut association, options.host_id())?;
    let found = setup::discover(&mut association)?;
    match &found[..] {
        [] => Err("it knows of no drive that is reached over TCP".into()),
        [(nqn, service)] => Ok((nqn.clone(), service.parse().unwrap_or(port))),
        several => {
            let names: Vec<&str> = several.iter().map(|(nqn, _)| &**nqn).collect();
            Err(format!(
                "it has {} drives, name one behind a slash: {}",
                names.len(),
                names.join(", ")
            ))
        }
    }
}
