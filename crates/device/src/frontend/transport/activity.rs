//! When the controller is at work, and what that costs: its cores, its DRAM and its clocks draw their
//! power while any command is in flight, whichever it is.

use std::rc::Rc;

use sim::{Energy, Ledger, Sim};

use crate::energy::{self, ActiveTime};
use crate::tenants;

/// How long commands have been in flight.
pub(in crate::frontend) struct Activity {
    sim: Sim,
    milliwatts: u64,
    active: ActiveTime,
}

impl Activity {
    /// At rest; `ledger` meters its energy.
    pub(in crate::frontend) fn new(sim: &Sim, milliwatts: u64, ledger: &Ledger) -> Rc<Activity> {
        let activity = Rc::new(Activity {
            sim: sim.clone(),
            milliwatts,
            active: ActiveTime::default(),
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
        self.active.begin(self.sim.now());
    }

    /// It is done.
    #[inline]
    pub(in crate::frontend) fn end(&self) {
        self.active.end(self.sim.now());
    }

    fn energy(&self) -> (Energy, u64) {
        let span = self.active.span(self.sim.now());
        (energy::of_power(self.milliwatts, span), self.active.times())
    }
}
