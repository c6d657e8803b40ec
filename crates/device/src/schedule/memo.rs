//! What computations took of dies and channels at rest, so that the same ones, when they come again, are charged and not
//! simulated. Only for drives that keep no data: there is nothing to compute there.

use std::cell::Cell;
use std::rc::Rc;

use media::channel::Carried;
use media::nand::BlockId;
use sim::{Energy, Span, Tenant};

use super::Schedule;
use super::counts::FlashCounts;
use super::key::Kind;
use crate::served::Served;

/// What was done so far when computations began.
pub(crate) struct Recording {
    tenant: Tenant,
    pushed: u64,
    counts: FlashCounts,
    computations: Served,
    dies_busy: Vec<Span>,
    carried: Vec<Carried>,
    sensing: (Energy, u64),
}

/// What computations did.
pub(crate) struct Memo {
    tenant: Tenant,
    senses: u64,
    multi_plane_commands: u64,
    computations: Served,
    dies_busy: Box<[(usize, Span)]>,
    carried: Box<[(usize, Carried)]>,
    sensing: (Energy, u64),
    /// How often each block was sensed.
    blocks: Box<[(BlockId, u32)]>,
    /// How often they were repeated without the blocks' being told.
    owed: Cell<u32>,
}

impl Memo {
    /// For whom it was done.
    pub(crate) fn tenant(&self) -> Tenant {
        self.tenant
    }
}

impl Schedule {
    /// Whether no unit is at work, nor anything waits for one.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.resting.get() == self.queues.len() && self.parked.get() == 0
    }

    /// Begins to record computations for `tenant`, on dies at rest.
    pub(crate) fn record(&self, tenant: Tenant) -> Recording {
        let carried = self.channels.iter().map(|channel| channel.carried(tenant));
        Recording {
            tenant,
            pushed: self.pushed.get(),
            counts: *self.counts.borrow(),
            computations: self.served(tenant).computations,
            dies_busy: self.dies_busy().collect(),
            carried: carried.collect(),
            sensing: self.sensing(),
        }
    }

    /// What `pushed` computations did since, which sensed these blocks so often; `None` if they were not alone.
    pub(crate) fn recorded(
        &self,
        before: &Recording,
        pushed: u64,
        blocks: Box<[(BlockId, u32)]>,
    ) -> Option<Memo> {
        if !self.is_at_rest() || self.pushed.get() - before.pushed != pushed {
            return None;
        }
        let tenant = before.tenant;
        let counts = *self.counts.borrow();
        let busy = self.dies_busy().zip(&before.dies_busy).enumerate();
        let busy = busy.map(|(die, (after, before))| (die, after - *before));
        let carried = self.channels.iter().zip(&before.carried).enumerate();
        let carried = carried
            .map(|(number, (channel, before))| (number, channel.carried(tenant).since(before)));
        let (energy, events) = self.sensing();
        Some(Memo {
            tenant,
            senses: counts.senses - before.counts.senses,
            multi_plane_commands: counts.multi_plane_commands - before.counts.multi_plane_commands,
            computations: self.served(tenant).computations.since(&before.computations),
            dies_busy: busy.filter(|(_, span)| *span > Span::ZERO).collect(),
            carried: carried
                .filter(|(_, carried)| *carried != Carried::default())
                .collect(),
            sensing: (energy - before.sensing.0, events - before.sensing.1),
            blocks,
            owed: Cell::new(0),
        })
    }

    /// Charges computations that come again, on dies at rest.
    pub(crate) fn repeat(&self, memo: &Rc<Memo>) {
        self.owe(memo);
        self.count(|counts| {
            counts.senses += memo.senses;
            counts.multi_plane_commands += memo.multi_plane_commands;
        });
        let kind = Kind::Compute as usize;
        self.served.add(memo.tenant, kind, &memo.computations);
        for (die, span) in &memo.dies_busy {
            let busy = &self.dies_busy[*die];
            busy.set(busy.get() + *span);
        }
        for (number, carried) in &memo.carried {
            self.channels[*number].add(memo.tenant, carried);
        }
        let (energy, events) = memo.sensing;
        self.ledger
            .spend_often(self.accounts.sense, memo.tenant, energy, events);
    }

    /// Notes that blocks were sensed once more, which they are told when somebody wants to know.
    fn owe(&self, memo: &Rc<Memo>) {
        let known = &mut *self.owing.borrow_mut();
        if !known.as_ref().is_some_and(|known| Rc::ptr_eq(known, memo)) {
            self.pay(known.replace(memo.clone()));
            self.is_owing.set(true);
        }
        memo.owed.set(memo.owed.get() + 1);
    }

    /// Tells blocks how often they were sensed, before anybody looks at them or does something to them; those who look from
    /// outside of the schedule have to say so.
    #[cold]
    pub fn pay_all(&self) {
        self.is_owing.set(false);
        self.pay(self.owing.take());
    }

    fn pay(&self, memo: Option<Rc<Memo>>) {
        let Some(memo) = memo else { return };
        let times = memo.owed.take();
        self.nand.borrow_mut().note_senses(&memo.blocks, times);
    }

    /// What multi-wordline senses have cost so far, and in how many commands.
    fn sensing(&self) -> (Energy, u64) {
        let account = self.ledger.account(self.accounts.sense);
        (account.energy, account.events)
    }
}
