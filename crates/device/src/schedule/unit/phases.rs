//! The phases of a command: cycles and data on the channel, then the array.

use arrayvec::ArrayVec;
use media::nand::PLANES_PER_DIE_MAX;
use media::nand::{Busy, Command, DieId, NandError, Outcome};
use sim::{Energy, Span, Tenant, Time};

use super::Unit;
use crate::schedule::turns::Turn;
use crate::schedule::{planes_of, senses_of};

/// For whom each plane of a command is at work.
pub(super) type Tenants = ArrayVec<Tenant, PLANES_PER_DIE_MAX>;

/// What of `energy` is spent for each of `tenants`: the same for all, what is left over for the first.
#[inline]
fn shares(energy: Energy, tenants: &[Tenant]) -> impl Iterator<Item = (Tenant, Energy)> + '_ {
    let count = tenants.len() as u64;
    let each = match count {
        1 => energy.as_pj(),
        _ => energy.as_pj() / count,
    };
    let first = energy.as_pj() - each * (count - 1);
    let share = move |index| if index == 0 { first } else { each };
    let shares = tenants.iter().enumerate();
    shares.map(move |(index, tenant)| (*tenant, Energy::from_pj(share(index))))
}

impl Unit {
    /// How long the command phase of `command` takes.
    pub(super) fn span_of(&self, command: &Command) -> Span {
        self.schedule.nand.borrow().command_span(command)
    }

    /// The command phase on the channel.
    #[inline]
    pub(super) async fn send(&self, command: &Command) {
        let span = self.span_of(command);
        self.channel.command(span).await;
        self.channel.trace_now(command.name(), span);
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
        tenants: &[Tenant],
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
        self.channel.trace_until(command.name(), begin, span);
        let busy = self.begin(die, command, begin)?;
        self.sim.sleep_until(begin + busy.span).await;
        self.finish(die, command, begin, busy.span, &busy, tenants)
    }

    /// Occupies the channel for a command phase, and then passes the turn on.
    async fn pass_command(&self, span: Span, turn: Option<Turn<'_>>) {
        self.channel.command(span).await;
        drop(turn);
    }

    /// A data phase on the channel.
    pub(super) async fn move_data(&self, tenant: Tenant, setup: Span, bytes: u64) {
        self.channel.data(tenant, setup, bytes).await;
        self.data_moved(setup, bytes);
    }

    /// Notes a data phase that has just ended in the trace.
    #[inline]
    pub(super) fn data_moved(&self, setup: Span, bytes: u64) {
        if self.tracks.is_some() {
            self.channel
                .trace_now("data", setup + self.channel.span_of(bytes));
        }
    }

    /// The array's part of a command that the die has, or will have, at `begin`.
    pub(super) async fn execute(
        &self,
        die: DieId,
        command: &Command,
        begin: Time,
        tenants: &[Tenant],
    ) -> Result<Outcome, NandError> {
        let busy = self.begin(die, command, begin)?;
        self.sim.sleep_until(begin + busy.span).await;
        self.finish(die, command, begin, busy.span, &busy, tenants)
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
    /// for `worked`, for `tenants`.
    #[inline]
    pub(super) fn finish(
        &self,
        die: DieId,
        command: &Command,
        begin: Time,
        worked: Span,
        busy: &Busy,
        tenants: &[Tenant],
    ) -> Result<Outcome, NandError> {
        let outcome = self
            .schedule
            .nand
            .borrow_mut()
            .finish(die, self.sim.now())?;
        let shares = shares(busy.energy, tenants);
        self.ledger
            .spend_for_all(self.accounts.of(command), busy.energy, shares);
        let (senses, planes) = (senses_of(command), planes_of(command));
        self.schedule.count(|counts| {
            counts.senses += senses;
            counts.multi_plane_commands += u64::from(planes > 1);
        });
        let total = &self.schedule.dies_busy[die.0 as usize];
        total.set(total.get() + worked);
        if let Some(tracks) = &self.tracks {
            let track = tracks[(die.0 - self.first_die.0) as usize];
            self.sim
                .trace()
                .slice(track, command.name(), begin, self.sim.now());
        }
        Ok(outcome)
    }
}
