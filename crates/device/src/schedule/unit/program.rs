//! Page programs, from the controller's memory and from other pages of the plane, and raises of cells.

use media::nand::{Command, NandError, Outcome, PageStatus, PlaneMask};
use sim::Time;

use super::phases::Requesters;
use super::{Unit, requesters_of};
use crate::memory::BufferId;
use crate::schedule::ProgramTransfer;
use crate::schedule::fault::Fault;
use crate::schedule::key::{Choice, Kind};
use crate::schedule::operation::{PageData, PageProgram};
use crate::schedule::queue::{Set, Waiting};
use crate::schedule::turns::{Turn, Visit};

impl Unit {
    pub(super) async fn program(&self, choice: Choice, turn: Option<Turn<'_>>) {
        let mut set = Set::<PageProgram>::new();
        self.queue()
            .borrow_mut()
            .take_programs(choice, &self.merging(), &mut set);
        self.schedule.trace_queue(self.number);
        let turn = self.make_way(turn).await;
        let performed = match set[0].operation.data {
            PageData::Buffer(_) | PageData::Raise(_) => self.program_set(&set, turn).await,
            PageData::Page(_) => self.copy_set(&mut set, turn).await,
        };
        match performed {
            Ok(outcome) => self.programmed(&set, &outcome),
            Err(error) => self.refuse(&set, &error),
        }
    }

    /// Sends the pages of a multi-plane command and programs them, or raises cells of them.
    async fn program_set(
        &self,
        set: &Set<PageProgram>,
        turn: Option<Turn<'_>>,
    ) -> Result<Outcome, NandError> {
        let pages = set.iter().map(|waiting| waiting.operation.page).collect();
        let command = match set[0].operation.mode {
            _ if set[0].operation.is_raise() => Command::Raise { pages },
            mode => Command::Program { pages, mode },
        };
        let begin = self.send_program(set, &command, turn).await;
        for waiting in set {
            if let PageData::Buffer(from) | PageData::Raise(from) = waiting.operation.data {
                self.latch_in(&waiting.operation, from)?;
            }
        }
        self.change_from(&command, begin, &requesters_of_programs(set))
            .await
    }

    /// Sends a program and its pages; gives the instant at which the die has them all. If the
    /// channel is idle and chips take no turns, it is not waited for.
    #[inline]
    async fn send_program(
        &self,
        set: &Set<PageProgram>,
        command: &Command,
        turn: Option<Turn<'_>>,
    ) -> Time {
        let span = self.span_of(command);
        let page_bytes = self.schedule.geometry.page_bytes;
        let pages = set.iter().map(|Waiting { operation, .. }| {
            let bytes = match self.program_transfer {
                ProgramTransfer::Written if !operation.is_raise() => operation.bytes,
                _ => page_bytes,
            };
            (operation.origin.tenant, u64::from(bytes))
        });
        let posted = match turn {
            None => self.channel.post_program(span, pages.clone()),
            Some(_) => None,
        };
        let sent = match posted {
            Some(sent) => sent,
            None => {
                self.channel.program(span, pages.clone()).await;
                self.sim.now()
            }
        };
        if self.sim.trace().enabled() {
            let bytes = pages.clone().map(|(_, bytes)| bytes).sum();
            let data = self.channel.span_of_pages(pages);
            self.trace_program(set, command, sent, (span, data), bytes);
        }
        sent
    }

    /// Senses pages and programs them elsewhere in their planes. Those that cannot be read
    /// leave the set, and who wanted them learns so.
    async fn copy_set(
        &self,
        set: &mut Set<PageProgram>,
        turn: Option<Turn<'_>>,
    ) -> Result<Outcome, NandError> {
        let die = self.die_of(set);
        let read = Command::CopybackRead {
            pages: set.iter().filter_map(source_of).collect(),
        };
        let (span, requesters) = (self.span_of(&read), requesters_of_programs(set));
        self.send_and_execute(die, &read, span, turn, &requesters)
            .await?;
        set.retain(|waiting| {
            let plane = self
                .schedule
                .geometry
                .plane_of_block(waiting.operation.page.block);
            let status = self.schedule.nand.borrow().page_status(plane);
            if let Some(from) = source_of(waiting) {
                let fault = match status {
                    Ok(PageStatus::Ok) => return true,
                    Ok(PageStatus::TooManyErrors) => Fault::NeedsCorrection(from),
                    _ => Fault::Uncorrectable(from),
                };
                self.schedule.settle(waiting.notify, Some(fault));
            }
            false
        });
        if set.is_empty() {
            return Ok(Outcome::Done);
        }
        for waiting in set.iter() {
            let plane = self
                .schedule
                .geometry
                .plane_of_block(waiting.operation.page.block);
            let nand = &mut *self.schedule.nand.borrow_mut();
            let spare = &waiting.operation.spare;
            spare.with(&self.schedule.buffers, |bytes| nand.set_spare(plane, bytes))?;
        }
        let program = Command::CopybackProgram {
            pages: set.iter().map(|waiting| waiting.operation.page).collect(),
            mode: set[0].operation.mode,
        };
        self.schedule
            .count(|counts| counts.copybacks += set.len() as u64);
        let turn = match &self.turns {
            Some(turns) => Some(turns.visit(self.chip, Visit::Continuation, false).await),
            None => None,
        };
        self.change(&program, turn, &requesters_of_programs(set))
            .await
    }

    fn die_of(&self, set: &Set<PageProgram>) -> media::nand::DieId {
        self.schedule
            .geometry
            .die_of_block(set[0].operation.page.block)
    }

    /// Programs are over, well or not.
    fn programmed(&self, set: &Set<PageProgram>, outcome: &Outcome) {
        self.schedule.count(|counts| {
            counts.page_programs += set.len() as u64;
            if set.first().is_some_and(|first| first.operation.is_raise()) {
                counts.page_raises += set.len() as u64;
            }
            counts.multi_plane_programs += u64::from(set.len() > 1);
        });
        let failed = match outcome {
            Outcome::ProgramFailed { planes } => *planes,
            _ => PlaneMask::default(),
        };
        for Waiting {
            operation,
            notify,
            since,
            ..
        } in set
        {
            self.schedule
                .note_served(Kind::Program, operation.origin, *since);
            let fault = self
                .is_of(failed, operation.page.block)
                .then_some(Fault::ProgramFailed(operation.page));
            self.schedule.settle(*notify, fault);
        }
    }

    /// Fills a page register from a buffer.
    fn latch_in(&self, program: &PageProgram, from: BufferId) -> Result<(), NandError> {
        let nand = &mut *self.schedule.nand.borrow_mut();
        let plane = self.schedule.geometry.plane_of_block(program.page.block);
        self.schedule
            .buffers
            .with(from, |buffer| nand.data_in(plane, 0, buffer))
            .unwrap_or(Ok(()))?;
        if program.is_raise() {
            return Ok(());
        }
        let buffers = &self.schedule.buffers;
        program
            .spare
            .with(buffers, |bytes| nand.set_spare(plane, bytes))
    }
}

#[inline]
fn requesters_of_programs(set: &Set<PageProgram>) -> Requesters {
    requesters_of(set, |program| program.origin)
}

/// The page that is copied.
fn source_of(waiting: &Waiting<PageProgram>) -> Option<media::nand::PageAddress> {
    match waiting.operation.data {
        PageData::Page(from) => Some(from),
        PageData::Buffer(_) | PageData::Raise(_) => None,
    }
}
