//! An association with a controller: an admin queue and I/O queues, each a connection, and the commands on them (Base 2.2.2).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bitline::inside::{Capsule, Response};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, unbounded};
use nvme::fabrics::pdu::{FatalError, PduError};
use nvme::fabrics::{DISCOVERY_NQN, Sgl};
use nvme::{CompletionEntry, QueueId, Status, SubmissionEntry, Transfers};

use super::connection::{Connection, Event, Heard, Owner};
use super::options::Options;
use super::pdu::{Pdu, ReadError, reason_of};
use super::stream::Peer;

/// The identifier of commands that the association sends itself, one at a time.
const OWN_COMMAND: u16 = 0xFFFD;
/// Bytes that every controller takes in a capsule of the admin queue and of Connect (TCP 3.3.2).
const ADMIN_CAPSULE_BYTES: usize = nvme::fabrics::pdu::IN_CAPSULE_BYTES as usize;
/// How long a wait is that others have a turn after.
const TURN: Duration = Duration::from_millis(20);

/// A command that is not answered.
struct InFlight {
    /// What the controller may still ask for.
    outgoing: Vec<u8>,
    /// Room for what may come, and what of it has.
    incoming: usize,
    data: Vec<u8>,
}

/// Queues to one controller.
pub(super) struct Association {
    number: u64,
    peer: Peer,
    pub(super) options: Options,
    pub(super) nqn: String,
    queues: BTreeMap<u16, Connection>,
    in_flight: BTreeMap<(u16, u16), InFlight>,
    answered: VecDeque<Response>,
    events: (Sender<Event>, Receiver<Event>),
    heard: Heard,
    /// Bytes of data in a capsule of an I/O queue.
    pub(super) capsule_bytes: usize,
    /// The controller's number, once there is an admin queue.
    pub(super) controller: u16,
}

impl Association {
    /// With no queue yet.
    pub(super) fn new(number: u64, peer: Peer, nqn: &str, options: Options) -> Association {
        Association {
            number,
            peer,
            options,
            nqn: nqn.to_owned(),
            queues: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            answered: VecDeque::new(),
            events: unbounded(),
            heard: Arc::new(Mutex::new(Instant::now())),
            capsule_bytes: 0,
            controller: nvme::fabrics::DYNAMIC_CONTROLLER,
        }
    }

    /// Opens the connection of a queue, which is to be told to the controller (Connect).
    pub(super) fn open(&mut self, queue: u16) -> Result<(), String> {
        let owner = Owner {
            association: self.number,
            queue,
            events: self.events.0.clone(),
            heard: self.heard.clone(),
        };
        let (timeout, digests) = (self.options.timeout, self.options.digests);
        let connection = Connection::open(&self.peer, timeout, digests, owner)?;
        self.queues.insert(queue, connection);
        Ok(())
    }

    /// Has a thread tell the controller that this host is there.
    pub(super) fn keep_alive(&self) -> Result<(), String> {
        let admin = self.queues.get(&0).ok_or("there is no admin queue")?;
        admin.keep_alive(self.options.keep_alive_every())
    }

