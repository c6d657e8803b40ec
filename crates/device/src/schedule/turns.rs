//! Who uses a channel next where chips take turns (`compatibility.interleave = "chip"`), as in MQSim.
//!
//! A chip takes one command, or one multi-plane command, at a time, and nothing else until that
//! is over: its array has finished and, of a read, the last page has left the registers. Its dies
//! never overlap. When a channel falls idle, what waits is served in this order: the second half
//! of copybacks; pages read for the mapping, for the host, and for collection, each in the order
//! in which their arrays finished, the pages of one command together; and only then new commands, by the chips in
//! turn, beginning with the one after the last that sent one. Which transaction a chip sends is
//! decided when its turn comes, not before. Cycles of a program and its data are one visit.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::task::Poll;

use sim::{Sim, TaskId};

use super::origin::{Class, Origin};

/// What a chip wants its channel for, the most urgent first, new commands aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    /// The program command of a copyback, or the next step of a computation.
    Continuation,
    /// Data read for the mapping.
    MappingData,
    /// Data read for the host.
    UserData,
    /// Data read for collection.
    CollectionData,
}

impl Visit {
    const COUNT: usize = 4;

    pub(super) fn data_of(origin: Origin) -> Visit {
        match origin.class() {
            Class::Mapping => Visit::MappingData,
            Class::User(_) => Visit::UserData,
            Class::Collection => Visit::CollectionData,
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Standing {
    #[default]
    Away,
    Waiting,
    Granted,
}

struct Chip {
    task: TaskId,
    standing: Standing,
    wants_command: bool,
}

struct State {
    held: bool,
    visits: [VecDeque<u32>; Visit::COUNT],
    chips: Vec<Chip>,
    /// Whose turn it is to send a command.
    next: usize,
}

/// The turns of the chips of one channel.
pub(super) struct Turns {
    sim: Sim,
    state: RefCell<State>,
}

impl Turns {
    /// An idle channel of `chips` chips.
    pub(super) fn new(sim: &Sim, chips: u32) -> Turns {
        let chips = (0..chips).map(|_| Chip {
            task: TaskId::NONE,
            standing: Standing::Away,
            wants_command: false,
        });
        Turns {
            sim: sim.clone(),
            state: RefCell::new(State {
                held: false,
                visits: Default::default(),
                chips: chips.collect(),
                next: 0,
            }),
        }
    }

    /// Waits until `chip` may send a new command.
    pub(super) async fn command(&self, chip: u32) -> Turn<'_> {
        self.want_command(chip);
        self.granted(chip).await
    }

    /// Says that `chip` will wait for a turn in this instant, before the present holder goes.
    pub(super) fn want_command(&self, chip: u32) {
        let state = &mut *self.state.borrow_mut();
        let chip = &mut state.chips[chip as usize];
        if chip.standing == Standing::Away {
            chip.standing = Standing::Waiting;
            chip.wants_command = true;
            state.pass_if_free(&self.sim);
        }
    }

    /// Waits until `chip` may have the channel for `visit`; before others of its kind if it
    /// is `again` that chip.
    pub(super) async fn visit(&self, chip: u32, visit: Visit, again: bool) -> Turn<'_> {
        self.want(chip, visit, again);
        self.granted(chip).await
    }

    /// As [`Turns::visit`], said before the present holder, the same chip, goes.
    pub(super) fn want(&self, chip: u32, visit: Visit, again: bool) {
        let state = &mut *self.state.borrow_mut();
        if state.chips[chip as usize].standing != Standing::Away {
            return;
        }
        state.chips[chip as usize].standing = Standing::Waiting;
        let queue = &mut state.visits[visit as usize];
        if again {
            queue.push_front(chip);
        } else {
            queue.push_back(chip);
        }
        state.pass_if_free(&self.sim);
    }

    async fn granted(&self, chip: u32) -> Turn<'_> {
        std::future::poll_fn(|_| {
            let chip = &mut self.state.borrow_mut().chips[chip as usize];
            if chip.standing == Standing::Granted {
                chip.standing = Standing::Away;
                return Poll::Ready(());
            }
            chip.task = self.sim.current();
            Poll::Pending
        })
        .await;
        Turn { turns: self }
    }
}

impl State {
    fn pass_if_free(&mut self, sim: &Sim) {
        if !self.held {
            self.pass(sim);
        }
    }

    /// Gives the idle channel to whoever is next, if anybody waits.
    fn pass(&mut self, sim: &Sim) {
        let visit = self.visits.iter_mut().find_map(VecDeque::pop_front);
        let next = visit.map(|chip| chip as usize).or_else(|| self.in_turn());
        self.held = next.is_some();
        if let Some(chip) = next {
            self.chips[chip].standing = Standing::Granted;
            self.chips[chip].wants_command = false;
            sim.wake(self.chips[chip].task);
        }
    }

    /// The chip that sends the next command.
    fn in_turn(&mut self) -> Option<usize> {
        let count = self.chips.len();
        let mut chips = (0..count).map(|step| (self.next + step) % count);
        let chip = chips.find(|chip| self.chips[*chip].wants_command)?;
        self.next = (chip + 1) % count;
        Some(chip)
    }
}

/// The channel, for one chip; dropping it lets the next one in.
#[must_use = "dropping a turn passes it on"]
pub(super) struct Turn<'a> {
    turns: &'a Turns,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.state.borrow_mut().pass(&self.turns.sim);
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use sim::{Simulation, Span};

    use super::*;

    /// The order in which chips that ask while chip 0 holds the channel get it.
    fn order(wants: &[(u32, Option<Visit>)]) -> Vec<u32> {
        let simulation = Simulation::new(1);
        let sim = simulation.handle();
        let turns = Rc::new(Turns::new(&sim, 8));
        let served = Rc::new(RefCell::new(Vec::new()));
        for (chip, visit) in [(0, None)].iter().chain(wants).copied() {
            let (sim, turns, served) = (sim.clone(), turns.clone(), served.clone());
            sim.clone().spawn_detached(async move {
                let turn = match visit {
                    Some(visit) => turns.visit(chip, visit, false).await,
                    None => turns.command(chip).await,
                };
                served.borrow_mut().push(chip);
                sim.sleep(Span::from_ns(10)).await;
                drop(turn);
            });
        }
        simulation.run();
        served.take()
    }

    #[test]
    fn data_goes_before_commands_and_by_its_purpose() {
        let wants = [
            (1, None),
            (2, Some(Visit::CollectionData)),
            (3, Some(Visit::UserData)),
            (4, Some(Visit::MappingData)),
            (5, Some(Visit::Continuation)),
            (6, Some(Visit::UserData)),
        ];
        assert_eq!(order(&wants), [0, 5, 4, 3, 6, 2, 1]);
    }

    #[test]
    fn chips_send_commands_in_turn_whenever_they_asked() {
        let wants = [(6, None), (2, None), (7, None), (1, None)];
        assert_eq!(order(&wants), [0, 1, 2, 6, 7]);
    }
}
