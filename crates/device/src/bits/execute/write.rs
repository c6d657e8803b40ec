//! Rows of placed pages from host memory: Write with a placement handle.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use media::link::Carries;
use nvme::{SegmentList, Status};
use sim::resource::Semaphore;

use super::error::Failure;
use super::{Bits, ExecuteError, Pages};
use crate::bits::combine::invert;
use crate::ftl::{Ftl, Lpn, PlacedPage, SoleWriter, WriteLock};
use crate::memory::{BufferId, Room};
use crate::region::{DieBatch, Handle, Spot};
use crate::schedule::{Origin, Ticket};

/// How often a page is programmed anew after its program failed.
const PROGRAMS_MAX: u32 = 8;

/// Whole chunks of logical pages to be written with a handle.
pub struct PlacedRows {
    /// The handle, which is open.
    pub handle: Handle,
    /// The pages.
    pub pages: Range<u32>,
    /// Whether the complement is stored.
    pub inverse: bool,
    /// For whom.
    pub origin: Origin,
    /// Where the data lies in host memory.
    pub segments: SegmentList,
}

/// Room for the pages of some dies.
pub struct WriteRoom<'a> {
    /// Dies that write at the same time.
    dies: u32,
    _room: Room<'a>,
}

/// One write, shared by the tasks of its dies.
struct RowsWrite {
    bits: Rc<Bits>,
    rows: PlacedRows,
    /// Dies for which there is room.
    turns: Semaphore,
    failed: Cell<Option<Failure>>,
}

/// A page on its way, the ticket of its program, and how often it was tried.
struct Flying<'a> {
    placed: PlacedPage,
    spot: Spot,
    ticket: Ticket<'a>,
    place: usize,
}

/// A batch on its way.
struct Batch<'a> {
    flying: Vec<Flying<'a>>,
    pages: Pages<'a>,
}

impl Bits {
    /// Waits for room for the pages of as many dies as may have it at once.
    pub async fn room_to_write(&self) -> WriteRoom<'_> {
        let geometry = self.schedule.geometry();
        // One batch is fetched while the one before is programmed.
        let each = 2 * geometry.planes_per_die;
        let dies = (self.buffers.most_at_once() / each).clamp(1, geometry.dies());
        WriteRoom {
            dies,
            _room: self.buffers.rooms(dies * each).await,
        }
    }

    /// Writes whole logical pages, which `lock` covers, where they can be sensed with those of their handle. When this
    /// returns, they are on flash; if it fails, or the power is cut before, each of them is as it was or as it was to
    /// be. Writes with one handle happen one after another, so that rows share layers.
    ///
    /// # Errors
    /// Computing's share is used up, host memory that is not there, or flash that keeps failing.
    pub async fn write(
        self: &Rc<Bits>,
        rows: PlacedRows,
        lock: &WriteLock<'_>,
        room: &WriteRoom<'_>,
    ) -> Result<(), ExecuteError> {
        debug_assert!(lock.covers(&rows.pages), "{:?} are not locked", rows.pages);
        let turn = self.turn_of(rows.handle.number());
        let _turn = turn.acquire(1).await;
        let pages = u64::from(self.unit().pages_of(rows.pages.end - rows.pages.start));
        let layout = rows.handle.layout();
        let pieces = rows.handle.rows(rows.pages.clone());
        // Of several rows each die has something, mostly; of one, those that it is spread over.
        let dies: Vec<u32> = match &pieces[..] {
            [(chunks, _)] => layout.die_numbers(chunks.clone()).collect(),
            _ => (0..layout.dies()).collect(),
        };
        let write = Rc::new(RowsWrite {
            bits: self.clone(),
            rows,
            turns: Semaphore::new(&self.sim, room.dies.into()),
            failed: Cell::new(None),
        });
        let pieces: Rc<[(Range<u64>, u32)]> = pieces.into();
        let tasks: Vec<_> = dies
            .into_iter()
            .map(|die| self.sim.spawn(write.clone().write_of(die, pieces.clone())))
            .collect();
        for task in tasks {
            task.await;
        }
        if let Some(failure) = write.failed.get() {
            return Err(failure.into());
        }
        self.count(|counts| {
            counts.rows_written += pieces.len() as u64;
            counts.pages_written += pages;
        });
        Ok(())
    }

    /// Who writes with a handle waits for this.
    fn turn_of(&self, handle: u16) -> Rc<Semaphore> {
        let mut turns = self.turns.borrow_mut();
        let turn = turns.entry(handle);
        turn.or_insert_with(|| Rc::new(Semaphore::new(&self.sim, 1)))
            .clone()
    }
}

impl RowsWrite {
    /// Programs what one die has of the rows, fetching each batch while the one before is programmed.
    async fn write_of(self: Rc<RowsWrite>, die: u32, pieces: Rc<[(Range<u64>, u32)]>) {
        if let Err(failure) = self.try_die(die, &pieces).await {
            self.failed.set(self.failed.get().or(Some(failure)));
        }
    }

