//! All connections of a server and the controllers behind them, without sockets and without a drive: bytes in, orders for the drive
//! out; what the drive tells in, bytes out. Time is told to it.

mod admin;
mod answers;
mod fabrics;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nvme::fabrics::FABRICS_OPCODE;
use nvme::{Status, SubmissionEntry};
use serde::Serialize;
use slab::Slab;

use super::connection::{Active, Answer, Connection, Limits, Pool, Progress, Traffic};
use super::controller::ControllerKind;
use super::facts::DriveFacts;
use super::message::{DriveCommand, Order, Ticket};
use super::options::ServerOptions;
use super::subsystem::Subsystem;

/// How long a connection may take until it is a queue of a controller.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How long a peer may leave what is sent untaken, or data that it was asked for unsent.
const PEER_MOVES_WITHIN: Duration = Duration::from_secs(30);
/// How long a connection that is over may take to be closed by its peer.
const LINGERS_FOR: Duration = Duration::from_secs(2);

/// See the module.
pub(super) struct Target {
    clients: Slab<Client>,
    subsystem: Subsystem,
    pool: Pool,
    limits: Limits,
    facts: Arc<DriveFacts>,
    connections_max: usize,
    last_epoch: u64,
    now: Duration,
    addresses: Vec<SocketAddr>,
    /// Commands for the drive since they were last taken.
    orders: Vec<Order>,
    /// Connections that may have something to send.
    touched: Vec<usize>,
    /// Connections that are gone.
    closed: Vec<usize>,
    /// Connections with commands that wait for memory.
    starving: Vec<usize>,
    counted: Counted,
}

/// A connection, and what it belongs to.
struct Client {
    connection: Connection,
    controller: Option<u16>,
    opened_at: Duration,
    moved_at: Duration,
    ended_at: Option<Duration>,
    /// The address that its host came to.
    reached_at: Option<SocketAddr>,
    is_touched: bool,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counted {
    /// Connections so far.
    pub connections: u64,
    /// Connections that were refused, as there were as many as there may be.
    pub connections_refused: u64,
    /// Connections that were ended for an error of the protocol.
    pub connections_terminated: u64,
    /// Connections that were closed as their hosts were silent for too long.
    pub connections_timed_out: u64,
    /// Commands so far, Fabrics commands included.
    pub commands: u64,
    /// Of these, those answered with an error.
    pub commands_failed: u64,
    /// PDUs that have come.
    pub pdus_received: u64,
    /// Bytes that have come over connections.
    pub bytes_received: u64,
    /// Bytes that were sent over connections.
    pub bytes_sent: u64,
}

/// What becomes of a command that has arrived.
enum Outcome {
    /// It is answered.
    Answer(Answer),
    /// It is answered with this data, as much as the host wants of it.
    Data(Vec<u8>),
    /// The drive carries it out.
    Drive,
    /// It is held until there is something to tell.
    Held,
    /// It was answered already.
    Done,
}

impl From<Status> for Outcome {
    fn from(status: Status) -> Outcome {
        Outcome::Answer(status.into())
    }
}

impl Target {
    /// Nobody is connected. Discovery tells of `addresses`.
    pub(super) fn new(
        options: &ServerOptions,
        addresses: Vec<SocketAddr>,
        facts: DriveFacts,
    ) -> Target {
        Target {
            clients: Slab::new(),
            subsystem: Subsystem::new(options, facts.has_image),
            facts: Arc::new(facts),
            pool: Pool::new(options.buffered_bytes_max),
            limits: Limits {
                transfer_bytes: options.transfer_bytes(),
                buffered_bytes: options.connection_bytes_max,
            },
            connections_max: options.connections_max,
            last_epoch: 0,
            now: Duration::ZERO,
            addresses,
            orders: Vec::new(),
            touched: Vec::new(),
            closed: Vec::new(),
            starving: Vec::new(),
            counted: Counted::default(),
        }
    }

    /// What the time is now.
    pub(super) fn set_time(&mut self, now: Duration) {
        self.now = now;
    }

    /// A connection is made, to that address if it is one; none if there are enough.
    pub(super) fn open(&mut self, reached_at: Option<SocketAddr>) -> Option<usize> {
        if self.clients.len() >= self.connections_max {
            self.counted.connections_refused += 1;
            return None;
        }
        self.counted.connections += 1;
        self.last_epoch += 1;
        Some(self.clients.insert(Client {
            connection: Connection::new(self.last_epoch, self.limits, &self.facts),
            controller: None,
            opened_at: self.now,
            moved_at: self.now,
            ended_at: None,
            reached_at,
            is_touched: false,
        }))
    }

    /// A connection.
    pub(super) fn connection(&mut self, key: usize) -> Option<&mut Connection> {
        self.clients
            .get_mut(key)
            .map(|client| &mut client.connection)
    }

    /// How many bytes are to be read from a connection now, at most.
    pub(super) fn input_bytes(&self, key: usize, most: usize) -> usize {
        let client = self.clients.get(key);
        client.map_or(most, |client| {
            client.connection.input_bytes(&self.pool, most)
        })
    }

