//! One stage of an evaluation: a plan carried out chunk by chunk, a task for each die, and what
//! becomes of the result's pages.

use std::cell::Cell;
use std::rc::Rc;

use nvme::SegmentList;
use sim::{JoinHandle, Time};

use super::error::Failure;
use super::fetch::{Fetched, Fetches};
use super::receive::{NotReceived, Receive};
use super::{Bits, Pages};
use crate::bits::classes::DieShare;
use crate::bits::combine::{count_ones, invert, mask_tail};
use crate::bits::plan::{Plan, Source};
use crate::bits::recipe::{Gate, Instruction, Recipe};
use crate::bits::work::Work;
use crate::memory::BufferId;
use crate::region::DieBatch;
use crate::schedule::{Origin, Ticket};

/// What becomes of the pages of a result.
#[derive(Clone)]
pub(super) enum Sink {
    /// They go to host memory.
    Host(SegmentList),
    /// Their ones are counted.
    Count,
    /// They are programmed into this layer of strings that were lent.
    Strings { layer: u32, inverse: bool },
    /// Somebody within the drive takes them.
    Within(Rc<dyn Receive>),
}

/// One stage, shared by the tasks of its dies.
pub(super) struct Stage {
    pub(super) bits: Rc<Bits>,
    pub(super) plan: Plan,
    pub(super) recipe: Recipe,
    pub(super) work: Rc<Work>,
    /// Bits of the whole result, of which the chunks of the work are a part.
    bits_in_all: u64,
    /// Fetched pages wait in the accelerator's buffer.
    pub(super) through_accelerator: bool,
    pub(super) fetches_ahead: usize,
    pub(super) origin: Origin,
    /// Page buffers that the task of a die has at a time.
    buffers: u32,
    sink: Sink,
    ones: Cell<u64>,
    differing: Cell<u64>,
    failed: Cell<Option<Failure>>,
}

/// A page of each plane of a batch.
enum Value<'a> {
    /// Nobody else's.
    Own(Pages<'a>),
    /// Of this computation, needed again.
    Kept(usize),
}

/// A batch of results on its way to flash.
struct Programming<'a> {
    programs: Programs<'a>,
    /// Its buffers, in use until these are over.
    _pages: Pages<'a>,
}

enum Programs<'a> {
    /// Of strings that were lent.
    Lent(Ticket<'a>),
    /// Of who takes the pages.
    Received(Vec<JoinHandle<Result<(), NotReceived>>>),
}

impl Stage {
    /// The stage that carries out `plan`; its result is compared with what `check` makes of the
    /// pages, if that is given. Pages that come `across` from several dies come in any order: were they to wait in the
    /// accelerator's small buffer, each could keep out the page that the task of another die waits for.
    pub(super) fn new(
        bits: &Rc<Bits>,
        work: &Rc<Work>,
        plan: Plan,
        check: Option<&Source>,
        (bits_in_all, across): (u64, bool),
        (sink, origin): (Sink, Origin),
    ) -> Rc<Stage> {
        let recipe = Recipe::new(&plan, matches!(sink, Sink::Count), check, across);
        let programs = matches!(sink, Sink::Strings { .. } | Sink::Within(_));
        let planes = bits.schedule.geometry().planes_per_die;
        let most = bits.buffers.most_at_once();
        let ahead = recipe.fetches_ahead(across, programs, planes, most);
        Rc::new(Stage {
            bits: bits.clone(),
            through_accelerator: recipe.uses_accelerator(),
            fetches_ahead: ahead.fetches as usize,
            buffers: ahead.buffers,
            plan,
            recipe,
            work: work.clone(),
            bits_in_all,
            origin,
            sink,
            ones: Cell::new(0),
            differing: Cell::new(0),
            failed: Cell::new(None),
        })
    }

    /// Ones counted so far.
    pub(super) fn ones(&self) -> u64 {
        self.ones.get()
    }

    /// Bits in which the result and the second one differ, so far.
    pub(super) fn differing(&self) -> u64 {
        self.differing.get()
    }

    /// What stopped a die's share, if anything did.
    pub(super) fn failed(&self) -> Option<Failure> {
        self.failed.get()
    }

