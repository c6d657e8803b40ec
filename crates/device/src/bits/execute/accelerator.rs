//! The accelerator of the controller: bitwise logic with a small buffer (Flash-Cosmos 7).

use std::rc::Rc;

use sim::resource::{Priority, Semaphore, Server};
use sim::{AccountId, Energy, Ledger, Sim, Span, Tenant};

use crate::bits::config::BitsConfig;
use crate::bits::engine::ACCELERATOR_UNIT_BYTES;

/// One operation at a time on the operands in its buffer. An operand page passes through it once:
/// it is combined with a page that lies in the controller's memory, or becomes that page.
pub(super) struct Accelerator {
    server: Server,
    /// Pages of its buffer that are free.
    room: Rc<Semaphore>,
    bytes_per_second: u64,
    picojoules_per_unit: u64,
    ledger: Rc<Ledger>,
    account: AccountId,
}

impl Accelerator {
    /// An idle one, for pages of `page_bytes`.
    pub(super) fn new(
        sim: &Sim,
        config: &BitsConfig,
        page_bytes: u64,
        ledger: &Rc<Ledger>,
    ) -> Accelerator {
        Accelerator {
            server: Server::new(sim),
            room: Rc::new(Semaphore::new(
                sim,
                config.accelerator_buffer_bytes / page_bytes,
            )),
            bytes_per_second: config.accelerator_megabytes_per_second * 1_000_000,
            picojoules_per_unit: config.accelerator_pj_per_64b,
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
        let span = Span::of_transfer(bytes, self.bytes_per_second);
        self.server.serve(Priority(0), span).await;
        let energy = bytes.div_ceil(ACCELERATOR_UNIT_BYTES) * self.picojoules_per_unit;
        self.ledger
            .spend(self.account, tenant, Energy::from_pj(energy));
    }
}
