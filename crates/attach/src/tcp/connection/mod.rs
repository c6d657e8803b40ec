//! A connection, without its socket: bytes in, commands out; answers in, bytes out. A state machine, as PDUs of several commands
//! come in any order, and in any portions (TCP 3.2 to 3.6).

mod active;
mod answer;
mod headers;
mod outgoing;
mod pool;
mod receive;

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use nvme::CommandSet;
use nvme::command::opcode;
use nvme::fabrics::pdu::Digests;

use crate::tcp::facts::DriveFacts;

pub(crate) use active::{Active, Progress};
pub(crate) use answer::Answer;
pub(crate) use outgoing::SLICES_MAX;
pub(crate) use pool::Pool;

use active::Actives;
use outgoing::Outgoing;
use receive::Receiver;

/// The most data of an H2CData that is asked for (MAXH2CDATA).
pub(crate) const H2C_DATA_BYTES_MAX: u32 = 1 << 20;
/// Commands that a connection may have before it is connected to a controller: its Connect.
const COMMANDS_BEFORE_CONNECT: u32 = 1;
/// Bytes waiting to be sent beyond which nothing more is read.
const UNSENT_BYTES_MAX: usize = 1 << 20;
/// Bytes that are read at once where memory is short: a capsule, and a little more.
const READ_BYTES_SHORT: usize = 16 << 10;

/// What a connection may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of one command, each way (MDTS).
    pub(crate) transfer_bytes: u32,
    /// Bytes of all its commands' buffers.
    pub(crate) buffered_bytes: u64,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its ICReq has not come.
    Initializing,
    Open,
    /// Nothing more is taken; when all is sent it is over.
    Ending,
}

/// The queue that it is, once connected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    /// QID: 0 is an admin queue.
    pub(crate) id: u16,
    /// Entries of the submission queue.
    pub(crate) entries: u32,
    /// Whether completions tell its head.
    pub(crate) has_flow_control: bool,
    head: u16,
}

/// What has crossed a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) received_bytes: u64,
    pub(crate) sent_bytes: u64,
    /// PDUs that have come.
    pub(crate) received_pdus: u64,
}

/// See the module.
pub(crate) struct Connection {
    /// Told apart from all others by this.
    epoch: u64,
    limits: Limits,
    facts: Arc<DriveFacts>,
    phase: Phase,
    digests: Digests,
    /// What data to the host is aligned to.
    alignment: u32,
    receiver: Receiver,
    outgoing: Outgoing,
    actives: Actives,
    /// Commands that wait for memory, in their order.
    waiting: VecDeque<u16>,
    /// One more, whose data follows in the capsule; nothing of that is taken before it has a buffer.
    stalled: Option<u16>,
    /// What was read beyond the place where it stalled.
    held: Vec<u8>,
    queue: Option<Queue>,
    /// Bytes that the buffers of its commands count for.
    taken: u64,
    traffic: Traffic,
}

impl Queue {
    /// A queue of so many entries.
    pub(crate) fn new(id: u16, entries: u32, has_flow_control: bool) -> Queue {
        // The Connect itself took an entry.
        Queue {
            id,
            entries,
            has_flow_control,
            head: 1,
        }
    }

    fn advance(&mut self) {
        self.head = ((u32::from(self.head) + 1) % self.entries) as u16;
    }
}

