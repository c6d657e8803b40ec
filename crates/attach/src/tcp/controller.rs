//! A controller as a host sees it: properties, keep alive, features and events of its own. The drive has one for its queues; each
//! association gets one of these (Base 2.3, 3.1.3).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use nvme::command::LogPageId;
use nvme::fabrics::{Property, capabilities, configuration, state};
use nvme::identify::VERSION_2_1;
use nvme::{AsyncEvent, NamespaceId, Status};

/// CAP.TO: 500 milliseconds; a controller is ready at once.
const READY_TIMEOUT: u8 = 1;
/// Asynchronous Event Requests that it holds (AERL + 1).
pub(super) const EVENT_REQUESTS_MAX: usize = 8;
/// Events that wait for a request; the oldest go first.
const EVENTS_WAITING_MAX: usize = 64;
/// Namespaces that are remembered to have changed (Base 5.1.12.1.5).
const CHANGED_MAX: usize = 1024;
/// KAS: the unit of keep alive timeouts, 100 milliseconds.
pub(super) const KEEP_ALIVE_UNITS: u16 = 1;
/// Events that a host is told of unless it sets otherwise: all health warnings, and changed namespaces.
const EVENTS_DEFAULT: u32 = 0x1F | NAMESPACE_NOTICES;
const NAMESPACE_NOTICES: u32 = 1 << 8;

/// What it is a controller of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ControllerKind {
    /// Of the discovery subsystem.
    Discovery,
    /// Of the drive.
    Io,
}

/// Who has connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostName {
    pub(super) nqn: String,
    pub(super) id: [u8; 16],
}

/// See the module.
pub(super) struct Controller {
    pub(super) id: u16,
    pub(super) kind: ControllerKind,
    pub(super) host: HostName,
    /// The connection that is its admin queue.
    pub(super) admin: usize,
    /// Those that are its I/O queues, by number.
    pub(super) queues: BTreeMap<u16, usize>,
    /// I/O queues that it may have.
    pub(super) queues_granted: u16,
    pub(super) keep_alive: Duration,
    heard_at: Duration,
    queue_entries: u16,
    configuration: u32,
    state: u32,
    events: Events,
}

/// What a host wants to be told, and what it was told.
struct Events {
    wanted: u32,
    /// Places of requests that are held.
    held: VecDeque<u16>,
    waiting: VecDeque<AsyncEvent>,
    /// Told, and their log page has not been read since.
    told: Vec<AsyncEvent>,
    /// Namespaces that have changed, ascending.
    changed: Vec<NamespaceId>,
}

/// What follows from setting a property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Consequence {
    /// It is reset, so its I/O queues go.
    pub(super) queues_go: bool,
    /// It is shut down: what the drive has acknowledged is to be made durable ([`Controller::is_shut_down`]).
    pub(super) shuts_down: bool,
}

impl Controller {
    pub(super) fn new(
        id: u16,
        kind: ControllerKind,
        host: HostName,
        admin: usize,
        queue_entries: u16,
        keep_alive: Duration,
        now: Duration,
    ) -> Controller {
        Controller {
            id,
            kind,
            host,
            admin,
            queues: BTreeMap::new(),
            queues_granted: 1,
            keep_alive,
            heard_at: now,
            queue_entries,
            configuration: 0,
            state: 0,
            events: Events {
                wanted: EVENTS_DEFAULT,
                held: VecDeque::new(),
                waiting: VecDeque::new(),
                told: Vec::new(),
                changed: Vec::new(),
            },
        }
    }

    /// Whether it takes commands beyond those of Fabrics.
    pub(super) fn is_ready(&self) -> bool {
        self.state & state::READY != 0
    }

    /// Its host has sent a command.
    pub(super) fn heard(&mut self, now: Duration) {
        self.heard_at = now;
    }

    /// Whether its host has been silent for too long (Base 3.9).
    pub(super) fn is_overdue(&self, now: Duration) -> bool {
        !self.keep_alive.is_zero() && now.saturating_sub(self.heard_at) > self.keep_alive
    }