    /// Bytes have come over a connection.
    pub(super) fn receive(&mut self, key: usize, bytes: &[u8]) {
        let mut arrived = Vec::new();
        if let Some(client) = self.clients.get_mut(key) {
            client.moved_at = self.now;
            client.connection.receive(bytes, &self.pool, &mut arrived);
        }
        self.came(key, &arrived);
    }

    /// Bytes were read to where [`Connection::direct`] said.
    pub(super) fn received_directly(&mut self, key: usize, bytes: usize) {
        let mut arrived = Vec::new();
        if let Some(client) = self.clients.get_mut(key) {
            client.moved_at = self.now;
            client.connection.received_directly(bytes, &mut arrived);
        }
        self.came(key, &arrived);
    }

    fn came(&mut self, key: usize, arrived: &[u16]) {
        for slot in arrived {
            self.carry_out(key, *slot);
        }
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        if client.connection.waits_for_memory() && !self.starving.contains(&key) {
            self.starving.push(key);
        }
        if client.connection.is_ending() && client.ended_at.is_none() {
            client.ended_at = Some(self.now);
            self.counted.connections_terminated += 1;
        }
        self.touch(key);
    }

    /// So many bytes were sent over a connection.
    pub(super) fn sent(&mut self, key: usize, bytes: usize) {
        if let Some(client) = self.clients.get_mut(key) {
            client.moved_at = self.now;
            client.connection.sent(bytes, &self.pool);
        }
    }

    /// A connection may have something to send.
    pub(super) fn touch(&mut self, key: usize) {
        if let Some(client) = self.clients.get_mut(key)
            && !client.is_touched
        {
            client.is_touched = true;
            self.touched.push(key);
        }
    }

    /// Connections that may have something to send since this was last asked.
    pub(super) fn take_touched(&mut self, into: &mut Vec<usize>) {
        into.append(&mut self.touched);
        for key in into {
            if let Some(client) = self.clients.get_mut(*key) {
                client.is_touched = false;
            }
        }
    }

    /// Connections that are gone since this was last asked.
    pub(super) fn take_closed(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.closed)
    }

