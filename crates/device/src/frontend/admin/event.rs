//! Asynchronous events: requests are held until there is something to tell (NVMe Base 2.1, 5.1.2).

use std::rc::Rc;

use nvme::command::LogPageId;
use nvme::{AsyncEvent, CommandId, QueueId, Status};

use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::transport::{FetchedCommand, Source};

/// Requests that may be held.
pub(in crate::frontend) const HELD_MAX: u8 = 8;

/// Requests held, and events that wait for one.
#[derive(Default)]
pub(in crate::frontend) struct Events {
    held: Vec<Source>,
    waiting: Vec<AsyncEvent>,
    /// Types told and not yet cleared by reading their log page, a bit each, and that page.
    masked: Vec<AsyncEvent>,
}

impl Controller {
    /// Holds an Asynchronous Event Request.
    ///
    /// # Errors
    /// Asynchronous Event Request Limit Exceeded.
    pub(in crate::frontend) fn hold_event_request(
        self: &Rc<Controller>,
        fetched: &FetchedCommand,
    ) -> Result<(), Status> {
        {
            let held = &mut self.events.borrow_mut().held;
            if held.len() >= usize::from(HELD_MAX) {
                return Err(Status::ASYNC_EVENT_LIMIT_EXCEEDED);
            }
            held.push(fetched.source());
        }
        self.tell_events();
        Ok(())
    }

    /// Something happened that the host may want to know.
    pub(in crate::frontend) fn raise(self: &Rc<Controller>, event: AsyncEvent) {
        if !self.features.wants(event) {
            return;
        }
        {
            let waiting = &mut self.events.borrow_mut().waiting;
            if waiting.contains(&event) {
                return;
            }
            waiting.push(event);
        }
        self.tell_events();
    }

    /// Completes held requests with events whose type was not told since its page was last read.
    fn tell_events(self: &Rc<Controller>) {
        loop {
            let (source, event) = {
                let events = &mut *self.events.borrow_mut();
                let untold =
                    |event: &AsyncEvent| !events.masked.iter().any(|told| told.kind == event.kind);
                let Some(place) = events.waiting.iter().position(untold) else {
                    return;
                };
                if events.held.is_empty() {
                    return;
                }
                let event = events.waiting.remove(place);
                events.masked.push(event);
                (events.held.remove(0), event)
            };
            let answer = Answer {
                dw0: event.dword(),
                ..Answer::DONE
            };
            self.complete_soon(source, answer);
        }
    }

    /// A log page was read: events of the types that it answers may be told again.
    pub(in crate::frontend) fn clear_events(self: &Rc<Controller>, page: LogPageId) {
        self.events
            .borrow_mut()
            .masked
            .retain(|told| told.log_page != page);
        self.tell_events();
    }

    /// Takes back the held request of this identifier.
    pub(in crate::frontend) fn take_event_request(&self, command: CommandId) -> Option<Source> {
        let held = &mut self.events.borrow_mut().held;
        let wanted = Source::new(QueueId::new(0), command, self.sim.now());
        let place = held.iter().position(|source| source.is(&wanted))?;
        Some(held.remove(place))
    }
}
