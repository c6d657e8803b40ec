//! Programs and erases that step back for reads.
//!
//! While one is under way, a read that arrives for the unit has it suspended, if that is
//! configured, if enough of it is left, and if it has not been suspended too often: a
//! suspend command on the channel, `suspend_ns` until the die is free, the reads that wait, then
//! a resume command and `resume_ns`. Reads of a block that is being changed wait for its end, as
//! the die demands. `bypass_max` bounds the reads that go first here, too. Where requests are ranked, only reads of a higher rank
//! go first.

use std::cmp::Reverse;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use media::nand::{BlockId, BlockSet, Command, DieId, NandError, Outcome};
use sim::{Requester, Span, Time};

use super::Unit;
use crate::planted::{Bug, is_planted};
use crate::schedule::ScheduleConfig;
use crate::schedule::key::QueueKey;
use crate::schedule::operation::Read;
use crate::schedule::origin::{Class, Priority};
use crate::schedule::queue::{Order, Set};
use crate::schedule::turns::Turn;

/// When programs and erases are suspended.
pub(super) struct Suspensions {
    program: Option<Span>,
    erase: Option<Span>,
    times_max: u32,
    /// Reads that may go before one program or erase; 0: any number.
    bypass_max: u32,
    order: Order,
}

impl Suspensions {
    pub(super) fn new(config: &ScheduleConfig) -> Suspensions {
        let suspend = &config.suspend;
        let least = |is_on: bool, ns| is_on.then(|| Span::from_ns(ns));
        Suspensions {
            program: least(suspend.programs, suspend.program_remaining_min_ns),
            erase: least(suspend.erases, suspend.erase_remaining_min_ns),
            times_max: suspend.times_max,
            bypass_max: config.bypass_max,
            order: config.policy.order(),
        }
    }

    /// What must be left of `command` to suspend it; `None` if it never is.
    fn least_remaining(&self, command: &Command) -> Option<Span> {
        match command {
            Command::Program { .. }
            | Command::ProgramComplement { .. }
            | Command::Raise { .. }
            | Command::CopybackProgram { .. } => self.program,
            Command::Erase { .. } => self.erase,
            _ => None,
        }
    }
}

/// The queues whose reads are served during a suspension, the most urgent first. Collection
/// suspends nothing: nobody waits for it.
fn served_queues(order: Order) -> impl Iterator<Item = QueueKey> {
    let users = Priority::ALL
        .into_iter()
        .filter(move |priority| match order {
            Order::Arrival => *priority == Priority::default(),
            Order::Priorities => true,
            Order::Ranks => {
                Class::User(*priority) == QueueKey::IN_STORAGE || *priority == Priority::default()
            }
        });
    std::iter::once(QueueKey::MAPPING_READS).chain(users.map(QueueKey::user_reads))
}

impl Unit {
    /// Whether a program or erase of the unit stands back at the moment.
    pub(super) fn is_suspending(&self) -> bool {
        self.suspending.get()
    }

    /// Sends a program or erase and sees it through, suspensions included.
    pub(super) async fn change(
        &self,
        command: &Command,
        turn: Option<Turn<'_>>,
        requesters: &[Requester],
    ) -> Result<Outcome, NandError> {
        self.send(self.die_changed_by(command), command, requesters)
            .await;
        drop(turn);
        let begin = self.sim.now();
        self.change_from(command, begin, true, requesters).await
    }

    /// As [`Unit::change`], for a command that the die has, or will have, at `begin`. If it may not be `suspended`, what
    /// the latches hold when it is over is what it programmed.
    pub(super) async fn change_from(
        &self,
        command: &Command,
        begin: Time,
        suspended: bool,
        requesters: &[Requester],
    ) -> Result<Outcome, NandError> {
        self.overtaking.set(0);
        debug_assert!(
            self.lease.borrow().is_none(),
            "programs and erases make way first, so that reads served meanwhile find free latches"
        );
        let die = self.die_changed_by(command);
        let busy = self.begin(die, command, begin)?;
        let mut end = begin + busy.span;
        let least = self.suspensions.least_remaining(command);
        if let Some(least) = least.filter(|_| suspended) {
            let blocks = blocks_of(command);
            for _ in 0..self.suspensions.times_max {
                if !self.until_wanted(end, least, &blocks).await {
                    break;
                }
                end = self
                    .step_back(die, command, end, &blocks, requesters)
                    .await?;
            }
        }
        self.sim.sleep_until(end).await;
        self.finish(die, command, begin, busy.span, &busy, requesters)
    }

