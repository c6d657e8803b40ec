//! The controller's embedded cores: each does one piece of work at a time. Work goes to the core
//! that is free first, in the order in which it is asked for.

mod config;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub use config::{CoresConfig, Work, WorkConfig};
use sim::{Energy, Ledger, Sim, Span, Time};

/// The cores, and what they have done.
pub struct Cores {
    config: CoresConfig,
    /// When each core is free.
    free_at: RefCell<Box<[Time]>>,
    busy: Cell<Span>,
    works: Cell<u64>,
}

impl Cores {
    /// Idle cores.
    pub fn new(config: &CoresConfig) -> Cores {
        Cores {
            config: config.clone(),
            free_at: RefCell::new(vec![Time::ZERO; config.count as usize].into_boxed_slice()),
            busy: Cell::new(Span::ZERO),
            works: Cell::new(0),
        }
    }

    /// Has `ledger` meter what the cores spend from now on.
    pub fn meter(cores: &Rc<Cores>, sim: &Sim, ledger: &Ledger) {
        let (metered, clock, since) = (cores.clone(), sim.clone(), sim.now());
        ledger.meter("controller", "cores", move || {
            let on = clock.now().since(since);
            (metered.energy(on), metered.works())
        });
    }

    /// What the cores are made of.
    pub fn config(&self) -> &CoresConfig {
        &self.config
    }

    /// Has the core that is free first work `cycles` cycles, from `at` on if it is free by then;
    /// gives the instant at which it is done. Calls must not go back in time.
    #[inline]
    pub fn run(&self, at: Time, cycles: u64) -> Time {
        let span = self.config.span_of(cycles);
        let free_at = &mut *self.free_at.borrow_mut();
        let first = free_at.iter_mut().min();
        let core = first.expect("a configuration without cores is refused");
        *core = (*core).max(at) + span;
        self.busy.set(self.busy.get() + span);
        self.works.set(self.works.get() + 1);
        *core
    }

    /// How long the cores were at work, all of them together, counting what is promised.
    pub fn busy(&self) -> Span {
        self.busy.get()
    }

    /// Pieces of work.
    pub fn works(&self) -> u64 {
        self.works.get()
    }

    /// What the cores have spent if they were on for `on`.
    pub fn energy(&self, on: Span) -> Energy {
        let idle = (on * u64::from(self.config.count)).saturating_sub(self.busy());
        let picojoules = |milliwatts: u64, span: Span| {
            // A milliwatt for a nanosecond is a picojoule.
            (u128::from(milliwatts) * u128::from(span.as_ps()) / 1_000) as u64
        };
        let active = picojoules(self.config.active_milliwatts, self.busy());
        Energy::from_pj(active + picojoules(self.config.idle_milliwatts, idle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(count: u32) -> Cores {
        Cores::new(&CoresConfig {
            count,
            clock_megahertz: 1500,
            active_milliwatts: 100,
            idle_milliwatts: 10,
            work: WorkConfig::default(),
        })
    }

    fn at(nanoseconds: u64) -> Time {
        Time::from_ps(1000 * nanoseconds)
    }

    #[test]
    fn work_takes_its_cycles_and_waits_for_a_core() {
        let cores = cores(2);
        assert_eq!(cores.run(at(10), 1500), at(1010));
        assert_eq!(cores.run(at(10), 3000), at(2010), "the other core");
        assert_eq!(cores.run(at(20), 1500), at(2010), "the first one again");
        assert_eq!(cores.run(at(5000), 3), at(5002), "both were idle");
        assert_eq!((cores.busy(), cores.works()), (Span::from_ns(4002), 4));
    }

    #[test]
    fn a_saturated_controller_does_cores_times_clock_over_cycles() {
        for count in [1, 4, 5] {
            let cores = cores(count);
            let (works, cycles) = (10_000, 2_250);
            let ends = (0..works).map(|_| cores.run(Time::ZERO, cycles));
            let last = ends.max().expect("there was work");
            let bound = f64::from(count) * 1.5e9 / cycles as f64;
            let rate = works as f64 / last.as_seconds();
            assert!((rate / bound - 1.0).abs() < 1e-3, "{count}: {rate} {bound}");
        }
    }

    #[test]
    fn energy_is_power_times_time_at_work_and_idle() {
        let cores = cores(2);
        cores.run(Time::ZERO, 1500);
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
}
