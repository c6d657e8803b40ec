//! The subsystem: which controllers there are, and who may have one (Base 2.3, 6.3).

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::time::Duration;

use nvme::fabrics::{
    ConnectCommand, ConnectData, DISCOVERY_NQN, DYNAMIC_CONTROLLER, connect_error, fabrics_status,
    nqn_of,
};
use nvme::{AsyncEvent, NamespaceId, Status};

use super::connection::{Answer, Queue};
use super::controller::{Controller, ControllerKind, HostName};
use super::identify::Described;
use super::options::ServerOptions;

/// The least and the most entries of an admin queue (Base 6.3).
const ADMIN_ENTRIES_MIN: u32 = 1;
/// What a keep alive timeout is rounded up to (KAS).
const KEEP_ALIVE_GRAIN_MS: u32 = 100;
/// How long a discovery controller lives without a sign of its host (Base 3.1.3.3.1).
const DISCOVERY_KEEP_ALIVE: Duration = Duration::from_secs(120);
/// The last controller identifier that may be given.
const CONTROLLER_ID_MAX: u16 = 0xFFEF;

/// See the module.
pub(super) struct Subsystem {
    pub(super) described: Described,
    allowed: Option<BTreeSet<String>>,
    controllers: BTreeMap<u16, Controller>,
    last_id: u16,
    /// Controllers that came or went.
    changes: u64,
    controllers_max: usize,
    io_queues: u16,
    queue_entries: u16,
    refused: u64,
}

/// A Connect that is accepted.
pub(super) struct Connected {
    pub(super) controller: u16,
    pub(super) queue: Queue,
}

/// A parameter of the entry, or of the data, is wrong.
fn wrong(offset: usize, is_in_data: bool) -> Answer {
    Answer {
        results: [connect_error(offset, is_in_data), 0],
        ..Answer::from(fabrics_status::INVALID_PARAMETERS.with_do_not_retry())
    }
}

impl Subsystem {
    pub(super) fn new(options: &ServerOptions, has_image: bool) -> Subsystem {
        let allowed = options.allowed_hosts.as_ref();
        Subsystem {
            described: Described::new(options, has_image),
            allowed: allowed.map(|hosts| hosts.iter().cloned().collect()),
            controllers: BTreeMap::new(),
            last_id: 0,
            changes: 0,
            controllers_max: options.controllers_max,
            io_queues: options.io_queues,
            queue_entries: options.queue_entries,
            refused: 0,
        }
    }

    /// I/O queues of a controller, at most.
    pub(super) fn io_queues(&self) -> u16 {
        self.io_queues
    }

    /// Entries of a queue, at most.
    pub(super) fn queue_entries(&self) -> u16 {
        self.queue_entries
    }

