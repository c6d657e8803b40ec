//! The drive's DRAM: one channel that serves one access at a time, in the order
//! in which they come.

mod timing;

use std::cell::Cell;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::resource::Pipe;
use sim::{ByTenant, Energy, Ledger, Sim, Span, Tenant, Time};

use crate::OutOfRange;
pub use timing::DramTiming;

/// What the DRAM is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DramConfig {
    /// How the time of an access follows from the numbers below.
    pub timing: DramTiming,
    /// Bytes of a row, over all chips of the channel.
    pub row_bytes: u32,
    /// Clock of the data bus, in megahertz; it moves data twice in a cycle.
    pub clock_megahertz: u32,
    /// Bytes moved each time, that is twice in a cycle: the width of the bus.
    pub transfer_bytes: u32,
    /// From the activation of a row to the column command (tRCD).
    pub t_rcd_ns: u32,
    /// From the column command to its first data (tCL).
    pub t_cl_ns: u32,
    /// Closing a row before another can be opened (tRP).
    pub t_rp_ns: u32,
    /// Energy of moving one byte, activations included, in picojoules.
    pub transfer_pj_per_byte: u32,
}

impl DramConfig {
    /// Checks everything.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        OutOfRange::check("row_bytes", self.row_bytes, 64, 1 << 20)?;
        OutOfRange::check("clock_megahertz", self.clock_megahertz, 1, 100_000)?;
        OutOfRange::check("transfer_bytes", self.transfer_bytes, 1, 1024)?;
        OutOfRange::check("t_rcd_ns", self.t_rcd_ns, 0, 1_000_000)?;
        OutOfRange::check("t_cl_ns", self.t_cl_ns, 0, 1_000_000)?;
        OutOfRange::check("t_rp_ns", self.t_rp_ns, 0, 1_000_000)
    }
}

/// The DRAM channel, and what it has moved.
pub struct Dram {
    config: DramConfig,
    channel: Pipe,
    accesses: Cell<u64>,
    /// Bytes moved for each tenant.
    bytes_for: ByTenant,
    /// The size of the last access and its span: most are of one size.
    last: Cell<(u64, Span)>,
}

impl Dram {
    /// An idle channel whose energy `ledger` meters.
    pub fn new(sim: &Sim, config: &DramConfig, ledger: &Ledger) -> Rc<Dram> {
        let bytes_per_second =
            u64::from(config.clock_megahertz) * 2_000_000 * u64::from(config.transfer_bytes);
        let dram = Rc::new(Dram {
            config: config.clone(),
            channel: Pipe::new(sim, bytes_per_second),
            accesses: Cell::new(0),
            bytes_for: ByTenant::default(),
            last: Cell::default(),
        });
        let (metered, shared) = (dram.clone(), dram.clone());
        let share = move |tenant| shared.energy_of(shared.bytes_for.of(tenant));
        ledger.meter("dram", "data", move || metered.energy(), share);
        dram
    }

    /// Queues an access of `bytes` for `tenant` behind those before it, and does not wait for it;
    /// gives the instant of its end.
    #[inline]
    pub fn post(&self, tenant: Tenant, bytes: u64) -> Time {
        let span = self.span_of(bytes);
        self.bytes_for.add(tenant, bytes);
        self.accesses.set(self.accesses.get() + 1);
        self.channel.reserve(bytes, span)
    }

    /// How long an access of `bytes` occupies the channel.
    #[inline]
    pub fn span_of(&self, bytes: u64) -> Span {
        let (known, span) = self.last.get();
        if known == bytes {
            return span;
        }
        let span = self.config.timing.access(&self.config, bytes);
        self.last.set((bytes, span));
        span
    }

    /// Bytes moved, both directions, counting what is promised.
    pub fn bytes(&self) -> u64 {
        self.channel.bytes()
    }

    /// How long the channel was occupied, counting what is promised.
    pub fn busy(&self) -> Span {
        self.channel.busy()
    }

    /// What all accesses so far have cost, and how many they were.
    fn energy(&self) -> (Energy, u64) {
        (self.energy_of(self.bytes()), self.accesses.get())
    }

    fn energy_of(&self, bytes: u64) -> Energy {
        Energy::from_pj(bytes * u64::from(self.config.transfer_pj_per_byte))
    }
}
