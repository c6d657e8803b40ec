//! What every part of a powered drive has in common.
//!
//! A part is *configured* by a section of the configuration, whose `validate` says what cannot be. It is powered up by
//! `power_up`, a function of its own because each needs other parts: those that it names as arguments must have been
//! powered up before, which is what keeps the order. Then it serves, until the power is lost.
//!
//! Link, port, channels, page buffers, cores and DRAM are no parts in this sense: they have no tasks of their own and are made on
//! the way, for those that use them.

use std::ops::Add;
use std::rc::Rc;

use crate::memory::{Capacitor, Dumped};

/// A part of a powered drive.
pub(crate) trait Part {
    /// What the part is called.
    fn name(&self) -> &'static str;

    /// Begins to work: starts the tasks that it has of its own. Called once, before any part is powered up that
    /// needs it at work.
    fn serve(self: Rc<Self>) {}

    /// The power is gone and every task of the drive with it; the flash is at rest. Asked of parts that have a claim on the
    /// capacitor, which save now what flash misses, in no simulated time; the others have nothing left to do.
    fn power_lost(&self) -> Dumped {
        Dumped::default()
    }
}

/// The parts of a drive in the order in which they are powered up; what they save when the power goes they save in the other order.
#[derive(Default)]
pub(crate) struct Parts(Vec<Rc<dyn Part>>);

impl Parts {
    /// Takes up a part that was powered up, and lets it serve.
    pub(crate) fn serve(&mut self, part: Rc<impl Part + 'static>) {
        part.clone().serve();
        self.0.push(part);
    }

    /// The names, in the order of power-up.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().map(|part| part.name())
    }

    /// Those whose memory `capacitor` covers, in the order in which they save it.
    fn covered<'a>(&'a self, capacitor: &'a Capacitor) -> impl Iterator<Item = &'a dyn Part> {
        let parts = self.0.iter().rev().map(Rc::as_ref);
        parts.filter(|part| capacitor.covers(part.name()))
    }

    /// Has the parts that the capacitor covers save what flash misses, now that the power is lost; gives what was saved.
    pub(crate) fn power_lost(&self, capacitor: &Capacitor) -> Dumped {
        let saved = self.covered(capacitor).map(|part| part.power_lost());
        capacitor.spent(saved.fold(Dumped::default(), Dumped::add))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::memory::{Claim, Rates};

    type Log = Rc<RefCell<Vec<String>>>;

    struct Logged(&'static str, Log);

    impl Part for Logged {
        fn name(&self) -> &'static str {
            self.0
        }

        fn serve(self: Rc<Self>) {
            self.1.borrow_mut().push(format!("{} serves", self.0));
        }
    }

    fn claim(part: &'static str) -> Claim {
        Claim {
            part,
            keys: &["some.key"],
            pages: 1,
        }
    }

    #[test]
    fn what_is_claimed_is_saved_in_the_other_order() {
        let (log, mut parts) = (Log::default(), Parts::default());
        for name in ["schedule", "ftl", "cache"] {
            parts.serve(Rc::new(Logged(name, log.clone())));
        }
        assert_eq!(
            parts.names().collect::<Vec<_>>(),
            ["schedule", "ftl", "cache"]
        );
        assert_eq!(
            *log.borrow(),
            ["schedule serves", "ftl serves", "cache serves"]
        );
        let capacitor = Capacitor::new(vec![claim("schedule"), claim("cache")], Rates::idle());
        let covered: Vec<_> = parts.covered(&capacitor).map(|part| part.name()).collect();
        assert_eq!(covered, ["cache", "schedule"]);
    }
}
