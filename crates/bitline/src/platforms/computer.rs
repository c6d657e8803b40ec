//! The host's processor and memory, as far as bulk bitwise work keeps them busy.

use std::rc::Rc;

use device::tenants;
use sim::resource::{Priority, Server};
use sim::{AccountId, Energy, Ledger, Sim, Span};

use crate::config::HostConfig;

/// One loop at a time runs over operands in memory, as fast as they stream; the processor draws its
/// power meanwhile. Every byte that enters or leaves memory costs energy there.
pub(crate) struct Computer {
    server: Server,
    pace: Pace,
    ledger: Rc<Ledger>,
    compute: AccountId,
    memory: AccountId,
}

/// What a loop over operands does to memory, for each byte of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loop {
    /// Both operands are read, the result is written.
    Combine,
    /// An operand is read, its inverse written.
    Invert,
    /// The result is read.
    Count,
    /// It is read, and written elsewhere.
    Copy,
}

impl Loop {
    /// Bytes read and written for each byte of an operand.
    pub(crate) const fn traffic(self) -> u64 {
        match self {
            Loop::Combine => 3,
            Loop::Invert | Loop::Copy => 2,
            Loop::Count => 1,
        }
    }
}

/// How fast loops run and what they cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    bytes_per_second: u64,
    milliwatts: u64,
    memory_pj_per_byte: u64,
}

impl Pace {
    pub(crate) fn of(config: &HostConfig) -> Pace {
        Pace {
            bytes_per_second: config.stream_megabytes_per_second * 1_000_000,
            milliwatts: config.active_milliwatts,
            memory_pj_per_byte: config.memory_pj_per_byte,
        }
    }

    /// How long a loop over operands of `bytes` takes.
    pub(crate) fn span(&self, work: Loop, bytes: u64) -> Span {
        Span::of_transfer(bytes * work.traffic(), self.bytes_per_second)
    }

    /// What memory spends on so many bytes that enter or leave it.
    pub(crate) fn memory(&self, bytes: u64) -> Energy {
        Energy::from_pj(bytes * self.memory_pj_per_byte)
    }

    /// What the processor draws in so long; a milliwatt for a picosecond is a thousandth of a
    /// picojoule.
    pub(crate) fn power_for(&self, span: Span) -> Energy {
        let picojoules = u128::from(span.as_ps()) * u128::from(self.milliwatts) / 1000;
        Energy::from_pj(picojoules as u64)
    }
}

impl Computer {
    pub(crate) fn new(sim: &Sim, config: &HostConfig, ledger: &Rc<Ledger>) -> Computer {
        Computer {
            server: Server::new(sim),
            pace: Pace::of(config),
            compute: ledger.open("host", "compute"),
            memory: ledger.open("host", "memory"),
            ledger: ledger.clone(),
        }
    }

    /// Waits for the processor and lets it run over operands of `bytes`.
    pub(crate) async fn run(&self, work: Loop, bytes: u64) {
        let span = self.pace.span(work, bytes);
        self.server.serve(Priority(0), span).await;
        let energy = self.pace.power_for(span);
        self.ledger.spend(self.compute, tenants::HOST, energy);
        self.memory_moves(bytes * work.traffic());
    }

    /// The drive has put `bytes` into memory.
    pub(crate) fn receive(&self, bytes: u64) {
        self.memory_moves(bytes);
    }

    /// Bytes enter or leave memory.
    pub(crate) fn memory_moves(&self, bytes: u64) {
        let energy = self.pace.memory(bytes);
        self.ledger.spend(self.memory, tenants::HOST, energy);
    }
}