    /// Sends a command.
    pub(super) fn send(&mut self, queue: u16, capsule: Capsule) -> Result<(), String> {
        let Capsule {
            mut entry,
            data,
            transfers,
            ..
        } = capsule;
        let is_connect = entry.opcode == nvme::fabrics::FABRICS_OPCODE;
        let room = match queue == 0 || is_connect {
            true => ADMIN_CAPSULE_BYTES,
            false => self.capsule_bytes,
        };
        let is_in_capsule = data.len() <= room;
        let length = transfers.descriptor_bytes();
        let is_described = !data.is_empty() && !transfers.describes_result();
        let sgl = match is_in_capsule && is_described {
            true => Sgl::InCapsule { offset: 0, length },
            false => Sgl::Transport { length },
        };
        sgl.encode_into(&mut entry);
        // What is at the metadata pointer follows the other data; an address of this host means nothing there.
        if transfers.pointed > 0 {
            entry.metadata_pointer.set(0);
        }
        let key = (queue, entry.command().get());
        let (inside, outgoing) = match is_in_capsule {
            true => (data, Vec::new()),
            false => (Vec::new(), data),
        };
        if self.in_flight.is_empty() {
            // Nothing was waited for before: silence is counted from here.
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        let in_flight = InFlight {
            outgoing,
            incoming: transfers.to_host as usize,
            data: Vec::new(),
        };
        self.in_flight.insert(key, in_flight);
        let connection = self.queues.get(&queue).ok_or("there is no such queue")?;
        connection.command(entry, &inside)
    }

    /// What has come; with a time, waits as long for it.
    pub(super) fn receive(&mut self, wait: bool) -> Result<Option<Response>, String> {
        let until = Instant::now() + TURN;
        loop {
            if let Some(response) = self.answered.pop_front() {
                return Ok(Some(response));
            }
            let event = match wait {
                false => self.events.1.try_recv().map_err(|error| match error {
                    TryRecvError::Empty => RecvTimeoutError::Timeout,
                    TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                }),
                true => self.events.1.recv_deadline(until),
            };
            match event {
                Ok(event) => self.take(event)?,
                Err(_) => {
                    self.check_silence()?;
                    return Ok(None);
                }
            }
        }
    }

    /// Sends a command of the association's own, and waits for what comes of it.
    pub(super) fn call(
        &mut self,
        queue: u16,
        mut entry: SubmissionEntry,
        (data, to_host): (Vec<u8>, u32),
    ) -> Result<(CompletionEntry, Vec<u8>), String> {
        entry.command_id.set(OWN_COMMAND);
        let transfers = Transfers {
            to_controller: data.len() as u32,
            pointed: 0,
            to_host,
        };
        self.send(queue, Capsule::new(entry, data, transfers))?;
        let until = Instant::now() + self.options.timeout;
        let mut others = VecDeque::new();
        let came = loop {
            match self.receive(true)? {
                Some(response) if response.completion.command().get() == OWN_COMMAND => {
                    break response;
                }
                Some(other) => others.push_back(other),
                None if Instant::now() > until => {
                    let seconds = self.options.timeout.as_secs_f64();
                    return Err(format!("no answer within {seconds} s"));
                }
                None => {}
            }
        };
        others.append(&mut self.answered);
        self.answered = others;
        Ok((came.completion, came.data))
    }

    /// Whether this is an association with a discovery controller.
    pub(super) fn is_discovery(&self) -> bool {
        self.nqn == DISCOVERY_NQN
    }

    fn check_silence(&self) -> Result<(), String> {
        if self.in_flight.is_empty() {
            return Ok(());
        }
        let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        match heard.elapsed() > self.options.timeout {
            true => Err(format!(
                "nothing was heard for {} s, not even an answer to Keep Alive",
                self.options.timeout.as_secs_f64()
            )),
            false => Ok(()),
        }
    }

    fn take(&mut self, event: Event) -> Result<(), String> {
        if event.association != self.number {
            return Ok(());
        }
        let queue = event.queue;
        let outcome = match event.pdu {
            Ok(Pdu::Terminated(reason)) => {
                let reason = reason_of(reason);
                return Err(format!("the controller ended the connection: {reason}"));
            }
            Ok(pdu) => self.take_pdu(queue, pdu),
            Err(ReadError::Wrong(error)) => Err(error),
            Err(error) => return Err(error.to_string()),
        };
        outcome.map_err(|error| {
            if let Some(connection) = self.queues.get(&queue) {
                connection.end(error);
            }
            format!("the controller broke the protocol on queue {queue}: {error}")
        })
    }

    fn take_pdu(&mut self, queue: u16, pdu: Pdu) -> Result<(), PduError> {
        const OUT_OF_RANGE: PduError = PduError {
            error: FatalError::DataOutOfRange,
            information: 0,
        };
        match pdu {
            Pdu::Response(completion) => self.answer(queue, completion),
            Pdu::Data {
                command,
                offset,
                data,
                is_last,
                is_success,
            } => {
                let sent = self.in_flight.get_mut(&(queue, command));
                let sent = sent.ok_or(PduError::field(8))?;
                let end = offset.checked_add(data.len() as u64).ok_or(OUT_OF_RANGE)?;
                if end > sent.incoming as u64 {
                    return Err(OUT_OF_RANGE);
                }
                // Data that comes in order, as it does, is moved and not copied.
                match offset == 0 && sent.data.is_empty() {
                    true => sent.data = data,
                    false => {
                        let bytes = sent.data.len().max(end as usize);
                        sent.data.resize(bytes, 0);
                        sent.data[offset as usize..end as usize].copy_from_slice(&data);
                    }
                }
                if !(is_last && is_success) {
                    return Ok(());
                }
                let id = nvme::CommandId::new(command);
                let number = QueueId::new(queue);
                let done = CompletionEntry::new(id, number, 0, Status::SUCCESS, false);
                self.answer(queue, done)
            }
            Pdu::Ready {
                command,
                tag,
                offset,
                length,
            } => {
                let sent = self.in_flight.get(&(queue, command));
                let sent = sent.ok_or(PduError::field(8))?;
                let end = offset.checked_add(length).ok_or(OUT_OF_RANGE)?;
                if length == 0 || end > sent.outgoing.len() as u64 {
                    return Err(OUT_OF_RANGE);
                }
                let asked = &sent.outgoing[offset as usize..end as usize];
                let connection = self.queues.get(&queue).ok_or(PduError::SEQUENCE)?;
                // A connection that broke meanwhile says so when it is read.
                let _ = connection.data((command, tag), (offset, asked));
                Ok(())
            }
            // Was seen before.
            Pdu::Terminated(_) => Ok(()),
        }
    }

    fn answer(&mut self, queue: u16, completion: CompletionEntry) -> Result<(), PduError> {
        let key = (queue, completion.command().get());
        let sent = self.in_flight.remove(&key);
        let sent = sent.ok_or(PduError::field(20))?;
        let response = Response::new(QueueId::new(queue), completion, sent.data);
        self.answered.push_back(response);
        Ok(())
    }
}
