//! The phases of a command: cycles and data on the channel, then the array.

use arrayvec::ArrayVec;
use media::nand::PLANES_PER_DIE_MAX;
use media::nand::{Busy, Command, DieId, NandError, Outcome};
use sim::{Energy, Requester, Span, Tenant, Time};

use super::Unit;
use super::trace::Moved;
use crate::schedule::turns::Turn;
use crate::schedule::{changes_cells, planes_of};

/// For whom each plane of a command is at work.
pub(super) type Requesters = ArrayVec<Requester, PLANES_PER_DIE_MAX>;

/// What of `energy` is spent for each of `requesters`: the same for all, what is left over for the first.
#[inline]
fn shares(energy: Energy, requesters: &[Requester]) -> impl Iterator<Item = (Tenant, Energy)> + '_ {
    let count = requesters.len() as u64;
    let each = match count {
        1 => energy.as_pj(),
        _ => energy.as_pj() / count,
    };
    let first = energy.as_pj() - each * (count - 1);
    let share = move |index| if index == 0 { first } else { each };
    let shares = requesters.iter().enumerate();
    shares.map(move |(index, requester)| (requester.tenant, Energy::from_pj(share(index))))
}

impl Unit {
    /// How long the command phase of `command` takes.
    pub(super) fn span_of(&self, command: &Command) -> Span {
        self.schedule.nand.borrow().command_span(command)
    }

    /// The command phase on the channel.
    #[inline]
    pub(super) async fn send(&self, die: DieId, command: &Command, requesters: &[Requester]) {
        let span = self.span_of(command);
        self.channel.command(span).await;
        self.trace_cycles(die, command, self.sim.now(), span, requesters);
    }

    /// The command phase of `span`, and then the array's part: in one wait if the channel
    /// is idle and chips take no turns, since nobody can come between.
    #[inline]
    pub(super) async fn send_and_execute(
        &self,
        die: DieId,
        command: &Command,
        span: Span,
        turn: Option<Turn<'_>>,
        requesters: &[Requester],
    ) -> Result<Outcome, NandError> {
        let posted = match turn {
            None => self.channel.post_command(span),
            Some(_) => None,
        };
        let begin = match posted {
            Some(sent) => sent,
            None => {
                self.pass_command(span, turn).await;
                self.sim.now()
            }
        };
        self.trace_cycles(die, command, begin, span, requesters);
        let busy = self.begin(die, command, begin)?;
        self.sim.sleep_until(begin + busy.span).await;
        self.finish(die, command, begin, busy.span, &busy, requesters)
    }

    /// Occupies the channel for a command phase, and then passes the turn on.
    async fn pass_command(&self, span: Span, turn: Option<Turn<'_>>) {
        self.channel.command(span).await;
        drop(turn);
    }

    /// A data phase on the channel.
    pub(super) async fn move_data(&self, moved: Moved) {
        let Moved {
            requester,
            setup,
            bytes,
            ..
        } = moved;
        self.channel.data(requester.tenant, setup, bytes).await;
        self.trace_data(&moved);
    }

    /// The array's part of a command that the die has, or will have, at `begin`.
    pub(super) async fn execute(
        &self,
        die: DieId,
        command: &Command,
        begin: Time,
        requesters: &[Requester],
    ) -> Result<Outcome, NandError> {
        let busy = self.begin(die, command, begin)?;
        self.sim.sleep_until(begin + busy.span).await;
        self.finish(die, command, begin, busy.span, &busy, requesters)
    }

    #[inline]
    pub(super) fn begin(
        &self,
        die: DieId,
        command: &Command,
        begin: Time,
    ) -> Result<Busy, NandError> {
        self.schedule.nand.borrow_mut().begin(die, command, begin)
    }

    /// The end of the array's part of a command, and its account: the array was at work on it
    /// for `worked`, for `requesters`.
    #[inline]
    pub(super) fn finish(
        &self,
        die: DieId,
        command: &Command,
        begin: Time,
        worked: Span,
        busy: &Busy,
        requesters: &[Requester],
    ) -> Result<Outcome, NandError> {
        let outcome = self
            .schedule
            .nand
            .borrow_mut()
            .finish(die, self.sim.now())?;
        let shares = shares(busy.energy, requesters);
        self.ledger
            .spend_for_all(self.accounts.of(command), busy.energy, shares);
        let planes = planes_of(command);
        let senses = if changes_cells(command) { 0 } else { planes };
        self.schedule.count(|counts| {
            counts.senses += senses;
            counts.multi_plane_commands += u64::from(planes > 1);
        });
        let total = &self.schedule.dies_busy[die.0 as usize];
        total.set(total.get() + worked);
        self.trace_array(die, command, begin, requesters);
        Ok(outcome)
    }
}
