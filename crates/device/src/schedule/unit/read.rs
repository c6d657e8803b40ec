//! Page reads.

use media::nand::Command;

use super::trace::{Moved, Purpose};
use super::{Unit, requesters_of};
use crate::memory::BufferId;
use crate::schedule::fault::Fault;
use crate::schedule::key::{Choice, Kind};
use crate::schedule::operation::Read;
use crate::schedule::queue::{Set, Waiting};
use crate::schedule::registers::move_out;
use crate::schedule::turns::{Turn, Visit};
use arrayvec::ArrayVec;
use media::nand::{PLANES_PER_DIE_MAX, PageStatus, PlaneId};
use std::cell::Cell;
use std::ops::Range;

impl Unit {
    pub(super) async fn read(&self, choice: Choice, turn: Option<Turn<'_>>) {
        let mut set = Set::<Read>::new();
        self.queue()
            .borrow_mut()
            .take_reads(choice, &self.merging(), &mut set);
        self.schedule.trace_queue(self.number);
        let turn = if self.is_leased(&set) {
            self.make_way(turn).await
        } else {
            turn
        };
        self.read_set(&set, turn).await;
    }

    /// Senses the pages of a multi-plane command, and moves what was asked for out of each.
    /// The set stays where it is: it would be copied twice for each read.
    pub(super) async fn read_set(&self, set: &Set<Read>, turn: Option<Turn<'_>>) {
        let command = Command::Read {
            pages: set.iter().map(|waiting| waiting.operation.page).collect(),
            inverse: set[0].operation.inverse,
        };
        let span = self.read_spans[set.len() - 1];
        let die = self
            .schedule
            .geometry
            .die_of_block(set[0].operation.page.block);
        let requesters = requesters_of(set, |read| read.origin);
        let sensed = self.send_and_execute(die, &command, span, turn, &requesters);
        if let Err(error) = sensed.await {
            return self.refuse(set, &error);
        }
        self.count_reads(set);
        let visit = Visit::data_of(set[0].operation.origin);
        let mut wrong = ArrayVec::<usize, PLANES_PER_DIE_MAX>::new();
        for (index, waiting) in set.iter().enumerate() {
            let read = &waiting.operation;
            let bytes = u64::from(read.bytes);
            let turn = match &self.turns {
                Some(turns) => Some(turns.visit(self.chip, visit, index > 0).await),
                None => None,
            };
            let (tenant, setup) = (read.origin.tenant, self.data_out_setup);
            match self.channel.post_data(tenant, setup, bytes) {
                Some(end) => self.sim.sleep_until(end).await,
                None => self.channel.data(tenant, setup, bytes).await,
            }
            let plane = self.schedule.geometry.plane_of_block(read.page.block);
            self.trace_data(&Moved {
                requester: read.origin.requester(),
                purpose: Purpose::Read,
                plane,
                setup,
                bytes,
            });
            let range = read.at as usize..(read.at + read.bytes) as usize;
            match self.latch_out(plane, read.column as usize, read.into, range) {
                // Spare bytes, which are all that is wanted of some, have a code of their own.
                PageStatus::TooManyErrors if read.bytes > 0 => wrong.push(index),
                status => {
                    let lost = status == PageStatus::Uncorrectable;
                    let fault = lost.then_some(Fault::Uncorrectable(read.page));
                    self.read_over(waiting, fault);
                }
            }
            if let Some(turns) = &self.turns {
                // Said before the turn passes on: this chip takes part in what comes next.
                if index + 1 < set.len() {
                    turns.want(self.chip, visit, true);
                } else if wrong.is_empty()
                    && !self.queue().borrow().is_empty()
                    && !self.is_suspending()
                {
                    turns.want_command(self.chip);
                }
            }
            drop(turn);
        }
        // Once the registers of the other planes are empty.
        for index in wrong {
            let waiting = &set[index];
            let corrected = self.retry(&waiting.operation).await;
            let fault = (!corrected).then_some(Fault::Uncorrectable(waiting.operation.page));
            self.read_over(waiting, fault);
        }
    }

    #[inline]
    fn read_over(&self, waiting: &Waiting<Read>, fault: Option<Fault>) {
        let origin = waiting.operation.origin;
        self.schedule.note_served(Kind::Read, origin, waiting.since);
        self.schedule.settle(waiting.notify, fault);
    }

    #[inline]
    fn count_reads(&self, set: &Set<Read>) {
        self.schedule.count(|counts| {
            counts.page_reads += set.len() as u64;
            counts.multi_plane_reads += u64::from(set.len() > 1);
        });
    }

    /// Adds the ones among the first bits of a C-latch; whether they are of worth.
    pub(super) fn count_latch(&self, plane: PlaneId, bits: u64, ones: &Cell<u64>) -> PageStatus {
        let nand = self.schedule.nand.borrow();
        let counted = nand.count_ones(plane, bits);
        let counted = counted.map(|counted| ones.set(ones.get() + counted));
        let status = counted.and_then(|()| nand.page_status(plane));
        status.unwrap_or(PageStatus::Uncorrectable)
    }

    /// Moves part of a C-latch to a buffer; whether it is of worth.
    #[inline]
    pub(super) fn latch_out(
        &self,
        plane: PlaneId,
        column: usize,
        into: BufferId,
        range: Range<usize>,
    ) -> PageStatus {
        let nand = self.schedule.nand.borrow();
        let moved = move_out(
            &nand,
            (plane, column),
            &self.schedule.buffers,
            (into, range),
        );
        let status = moved.and_then(|()| nand.page_status(plane));
        status.unwrap_or(PageStatus::Uncorrectable)
    }
}
