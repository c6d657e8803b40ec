//! The task of one die: takes transactions from its queue and carries them out,
//! phase by phase, as a datasheet tells it.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use arrayvec::ArrayVec;
use media::channel::Channel;
use media::nand::{
    BlockId, Busy, Command, DieId, NandError, Outcome, PLANES_PER_DIE_MAX, PageAddress, PageStatus,
    PlaneId, PlaneMask,
};
use sim::{Ledger, Sim, Span, Time, Track};

use super::fault::Fault;
use super::policy::Policy;
use super::queue::{Class, DieQueue, Erase, Outputs, PlaneOperation, Program, Read, Set, Waiting};
use super::{Schedule, ScheduleConfig, planes_of, senses_of};
use crate::buffer::BufferId;
use crate::energy::FlashAccounts;

pub(super) struct DieTask {
    sim: Sim,
    schedule: Rc<Schedule>,
    die: DieId,
    channel: Rc<Channel>,
    policy: Policy,
    multi_plane: bool,
    accounts: FlashAccounts,
    ledger: Rc<Ledger>,
    data_out_setup: Span,
    /// Command phases of reads of one page, two, and so on.
    read_spans: ArrayVec<Span, PLANES_PER_DIE_MAX>,
    track: Option<Track>,
}

impl DieTask {
    pub(super) fn new(
        sim: &Sim,
        config: &ScheduleConfig,
        schedule: Rc<Schedule>,
        die: DieId,
        channel: Rc<Channel>,
        ledger: &Rc<Ledger>,
    ) -> DieTask {
        let trace = sim.trace();
        let data_out_setup = schedule.nand.borrow().data_out_setup();
        // How many pages there are says how long it takes, whichever they are.
        let page = PageAddress {
            block: BlockId(0),
            page: 0,
        };
        let read_spans = (1..=schedule.geometry.planes_per_die as usize)
            .map(|count| Command::Read {
                pages: std::iter::repeat_n(page, count).collect(),
                inverse: false,
            })
            .map(|read| schedule.nand.borrow().command_span(&read))
            .collect();
        DieTask {
            track: trace
                .enabled()
                .then(|| trace.track("dies", &format!("die {}", die.0))),
            data_out_setup,
            read_spans,
            sim: sim.clone(),
            schedule,
            die,
            channel,
            policy: config.policy,
            multi_plane: config.multi_plane,
            accounts: FlashAccounts::open(ledger),
            ledger: ledger.clone(),
        }
    }

    /// Serves the queue for ever.
    pub(super) async fn run(self) {
        loop {
            let class = self.policy.next(&self.queue().borrow());
            match class {
                None => self.schedule.bells[self.die.0 as usize].heard().await,
                Some(Class::Read) => self.read().await,
                Some(Class::Program) => self.program().await,
                Some(Class::Erase) => self.erase().await,
                Some(Class::Compute) => self.compute().await,
            }
        }
    }

    #[inline]
    fn queue(&self) -> &RefCell<DieQueue> {
        &self.schedule.queues[self.die.0 as usize]
    }

    #[inline]
    fn take<T: PlaneOperation>(&self, set: &mut Set<T>) {
        self.queue()
            .borrow_mut()
            .take(self.multi_plane, &self.schedule.geometry, set);
        self.schedule.trace_queue(self.die);
    }

    async fn read(&self) {
        let mut set = Set::<Read>::new();
        self.take(&mut set);
        let command = Command::Read {
            pages: set.iter().map(|waiting| waiting.operation.page).collect(),
            inverse: false,
        };
        let span = self.read_spans[set.len() - 1];
        if let Err(error) = self.send_and_execute(&command, span).await {
            return self.refuse(set, &error);
        }
        self.schedule
            .count(|counts| counts.page_reads += set.len() as u64);
        for waiting in &set {
            let read = &waiting.operation;
            let bytes = u64::from(read.bytes);
            match self.channel.post_data(self.data_out_setup, bytes) {
                Some(end) => self.sim.sleep_until(end).await,
                None => self.channel.data(self.data_out_setup, bytes).await,
            }
            self.data_moved(self.data_out_setup, bytes);
            let plane = self.schedule.geometry.plane_of_block(read.page.block);
            let range = read.column as usize..(read.column + read.bytes) as usize;
            let readable = self.latch_out(plane, read.column as usize, read.into, range);
            let fault = (!readable).then_some(Fault::Uncorrectable(read.page));
            self.schedule.settle(waiting.notify, fault);
        }
    }

