//! The controller's embedded cores: each does one piece of work at a time. Work goes to the core of its kind (firmware's, or
//! tasks') that is free first, in the order in which it is asked for.

mod config;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub use config::{CoresConfig, Work, WorkConfig};
use sim::{ByTenant, Energy, Ledger, Sim, Span, Tenant, Time};

/// The cores, and what they have done.
pub struct Cores {
    config: CoresConfig,
    /// When each core that runs firmware is free.
    free_at: RefCell<Box<[Time]>>,
    /// When each core is free that runs tasks only.
    free_for_tasks_at: RefCell<Box<[Time]>>,
    /// Picoseconds at work for each tenant.
    busy_for: ByTenant,
    works: Cell<u64>,
}

impl Cores {
    /// Idle cores.
    pub fn new(config: &CoresConfig) -> Cores {
        let free = |count: u32| RefCell::new(vec![Time::ZERO; count as usize].into_boxed_slice());
        Cores {
            config: config.clone(),
            free_at: free(config.firmware_cores()),
            free_for_tasks_at: free(config.task_cores),
            busy_for: ByTenant::default(),
            works: Cell::new(0),
        }
    }

    /// Has `ledger` meter what the cores spend from now on: at work for whom they work, idle for
    /// `standing`.
    pub fn meter(cores: &Rc<Cores>, sim: &Sim, ledger: &Ledger, standing: Tenant) {
        let (metered, clock, since) = (cores.clone(), sim.clone(), sim.now());
        let on = move || clock.now().since(since);
        let (shared, idle_on) = (cores.clone(), on.clone());
        let share = move |tenant| {
            let idle = match tenant == standing {
                true => shared.config.idle_energy(idle_on(), shared.busy()),
                false => Energy::ZERO,
            };
            shared.config.active_energy(shared.busy_for(tenant)) + idle
        };
        let read = move || (metered.energy(on()), metered.works());
        ledger.meter("controller", "cores", read, share);
    }

    /// What the cores are made of.
    pub fn config(&self) -> &CoresConfig {
        &self.config
    }

    /// Has the firmware's core that is free first work `cycles` cycles for `tenant`, from `at` on if it is free
    /// by then; gives the instant at which it is done. Calls must not go back in time.
    #[inline]
    pub fn run(&self, tenant: Tenant, at: Time, cycles: u64) -> Time {
        self.run_on(&self.free_at, tenant, at, cycles)
    }

    /// As [`Cores::run`], on a core for tasks; on one of the firmware's, if none is for tasks alone.
    pub fn run_task(&self, tenant: Tenant, at: Time, cycles: u64) -> Time {
        let cores = match self.config.task_cores {
            0 => &self.free_at,
            _ => &self.free_for_tasks_at,
        };
        self.run_on(cores, tenant, at, cycles)
    }

    #[inline]
    fn run_on(&self, cores: &RefCell<Box<[Time]>>, tenant: Tenant, at: Time, cycles: u64) -> Time {
        let span = self.config.span_of(cycles);
        let free_at = &mut *cores.borrow_mut();
        let first = free_at.iter_mut().min();
        let core = first.expect("a configuration without cores is refused");
        *core = (*core).max(at) + span;
        self.busy_for.add(tenant, span.as_ps());
        self.works.set(self.works.get() + 1);
        *core
    }

    /// How long the cores were at work, all of them together, counting what is promised.
    pub fn busy(&self) -> Span {
        Span::from_ps(self.busy_for.sum())
    }

    /// How long they were at work for `tenant`, counting what is promised.
    pub fn busy_for(&self, tenant: Tenant) -> Span {
        Span::from_ps(self.busy_for.of(tenant))
    }

    /// Pieces of work.
    pub fn works(&self) -> u64 {
        self.works.get()
    }

