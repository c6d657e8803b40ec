//! The accelerators as tasks use them: who waits for one, what it takes of the DRAM, and what that costs.

use std::cell::Cell;
use std::rc::Rc;

use media::accelerator::{AcceleratorConfig, Demand};
use media::dram::{Dram, Toward};
use operators::Operator;
use serde::{Deserialize, Serialize};
use sim::resource::Semaphore;
use sim::{AccountId, ByTenant, Energy, Key, Ledger, Name, Sim, Span, Tenant, Track};

use crate::memory::Partition;
use crate::schedule::Origin;
use crate::tenants;

/// What an account of energy is of.
const COMPONENT: &str = "accelerator";

/// What a trace says of an operator.
static MACS: Key = Key::one("macs");
static BYTES: Key = Key::one("bytes");

/// Bytes that an accelerator moves at a time.
const BYTES_AT_ONCE: u64 = 64 << 10;

/// The accelerators of a drive.
pub struct Accelerators {
    sim: Sim,
    config: AcceleratorConfig,
    dram: Rc<Dram>,
    /// Where operands lie, and results.
    tasks: Partition,
    ledger: Rc<Ledger>,
    account: Option<AccountId>,
    free: Semaphore,
    /// Which of them are at work.
    at_work: Box<[Cell<bool>]>,
    tracks: Box<[Track]>,
    /// Picoseconds at work for each tenant.
    busy_for: ByTenant,
    counts: Cell<AcceleratorCounts>,
}

/// What the accelerators have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AcceleratorCounts {
    /// Operators computed.
    pub operators: u64,
    /// Multiplications of them whose products were summed.
    pub macs: u64,
    /// Bytes of operands brought in, those that were brought more than once each time, and of results.
    pub bytes: u64,
}

impl Accelerators {
    /// Idle ones, whose energy `ledger` has an account for.
    pub fn new(
        sim: &Sim,
        config: &AcceleratorConfig,
        (dram, tasks): (&Rc<Dram>, Partition),
        ledger: &Rc<Ledger>,
    ) -> Rc<Accelerators> {
        let count = config.count;
        let trace = sim.trace();
        let track = |number| trace.track("accelerators", Name::numbered("accelerator", number));
        let account = (count > 0).then(|| ledger.open(COMPONENT, "operators"));
        let accelerators = Rc::new(Accelerators {
            sim: sim.clone(),
            config: config.clone(),
            dram: dram.clone(),
            tasks,
            ledger: ledger.clone(),
            account,
            free: Semaphore::new(sim, count.into()),
            at_work: (0..count).map(|_| Cell::new(false)).collect(),
            tracks: (0..count).map(track).collect(),
            busy_for: ByTenant::default(),
            counts: Cell::default(),
        });
        if config.standing_milliwatts > 0 && count > 0 {
            accelerators.meter_standing();
        }
        accelerators
    }

    /// Has the ledger meter what they spend whether or not they are at work.
    fn meter_standing(&self) {
        let (clock, since, config) = (self.sim.clone(), self.sim.now(), self.config.clone());
        let spent = move || config.standing_energy(clock.now().since(since));
        let standing = spent.clone();
        let share = move |tenant| match tenant == tenants::DRIVE {
            true => standing(),
            false => Energy::ZERO,
        };
        let read = move || (spent(), 0);
        self.ledger.meter(COMPONENT, "standing", read, share);
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.config.count
    }

    /// Whether there are any.
    pub fn are_there(&self) -> bool {
        self.config.count > 0
    }

    /// Waits for an accelerator and has it compute an operator: operands come from the memories of tasks, and the result goes there.
    /// Gives how long it is at work if the DRAM never keeps it waiting.
    pub async fn compute(&self, origin: Origin, operator: &Operator, has_bias: bool) -> Span {
        let demand = Demand::of(operator, has_bias, self.config.sram_bytes);
        let _permit = self.free.acquire(1).await;
        let working = self.begin();
        let begun = self.sim.now();
        if let Some(account) = self.account {
            let energy = self.config.energy_of(&demand);
            self.ledger.spend(account, origin.tenant, energy);
        }
        let mut counts = self.counts.get();
        counts.operators += 1;
        counts.macs += demand.macs;
        counts.bytes += demand.bytes();
        self.counts.set(counts);
        let span = self.config.span_of(&demand);
        self.move_operands(origin, &demand).await;
        self.sim.sleep_until(begun + span).await;
        let now = self.sim.now();
        self.busy_for.add(origin.tenant, now.since(begun).as_ps());
        let trace = self.sim.trace();
        trace.slice_with(
            self.tracks[working.number],
            name(operator),
            begun,
            now,
            |args| {
                args.number(&MACS, demand.macs);
                args.number(&BYTES, demand.bytes());
            },
        );
        span
    }

    /// Moves operands out of the DRAM and results into it, a little at a time, so that others come between.
    async fn move_operands(&self, origin: Origin, demand: &Demand) {
        let ways = [
            (demand.bytes_in, Toward::Reader),
            (demand.bytes_out, Toward::Cells),
        ];
        for (mut left, toward) in ways {
            while left > 0 {
                let bytes = left.min(BYTES_AT_ONCE);
                let moved = self
                    .tasks
                    .post(&self.dram, origin.requester(), bytes, toward);
                if let Some(over) = moved {
                    self.sim.sleep_until(over).await;
                }
                left -= bytes;
            }
        }
    }

    /// One that is free, for whom who has a permit.
    fn begin(&self) -> AtWork<'_> {
        let number = self.at_work.iter().position(|at_work| !at_work.get());
        let number = number.expect("as many are free as there are permits");
        self.at_work[number].set(true);
        AtWork {
            accelerators: self,
            number,
        }
    }

    /// How long they were at work for `tenant`.
    pub fn busy_for(&self, tenant: Tenant) -> Span {
        Span::from_ps(self.busy_for.of(tenant))
    }

    /// What they have done.
    pub fn counts(&self) -> AcceleratorCounts {
        self.counts.get()
    }

    /// How long one was at work, the mean of all.
    pub fn busy(&self) -> Span {
        let all = Span::from_ps(self.busy_for.sum());
        all / u64::from(self.config.count.max(1))
    }
}

/// An accelerator at work; dropping it has it stop.
struct AtWork<'a> {
    accelerators: &'a Accelerators,
    number: usize,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.accelerators.at_work[self.number].set(false);
    }
}

/// What a trace calls an operator.
fn name(operator: &Operator) -> &'static str {
    use operators::Shape;
    match operator.shape {
        Shape::MatrixVector { .. } => "matrix-vector product",
        Shape::Convolution { .. } => "convolution",
        Shape::Add { .. } => "add",
        Shape::Multiply { .. } => "multiply",
        Shape::Tanh { .. } => "tanh",
        Shape::Sigmoid { .. } => "sigmoid",
        Shape::Relu { .. } => "ReLU",
        Shape::MaxPool { .. } => "max pooling",
        Shape::AveragePool { .. } => "average pooling",
        Shape::Narrow { .. } => "narrow",
    }
}
