//! Command slots: tasks that carry out one command after another.
//!
//! Slots take turns at fetching. The leader waits for a doorbell, fetches an
//! entry, names another idle slot leader, and carries its command out itself, so
//! that no command is handed from task to task. Reads of one page need no slot at
//! all once they are started (`dispatch/direct.rs`). Slots live as long as the drive:
//! a command costs no allocation.

use std::rc::Rc;
use std::task::Poll;

use media::core::Work;
use sim::TaskId;

use super::FetchedCommand;
use crate::frontend::{Controller, EntryFetch};
use crate::schedule::Origin;

/// Which slots there are, and who fetches.
#[derive(Default)]
pub(in crate::frontend) struct Slots {
    /// The task of each slot, known once it first waited.
    tasks: Vec<TaskId>,
    idle: Vec<u32>,
    leader: Option<u32>,
}

impl Controller {
    /// Makes the next slot the leader: an idle one, or else a new one.
    pub(in crate::frontend) fn pass_lead(self: &Rc<Controller>) {
        let slots = &mut *self.slots.borrow_mut();
        slots.leader = slots.idle.pop();
        if let Some(leader) = slots.leader {
            self.summon(slots.tasks[leader as usize]);
        } else {
            let number = slots.tasks.len() as u32;
            slots.tasks.push(TaskId::NONE);
            slots.leader = Some(number);
            self.sim.spawn_detached(self.clone().serve_slot(number));
        }
    }

    /// Fetches and carries out commands for ever.
    async fn serve_slot(self: Rc<Controller>, number: u32) {
        let mut fetched = FetchedCommand::empty();
        let pipelined = self.config.entry_fetch == EntryFetch::Pipelined;
        loop {
            self.lead(number).await;
            let has_fetched = self.fetch_next(&mut fetched, pipelined).await;
            // Firmware that takes time does it in a slot.
            let started = has_fetched && !self.cores.takes_time() && self.start_direct(&fetched);
            if !pipelined {
                if started {
                    continue;
                }
                self.pass_lead();
            }
            if has_fetched && !started {
                self.serve(&fetched).await;
                self.give_room(fetched.queue);
            }
            self.slots.borrow_mut().idle.push(number);
        }
    }

    /// Waits until this slot leads.
    fn lead(&self, number: u32) -> impl Future<Output = ()> + '_ {
        std::future::poll_fn(move |_| {
            let slots = &mut *self.slots.borrow_mut();
            if slots.leader == Some(number) {
                return Poll::Ready(());
            }
            slots.tasks[number as usize] = self.sim.current();
            Poll::Pending
        })
    }

    #[inline]
    async fn serve(self: &Rc<Controller>, fetched: &FetchedCommand) {
        if self.cores.takes_time() {
            self.charge(fetched.origin, Work::Fetch).await;
        }
        let Some(answer) = self.dispatch(fetched).await else {
            return;
        };
        if !answer.status.is_success() {
            self.log_error(fetched.source(), &fetched.entry, answer.status);
        }
        if self.cores.takes_time() {
            self.charge(fetched.origin, Work::Complete).await;
        }
        if !self.complete(fetched.source(), &answer) {
            self.complete_later(fetched.source(), &answer).await;
        }
        self.check_wear();
    }

    /// Waits for what the firmware does for a host command, if that takes time.
    #[inline]
    pub(in crate::frontend) async fn charge(&self, origin: Origin, work: Work) {
        self.cores.work(origin, work).await;
    }
}
