//! `fc_write`: a vector from host memory into the strings of its group.

use std::cell::Cell;
use std::rc::Rc;

use nvme::command::FcWrite;
use nvme::{SegmentList, Status};

use super::error::Failure;
use super::locks::{Access, lock};
use super::{Bits, Blocks, ExecuteError, Pages};
use crate::bits::BitsError;
use crate::bits::combine::{invert, mask_tail};
use crate::bits::placement::{DieBatch, Layout, PendingWrite, VectorPlacement, VectorSpare};
use crate::memory::Purpose;
use crate::schedule::{Fault, Origin, Ticket};

/// How often a vector is placed anew after a program of one of its pages failed.
const PLACEMENTS_MAX: u32 = 8;

/// One attempt to write a vector, shared by its lanes.
struct WriteJob {
    bits: Rc<Bits>,
    segments: SegmentList,
    layout: Layout,
    placement: VectorPlacement,
    chunks: u64,
    /// The record of chunk 0; those of the others differ in the chunk only.
    record: VectorSpare,
    origin: Origin,
    failed: Cell<Option<Failure>>,
}

impl Bits {
    /// Writes a vector. When this returns, it is on flash; if it fails or the power is cut before,
    /// what was stored under its name is as it was.
    ///
    /// # Errors
    /// A length that does not fit its group, a group without room, host memory that is not there,
    /// or flash that keeps failing.
    pub async fn write(
        self: &Rc<Bits>,
        command: &FcWrite,
        origin: Origin,
    ) -> Result<(), ExecuteError> {
        let located = self
            .port
            .locate(origin.tenant, &command.data, command.data_bytes());
        let segments = located.await.map_err(ExecuteError::Host)?;
        let mut placements = 0;
        loop {
            let held = lock(&self.locks, [command.vector.group], Access::Write).await;
            let placed = self.place(command);
            let failure = match placed {
                Ok(write) => match self.program_all(&write, &segments, origin).await {
                    Ok(()) => {
                        self.groups.borrow_mut().commit(write);
                        drop(held);
                        self.count(|counts| counts.vectors_written += 1);
                        self.reclaim_later();
                        return Ok(());
                    }
                    Err(failure) => {
                        // The layer is lost, in all its strings.
                        self.groups.borrow_mut().abandon(write);
                        placements += 1;
                        failure
                    }
                },
                // Blocks that are being erased or lent may be what is missing; they must not wait for us.
                Err(BitsError::OutOfBlocks { .. }) if self.blocks_will_come() => {
                    drop(held);
                    self.reclaimed.next().await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            drop(held);
            self.reclaim_later();
            let again = matches!(failure, Failure::Flash(Fault::ProgramFailed(_)));
            if !again || placements == PLACEMENTS_MAX {
                return Err(failure.into());
            }
            self.count(|counts| counts.write_retries += 1);
        }
    }

    fn place(&self, command: &FcWrite) -> Result<PendingWrite, BitsError> {
        let mut groups = self.groups.borrow_mut();
        groups.place_at(
            &mut Blocks(&self.ftl),
            command.home,
            command.vector,
            command.bits,
            command.store_inverse,
        )
    }

    /// Programs all pages of a vector, every die for itself.
    async fn program_all(
        self: &Rc<Bits>,
        write: &PendingWrite,
        segments: &SegmentList,
        origin: Origin,
    ) -> Result<(), Failure> {
        let layout = self
            .groups
            .borrow()
            .layout_of(write.placement.row_set)
            .clone();
        let lanes = layout.lanes(0..write.chunks);
        let job = Rc::new(WriteJob {
            bits: self.clone(),
            layout,
            segments: segments.clone(),
            placement: write.placement,
            chunks: write.chunks,
            record: self.groups.borrow().record(write, 0),
            origin,
            failed: Cell::new(None),
        });
        let tasks: Vec<_> = lanes
            .map(|lane| self.sim.spawn(job.clone().write_lane(lane)))
            .collect();
        for task in tasks {
            task.await;
        }
        job.failed.get().map_or(Ok(()), Err)
    }

    /// Programs the record that a vector is deleted.
    pub(super) async fn program_record(
        &self,
        write: &PendingWrite,
        origin: Origin,
    ) -> Result<(), Fault> {
        let _room = self.buffers.room(Purpose::Record).await;
        let blank = self.buffers.take();
        self.buffers.with_mut(blank.id(), |page| page.fill(u8::MAX));
        let (page, record) = {
            let groups = self.groups.borrow();
            (groups.page(&write.placement, 0), groups.record(write, 0))
        };
        let page = page.expect("the strings of a reserved layer have all their blocks");
        self.count(|counts| counts.page_programs += 1);
        let ticket = self.schedule.ticket();
        self.push_program(page, &record, blank.id(), origin, &ticket);
        ticket.await
    }
}

impl WriteJob {
    /// Programs the chunks of one die, fetching each batch while the one before is programmed.
    async fn write_lane(self: Rc<WriteJob>, lane: u32) {
        if let Err(failure) = self.try_lane(lane).await {
            self.failed.set(self.failed.get().or(Some(failure)));
        }
    }

    async fn try_lane(&self, lane: u32) -> Result<(), Failure> {
        // One batch is fetched while the one before is programmed.
        let planes = self.layout.geometry().planes_per_die;
        let _room = self.bits.buffers.rooms(2 * planes).await;
        let batches = self.layout.lane(lane, 0..self.chunks);
        let mut running: Option<(Ticket<'_>, Pages<'_>)> = None;
        for batch in batches {
            if self.failed.get().is_some() {
                break;
            }
            let pages = self.fetch(&batch).await;
            // The programs before are over before these begin, and before an error ends the lane.
            if let Some((ticket, _)) = running.take() {
                ticket.await.map_err(Failure::Flash)?;
            }
            running = Some(self.start(&batch, pages.map_err(Failure::Host)?));
        }
        match running {
            Some((ticket, _)) => ticket.await.map_err(Failure::Flash),
            None => Ok(()),
        }
    }

    /// Brings the chunks of a batch from host memory into buffers, as they are to be stored.
    async fn fetch(&self, batch: &DieBatch) -> Result<Pages<'_>, Status> {
        let (bits, page_bytes) = (&self.bits, self.bits.page_bytes());
        let data_bytes = self.placement.bits.div_ceil(8);
        let length = |chunk: u64| page_bytes.min(data_bytes - chunk * page_bytes);
        let total = batch.iter().map(|&chunk| length(chunk)).sum();
        bits.port.fetch_bytes(self.origin.tenant, total).await;
        let pages = bits.take_pages(batch);
        for (&chunk, page) in batch.iter().zip(&pages) {
            let (offset, part) = (chunk * page_bytes, 0..length(chunk) as usize);
            bits.port.copy_in(&self.segments, offset, page.id(), part)?;
            bits.buffers.with_mut(page.id(), |page| {
                mask_tail(page, self.placement.bits - offset * 8);
                if self.placement.inverse {
                    invert(page);
                }
            });
        }
        Ok(pages)
    }

    /// Begins to program a batch.
    fn start<'a>(&'a self, batch: &DieBatch, pages: Pages<'a>) -> (Ticket<'a>, Pages<'a>) {
        let (bits, groups) = (&self.bits, self.bits.groups.borrow());
        let ticket = bits.schedule.ticket();
        for (&chunk, buffer) in batch.iter().zip(&pages) {
            let page = groups.page(&self.placement, chunk);
            let page = page.expect("the strings of a reserved layer have all their blocks");
            let record = VectorSpare {
                chunk: chunk as u32,
                ..self.record
            };
            bits.push_program(page, &record, buffer.id(), self.origin, &ticket);
        }
        bits.count(|counts| counts.page_programs += batch.len() as u64);
        (ticket, pages)
    }
}