    /// The value of a property.
    pub(super) fn property(&self, property: Property) -> Option<u64> {
        let command_sets = match self.kind {
            ControllerKind::Io => {
                capabilities::NVM_COMMAND_SET | capabilities::COMMAND_SETS_IDENTIFIED
            }
            ControllerKind::Discovery => capabilities::NO_COMMAND_SET,
        };
        match property {
            Property::Capabilities => Some(
                capabilities::queue_entries(self.queue_entries)
                    | capabilities::CONTIGUOUS_QUEUES
                    | capabilities::timeout(READY_TIMEOUT)
                    | command_sets,
            ),
            Property::Version => Some(VERSION_2_1.into()),
            Property::Configuration => Some(self.configuration.into()),
            Property::Status => Some(self.state.into()),
            Property::ReadyTimeouts => {
                Some(u64::from(READY_TIMEOUT) << 16 | u64::from(READY_TIMEOUT))
            }
            // Not supported: CAP.NSSRS is 0.
            Property::SubsystemReset => None,
        }
    }

    /// Sets a property.
    pub(super) fn set_property(
        &mut self,
        property: Property,
        value: u64,
    ) -> Result<Consequence, Status> {
        if property != Property::Configuration {
            return Err(Status::INVALID_FIELD);
        }
        let (before, now) = (self.configuration, value as u32);
        self.configuration = now;
        let shuts_down =
            now & configuration::SHUTDOWN != 0 && before & configuration::SHUTDOWN == 0;
        if shuts_down {
            self.state = self.state & !state::SHUTDOWN | state::SHUTDOWN_PROCESSING;
        }
        let (was_enabled, is_enabled) = (
            before & configuration::ENABLE != 0,
            now & configuration::ENABLE != 0,
        );
        let consequence = Consequence {
            queues_go: was_enabled && !is_enabled,
            shuts_down,
        };
        match (was_enabled, is_enabled) {
            (false, true) => self.state = state::READY,
            (true, false) => {
                self.state &= !state::READY;
                self.events.waiting.clear();
                self.events.told.clear();
                self.events.wanted = EVENTS_DEFAULT;
            }
            _ => {}
        }
        Ok(consequence)
    }

    /// What the drive had acknowledged when it was shut down is durable.
    pub(super) fn is_shut_down(&mut self) {
        if self.state & state::SHUTDOWN == state::SHUTDOWN_PROCESSING {
            self.state = self.state & !state::SHUTDOWN | state::SHUTDOWN_COMPLETE;
        }
    }

    /// Which events its host wants to be told of.
    pub(super) fn events_wanted(&self) -> u32 {
        self.events.wanted
    }

    /// Sets which events its host wants to be told of.
    pub(super) fn want_events(&mut self, wanted: u32) {
        self.events.wanted = wanted & EVENTS_DEFAULT;
    }

    /// Holds a request for events.
    pub(super) fn hold_request(&mut self, slot: u16) -> Result<(), Status> {
        if self.events.held.len() >= EVENT_REQUESTS_MAX {
            return Err(Status::ASYNC_EVENT_LIMIT_EXCEEDED);
        }
        self.events.held.push_back(slot);
        Ok(())
    }

    /// Gives up a request that is held.
    pub(super) fn forget_request(&mut self, slot: u16) {
        self.events.held.retain(|held| *held != slot);
    }

    /// Something happened on the drive.
    pub(super) fn raise(&mut self, event: AsyncEvent, changed: &[NamespaceId]) {
        let changed_before = !self.events.changed.is_empty();
        for namespace in changed {
            let list = &mut self.events.changed;
            if let Err(place) = list.binary_search(namespace)
                && list.len() < CHANGED_MAX
            {
                list.insert(place, *namespace);
            }
        }
        let is_known = event == AsyncEvent::NAMESPACE_CHANGED && changed_before;
        let waiting = &mut self.events.waiting;
        if !wants(self.events.wanted, event) || waiting.contains(&event) || is_known {
            return;
        }
        if waiting.len() == EVENTS_WAITING_MAX {
            waiting.pop_front();
        }
        waiting.push_back(event);
    }

    /// The next event to be told, and the request that it answers.
    pub(super) fn next_event(&mut self) -> Option<(u16, AsyncEvent)> {
        let events = &mut self.events;
        let untold = |event: &AsyncEvent| !events.told.iter().any(|told| told.kind == event.kind);
        let place = events.waiting.iter().position(untold)?;
        let slot = events.held.pop_front()?;
        let event = events.waiting.remove(place)?;
        events.told.push(event);
        Some((slot, event))
    }

