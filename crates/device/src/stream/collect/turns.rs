//! Turns of collections at flash: so many pages are on their way there at a time, and the next go to the collection that has had the
//! fewest, so that one that has more of the switch has no more of flash.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use sim::Sim;
use sim::resource::{OneshotSender, oneshot};

/// What collections wait for before they write pages.
pub(super) struct Turns {
    sim: Sim,
    pages: u32,
    free: Cell<u32>,
    /// How many pages the one that went last had had before: who comes anew begins there.
    level: Cell<u64>,
    /// Who waits, by the pages that its collection has had, and its port.
    waiting: RefCell<BTreeMap<(u64, u32), Waiter>>,
}

struct Waiter {
    pages: u32,
    sender: OneshotSender<Turn>,
}

/// Pages that may be written, which others may when this is dropped.
pub(super) struct Turn {
    turns: Rc<Turns>,
    pages: u32,
}

impl Turns {
    /// So many pages at a time.
    pub(super) fn new(sim: &Sim, pages: u32) -> Rc<Turns> {
        Rc::new(Turns {
            sim: sim.clone(),
            pages,
            free: Cell::new(pages),
            level: Cell::new(0),
            waiting: RefCell::default(),
        })
    }

    /// Waits until a port, which waits for no other turn, may write pages; `had` is how many it has had.
    pub(super) async fn take(self: &Rc<Turns>, port: u32, had: &Cell<u64>, pages: u32) -> Turn {
        let pages = pages.min(self.pages);
        had.set(had.get().max(self.level.get()));
        let key = (had.get(), port);
        had.set(had.get() + u64::from(pages));
        let (sender, receiver) = oneshot(&self.sim);
        let waiter = Waiter { pages, sender };
        self.waiting.borrow_mut().insert(key, waiter);
        self.grant();
        match receiver.await {
            Some(turn) => turn,
            // Senders lie in `waiting` until they send.
            None => unreachable!("a turn that will never come"),
        }
    }

    /// Lets those go for whom there is room. One that needs more than there is holds back those behind it.
    fn grant(self: &Rc<Turns>) {
        while let Some(next) = self.next() {
            let turns = self.clone();
            let pages = next.pages;
            next.sender.send(Turn { turns, pages });
        }
    }

    fn next(&self) -> Option<Waiter> {
        let mut waiting = self.waiting.borrow_mut();
        let next = waiting.first_entry()?;
        let left = self.free.get().checked_sub(next.get().pages)?;
        let ((had, _), waiter) = next.remove_entry();
        self.free.set(left);
        self.level.set(had);
        Some(waiter)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let turns = &self.turns;
        turns.free.set(turns.free.get() + self.pages);
        turns.grant();
    }
}

#[cfg(test)]
mod tests {
    use sim::{Simulation, Span};

    use super::*;

    #[test]
    fn who_has_had_the_least_is_next() {
        let simulation = Simulation::new(1);
        let sim = simulation.handle();
        let turns = Turns::new(&sim, 4);
        let pages_of = Rc::new(RefCell::new(BTreeMap::new()));
        // The third comes later, and is not given what it missed.
        for (port, pages, from) in [(7, 4, 0), (2, 2, 0), (9, 2, 300)] {
            let (turns, pages_of, clock) = (turns.clone(), pages_of.clone(), sim.clone());
            sim.spawn_detached(async move {
                clock.sleep(Span::from_ns(from)).await;
                let had = Cell::new(0);
                for _ in 0..400 / pages {
                    let turn = turns.take(port, &had, pages).await;
                    *pages_of.borrow_mut().entry(port).or_insert(0) += pages;
                    let programming = clock.clone();
                    clock.spawn_detached(async move {
                        programming.sleep(Span::from_ns(10)).await;
                        drop(turn);
                    });
                }
            });
        }
        let pages_at = |ns| {
            simulation.run_until(sim::Time::ZERO + Span::from_ns(ns));
            let pages_of = pages_of.borrow();
            [7, 2, 9].map(|port| pages_of.get(&port).copied().unwrap_or(0))
        };
        let before = pages_at(299);
        assert!(
            before[0].abs_diff(before[1]) <= 4 && before[2] == 0,
            "{before:?}"
        );
        let after = pages_at(599);
        let of_each: Vec<u32> = (0..3).map(|port| after[port] - before[port]).collect();
        assert!(
            of_each.iter().all(|pages| pages.abs_diff(40) <= 6),
            "{of_each:?}"
        );
        simulation.run();
        assert_eq!(pages_of.borrow().values().sum::<u32>(), 1200);
        assert_eq!(turns.free.get(), 4, "all is given back");
    }
}
