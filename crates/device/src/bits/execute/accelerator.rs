//! The accelerator of the controller: bitwise logic with a small buffer (Flash-Cosmos 7).

use std::rc::Rc;

use sim::resource::{Priority, Semaphore, Server};
use sim::{AccountId, Ledger, Sim, Tenant};

use crate::cost::AcceleratorModel;

/// One operation at a time on the operands in its buffer. An operand page passes through it once:
/// it is combined with a page that lies in the controller's memory, or becomes that page.
pub(super) struct Accelerator {
    server: Server,
    /// Pages of its buffer that are free.
    room: Rc<Semaphore>,
    model: AcceleratorModel,
    ledger: Rc<Ledger>,
    account: AccountId,
}

impl Accelerator {
    /// An idle one.
    pub(super) fn new(sim: &Sim, model: AcceleratorModel, ledger: &Rc<Ledger>) -> Accelerator {
        Accelerator {
            server: Server::new(sim),
            room: Rc::new(Semaphore::new(sim, model.pages)),
            model,
            account: ledger.open("controller", "bitwise accelerator"),
            ledger: ledger.clone(),
        }
    }

    /// Room in its buffer, a permit a page.
    pub(super) fn room(&self) -> &Rc<Semaphore> {
        &self.room
    }

    /// Waits for the accelerator and lets it take in `bytes` of operands.
    pub(super) async fn take_in(&self, tenant: Tenant, bytes: u64) {
        let (span, energy) = self.model.of(bytes);
        self.server.serve(Priority(0), span).await;
        self.ledger.spend(self.account, tenant, energy);
    }
}