    /// Waits for `end`, or for a read for which it is worth to suspend: true.
    async fn until_wanted(&self, end: Time, least: Span, blocks: &BlockSet) -> bool {
        let bell = &self.schedule.bells[self.number];
        let mut over = pin!(self.sim.sleep_until(end));
        std::future::poll_fn(|context| {
            if over.as_mut().poll(context).is_ready() {
                return Poll::Ready(false);
            }
            loop {
                let left = end.since(self.sim.now());
                if left >= least && left > Span::ZERO && self.next_read(blocks).is_some() {
                    return Poll::Ready(true);
                }
                if pin!(bell.heard()).poll(context).is_pending() {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// The queue of a read that may go before a change of `blocks`.
    fn next_read(&self, blocks: &BlockSet) -> Option<QueueKey> {
        let limit = self.suspensions.bypass_max;
        let queue = self.queue().borrow();
        if !queue.holds_reads() || (limit > 0 && self.overtaking.get() >= limit) {
            return None;
        }
        let allowed = |block: BlockId| may_read(blocks, block);
        let held = served_queues(self.suspensions.order).filter(|key| queue.holds(*key));
        let mut first = held.filter_map(|key| Some((queue.allowed_read(key, allowed)?, key)));
        match self.suspensions.order {
            Order::Ranks => first
                .filter(|(rank, _)| *rank > self.changing.get())
                .max_by_key(|(rank, key)| (*rank, Reverse(key.0)))
                .map(|(_, key)| key),
            _ => first.next().map(|(_, key)| key),
        }
    }

    /// Suspends, serves reads, resumes; gives the new end.
    async fn step_back(
        &self,
        die: DieId,
        command: &Command,
        end: Time,
        blocks: &BlockSet,
        requesters: &[Requester],
    ) -> Result<Time, NandError> {
        let turn = self.command_turn().await;
        self.send(die, &Command::Suspend, requesters).await;
        drop(turn);
        // It may have ended while the channel was waited for; the die ignores the command then.
        if self.sim.now() >= end {
            return Ok(end);
        }
        let left = end.since(self.sim.now());
        self.suspending.set(true);
        self.execute(die, &Command::Suspend, self.sim.now(), requesters)
            .await?;
        self.schedule.count(|counts| match command {
            Command::Erase { .. } => counts.erase_suspensions += 1,
            _ => counts.program_suspensions += 1,
        });
        while let Some(key) = self.next_read(blocks) {
            let turn = self.command_turn().await;
            let mut set = Set::<Read>::new();
            let allowed = |block: BlockId| may_read(blocks, block);
            self.queue()
                .borrow_mut()
                .take_allowed_read(key, &self.merging(), &mut set, allowed);
            self.schedule.trace_queue(self.number);
            self.overtaking
                .set(self.overtaking.get() + set.len() as u32);
            self.read_set(&set, turn).await;
        }
        let turn = self.command_turn().await;
        self.send(die, &Command::Resume, requesters).await;
        drop(turn);
        self.suspending.set(false);
        let now = self.sim.now();
        let busy = self.begin(die, &Command::Resume, now)?;
        // What is left of the operation is its own account, not that of the resumption.
        let total = &self.schedule.dies_busy[die.0 as usize];
        total.set(total.get() + (busy.span - left.min(busy.span)));
        Ok(now + busy.span)
    }

    fn die_changed_by(&self, command: &Command) -> DieId {
        let block = match command {
            Command::Program { pages, .. }
            | Command::ProgramComplement { pages, .. }
            | Command::Raise { pages }
            | Command::CopybackProgram { pages, .. } => pages[0].block,
            Command::Erase { blocks } => blocks[0],
            _ => unreachable!("no other command changes cells"),
        };
        self.schedule.geometry.die_of_block(block)
    }

    /// The turn to send a command, where chips take turns.
    async fn command_turn(&self) -> Option<Turn<'_>> {
        match &self.turns {
            Some(turns) => Some(turns.command(self.chip).await),
            None => None,
        }
    }
}

/// Whether `block` may be read while a change of `blocks` is suspended.
fn may_read(blocks: &BlockSet, block: BlockId) -> bool {
    !blocks.contains(&block) || is_planted(Bug::SuspensionReadsWhatChanges)
}

/// The blocks that a program or erase changes.
fn blocks_of(command: &Command) -> BlockSet {
    match command {
        Command::Program { pages, .. }
        | Command::ProgramComplement { pages, .. }
        | Command::Raise { pages }
        | Command::CopybackProgram { pages, .. } => pages.iter().map(|page| page.block).collect(),
        Command::Erase { blocks } => blocks.clone(),
        _ => BlockSet::new(),
    }
}
