//! The task of one die: takes transactions from its queue and carries them out,
//! phase by phase, as a datasheet tells it.

use std::ops::Range;
use std::rc::Rc;

use media::channel::Channel;
use media::nand::{Command, DieId, NandError, Outcome, PageAddress, PageStatus, PlaneId};
use sim::{Ledger, Sim, Span, Track};

use super::fault::Fault;
use super::policy::Policy;
use super::queue::{Class, Operation, Outputs, Set};
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
        DieTask {
            track: trace
                .enabled()
                .then(|| trace.track("dies", &format!("die {}", die.0))),
            data_out_setup,
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
        let mut set = Set::new();
        loop {
            let class = self.take_next(&mut set);
            match class {
                None => self.schedule.bells[self.die.0 as usize].heard().await,
                Some(Class::Read) => self.read(&mut set).await,
                Some(Class::Program) => self.program(&mut set).await,
                Some(Class::Erase) => self.erase(&mut set).await,
                Some(Class::Compute) => self.compute(&mut set).await,
            }
        }
    }

    #[inline]
    fn take_next(&self, set: &mut Set) -> Option<Class> {
        let queue = &mut *self.schedule.queues[self.die.0 as usize].borrow_mut();
        let class = self.policy.next(queue)?;
        queue.take(class, self.multi_plane, &self.schedule.geometry, set);
        Some(class)
    }

    async fn read(&self, set: &mut Set) {
        let command = Command::Read {
            pages: set
                .iter()
                .filter_map(super::queue::Transaction::page)
                .collect(),
            inverse: false,
        };
        self.send(&command).await;
        if let Err(error) = self.execute(&command).await {
            return self.refuse(set, &error);
        }
        self.schedule
            .count(|counts| counts.page_reads += set.len() as u64);
        for transaction in set.drain(..) {
            let Operation::Read {
                page,
                column,
                bytes,
                into,
            } = transaction.operation
            else {
                unreachable!("the read queue holds reads")
            };
            let fault = self.read_out(page, column, bytes, into).await;
            self.schedule.tickets.settle(transaction.ticket, fault);
        }
    }

    /// Moves part of a C-latch and the spare bytes over the channel.
    async fn read_out(
        &self,
        page: PageAddress,
        column: u32,
        bytes: u32,
        into: BufferId,
    ) -> Option<Fault> {
        self.move_data(self.data_out_setup, u64::from(bytes)).await;
        let plane = self.schedule.geometry.plane_of_block(page.block);
        let range = column as usize..(column + bytes) as usize;
        let readable = self.latch_out(plane, column as usize, into, range);
        (!readable).then_some(Fault::Uncorrectable(page))
    }

    async fn program(&self, set: &mut Set) {
        let Some(mode) = set
            .iter()
            .find_map(|transaction| match transaction.operation {
                Operation::Program { mode, .. } => Some(mode),
                _ => None,
            })
        else {
            return;
        };
        let command = Command::Program {
            pages: set
                .iter()
                .filter_map(super::queue::Transaction::page)
                .collect(),
            mode,
        };
        self.send(&command).await;
        for transaction in set.iter() {
            if let Operation::Program {
                page, from, spare, ..
            } = &transaction.operation
            {
                self.move_data(Span::ZERO, u64::from(self.schedule.geometry.page_bytes))
                    .await;
                if let Err(error) = self.latch_in(*page, *from, spare) {
                    return self.refuse(set, &error);
                }
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
            _ => media::nand::PlaneMask::default(),
        };
        for transaction in set.drain(..) {
            let fault = transaction.page().filter(|page| {
                let plane = self.schedule.geometry.plane_of_block(page.block);
                failed.0 & 1 << self.schedule.geometry.plane_in_die(plane) != 0
            });
            self.schedule
                .tickets
                .settle(transaction.ticket, fault.map(Fault::ProgramFailed));
        }
    }

    async fn erase(&self, set: &mut Set) {
        let command = Command::Erase {
            blocks: set
                .iter()
                .filter_map(super::queue::Transaction::block)
                .collect(),
        };
        self.send(&command).await;
        let outcome = match self.execute(&command).await {
            Ok(outcome) => outcome,
            Err(error) => return self.refuse(set, &error),
        };
        self.schedule
            .count(|counts| counts.block_erases += set.len() as u64);
        let failed = match outcome {
            Outcome::EraseFailed { planes } => planes,
            _ => media::nand::PlaneMask::default(),
        };
        for transaction in set.drain(..) {
            let fault = transaction.block().filter(|block| {
                let plane = self.schedule.geometry.plane_of_block(*block);
                failed.0 & 1 << self.schedule.geometry.plane_in_die(plane) != 0
            });
            self.schedule
                .tickets
                .settle(transaction.ticket, fault.map(Fault::EraseFailed));
        }
    }

    async fn compute(&self, set: &mut Set) {
        let Some(transaction) = set.pop() else {
            return;
        };
        let Operation::Compute { steps, outputs } = &transaction.operation else {
            unreachable!("the compute queue holds computations")
        };
        let mut fault = None;
        for command in steps.iter() {
            self.send(command).await;
            if let Err(error) = self.execute(command).await {
                fault = Some(refusal(&error, steps));
                break;
            }
        }
        if fault.is_none() {
            fault = self.latches_out(outputs).await;
        }
        self.schedule.tickets.settle(transaction.ticket, fault);
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
    fn latch_in(&self, page: PageAddress, from: BufferId, spare: &[u8]) -> Result<(), NandError> {
        let nand = &mut *self.schedule.nand.borrow_mut();
        let plane = self.schedule.geometry.plane_of_block(page.block);
        self.schedule
            .buffers
            .with(from, |buffer| nand.data_in(plane, 0, buffer))
            .unwrap_or(Ok(()))?;
        nand.set_spare(plane, spare)
    }

    /// The command phase on the channel.
    #[inline]
    async fn send(&self, command: &Command) {
        let span = self.schedule.nand.borrow().command_span(command);
        self.channel.command(span).await;
        self.channel.traced(command.name(), span);
    }

    /// A data phase on the channel.
    #[inline]
    async fn move_data(&self, setup: Span, bytes: u64) {
        self.channel.data(setup, bytes).await;
        self.channel
            .traced("data", setup + self.channel.span_of(bytes));
        self.ledger
            .spend(self.accounts.transfer, self.channel.energy_of(bytes));
    }

    /// The array's part of a command.
    #[inline]
    async fn execute(&self, command: &Command) -> Result<Outcome, NandError> {
        let begin = self.sim.now();
        let busy = self
            .schedule
            .nand
            .borrow_mut()
            .begin(self.die, command, begin)?;
        self.sim.sleep(busy.span).await;
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
    fn refuse(&self, set: &mut Set, error: &NandError) {
        debug_assert!(false, "the firmware sent an illegal command: {error}");
        for transaction in set.drain(..) {
            let fault = transaction.block().map(Fault::Refused);
            self.schedule.tickets.settle(transaction.ticket, fault);
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
