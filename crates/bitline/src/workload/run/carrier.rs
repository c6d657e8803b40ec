//! What carries requests out, and what it notes of them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use sim::{Sim, Time};

use super::outstanding::Outstanding;
use crate::Error;
use crate::workload::facts::{Offered, RangeFacts};
use crate::workload::plan::Pace;
use crate::workload::progress::Progress;
use crate::workload::request::Request;
use crate::workload::tally::Tally;

/// Carries requests out.
pub(super) trait Carrier {
    /// Sends one request, and has `common` note how long it took since it arrived.
    fn carry_out(
        &self,
        common: &Common,
        request: &Request,
    ) -> impl Future<Output = Result<(), Error>>;
}

/// What does not depend on where requests come from, and where they go.
pub(super) struct Common {
    pub(super) sim: Sim,
    pub(super) name: String,
    pub(super) number: u32,
    pub(super) pace: Pace,
    pub(super) tally: RefCell<Tally>,
    pub(super) outstanding: RefCell<Outstanding>,
    pub(super) range: Option<RangeFacts>,
    /// Of an open loop.
    pub(super) offered: Cell<Offered>,
    pub(super) keep_going: bool,
    pub(super) progress: Rc<Progress>,
}

impl Common {
    /// Notes how a request ended that asked a namespace for so many bytes.
    #[inline]
    pub(super) fn note(
        &self,
        request: &Request,
        (namespace, bytes): (u32, u64),
        outcome: Result<(), Error>,
    ) -> Result<(), Error> {
        let end = self.sim.now();
        let status = match outcome {
            Ok(()) => {
                self.tally.borrow_mut().record(request, bytes, end);
                0
            }
            Err(Error::Host(host::Error::Status(error))) if self.keep_going => {
                let tally = &mut *self.tally.borrow_mut();
                tally.failed += 1;
                tally.last_end = end;
                error.status.field()
            }
            Err(error) => return Err(error),
        };
        self.outstanding.borrow_mut().record(request.arrives, end);
        let completed = &self.progress.completed;
        completed.set(completed.get() + 1);
        if let Some(latencies) = &self.progress.latencies {
            let whose = (self.number, namespace);
            latencies
                .borrow_mut()
                .push(whose, request, bytes, end, status);
        }
        Ok(())
    }

    /// A request of an open loop arrived.
    pub(super) fn arrived(&self, at: Time, was_held: bool) {
        let offered = self.offered.get();
        self.offered.set(Offered {
            requests: offered.requests + 1,
            last: at,
            held: offered.held + u64::from(was_held),
            ..offered
        });
    }
}
