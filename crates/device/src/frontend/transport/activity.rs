//! When the controller is at work, and what that costs: its cores, its DRAM and its clocks draw their
//! power while any command is in flight, whichever it is.

use std::cell::Cell;
use std::rc::Rc;

use sim::{Energy, Ledger, Sim, Span, Time};

use crate::energy;
use crate::tenants;

/// How long commands have been in flight.
pub(in crate::frontend) struct Activity {
    sim: Sim,
    milliwatts: u64,
    in_flight: Cell<u64>,
    /// When the first of those in flight came.
    since: Cell<Time>,
    before: Cell<Span>,
    /// How often it became active.
    times: Cell<u64>,
}

impl Activity {
    /// At rest; `ledger` meters its energy.
    pub(in crate::frontend) fn new(sim: &Sim, milliwatts: u64, ledger: &Ledger) -> Rc<Activity> {
        let activity = Rc::new(Activity {
            sim: sim.clone(),
            milliwatts,
            in_flight: Cell::new(0),
            since: Cell::new(Time::ZERO),
            before: Cell::new(Span::ZERO),
            times: Cell::new(0),
        });
        let metered = activity.clone();
        let whole = activity.clone();
        // It is on for all commands in flight together.
        let share = move |tenant| match tenant {
            tenants::DRIVE => whole.energy().0,
            _ => Energy::ZERO,
        };
        ledger.meter("controller", "active", move || metered.energy(), share);
        activity
    }

    /// A command was fetched.
    #[inline]
    pub(in crate::frontend) fn begin(&self) {
        let in_flight = self.in_flight.get();
        if in_flight == 0 {
            self.since.set(self.sim.now());
            self.times.set(self.times.get() + 1);
        }
        self.in_flight.set(in_flight + 1);
    }

    /// It is done.
    #[inline]
    pub(in crate::frontend) fn end(&self) {
        let in_flight = self.in_flight.get() - 1;
        self.in_flight.set(in_flight);
        if in_flight == 0 {
            let span = self.sim.now().since(self.since.get());
            self.before.set(self.before.get() + span);
        }
    }

    fn energy(&self) -> (Energy, u64) {
        let now = match self.in_flight.get() {
            0 => Span::ZERO,
            _ => self.sim.now().since(self.since.get()),
        };
        let span = self.before.get() + now;
        (energy::of_power(self.milliwatts, span), self.times.get())
    }
}
