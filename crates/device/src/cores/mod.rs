//! Firmware's own time: what each piece of work takes of the controller's cores.
//!
//! Work is charged where it is done, at the instant at which it begins. On drives whose firmware
//! takes no time that costs a look at one flag, and nobody waits.

use std::rc::Rc;

use media::core::{self, CoresConfig, Work};
use sim::{Ledger, Sim, Span, Tenant, Time};

use crate::schedule::Origin;
use crate::tenants;

/// The controller's cores as the firmware uses them.
pub struct Cores {
    sim: Sim,
    cores: Rc<core::Cores>,
    takes_time: bool,
}

impl Cores {
    /// Idle cores whose energy `ledger` meters.
    pub fn new(sim: &Sim, config: &CoresConfig, ledger: &Ledger) -> Rc<Cores> {
        let cores = Rc::new(core::Cores::new(config));
        core::Cores::meter(&cores, sim, ledger, tenants::DRIVE);
        Rc::new(Cores {
            sim: sim.clone(),
            takes_time: config.work.takes_time(),
            cores,
        })
    }

    /// Whether any of the firmware's work takes time.
    #[inline]
    pub fn takes_time(&self) -> bool {
        self.takes_time
    }

    /// Has a core do `work` for `origin`, after what was charged before; gives the instant at which it
    /// is done, which is now if it takes no time.
    #[inline]
    pub fn charge(&self, origin: Origin, work: Work) -> Time {
        if !self.takes_time {
            return self.sim.now();
        }
        self.charge_cycles(origin, self.cores.config().work.cycles(work))
    }

    /// As [`Cores::charge`], and waits for it.
    #[inline]
    pub async fn work(&self, origin: Origin, work: Work) {
        self.work_often(origin, [(work, 1)]).await;
    }

    /// As [`Cores::work`], several kinds in a row, each so many times.
    #[inline]
    pub async fn work_often<const KINDS: usize>(&self, origin: Origin, all: [(Work, u64); KINDS]) {
        if self.takes_time {
            let cycles =
                |(work, times)| self.cores.config().work.cycles(work).saturating_mul(times);
            let cycles = all.map(cycles).into_iter().fold(0, u64::saturating_add);
            let done = self.charge_cycles(origin, cycles);
            self.sim.sleep_until(done).await;
        }
    }

    fn charge_cycles(&self, origin: Origin, cycles: u64) -> Time {
        let now = self.sim.now();
        if cycles == 0 {
            return now;
        }
        self.cores.run(origin.tenant, now, cycles)
    }

    /// Has a core that runs tasks work so many cycles for `origin`, and waits for it. Work of others may come between two
    /// calls, so a call is a quantum.
    pub async fn run_task(&self, origin: Origin, cycles: u64) {
        let done = self.cores.run_task(origin.tenant, self.sim.now(), cycles);
        self.sim.sleep_until(done).await;
    }

    /// Cores that run tasks: those for tasks alone, else the firmware's.
    pub fn for_tasks(&self) -> u32 {
        let config = self.cores.config();
        match config.task_cores {
            0 => config.firmware_cores(),
            own => own,
        }
    }

    /// Cycles of a core in so many microseconds.
    pub fn cycles_in(&self, microseconds: u64) -> u64 {
        u64::from(self.cores.config().clock_megahertz) * microseconds
    }

    /// Cycles of a core in so long a time.
    pub fn cycles_of(&self, span: Span) -> u64 {
        let megahertz = u128::from(self.cores.config().clock_megahertz);
        let cycles = u128::from(span.as_ps()) * megahertz / 1_000_000;
        u64::try_from(cycles).unwrap_or(u64::MAX / 10)
    }

    /// Simulated time.
    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    /// The present instant.
    #[inline]
    pub fn now(&self) -> Time {
        self.sim.now()
    }

    /// Calls `then` at `at`.
    pub fn at(&self, at: Time, then: impl FnOnce() + 'static) {
        let sim = self.sim.clone();
        self.sim.spawn_detached(async move {
            sim.sleep_until(at).await;
            then();
        });
    }

    /// How long the cores worked for `tenant`, counting what is promised.
    pub fn busy_for(&self, tenant: Tenant) -> Span {
        self.cores.busy_for(tenant)
    }

    /// How long a core was at work, the mean of all, counting what is promised.
    pub fn busy(&self) -> Span {
        self.cores.busy() / u64::from(self.cores.config().count)
    }
}