    /// Evaluates the chunks of one die.
    pub(super) async fn run_share(&self, share: &DieShare) {
        let most = self.bits.buffers.most_at_once();
        if self.buffers > most {
            let needed = self.buffers;
            return self.failed.set(Some(Failure::Buffers { needed, most }));
        }
        let _room = self.bits.buffers.rooms(self.buffers).await;
        let mut fetches = Fetches::new(self, share);
        let outcome = self.try_share(share, &mut fetches).await;
        if let Err(failure) = outcome {
            self.failed.set(self.failed.get().or(Some(failure)));
            // What is on its way must not come to buffers that somebody else has by then.
            fetches.drain().await;
        }
    }

    async fn try_share<'a>(
        &'a self,
        share: &DieShare,
        fetches: &mut Fetches<'a>,
    ) -> Result<(), Failure> {
        let mut sent = Time::ZERO;
        let mut programming: Option<Programming<'a>> = None;
        let mut outcome = Ok(());
        for batch in &share.batches {
            outcome = match self.failed.get() {
                Some(failure) => Err(failure),
                None => match self.evaluate_batch(batch, fetches).await {
                    Ok(result) => {
                        self.deliver(batch, result, &mut sent, &mut programming)
                            .await
                    }
                    Err(failure) => Err(failure),
                },
            };
            if outcome.is_err() {
                break;
            }
        }
        // Whatever happened, the buffers are in use until their programs are over.
        let over = over(programming).await;
        outcome.and(over)
    }

    /// Does with a batch of the result what is to be done.
    async fn deliver<'a>(
        &'a self,
        batch: &DieBatch,
        result: Pages<'a>,
        sent: &mut Time,
        programming: &mut Option<Programming<'a>>,
    ) -> Result<(), Failure> {
        match &self.sink {
            Sink::Count => Ok(()),
            Sink::Host(segments) => {
                // The result before has left its buffers when this one asks for the link.
                self.bits.sim.sleep_until(*sent).await;
                *sent = self.send(batch, &result, segments)?;
                Ok(())
            }
            &Sink::Strings { layer, inverse } => {
                over(programming.take()).await?;
                if inverse {
                    self.invert(&result);
                }
                *programming = Some(self.start_program(batch, result, layer));
                Ok(())
            }
            Sink::Within(receiver) => {
                over(programming.take()).await?;
                *programming = Some(self.give(batch, result, receiver));
                Ok(())
            }
        }
    }

    /// Follows the recipe for one batch.
    async fn evaluate_batch<'a>(
        &'a self,
        batch: &DieBatch,
        fetches: &mut Fetches<'a>,
    ) -> Result<Pages<'a>, Failure> {
        let mut kept: Vec<Option<Pages<'a>>> = Vec::new();
        let mut stack: Vec<Value<'a>> = Vec::with_capacity(2);
        let mut counted = None;
        for instruction in &self.recipe.instructions {
            match *instruction {
                Instruction::Fetch {
                    computation,
                    keep,
                    operand,
                } => {
                    let Fetched { pages, ones } = fetches.next().await?;
                    counted = ones;
                    if operand {
                        self.accelerate(1, batch).await;
                        self.give_room(batch.len());
                    }
                    if keep {
                        kept.resize_with(kept.len().max(computation + 1), || None);
                        kept[computation] = Some(pages);
                        stack.push(Value::Kept(computation));
                    } else {
                        stack.push(Value::Own(pages));
                    }
                }
                Instruction::Again { computation } => stack.push(Value::Kept(computation)),
                Instruction::Constant(value) => {
                    stack.push(Value::Own(self.constant(value, batch)));
                }
                Instruction::Not { due } => {
                    self.accelerate(due, batch).await;
                    let pages = self.own(pop(&mut stack), &kept, batch);
                    self.invert(&pages);
                    stack.push(Value::Own(pages));
                }
                Instruction::Combine { gate, due } => {
                    self.accelerate(due, batch).await;
                    let operand = pop(&mut stack);
                    let pages = self.own(pop(&mut stack), &kept, batch);
                    self.combine(gate, look(&operand, &kept), &pages);
                    stack.push(Value::Own(pages));
                }
                Instruction::Compare { due } => {
                    self.accelerate(due, batch).await;
                    let second = pop(&mut stack);
                    let pages = self.own(pop(&mut stack), &kept, batch);
                    self.count_differing(batch, &pages, look(&second, &kept));
                    stack.push(Value::Own(pages));
                }
                Instruction::Count { due } => {
                    self.accelerate(due, batch).await;
                    let pages = self.own(pop(&mut stack), &kept, batch);
                    let ones = counted.unwrap_or_else(|| self.count_ones(batch, &pages));
                    self.ones.set(self.ones.get() + ones);
                    stack.push(Value::Own(pages));
                }
            }
        }
        Ok(self.own(pop(&mut stack), &kept, batch))
    }

    /// The pages of a value, to be changed: a copy of those that are needed again.
    fn own<'a>(
        &'a self,
        value: Value<'a>,
        kept: &[Option<Pages<'a>>],
        batch: &DieBatch,
    ) -> Pages<'a> {
        if let Value::Own(pages) = value {
            return pages;
        }
        let copy = self.bits.take_pages(batch);
        for (from, into) in look(&value, kept).iter().zip(&copy) {
            self.bits
                .buffers
                .with_pair(from.id(), into.id(), |from, into| {
                    into.copy_from_slice(from)
                });
        }
        copy
    }

    fn invert(&self, pages: &Pages<'_>) {
        for page in pages {
            self.bits.buffers.with_mut(page.id(), invert);
        }
    }

    /// Combines pages with those of an operand.
    fn combine(&self, gate: Gate, operand: &Pages<'_>, pages: &Pages<'_>) {
        let buffers = &self.bits.buffers;
        for (operand, into) in operand.iter().zip(pages) {
            buffers.with_pair(operand.id(), into.id(), |operand, into| {
                gate.apply(operand, into);
            });
        }
    }

    /// Lets the accelerator take in `pages` pages for each chunk of a batch.
    async fn accelerate(&self, pages: u64, batch: &DieBatch) {
        let bytes = pages * batch.len() as u64 * self.bits.page_bytes();
        if bytes > 0 {
            self.bits.count(|counts| counts.accelerator_bytes += bytes);
            let accelerator = &self.bits.accelerator;
            accelerator.take_in(self.origin.tenant, bytes).await;
        }
    }

    fn constant(&self, value: bool, batch: &DieBatch) -> Pages<'_> {
        let pages = self.bits.take_pages(batch);
        for page in &pages {
            self.bits.buffers.with_mut(page.id(), |page| {
                page.fill(if value { u8::MAX } else { 0 });
            });
        }
        pages
    }

    pub(super) fn give_room(&self, pages: usize) {
        self.bits.accelerator.room().release(pages as u64);
    }

    /// Bits of the result from the first of the chunk at a place on.
    pub(super) fn bits_from(&self, place: u64) -> u64 {
        self.bits_in_all - self.work.class.chunk(place) * self.bits.page_bytes() * 8
    }

    fn count_ones(&self, batch: &DieBatch, pages: &Pages<'_>) -> u64 {
        let ones = batch.iter().zip(pages).map(|(&chunk, page)| {
            self.mask_end(chunk, page.id());
            self.bits.buffers.with(page.id(), count_ones).unwrap_or(0)
        });
        ones.sum()
    }

    /// Counts the bits of the vector in which two results differ.
    fn count_differing(&self, batch: &DieBatch, pages: &Pages<'_>, second: &Pages<'_>) {
        for ((&chunk, page), second) in batch.iter().zip(pages).zip(second) {
            self.mask_end(chunk, page.id());
            let (buffers, bits) = (&self.bits.buffers, self.bits_from(chunk));
            let differing = buffers.with(page.id(), |page| {
                buffers.with(second.id(), |second| differing_bits(page, second, bits))
            });
            let differing = differing.flatten().unwrap_or(0);
            self.differing.set(self.differing.get() + differing);
        }
    }

    /// Sends a batch of the result to the host; gives the instant of its arrival.
    fn send(
        &self,
        batch: &DieBatch,
        pages: &Pages<'_>,
        segments: &SegmentList,
    ) -> Result<Time, Failure> {
        let (bits, page_bytes) = (&self.bits, self.bits.page_bytes());
        let mut total = 0;
        for (&chunk, page) in batch.iter().zip(pages) {
            let bytes = self.mask_end(chunk, page.id());
            let offset = self.work.class.chunk(chunk) * page_bytes;
            bits.port
                .copy_out(segments, offset, page.id(), 0..bytes as usize)
                .map_err(Failure::Host)?;
            total += bytes;
        }
        Ok(bits.port.post_bytes(self.origin, total))
    }

    /// Begins to program a batch of the result into strings that were lent.
    fn start_program<'a>(
        &'a self,
        batch: &DieBatch,
        pages: Pages<'a>,
        layer: u32,
    ) -> Programming<'a> {
        let bits = &self.bits;
        let ticket = bits.schedule.ticket();
        for (&place, buffer) in batch.iter().zip(&pages) {
            let page = self.work.lent_page(layer, place);
            let notify = ticket.id().into();
            bits.ftl
                .program_temporary(page, (buffer.id(), self.origin), notify);
        }
        let pages_programmed = batch.len() as u64;
        bits.count(|counts| counts.temporary_page_programs += pages_programmed);
        Programming {
            programs: Programs::Lent(ticket),
            _pages: pages,
        }
    }

    /// Begins to give a batch of the result to who takes it.
    fn give<'a>(
        &self,
        batch: &DieBatch,
        pages: Pages<'a>,
        receiver: &Rc<dyn Receive>,
    ) -> Programming<'a> {
        let given = batch.iter().zip(&pages).map(|(&place, page)| {
            let bytes = self.mask_end(place, page.id());
            let offset = self.work.class.chunk(place) * self.bits.page_bytes();
            let received = receiver.clone().receive(offset, bytes as u32, page.id());
            self.bits.sim.spawn(received)
        });
        Programming {
            programs: Programs::Received(given.collect()),
            _pages: pages,
        }
    }

    /// Clears what a page has past the end of the result; gives how many bytes of the result it has.
    fn mask_end(&self, place: u64, page: BufferId) -> u64 {
        let (left, page_bytes) = (self.bits_from(place), self.bits.page_bytes());
        if left < page_bytes * 8 {
            let buffers = &self.bits.buffers;
            buffers.with_mut(page, |page| mask_tail(page, left));
        }
        left.div_ceil(8).min(page_bytes)
    }
}

