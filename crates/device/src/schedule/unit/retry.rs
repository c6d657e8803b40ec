//! Read retry: a page whose code gives up is sensed again and again with lower read references, which
//! follow the cells that leaked (Flash-Cosmos 2.2), until it can be corrected or the levels are used up.

use media::nand::{Command, DieId, Feature, NandError, PageStatus};
use sim::Span;

use super::Unit;
use super::trace::{Moved, Purpose};
use crate::schedule::operation::Read;
use crate::schedule::origin::Origin;
use crate::schedule::turns::{Turn, Visit};

impl Unit {
    /// Reads a page again; whether it could be corrected, and then what was asked for has come out of
    /// its register. Afterwards the references are where they were.
    #[cold]
    pub(super) async fn retry(&self, read: &Read) -> bool {
        let die = self.schedule.geometry.die_of_block(read.page.block);
        let mut level = 0;
        let mut corrected = false;
        while !corrected && level < self.retries_max {
            level += 1;
            self.schedule.count(|counts| counts.read_retries += 1);
            match self.read_at_level(die, read, level).await {
                Ok(status) => corrected = status == PageStatus::Ok,
                Err(error) => {
                    debug_assert!(false, "the firmware sent an illegal command: {error}");
                    break;
                }
            }
        }
        if level > 0 {
            let restored = self.set_reference(die, read, 0).await;
            debug_assert!(restored.is_ok(), "the die is idle: {restored:?}");
        }
        self.schedule.count(|counts| {
            counts.pages_retried += 1;
            counts.pages_given_up += u64::from(!corrected);
        });
        corrected
    }

    /// Senses a page with references lowered by so many steps, and moves out what was asked for.
    async fn read_at_level(
        &self,
        die: DieId,
        read: &Read,
        level: u32,
    ) -> Result<PageStatus, NandError> {
        self.set_reference(die, read, level).await?;
        let command = Command::Read {
            pages: [read.page].into_iter().collect(),
            inverse: read.inverse,
        };
        self.step(die, &command, read.origin).await?;
        let turn = self.turn(Visit::data_of(read.origin)).await;
        let plane = self.schedule.geometry.plane_of_block(read.page.block);
        self.move_data(Moved {
            requester: read.origin.requester(),
            purpose: Purpose::Read,
            plane,
            setup: self.data_out_setup,
            bytes: u64::from(read.bytes),
        })
        .await;
        drop(turn);
        let range = read.at as usize..(read.at + read.bytes) as usize;
        Ok(self.latch_out(plane, read.column as usize, read.into, range))
    }

    async fn set_reference(&self, die: DieId, read: &Read, level: u32) -> Result<(), NandError> {
        let command = Command::SetFeature {
            feature: Feature::ReadReference,
            value: level,
        };
        self.step(die, &command, read.origin).await
    }

    /// One more command of a sequence, from its cycles to its end.
    pub(super) async fn step(
        &self,
        die: DieId,
        command: &Command,
        origin: Origin,
    ) -> Result<(), NandError> {
        let turn = self.turn(Visit::Continuation).await;
        let span: Span = self.span_of(command);
        self.send_and_execute(die, command, span, turn, &[origin.requester()])
            .await
            .map(|_| ())
    }

    /// A turn on the channel, where chips take turns.
    pub(super) async fn turn(&self, visit: Visit) -> Option<Turn<'_>> {
        match &self.turns {
            Some(turns) => Some(turns.visit(self.chip, visit, false).await),
            None => None,
        }
    }
}