    /// Commands for the drive since this was last asked.
    pub(super) fn take_orders(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.orders)
    }

    /// Lets commands that wait for memory have what others gave back; says whether any got some.
    pub(super) fn feed(&mut self) -> bool {
        let mut has_fed = false;
        for key in std::mem::take(&mut self.starving) {
            let mut arrived = Vec::new();
            let Some(client) = self.clients.get_mut(key) else {
                continue;
            };
            if client.connection.admit(&self.pool, &mut arrived) {
                has_fed = true;
                // Its peer was not waited for until now.
                client.moved_at = self.now;
                self.came(key, &arrived);
            } else if client.connection.waits_for_memory() {
                self.starving.push(key);
            }
        }
        has_fed
    }

    /// A connection is gone, and with the one that is an admin queue its controller.
    pub(super) fn close(&mut self, key: usize) {
        let Some(mut client) = self.clients.try_remove(key) else {
            return;
        };
        self.count(client.connection.traffic());
        let busy: Vec<u16> = client.connection.close(&self.pool);
        let epoch = client.connection.epoch();
        let cancels = busy.into_iter().map(|command| {
            Order::Cancel(Ticket {
                epoch,
                connection: key as u32,
                command,
            })
        });
        self.orders.extend(cancels);
        self.closed.push(key);
        let Some(id) = client.controller else { return };
        let Some(controller) = self.subsystem.controller_mut(id) else {
            return;
        };
        controller.queues.retain(|_, of| *of != key);
        if controller.admin == key {
            self.end_controller(id);
        }
    }

    /// A controller is gone, with all its connections.
    fn end_controller(&mut self, id: u16) {
        let Some(controller) = self.subsystem.remove(id) else {
            return;
        };
        for key in controller.queues.into_values().chain([controller.admin]) {
            self.close(key);
        }
    }

    /// Closes what has waited for its peer for too long. To be called a few times a second.
    pub(super) fn look_around(&mut self) {
        let now = self.now;
        for id in self.subsystem.overdue(now) {
            self.counted.connections_timed_out += 1;
            self.end_controller(id);
        }
        let since = |at: Duration| now.saturating_sub(at);
        let is_late = |client: &Client| {
            (client.controller.is_none() && since(client.opened_at) > CONNECT_WITHIN)
                || (client.connection.waits_for_peer()
                    && since(client.moved_at) > PEER_MOVES_WITHIN)
        };
        let lingers = |client: &Client| client.ended_at.is_some_and(|at| since(at) > LINGERS_FOR);
        let late = self.clients.iter().filter(|(_, client)| is_late(client));
        let late: Vec<usize> = late.map(|(key, _)| key).collect();
        self.counted.connections_timed_out += late.len() as u64;
        let over = self.clients.iter().filter(|(_, client)| lingers(client));
        let over: Vec<usize> = over.map(|(key, _)| key).collect();
        for key in late.into_iter().chain(over) {
            self.close(key);
        }
    }

    /// How many connections and controllers of the drive there are, and bytes of their commands' data.
    pub(super) fn present(&self) -> (usize, usize, u64) {
        let of_drive = self
            .subsystem
            .controllers()
            .filter(|one| one.kind == ControllerKind::Io);
        (self.clients.len(), of_drive.count(), self.pool.taken())
    }

    /// Changes whenever [`Target::hosts`] may.
    pub(super) fn hosts_version(&self) -> u64 {
        self.subsystem.changes()
    }

    /// Names of the hosts that have a controller of the drive.
    pub(super) fn hosts(&self) -> Vec<String> {
        let of_drive = self
            .subsystem
            .controllers()
            .filter(|one| one.kind == ControllerKind::Io);
        of_drive.map(|one| one.host.nqn.clone()).collect()
    }

    /// What was counted, and how many Connects were refused.
    pub(super) fn counted(&self) -> (Counted, u64) {
        let mut counted = self.counted;
        for (_, client) in &self.clients {
            add(&mut counted, client.connection.traffic());
        }
        (counted, self.subsystem.refused())
    }

    fn count(&mut self, traffic: Traffic) {
        add(&mut self.counted, traffic);
    }

    /// A command has arrived with all its data.
    fn carry_out(&mut self, key: usize, slot: u16) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let Some(active) = client.connection.active(slot) else {
            return;
        };
        self.counted.commands += 1;
        let (entry, refused) = (active.entry, active.refused);
        let queue = client.connection.queue().map(|queue| queue.id);
        let controller = client.controller;
        if let Some(controller) = controller.and_then(|id| self.subsystem.controller_mut(id)) {
            controller.heard(self.now);
        }
        let outcome = match (refused, queue, entry.opcode) {
            (Some(status), _, _) => status.into(),
            (None, _, FABRICS_OPCODE) => self.fabrics(key, slot, &entry),
            (None, None, _) => Status::COMMAND_SEQUENCE_ERROR.into(),
            (None, Some(0), _) => self.admin(key, slot, &entry),
            (None, Some(_), _) => self.io(controller),
        };
        self.settle(key, slot, entry, outcome);
    }

    /// A command of an I/O queue.
    fn io(&self, controller: Option<u16>) -> Outcome {
        let controller = controller.and_then(|id| self.subsystem.controller(id));
        match controller.is_some_and(|one| one.is_ready()) {
            true => Outcome::Drive,
            false => Status::COMMAND_SEQUENCE_ERROR.into(),
        }
    }

    fn settle(&mut self, key: usize, slot: u16, entry: SubmissionEntry, outcome: Outcome) {
        match outcome {
            Outcome::Answer(answer) => self.answer(key, slot, answer),
            Outcome::Data(page) => {
                if let Some(active) = self.active_mut(key, slot)
                    && let Some(data) = &mut active.data
                {
                    let length = page.len().min(active.transfers.to_host as usize);
                    data[..length].copy_from_slice(&page[..length]);
                }
                self.answer(key, slot, Status::SUCCESS.into());
            }
            Outcome::Drive => self.order(key, slot, entry),
            Outcome::Held => {
                if let Some(active) = self.active_mut(key, slot) {
                    active.progress = Progress::Held;
                }
                if let Some(id) = self.clients.get(key).and_then(|client| client.controller) {
                    self.tell_events(id);
                }
            }
            Outcome::Done => self.touch(key),
        }
    }

    fn active_mut(&mut self, key: usize, slot: u16) -> Option<&mut Active> {
        self.clients.get_mut(key)?.connection.active_mut(slot)
    }

    /// Answers a command.
    fn answer(&mut self, key: usize, slot: u16, answer: Answer) {
        self.counted.commands_failed += u64::from(!answer.status.is_success());
        if let Some(client) = self.clients.get_mut(key) {
            client.connection.answer(slot, answer, &self.pool);
        }
        self.touch(key);
    }

    /// Has the drive carry a command out.
    fn order(&mut self, key: usize, slot: u16, entry: SubmissionEntry) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let connection = &mut client.connection;
        let (epoch, queue) = (connection.epoch(), connection.queue().map_or(0, |q| q.id));
        let Some(active) = connection.active_mut(slot) else {
            return;
        };
        active.progress = Progress::AtDrive;
        self.orders.push(Order::Command(Box::new(DriveCommand {
            ticket: Ticket {
                epoch,
                connection: key as u32,
                command: slot,
            },
            set: active.set,
            // Queues of one host and those of several are spread alike.
            pair: queue.wrapping_add(client.controller.unwrap_or(0)),
            entry,
            transfers: active.transfers,
            data: active.data.take(),
        })));
    }
}

fn add(counted: &mut Counted, traffic: Traffic) {
    counted.bytes_received += traffic.received_bytes;
    counted.bytes_sent += traffic.sent_bytes;
    counted.pdus_received += traffic.received_pdus;
}