impl Connection {
    /// A connection that has just been accepted.
    pub(crate) fn new(epoch: u64, limits: Limits, facts: &Arc<DriveFacts>) -> Connection {
        Connection {
            epoch,
            limits,
            facts: facts.clone(),
            phase: Phase::Initializing,
            digests: Digests::default(),
            alignment: 4,
            receiver: Receiver::default(),
            outgoing: Outgoing::default(),
            actives: Actives::default(),
            waiting: VecDeque::new(),
            stalled: None,
            held: Vec::new(),
            queue: None,
            taken: 0,
            traffic: Traffic::default(),
        }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The queue that it is, once connected.
    pub(crate) fn queue(&self) -> Option<&Queue> {
        self.queue.as_ref()
    }

    /// It is a queue of a controller from now on.
    pub(crate) fn become_queue(&mut self, queue: Queue) {
        self.queue = Some(queue);
    }

    /// What has crossed it.
    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// A command, by its place.
    pub(crate) fn active(&self, slot: u16) -> Option<&Active> {
        self.actives.get(slot)
    }

    pub(crate) fn active_mut(&mut self, slot: u16) -> Option<&mut Active> {
        self.actives.get_mut(slot)
    }

    /// The command of an identifier.
    pub(crate) fn find(&self, id: u16) -> Option<u16> {
        self.actives.find(id)
    }

    /// Whether more is to be read now. If not, it is once some of what is outstanding is answered and sent.
    pub(crate) fn wants_input(&self) -> bool {
        self.phase != Phase::Ending
            && self.outgoing.bytes() < UNSENT_BYTES_MAX
            && self.stalled.is_none()
    }

    /// How many bytes are to be read at once, at most `most`: few where memory is short, as what cannot be taken is held.
    pub(crate) fn input_bytes(&self, pool: &Pool, most: usize) -> usize {
        let is_short = !pool.may_take(self.taken, self.limits.buffered_bytes, most as u64, true);
        if is_short {
            most.min(READ_BYTES_SHORT)
        } else {
            most
        }
    }

    /// Whether there is something to be sent.
    pub(crate) fn has_output(&self) -> bool {
        self.outgoing.bytes() > 0
    }

    /// What is to be sent next; gives how many slices.
    pub(crate) fn output<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES_MAX]) -> usize {
        self.outgoing.slices(slices)
    }

    /// So many bytes are sent.
    pub(crate) fn sent(&mut self, bytes: usize, pool: &Pool) {
        self.traffic.sent_bytes += bytes as u64;
        let (taken, epoch) = (&mut self.taken, self.epoch);
        self.outgoing.sent(bytes, |buffer| {
            let counted = buffer.len() as u64;
            *taken -= counted;
            pool.give_back(epoch, counted, Some(buffer));
        });
    }

    /// Whether the peer has to do something: to take what is sent, or to send data that it was asked for.
    pub(crate) fn waits_for_peer(&self) -> bool {
        let is_receiving =
            |(_, active): (u16, &Active)| matches!(active.progress, Progress::Receiving { .. });
        let is_within_pdu = self.receiver.is_within_pdu() && self.stalled.is_none();
        self.has_output() || is_within_pdu || self.actives.iter().any(is_receiving)
    }

    /// Whether nothing more will come of it.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Ending && !self.has_output()
    }

    /// Whether nothing more is taken.
    pub(crate) fn is_ending(&self) -> bool {
        self.phase == Phase::Ending
    }

    /// A command that waits for memory is given up; whoever gives it up answers it. Not one whose data follows at once.
    pub(crate) fn forget_waiting(&mut self, slot: u16) -> bool {
        if self.stalled == Some(slot) {
            return false;
        }
        self.waiting.retain(|waiting| *waiting != slot);
        true
    }

    /// Takes nothing more; what is to be sent still is.
    pub(crate) fn end(&mut self) {
        self.phase = Phase::Ending;
    }

    /// Gives everything back; commands that the drive is at count until they are done. Gives their places.
    pub(crate) fn close(&mut self, pool: &Pool) -> Vec<u16> {
        self.phase = Phase::Ending;
        let epoch = self.epoch;
        let give_back = |buffer: Box<[u8]>| {
            pool.give_back(epoch, buffer.len() as u64, Some(buffer));
        };
        self.outgoing.clear(give_back);
        let at_drive = |active: &Active| active.progress == Progress::AtDrive;
        let busy = self.actives.iter().filter(|(_, active)| at_drive(active));
        let busy = busy.map(|(slot, _)| slot).collect();
        for active in self.actives.drain() {
            active.data.into_iter().for_each(give_back);
        }
        self.waiting.clear();
        (self.stalled, self.held) = (None, Vec::new());
        self.taken = 0;
        busy
    }

    /// Lets commands that wait for memory have it, as far as it goes; says whether any got some. Those that are complete with it go
    /// to `arrived`.
    pub(crate) fn admit(&mut self, pool: &Pool, arrived: &mut Vec<u16>) -> bool {
        let mut has_admitted = false;
        while let Some(slot) = self.stalled
            && self.may_have_buffer(slot, pool)
        {
            has_admitted = true;
            self.go_on(slot, pool, arrived);
        }
        while let Some(slot) = self.waiting.front().copied() {
            if !self.may_have_buffer(slot, pool) {
                break;
            }
            self.waiting.pop_front();
            has_admitted = true;
            self.give_buffer(slot, pool);
            if self.ask_for_data(slot) {
                continue;
            }
            if let Some(active) = self.actives.get_mut(slot) {
                active.progress = Progress::Arrived;
                arrived.push(slot);
            }
        }
        has_admitted
    }

    /// Whether there is memory for a command now; for one that is not there any more, there is.
    pub(super) fn may_have_buffer(&self, slot: u16, pool: &Pool) -> bool {
        let Some(active) = self.actives.get(slot) else {
            return true;
        };
        let counted = Pool::counted(active.transfers.buffer_bytes());
        let most = self.limits.buffered_bytes;
        // A capsule's data is there already, so that it may have what is left when others may not.
        let is_here = self.stalled == Some(slot) && active.transfers.to_host == 0;
        pool.may_take(self.taken, most, counted, is_here)
    }

    /// Whether commands wait for memory.
    pub(crate) fn waits_for_memory(&self) -> bool {
        !self.waiting.is_empty() || self.stalled.is_some()
    }

    /// Gives a command its buffer.
    fn give_buffer(&mut self, slot: u16, pool: &Pool) {
        let Some(active) = self.actives.get_mut(slot) else {
            return;
        };
        let bytes = active.transfers.buffer_bytes();
        if bytes == 0 {
            return;
        }
        // A read of data that is kept fills it if it succeeds; others may leave some of it as it was.
        let is_read = active.set == CommandSet::Nvm && active.entry.opcode == opcode::READ;
        let fills = (is_read && !self.facts.is_without_data) || active.transfers.to_host == 0;
        let buffer = pool.buffer(self.epoch, bytes, !fills);
        self.taken += buffer.len() as u64;
        active.data = Some(buffer);
    }
}