    async fn try_die(&self, die: u32, pieces: &[(Range<u64>, u32)]) -> Result<(), Failure> {
        let _turn = self.turns.acquire(1).await;
        let layout = self.rows.handle.layout();
        let mut running: Option<Batch<'_>> = None;
        for (chunks, first) in pieces {
            for batch in layout.batches_of(die, chunks.clone()) {
                if self.failed.get().is_some() {
                    break;
                }
                let per_chunk = self.bits.unit().per_page();
                let lpn = |chunk: u64| first + (chunk - chunks.start) as u32 * per_chunk;
                let pages = self.fetch(&batch, &lpn).await;
                // The programs before are over before these begin, and before an error ends the task.
                if let Some(batch) = running.take() {
                    self.finish(batch).await?;
                }
                running = Some(
                    self.start(&batch, &lpn, pages.map_err(Failure::Host)?)
                        .await?,
                );
            }
        }
        match running {
            Some(batch) => self.finish(batch).await,
            None => Ok(()),
        }
    }

    /// Brings the chunks of a batch from host memory into buffers, as they are to be stored.
    async fn fetch(
        &self,
        batch: &DieBatch,
        lpn: &impl Fn(u64) -> u32,
    ) -> Result<Pages<'_>, Status> {
        let (bits, page_bytes) = (&self.bits, self.bits.page_bytes());
        bits.port
            .fetch_bytes(
                self.rows.origin,
                Carries::Data,
                batch.len() as u64 * page_bytes,
            )
            .await;
        let pages = bits.take_pages(batch);
        for (&chunk, page) in batch.iter().zip(&pages) {
            let offset = bits.unit().start(lpn(chunk) - self.rows.pages.start);
            let whole = 0..page_bytes as usize;
            bits.port
                .copy_in(&self.rows.segments, offset, page.id(), whole)?;
            if self.rows.inverse {
                bits.buffers.with_mut(page.id(), invert);
            }
        }
        Ok(pages)
    }

    /// Begins to program a batch.
    async fn start<'a>(
        &'a self,
        batch: &DieBatch,
        lpn: &impl Fn(u64) -> u32,
        pages: Pages<'a>,
    ) -> Result<Batch<'a>, Failure> {
        let mut versions = Vec::with_capacity(batch.len());
        for &chunk in batch {
            let lpn = Lpn(lpn(chunk));
            let version = self.bits.ftl.begin_placed_write(lpn).await;
            versions.push((lpn, version.map_err(Failure::Ftl)?));
        }
        let mut started = Batch {
            flying: Vec::with_capacity(batch.len()),
            pages,
        };
        for (place, (&chunk, version)) in batch.iter().zip(versions).enumerate() {
            let spot = self.rows.handle.spot(chunk);
            let from = started.pages[place].id();
            match self.push(version, &spot, from).await {
                Ok((placed, ticket)) => started.flying.push(Flying {
                    placed,
                    spot,
                    ticket,
                    place,
                }),
                Err(failure) => {
                    // Buffers are in use until the programs that were begun are over.
                    self.finish(started).await?;
                    return Err(failure);
                }
            }
        }
        Ok(started)
    }

    /// Begins to program a page, as soon as computing has a block for it.
    async fn push(
        &self,
        (lpn, version): (Lpn, u64),
        spot: &Spot,
        from: BufferId,
    ) -> Result<(PlacedPage, Ticket<'_>), Failure> {
        let (bits, rows) = (&self.bits, &self.rows);
        loop {
            let ticket = bits.schedule.ticket();
            let from = (from, rows.origin);
            let notify = ticket.id().into();
            if let Some(placed) = bits
                .ftl
                .place((lpn, version), spot, rows.inverse, from, notify)
            {
                bits.count(|counts| counts.page_programs += 1);
                return Ok((placed, ticket));
            }
            drop(ticket);
            let won = bits.ftl.win_compute_page(spot).await;
            won.map_err(Failure::Ftl)?;
        }
    }

    /// Waits for the programs of a batch; what failed is programmed anew.
    async fn finish(&self, batch: Batch<'_>) -> Result<(), Failure> {
        let Batch { flying, pages } = batch;
        let mut failed = Ok(());
        for flight in flying {
            let from = pages[flight.place].id();
            let ended = self.finish_page(flight, from).await;
            failed = failed.and(ended);
        }
        failed
    }

    async fn finish_page(&self, flying: Flying<'_>, from: BufferId) -> Result<(), Failure> {
        let Flying {
            mut placed,
            spot,
            ticket,
            ..
        } = flying;
        let mut outcome = ticket.await;
        for _ in 1..PROGRAMS_MAX {
            let done = self.bits.ftl.placed(&placed, outcome);
            if done.map_err(Failure::Ftl)? {
                return Ok(());
            }
            self.bits.count(|counts| counts.write_retries += 1);
            let (again, ticket) = self.push(Ftl::version_of(&placed), &spot, from).await?;
            (placed, outcome) = (again, ticket.await);
        }
        let done = self.bits.ftl.placed(&placed, outcome);
        match (done.map_err(Failure::Ftl)?, outcome) {
            (true, _) => Ok(()),
            (false, Err(fault)) => Err(Failure::Flash(fault)),
            (false, Ok(())) => unreachable!("only a failed program is to be tried again"),
        }
    }
}