    async fn program(&self) {
        let mut set = Set::<Program>::new();
        self.take(&mut set);
        let command = Command::Program {
            pages: set.iter().map(|waiting| waiting.operation.page).collect(),
            mode: set[0].operation.mode,
        };
        self.send(&command).await;
        for waiting in &set {
            self.move_data(Span::ZERO, u64::from(self.schedule.geometry.page_bytes))
                .await;
            if let Err(error) = self.latch_in(&waiting.operation) {
                return self.refuse(set, &error);
            }
        }
        let outcome = match self.execute(&command).await {
            Ok(outcome) => outcome,
            Err(error) => return self.refuse(set, &error),
        };
        self.schedule
            .count(|counts| counts.page_programs += set.len() as u64);
        let failed = match outcome {
            Outcome::ProgramFailed { planes } => planes,
            _ => PlaneMask::default(),
        };
        for Waiting {
            operation, notify, ..
        } in set
        {
            let fault = self
                .is_of(failed, operation.page.block)
                .then_some(Fault::ProgramFailed(operation.page));
            self.schedule.settle(notify, fault);
        }
    }

    async fn erase(&self) {
        let mut set = Set::<Erase>::new();
        self.take(&mut set);
        let command = Command::Erase {
            blocks: set.iter().map(|waiting| waiting.operation.block).collect(),
        };
        let outcome = match self
            .send_and_execute(&command, self.span_of(&command))
            .await
        {
            Ok(outcome) => outcome,
            Err(error) => return self.refuse(set, &error),
        };
        self.schedule
            .count(|counts| counts.block_erases += set.len() as u64);
        let failed = match outcome {
            Outcome::EraseFailed { planes } => planes,
            _ => PlaneMask::default(),
        };
        for Waiting {
            operation, notify, ..
        } in set
        {
            let fault = self
                .is_of(failed, operation.block)
                .then_some(Fault::EraseFailed(operation.block));
            self.schedule.settle(notify, fault);
        }
    }

    /// Whether the plane of `block` is among `planes` of its die.
    fn is_of(&self, planes: PlaneMask, block: BlockId) -> bool {
        let geometry = &self.schedule.geometry;
        planes.0 & 1 << geometry.plane_in_die(geometry.plane_of_block(block)) != 0
    }

    async fn compute(&self) {
        let taken = self.queue().borrow_mut().take_compute();
        self.schedule.trace_queue(self.die);
        let Some(Waiting {
            operation, notify, ..
        }) = taken
        else {
            return;
        };
        let mut fault = None;
        for command in operation.steps.iter() {
            if let Err(error) = self.send_and_execute(command, self.span_of(command)).await {
                fault = Some(refusal(&error, &operation.steps));
                break;
            }
        }
        if let Some(room) = &operation.room {
            // The pages stay in the latches until there is room for them.
            room.acquire(operation.outputs.len() as u64).await.keep();
        }
        if fault.is_none() {
            fault = self.latches_out(&operation.outputs).await;
        }
        self.schedule.settle(notify, fault);
    }

    /// Moves whole C-latches over the channel.
    async fn latches_out(&self, outputs: &Outputs) -> Option<Fault> {
        let geometry = &self.schedule.geometry;
        let mut fault = None;
        for (plane, into) in outputs {
            self.move_data(self.data_out_setup, u64::from(geometry.page_bytes))
                .await;
            if !self.latch_out(*plane, 0, *into, 0..geometry.page_bytes as usize) {
                let block = geometry.block_of_plane(*plane, 0);
                fault = Some(Fault::Uncorrectable(PageAddress { block, page: 0 }));
            }
        }
        fault
    }

    /// Copies part of a C-latch to a buffer; false if it holds nothing of worth.
    #[inline]
    fn latch_out(
        &self,
        plane: PlaneId,
        column: usize,
        into: BufferId,
        range: Range<usize>,
    ) -> bool {
        let nand = self.schedule.nand.borrow();
        let copied = self.schedule.buffers.with_mut(into, |buffer| {
            nand.data_out(plane, column, &mut buffer[range])
        });
        copied.is_none_or(|result| result.is_ok())
            && matches!(nand.page_status(plane), Ok(PageStatus::Ok))
    }