    /// How many controllers came or went so far.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Connects that were refused.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    pub(super) fn controller(&self, id: u16) -> Option<&Controller> {
        self.controllers.get(&id)
    }

    pub(super) fn controller_mut(&mut self, id: u16) -> Option<&mut Controller> {
        self.controllers.get_mut(&id)
    }

    pub(super) fn controllers(&self) -> impl Iterator<Item = &Controller> {
        self.controllers.values()
    }

    /// A controller is gone.
    pub(super) fn remove(&mut self, id: u16) -> Option<Controller> {
        self.changes += 1;
        self.controllers.remove(&id)
    }

    /// Controllers whose hosts have been silent for too long.
    pub(super) fn overdue(&self, now: Duration) -> Vec<u16> {
        let overdue = self.controllers().filter(|one| one.is_overdue(now));
        overdue.map(|one| one.id).collect()
    }

    /// Something happened on the drive, of which its controllers may tell their hosts.
    pub(super) fn raise(&mut self, event: AsyncEvent, changed: &[NamespaceId]) -> Vec<u16> {
        let of_drive = |one: &&mut Controller| one.kind == ControllerKind::Io;
        let controllers = self.controllers.values_mut().filter(of_drive);
        let raised = controllers.map(|one| {
            one.raise(event, changed);
            one.id
        });
        raised.collect()
    }

    /// A Connect over the connection `key`.
    ///
    /// # Errors
    /// Why not, as it is answered.
    pub(super) fn connect(
        &mut self,
        key: usize,
        command: &ConnectCommand,
        data: &ConnectData,
        now: Duration,
    ) -> Result<Connected, Answer> {
        let connected = self.try_connect(key, command, data, now);
        self.refused += u64::from(connected.is_err());
        connected
    }

    fn try_connect(
        &mut self,
        key: usize,
        command: &ConnectCommand,
        data: &ConnectData,
        now: Duration,
    ) -> Result<Connected, Answer> {
        if command.record_format.get() != 0 {
            let status = fabrics_status::INCOMPATIBLE_FORMAT.with_do_not_retry();
            return Err(status.into());
        }
        let wrong_subsystem = || wrong(offset_of!(ConnectData, subsystem_nqn), true);
        let kind = match nqn_of(&data.subsystem_nqn) {
            Some(DISCOVERY_NQN) => ControllerKind::Discovery,
            Some(nqn) if nqn == self.described.subsystem_nqn => ControllerKind::Io,
            _ => return Err(wrong_subsystem()),
        };
        let host_nqn = nqn_of(&data.host_nqn).filter(|nqn| nqn.starts_with("nqn."));
        let Some(host_nqn) = host_nqn else {
            return Err(wrong(offset_of!(ConnectData, host_nqn), true));
        };
        let is_allowed = |hosts: &BTreeSet<String>| hosts.contains(host_nqn);
        if !self.allowed.as_ref().is_none_or(is_allowed) {
            return Err(fabrics_status::INVALID_HOST.with_do_not_retry().into());
        }
        let entries = u32::from(command.queue_size.get()) + 1;
        if entries <= ADMIN_ENTRIES_MIN || entries > u32::from(self.queue_entries) {
            return Err(wrong(offset_of!(ConnectCommand, queue_size), false));
        }
        let host = HostName {
            nqn: host_nqn.to_owned(),
            id: data.host_id,
        };
        let queue = Queue::new(
            command.queue.get(),
            entries,
            !command.is_without_flow_control(),
        );
        let controller = match queue.id {
            0 => self.new_controller(key, command, data, kind, host, now)?,
            _ => self.join(key, &queue, data.controller.get(), kind, &host, now)?,
        };
        Ok(Connected { controller, queue })
    }

    /// An admin queue: a controller for a host (Base 6.3, dynamic model).
    fn new_controller(
        &mut self,
        key: usize,
        command: &ConnectCommand,
        data: &ConnectData,
        kind: ControllerKind,
        host: HostName,
        now: Duration,
    ) -> Result<u16, Answer> {
        if data.controller.get() != DYNAMIC_CONTROLLER {
            return Err(wrong(offset_of!(ConnectData, controller), true));
        }
        if self.controllers.len() >= self.controllers_max {
            return Err(fabrics_status::CONTROLLER_BUSY.into());
        }
        let keep_alive_ms = command
            .keep_alive_ms
            .get()
            .checked_next_multiple_of(KEEP_ALIVE_GRAIN_MS)
            .unwrap_or(u32::MAX);
        let keep_alive = match (kind, keep_alive_ms) {
            (ControllerKind::Discovery, 0) => DISCOVERY_KEEP_ALIVE,
            (_, ms) => Duration::from_millis(ms.into()),
        };
        let id = self.free_id();
        let controller = Controller::new(id, kind, host, key, self.queue_entries, keep_alive, now);
        self.controllers.insert(id, controller);
        self.changes += 1;
        Ok(id)
    }

    /// The next identifier that no controller has: one that was just used is not used again soon.
    fn free_id(&mut self) -> u16 {
        loop {
            self.last_id = match self.last_id {
                CONTROLLER_ID_MAX.. => 1,
                last => last + 1,
            };
            if !self.controllers.contains_key(&self.last_id) {
                return self.last_id;
            }
        }
    }

    /// An I/O queue of a controller that there is.
    fn join(
        &mut self,
        key: usize,
        queue: &Queue,
        id: u16,
        kind: ControllerKind,
        host: &HostName,
        now: Duration,
    ) -> Result<u16, Answer> {
        let wrong_controller = wrong(offset_of!(ConnectData, controller), true);
        let Some(controller) = self.controllers.get_mut(&id) else {
            return Err(wrong_controller);
        };
        if controller.kind != kind || kind == ControllerKind::Discovery {
            return Err(wrong_controller);
        }
        if controller.host != *host {
            return Err(wrong(offset_of!(ConnectData, host_nqn), true));
        }
        if !controller.is_ready() {
            return Err(Status::COMMAND_SEQUENCE_ERROR.into());
        }
        if queue.id > controller.queues_granted {
            return Err(wrong(offset_of!(ConnectCommand, queue), false));
        }
        if controller.queues.contains_key(&queue.id) {
            return Err(Status::COMMAND_SEQUENCE_ERROR.into());
        }
        controller.queues.insert(queue.id, key);
        controller.heard(now);
        Ok(id)
    }
}