/// Waits for the programs of a batch.
async fn over(programming: Option<Programming<'_>>) -> Result<(), Failure> {
    let Some(Programming { programs, _pages }) = programming else {
        return Ok(());
    };
    match programs {
        Programs::Lent(ticket) => ticket.await.map_err(Failure::Flash),
        Programs::Received(received) => {
            // All of them use the buffers until they are over.
            let mut all = Ok(());
            for received in received {
                all = all.and(received.await);
            }
            all.map_err(|NotReceived| Failure::NotReceived)
        }
    }
}

/// In how many of their first `bits` bits two pages differ.
fn differing_bits(page: &[u8], other: &[u8], bits: u64) -> u64 {
    let whole = (bits / 8).min(page.len() as u64) as usize;
    let ones = |(a, b): (&u8, &u8)| u64::from((a ^ b).count_ones());
    let differing: u64 = page[..whole].iter().zip(&other[..whole]).map(ones).sum();
    let rest = page[whole..].first().zip(other[whole..].first());
    let mask = (1u8 << (bits % 8)) - 1;
    differing + rest.map_or(0, |(a, b)| u64::from(((a ^ b) & mask).count_ones()))
}

/// The top of the stack.
fn pop<'a>(stack: &mut Vec<Value<'a>>) -> Value<'a> {
    stack
        .pop()
        .expect("a recipe pushes what its instructions take")
}

fn look<'b, 'a>(value: &'b Value<'a>, kept: &'b [Option<Pages<'a>>]) -> &'b Pages<'a> {
    match value {
        Value::Own(pages) => pages,
        Value::Kept(computation) => kept[*computation]
            .as_ref()
            .expect("a page is fetched before it is named again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_past_the_end_of_a_vector_differ_from_nothing() {
        let (page, mut other) = ([0u8; 5], [0u8; 5]);
        other[3] = 0b0001_0001;
        other[4] = u8::MAX;
        let differing =
            [0, 24, 25, 28, 29, 33, 40, 400].map(|bits| differing_bits(&page, &other, bits));
        assert_eq!(differing, [0, 0, 1, 1, 2, 3, 10, 10]);
    }
}