    /// Fills a page register from a buffer.
    fn latch_in(&self, program: &Program) -> Result<(), NandError> {
        let nand = &mut *self.schedule.nand.borrow_mut();
        let plane = self.schedule.geometry.plane_of_block(program.page.block);
        self.schedule
            .buffers
            .with(program.from, |buffer| nand.data_in(plane, 0, buffer))
            .unwrap_or(Ok(()))?;
        nand.set_spare(plane, &program.spare)
    }

    /// How long the command phase of `command` takes.
    fn span_of(&self, command: &Command) -> Span {
        self.schedule.nand.borrow().command_span(command)
    }

    /// The command phase on the channel.
    #[inline]
    async fn send(&self, command: &Command) {
        let span = self.span_of(command);
        self.channel.command(span).await;
        self.channel.trace_now(command.name(), span);
    }

    /// The command phase of `span`, and then the array's part: in one wait if the channel
    /// is idle, since nobody can come between.
    #[inline]
    async fn send_and_execute(&self, command: &Command, span: Span) -> Result<Outcome, NandError> {
        let begin = match self.channel.post_command(span) {
            Some(sent) => sent,
            None => {
                self.channel.command(span).await;
                self.sim.now()
            }
        };
        self.channel.trace_until(command.name(), begin, span);
        let busy = self.begin(command, begin)?;
        self.sim.sleep_until(begin + busy.span).await;
        self.finish(command, begin, &busy)
    }

    /// A data phase on the channel.
    async fn move_data(&self, setup: Span, bytes: u64) {
        self.channel.data(setup, bytes).await;
        self.data_moved(setup, bytes);
    }

    /// Notes a data phase that has just ended in the trace.
    #[inline]
    fn data_moved(&self, setup: Span, bytes: u64) {
        if self.track.is_some() {
            self.channel
                .trace_now("data", setup + self.channel.span_of(bytes));
        }
    }

    /// The array's part of a command.
    async fn execute(&self, command: &Command) -> Result<Outcome, NandError> {
        let begin = self.sim.now();
        let busy = self.begin(command, begin)?;
        self.sim.sleep_until(begin + busy.span).await;
        self.finish(command, begin, &busy)
    }

    #[inline]
    fn begin(&self, command: &Command, begin: Time) -> Result<Busy, NandError> {
        self.schedule
            .nand
            .borrow_mut()
            .begin(self.die, command, begin)
    }

    /// The end of the array's part of a command, and its account.
    #[inline]
    fn finish(&self, command: &Command, begin: Time, busy: &Busy) -> Result<Outcome, NandError> {
        let outcome = self
            .schedule
            .nand
            .borrow_mut()
            .finish(self.die, self.sim.now())?;
        self.ledger.spend(self.accounts.of(command), busy.energy);
        let (senses, planes) = (senses_of(command), planes_of(command));
        self.schedule.count(|counts| {
            counts.senses += senses;
            counts.multi_plane_commands += u64::from(planes > 1);
        });
        let total = &self.schedule.dies_busy[self.die.0 as usize];
        total.set(total.get() + busy.span);
        if let Some(track) = self.track {
            self.sim
                .trace()
                .slice(track, command.name(), begin, self.sim.now());
        }
        Ok(outcome)
    }

    /// The die refused a command: everyone who waited for it learns so.
    fn refuse<T: PlaneOperation>(&self, set: Set<T>, error: &NandError) {
        debug_assert!(false, "the firmware sent an illegal command: {error}");
        for Waiting {
            operation, notify, ..
        } in set
        {
            self.schedule
                .settle(notify, Some(Fault::Refused(operation.block())));
        }
    }
}

/// The fault of a computation whose command was refused.
fn refusal(error: &NandError, steps: &[Command]) -> Fault {
    debug_assert!(false, "the firmware sent an illegal command: {error}");
    let block = steps.iter().find_map(|step| match step {
        Command::Mws(mws) => mws.planes.first()?.slots.first().map(|slot| slot.block),
        _ => None,
    });
    Fault::Refused(block.unwrap_or(media::nand::BlockId(0)))
}