    /// A log page was read, so events of its types may be told again.
    pub(super) fn log_was_read(&mut self, page: LogPageId) {
        self.events.told.retain(|told| told.log_page != page);
    }

    /// The namespaces that have changed; forgotten unless they are to be `kept`.
    pub(super) fn changed_namespaces(&mut self, kept: bool) -> Vec<NamespaceId> {
        match kept {
            true => self.events.changed.clone(),
            false => std::mem::take(&mut self.events.changed),
        }
    }
}

/// Whether an event is among those wanted (Base 5.1.25.1.5).
fn wants(wanted: u32, event: AsyncEvent) -> bool {
    match event {
        AsyncEvent::SPARE => wanted & 1 != 0,
        AsyncEvent::TEMPERATURE => wanted & 2 != 0,
        AsyncEvent::RELIABILITY => wanted & 4 != 0,
        AsyncEvent::NAMESPACE_CHANGED => wanted & NAMESPACE_NOTICES != 0,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Controller {
        let host = HostName {
            nqn: "nqn.host".into(),
            id: [1; 16],
        };
        let keep_alive = Duration::from_secs(5);
        Controller::new(
            1,
            ControllerKind::Io,
            host,
            0,
            128,
            keep_alive,
            Duration::ZERO,
        )
    }

    #[test]
    fn it_is_ready_when_it_is_enabled() {
        let mut controller = one();
        assert!(!controller.is_ready());
        let set = controller.set_property(Property::Configuration, 0x0046_0001);
        assert_eq!(set, Ok(Consequence::default()));
        assert_eq!(controller.property(Property::Status), Some(1));
        let reset = controller.set_property(Property::Configuration, 0x0046_0000);
        let queues_go = Consequence {
            queues_go: true,
            shuts_down: false,
        };
        assert_eq!(reset, Ok(queues_go));
        assert_eq!(controller.property(Property::Status), Some(0));
        let shut = controller.set_property(Property::Configuration, 0x0046_4000);
        let shuts_down = Consequence {
            queues_go: false,
            shuts_down: true,
        };
        assert_eq!(shut, Ok(shuts_down));
        assert_eq!(controller.property(Property::Status), Some(4), "under way");
        controller.is_shut_down();
        assert_eq!(controller.property(Property::Status), Some(8));
        assert!(controller.set_property(Property::Status, 0).is_err());
        assert_eq!(controller.property(Property::SubsystemReset), None);
    }

    #[test]
    fn an_event_is_told_once_until_its_page_is_read() {
        let mut controller = one();
        controller.hold_request(3).expect("room");
        controller.hold_request(4).expect("room");
        controller.raise(AsyncEvent::NAMESPACE_CHANGED, &[NamespaceId::new(2)]);
        assert_eq!(controller.next_event().map(|(slot, _)| slot), Some(3));
        controller.raise(AsyncEvent::SANITIZE_COMPLETED, &[]);
        controller.raise(AsyncEvent::NAMESPACE_CHANGED, &[NamespaceId::new(1)]);
        let (slot, event) = controller.next_event().expect("another type");
        assert_eq!((slot, event), (4, AsyncEvent::SANITIZE_COMPLETED));
        assert_eq!(controller.next_event(), None);
        let changed = controller.changed_namespaces(false);
        assert_eq!(changed, [NamespaceId::new(1), NamespaceId::new(2)]);
        controller.want_events(0);
        controller.log_was_read(LogPageId::CHANGED_NAMESPACES);
        controller.raise(AsyncEvent::NAMESPACE_CHANGED, &[NamespaceId::new(1)]);
        controller.hold_request(5).expect("room");
        assert_eq!(controller.next_event(), None, "it is not wanted");
    }

    #[test]
    fn silence_is_noticed() {
        let mut controller = one();
        assert!(!controller.is_overdue(Duration::from_secs(5)));
        assert!(controller.is_overdue(Duration::from_secs(6)));
        controller.heard(Duration::from_secs(4));
        assert!(!controller.is_overdue(Duration::from_secs(6)));
    }
}
