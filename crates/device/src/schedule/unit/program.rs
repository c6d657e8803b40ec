//! Page programs, from the controller's memory and from other pages of the plane, and raises of cells.

use media::nand::{Command, NandError, Outcome, PageStatus, PlaneMask};
use sim::Time;

use super::phases::Requesters;
use super::{Unit, requesters_of};
use crate::memory::BufferId;
use crate::schedule::ProgramTransfer;
use crate::schedule::fault::Fault;
use crate::schedule::key::{Choice, Kind};
use crate::schedule::operation::{Complement, PageData, PageProgram};
use crate::schedule::queue::{Set, Waiting};
use crate::schedule::registers::move_in;
use crate::schedule::turns::{Turn, Visit};

impl Unit {
    pub(super) async fn program(&self, choice: Choice, turn: Option<Turn<'_>>) {
        let mut set = Set::<PageProgram>::new();
        self.changing.set(self.queue().borrow().rank_of(choice));
        self.queue()
            .borrow_mut()
            .take_programs(choice, &self.merging(), &mut set);
        self.schedule.trace_queue(self.number);
        let turn = self.make_way(turn).await;
        let performed = match set[0].operation.data {
            PageData::Buffer(_) if set[0].operation.complement.is_some() => {
                self.program_pairs(&mut set, turn).await
            }
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
        let suspended = set[0].operation.complement.is_none();
        let requesters = requesters_of_programs(set);
        self.change_from(&command, begin, suspended, &requesters)
            .await
    }

    /// Programs pages and then, with the complements of what the registers still hold, those that follow them. Of those that
    /// fail the second is left out; they leave the set, and who wanted them learns so.
    async fn program_pairs(
        &self,
        set: &mut Set<PageProgram>,
        turn: Option<Turn<'_>>,
    ) -> Result<Outcome, NandError> {
        let outcome = self.program_set(set, turn).await?;
        self.note_programmed(set);
        set.retain(|waiting| {
            let fault = self.fault_of(&waiting.operation, &outcome);
            if fault.is_some() {
                self.schedule.settle(waiting.notify, fault);
            }
            fault.is_none()
        });
        if set.is_empty() {
            return Ok(Outcome::Done);
        }
        for Waiting { operation, .. } in set.iter_mut() {
            if let Some(complement) = operation.complement.take() {
                let Complement { page, spare } = *complement;
                (operation.page, operation.spare) = (page, spare);
            }
            self.spare_in(operation)?;
        }
        let command = Command::ProgramComplement {
            pages: set.iter().map(|waiting| waiting.operation.page).collect(),
            mode: set[0].operation.mode,
        };
        self.schedule
            .count(|counts| counts.page_complements += set.len() as u64);
        let turn = self.continuation().await;
        self.change(&command, turn, &requesters_of_programs(set))
            .await
    }

    /// The turn for a command that follows another at once, where chips take turns.
    async fn continuation(&self) -> Option<Turn<'_>> {
        match &self.turns {
            Some(turns) => Some(turns.visit(self.chip, Visit::Continuation, false).await),
            None => None,
        }
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
            self.spare_in(&waiting.operation)?;
        }
        let program = Command::CopybackProgram {
            pages: set.iter().map(|waiting| waiting.operation.page).collect(),
            mode: set[0].operation.mode,
        };
        self.schedule
            .count(|counts| counts.copybacks += set.len() as u64);
        let turn = self.continuation().await;
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
        self.note_programmed(set);
        for waiting in set {
            let fault = self.fault_of(&waiting.operation, outcome);
            self.schedule.settle(waiting.notify, fault);
        }
    }

    /// Counts the pages of a command.
    fn note_programmed(&self, set: &Set<PageProgram>) {
        let raises = set.iter().filter(|waiting| waiting.operation.is_raise());
        self.schedule.count(|counts| {
            counts.page_programs += set.len() as u64;
            counts.page_raises += raises.count() as u64;
            counts.multi_plane_programs += u64::from(set.len() > 1);
        });
        for waiting in set {
            let origin = waiting.operation.origin;
            self.schedule
                .note_served(Kind::Program, origin, waiting.since);
        }
    }

    /// What went wrong with a program of a command that ended so.
    fn fault_of(&self, program: &PageProgram, outcome: &Outcome) -> Option<Fault> {
        let failed = match outcome {
            Outcome::ProgramFailed { planes } => *planes,
            _ => PlaneMask::default(),
        };
        self.is_of(failed, program.page.block)
            .then_some(Fault::ProgramFailed(program.page))
    }

    /// Fills a page register from a buffer.
    fn latch_in(&self, program: &PageProgram, from: BufferId) -> Result<(), NandError> {
        let mut nand = self.schedule.nand.borrow_mut();
        let plane = self.schedule.geometry.plane_of_block(program.page.block);
        move_in(&mut nand, plane, &self.schedule.buffers, from)?;
        drop(nand);
        match program.is_raise() {
            true => Ok(()),
            false => self.spare_in(program),
        }
    }

    /// Sends the out-of-band bytes of a page.
    fn spare_in(&self, program: &PageProgram) -> Result<(), NandError> {
        let nand = &mut *self.schedule.nand.borrow_mut();
        let plane = self.schedule.geometry.plane_of_block(program.page.block);
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