    /// What the cores have spent if they were on for `on`.
    pub fn energy(&self, on: Span) -> Energy {
        let active: Energy = self
            .busy_for
            .sum_of(|busy| self.config.active_energy(Span::from_ps(busy)));
        active + self.config.idle_energy(on, self.busy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(count: u32) -> Cores {
        Cores::new(&CoresConfig {
            count,
            unused_cores: 0,
            task_cores: 0,
            clock_megahertz: 1500,
            active_milliwatts: 100,
            idle_milliwatts: 10,
            work: WorkConfig::default(),
        })
    }

    const DRIVE: Tenant = Tenant(0);
    const USER: Tenant = Tenant(3);
    const OTHER: Tenant = Tenant(5);

    fn at(nanoseconds: u64) -> Time {
        Time::from_ps(1000 * nanoseconds)
    }

    #[test]
    fn work_takes_its_cycles_and_waits_for_a_core() {
        let cores = cores(2);
        assert_eq!(cores.run(USER, at(10), 1500), at(1010));
        assert_eq!(cores.run(USER, at(10), 3000), at(2010), "the other core");
        assert_eq!(
            cores.run(USER, at(20), 1500),
            at(2010),
            "the first one again"
        );
        assert_eq!(cores.run(USER, at(5000), 3), at(5002), "both were idle");
        assert_eq!((cores.busy(), cores.works()), (Span::from_ns(4002), 4));
    }

    #[test]
    fn tasks_have_cores_of_their_own_or_share_the_firmwares() {
        let mut config = cores(4).config().clone();
        config.unused_cores = 1;
        config.task_cores = 2;
        let apart = Cores::new(&config);
        assert_eq!(config.firmware_cores(), 1);
        let tasks = [(); 3].map(|()| apart.run_task(USER, at(0), 1500));
        assert_eq!(tasks, [at(1000), at(1000), at(2000)], "two cores");
        let firmware = [(); 2].map(|()| apart.run(OTHER, at(0), 1500));
        assert_eq!(firmware, [at(1000), at(2000)], "one core");
        assert_eq!(apart.busy_for(USER), Span::from_ns(3000));
        // 5000 ns at 100 mW, and the rest of 4 x 5000 at 10, the unused core's included.
        let spent = Energy::from_pj(500_000 + 150_000);
        assert_eq!(apart.energy(Span::from_ns(5000)), spent);
        config.task_cores = 0;
        let shared = Cores::new(&config);
        assert_eq!(shared.run(OTHER, at(0), 1500), at(1000));
        let tasks = [(); 3].map(|()| shared.run_task(USER, at(0), 1500));
        assert_eq!(tasks, [at(1000), at(1000), at(2000)], "of three");
        config.task_cores = 3;
        let refused = config.validate().map_err(|error| error.to_string());
        let expected = "task_cores = 3 is out of range; it must be 0 to 2";
        assert_eq!(refused, Err(expected.to_owned()));
    }

    #[test]
    fn a_saturated_controller_does_cores_times_clock_over_cycles() {
        for count in [1, 4, 5] {
            let cores = cores(count);
            let (works, cycles) = (10_000, 2_250);
            let ends = (0..works).map(|_| cores.run(USER, Time::ZERO, cycles));
            let last = ends.max().expect("there was work");
            let bound = f64::from(count) * 1.5e9 / cycles as f64;
            let rate = works as f64 / last.as_seconds();
            assert!((rate / bound - 1.0).abs() < 1e-3, "{count}: {rate} {bound}");
        }
    }

    #[test]
    fn energy_is_power_times_time_at_work_and_idle() {
        let cores = cores(2);
        cores.run(USER, Time::ZERO, 1500);
        // 1000 ns at 100 mW, and 2 x 5000 - 1000 at 10.
        assert_eq!(
            cores.energy(Span::from_ns(5000)),
            Energy::from_pj(100_000 + 90_000)
        );
        assert_eq!(
            cores.energy(Span::ZERO),
            Energy::from_pj(100_000),
            "promised work is counted, idleness before it is not"
        );
    }

    #[test]
    fn whoever_is_worked_for_pays_the_work_and_the_drive_what_is_idle() {
        let (simulation, ledger) = (sim::Simulation::new(1), Ledger::default());
        let cores = Rc::new(cores(2));
        Cores::meter(&cores, &simulation.handle(), &ledger, DRIVE);
        cores.run(USER, Time::ZERO, 1501);
        cores.run(OTHER, Time::ZERO, 3001);
        simulation.run_until(at(5000));
        let spent = [USER, OTHER, DRIVE].map(|tenant| ledger.spent_for(tenant).as_pj());
        // 1501 cycles take 1000.667 ns, 3001 take 2000.667, of 2 x 5000.
        assert_eq!(spent, [100_066, 200_066, 69_986]);
        assert_eq!(ledger.total().as_pj(), spent.iter().sum::<u64>());
        assert_eq!(cores.busy_for(OTHER), Span::from_ps(2_000_667));
    }
}
