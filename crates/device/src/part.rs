//! What every part of a powered drive has in common.
//!
//! A part is *configured* by a section of the configuration, whose `validate` says what cannot be. It is powered up by
//! `power_up`, a function of its own because each needs other parts: those that it names as arguments must have been
//! powered up before, which is what keeps the order. Then it serves, until the power is lost.

use std::rc::Rc;

use sim::Energy;

/// A part of a powered drive.
pub trait Part {
    /// What the part is called.
    fn name(&self) -> &'static str;

    /// Begins to work: starts the tasks that it has of its own. Called once, before any part is powered up that
    /// needs it at work.
    fn serve(self: Rc<Self>) {}

    /// The power is gone and every task of the drive with it; the flash is at rest. What is covered by a capacitor is
    /// saved now, in no simulated time.
    fn power_lost(&self) -> Dumped {
        Dumped::default()
    }
}

/// What was saved when the power went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dumped {
    /// Pages programmed.
    pub pages: u64,
    /// Pages that could not be saved: no block was left, or the rest of the page was unreadable.
    pub lost: u64,
    /// What that took of the capacitor.
    pub energy: Energy,
}

/// The parts of a drive in the order in which they are powered up; the power leaves them in the other order.
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

    /// Tells all of them that the power is lost; gives what was saved.
    pub(crate) fn power_lost(&self) -> Dumped {
        let saved = self.0.iter().rev().map(|part| part.power_lost());
        saved.fold(Dumped::default(), |sum, of_part| Dumped {
            pages: sum.pages + of_part.pages,
            lost: sum.lost + of_part.lost,
            energy: sum.energy + of_part.energy,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    type Log = Rc<RefCell<Vec<String>>>;

    struct Logged(&'static str, Log);

    impl Part for Logged {
        fn name(&self) -> &'static str {
            self.0
        }

        fn serve(self: Rc<Self>) {
            self.1.borrow_mut().push(format!("{} serves", self.0));
        }

        fn power_lost(&self) -> Dumped {
            self.1.borrow_mut().push(format!("{} is off", self.0));
            Dumped {
                pages: 1,
                lost: 2,
                energy: Energy::from_pj(3),
            }
        }
    }

    #[test]
    fn power_leaves_parts_in_the_other_order() {
        let (log, mut parts) = (Log::default(), Parts::default());
        for name in ["schedule", "ftl"] {
            parts.serve(Rc::new(Logged(name, log.clone())));
        }
        assert_eq!(parts.names().collect::<Vec<_>>(), ["schedule", "ftl"]);
        let dumped = parts.power_lost();
        assert_eq!(
            (dumped.pages, dumped.lost, dumped.energy),
            (2, 4, Energy::from_pj(6))
        );
        let expected = [
            "schedule serves",
            "ftl serves",
            "ftl is off",
            "schedule is off",
        ];
        assert_eq!(*log.borrow(), expected);
    }
}
