//! `fc_read`: an expression over vectors, evaluated and sent to the host, or counted.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use media::nand::Command;
use nvme::command::FcRead;
use nvme::{Expression, SegmentList};
use sim::Time;

use super::error::Failure;
use super::locks::Access;
use super::recipe::{Instruction, Recipe};
use super::{Bits, ExecuteError, Pages};
use crate::bits::combine::{count_ones, invert, mask_tail};
use crate::bits::command::command;
use crate::bits::engine::Engine;
use crate::bits::placement::DieBatch;
use crate::bits::plan::{Plan, Source};
use crate::schedule::{Compute, Ticket};

/// Pages of each plane that are on their way from the array at the same time.
const FETCHES_AHEAD: usize = 2;

/// One evaluation, shared by its lanes.
struct ReadJob {
    bits: Rc<Bits>,
    plan: Plan,
    recipe: Recipe,
    segments: SegmentList,
    part: Part,
    /// Fetched pages wait in the accelerator's buffer.
    through_accelerator: bool,
    count_only: bool,
    ones: Cell<u64>,
    failed: Cell<Option<Failure>>,
}

/// What of the vectors is evaluated.
#[derive(Clone)]
struct Part {
    chunks: Range<u64>,
    /// Where it ends, in bits of the vectors.
    end: u64,
}

impl Part {
    /// What a command asks for of vectors of `stored` bits, in chunks of `page_bits`.
    fn of(command: &FcRead, stored: u64, page_bits: u64) -> Result<Part, ExecuteError> {
        let asked = command.bits;
        let start = command.part.map_or(0, |page| u64::from(page) * page_bits);
        let end = start.checked_add(asked).filter(|end| *end <= stored);
        let whole = command.part.is_some() || asked == stored;
        let Some(end) = end.filter(|_| whole) else {
            return Err(ExecuteError::Length { asked, stored });
        };
        let chunks = start / page_bits..end.div_ceil(page_bits);
        Ok(Part { chunks, end })
    }
}

/// A page of each plane that is on its way from the array.
struct Fetch<'a> {
    ticket: Ticket<'a>,
    pages: Pages<'a>,
}

/// A page of each plane of a batch.
enum Value<'a> {
    /// Nobody else's.
    Own(Pages<'a>),
    /// Of this program, needed again.
    Kept(usize),
}

impl Bits {
    /// Evaluates an expression into host memory; gives how many of the result's bytes are still to
    /// cross the link, which is nothing but a count. What is computed without stored data is zero.
    ///
    /// # Errors
    /// An expression that is none, unknown vectors or such of other lengths, host memory that is
    /// not there, or flash that lost data.
    pub async fn evaluate(self: &Rc<Bits>, command: &FcRead) -> Result<u64, ExecuteError> {
        let expression = self.fetch_expression(command).await?;
        let mut groups: Vec<u32> = expression.vectors().iter().map(|id| id.group).collect();
        groups.dedup();
        let _lock = self.locks.lock(groups, Access::Read).await;
        let plan = self.plan(&expression, engine_of(command.engine))?;
        let part = Part::of(command, plan.bits, self.page_bytes() * 8)?;
        let located = self.transfer.locate(&command.data, command.data_bytes());
        let segments = located.await.map_err(ExecuteError::Host)?;
        let ones = self
            .run(plan, part, segments.clone(), command.count_only)
            .await?;
        if !command.count_only {
            return Ok(0);
        }
        let written = self.transfer.write(&segments, &ones.to_le_bytes());
        written.map_err(ExecuteError::Host)?;
        Ok(command.data_bytes())
    }

    async fn fetch_expression(&self, command: &FcRead) -> Result<Expression, ExecuteError> {
        self.transfer
            .fetch_bytes(u64::from(command.expression_bytes))
            .await;
        let mut bytes = vec![0; command.expression_bytes as usize];
        let read = self.transfer.read(command.expression_address, &mut bytes);
        read.map_err(ExecuteError::Host)?;
        Ok(Expression::decode(&bytes)?)
    }

    /// Carries out a plan, every die for itself; gives the number of ones if they are counted.
    async fn run(
        self: &Rc<Bits>,
        plan: Plan,
        part: Part,
        segments: SegmentList,
        count_only: bool,
    ) -> Result<u64, Failure> {
        let lanes = self.groups.borrow().layout().lanes(part.chunks.clone());
        let recipe = Recipe::new(&plan, count_only);
        self.count_evaluation(&plan, part.chunks.end - part.chunks.start);
        let job = Rc::new(ReadJob {
            bits: self.clone(),
            through_accelerator: recipe.uses_accelerator(),
            plan,
            recipe,
            segments,
            part,
            count_only,
            ones: Cell::new(0),
            failed: Cell::new(None),
        });
        let tasks: Vec<_> = lanes
            .map(|lane| self.sim.spawn(job.clone().read_lane(lane)))
            .collect();
        for task in tasks {
            task.await;
        }
        job.failed.get().map_or(Ok(job.ones.get()), Err)
    }

    fn count_evaluation(&self, plan: &Plan, chunks: u64) {
        let alone = matches!(plan.root, Source::Constant(_) | Source::Array(_));
        let senses = plan.senses() as u64 * chunks;
        self.count(|counts| {
            counts.evaluations += 1;
            counts.page_transfers += plan.page_transfers() as u64 * chunks;
            match plan.engine {
                Engine::FlashCosmos => counts.flash_cosmos_senses += senses,
                Engine::ParaBit => counts.parabit_senses += senses,
                Engine::InStorage => counts.in_storage_senses += senses,
            }
            counts.controller_fallbacks += u64::from(!alone && plan.engine != Engine::InStorage);
        });
    }

    /// Lets the accelerator take in `pages` pages for each chunk of a batch.
    async fn accelerate(&self, pages: u64, batch: &DieBatch) {
        let bytes = pages * batch.len() as u64 * self.page_bytes();
        if bytes > 0 {
            self.count(|counts| counts.accelerator_bytes += bytes);
            self.accelerator.take_in(bytes).await;
        }
    }
}

/// The engine that a command names.
fn engine_of(engine: nvme::command::Engine) -> Engine {
    match engine {
        nvme::command::Engine::FlashCosmos => Engine::FlashCosmos,
        nvme::command::Engine::ParaBit => Engine::ParaBit,
        nvme::command::Engine::InStorage => Engine::InStorage,
    }
}

impl ReadJob {
    /// Evaluates the chunks of one die.
    async fn read_lane(self: Rc<ReadJob>, lane: u32) {
        let mut fetches = Fetches::new(&self, lane);
        let outcome = self.try_lane(lane, &mut fetches).await;
        if let Err(failure) = outcome {
            self.failed.set(self.failed.get().or(Some(failure)));
            // What is on its way must not meet buffers that somebody else has by then.
            fetches.drain().await;
        }
    }

    async fn try_lane<'a>(&'a self, lane: u32, fetches: &mut Fetches<'a>) -> Result<(), Failure> {
        let chunks = self.part.chunks.clone();
        let batches = self.bits.groups.borrow().layout().lane(lane, chunks);
        let mut sent = Time::ZERO;
        for batch in batches {
            if let Some(failure) = self.failed.get() {
                return Err(failure);
            }
            let result = self.evaluate_batch(&batch, fetches).await?;
            if !self.count_only {
                // The result before has left its buffers when this one asks for the link.
                self.bits.sim.sleep_until(sent).await;
                sent = self.send(&batch, &result)?;
            }
        }
        Ok(())
    }

    /// Follows the recipe for one batch.
    async fn evaluate_batch<'a>(
        &'a self,
        batch: &DieBatch,
        fetches: &mut Fetches<'a>,
    ) -> Result<Pages<'a>, Failure> {
        let mut kept: Vec<Option<Pages<'a>>> = Vec::new();
        let mut stack: Vec<Value<'a>> = Vec::with_capacity(2);
        for instruction in &self.recipe.instructions {
            match *instruction {
                Instruction::Fetch {
                    program,
                    keep,
                    operand,
                } => {
                    let pages = fetches.next().await?;
                    if operand {
                        self.bits.accelerate(1, batch).await;
                        self.give_room(batch.len());
                    }
                    if keep {
                        kept.resize_with(kept.len().max(program + 1), || None);
                        kept[program] = Some(pages);
                        stack.push(Value::Kept(program));
                    } else {
                        stack.push(Value::Own(pages));
                    }
                }
                Instruction::Again { program } => stack.push(Value::Kept(program)),
                Instruction::Constant(value) => {
                    stack.push(Value::Own(self.constant(value, batch)));
                }
                Instruction::Not { due } => {
                    self.bits.accelerate(due, batch).await;
                    let pages = self.own(pop(&mut stack), &kept, batch);
                    for page in &pages {
                        self.bits.buffers.with_mut(page.id(), invert);
                    }
                    stack.push(Value::Own(pages));
                }
                Instruction::Combine { gate, due } => {
                    self.bits.accelerate(due, batch).await;
                    let operand = pop(&mut stack);
                    let pages = self.own(pop(&mut stack), &kept, batch);
                    for (operand, into) in look(&operand, &kept).iter().zip(&pages) {
                        let buffers = &self.bits.buffers;
                        buffers.with_pair(operand.id(), into.id(), |operand, into| {
                            gate.apply(operand, into);
                        });
                    }
                    stack.push(Value::Own(pages));
                }
                Instruction::Count { due } => {
                    self.bits.accelerate(due, batch).await;
                    let pages = self.own(pop(&mut stack), &kept, batch);
                    self.count_ones(batch, &pages);
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

    fn constant(&self, value: bool, batch: &DieBatch) -> Pages<'_> {
        let pages = self.bits.take_pages(batch);
        for page in &pages {
            self.bits.buffers.with_mut(page.id(), |page| {
                page.fill(if value { u8::MAX } else { 0 });
            });
        }
        pages
    }

    fn give_room(&self, pages: usize) {
        self.bits.accelerator.room().release(pages as u64);
    }

    /// Bits of the part from the first of `chunk` on.
    fn bits_from(&self, chunk: u64) -> u64 {
        self.part.end - chunk * self.bits.page_bytes() * 8
    }

    fn count_ones(&self, batch: &DieBatch, pages: &Pages<'_>) {
        for (&chunk, page) in batch.iter().zip(pages) {
            let ones = self.bits.buffers.with_mut(page.id(), |page| {
                mask_tail(page, self.bits_from(chunk));
                count_ones(page)
            });
            self.ones.set(self.ones.get() + ones.unwrap_or(0));
        }
    }

    /// Sends a batch of the result to the host; gives the instant of its arrival.
    fn send(&self, batch: &DieBatch, pages: &Pages<'_>) -> Result<Time, Failure> {
        let (bits, page_bytes) = (&self.bits, self.bits.page_bytes());
        let mut total = 0;
        for (&chunk, page) in batch.iter().zip(pages) {
            let left = self.bits_from(chunk);
            let bytes = left.div_ceil(8).min(page_bytes);
            if left < page_bytes * 8 {
                bits.buffers
                    .with_mut(page.id(), |page| mask_tail(page, left));
            }
            let (offset, part) = (chunk - self.part.chunks.start, 0..bytes as usize);
            bits.transfer
                .copy_out(&self.segments, offset * page_bytes, page.id(), part)
                .map_err(Failure::Host)?;
            total += bytes;
        }
        Ok(bits.transfer.post_bytes(total))
    }

    /// The commands of a program for a batch.
    fn commands(&self, program: usize, batch: &DieBatch) -> Rc<[Command]> {
        let groups = self.bits.groups.borrow();
        let commands = self.plan.programs[program]
            .steps
            .iter()
            .map(|step| command(step, &groups, batch));
        let commands: Option<Rc<[Command]>> = commands.collect();
        commands.expect("the strings of vectors stay while their group is locked")
    }
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
        Value::Kept(program) => kept[*program]
            .as_ref()
            .expect("a page is fetched before it is named again"),
    }
}

/// The pages of one lane on their way from the array, in the order of the recipe, batch after batch.
struct Fetches<'a> {
    job: &'a ReadJob,
    batches: Box<dyn Iterator<Item = DieBatch>>,
    batch: DieBatch,
    /// Place in the recipe's order of the program fetched next.
    next: usize,
    flying: VecDeque<Fetch<'a>>,
}

impl<'a> Fetches<'a> {
    fn new(job: &'a ReadJob, lane: u32) -> Fetches<'a> {
        let chunks = job.part.chunks.clone();
        let batches = job.bits.groups.borrow().layout().lane(lane, chunks);
        Fetches {
            job,
            batches: Box::new(batches),
            batch: DieBatch::new(),
            next: job.recipe.order.len(),
            flying: VecDeque::with_capacity(FETCHES_AHEAD),
        }
    }

    /// Waits for the next page.
    async fn next(&mut self) -> Result<Pages<'a>, Failure> {
        self.top_up();
        let fetch = self
            .flying
            .pop_front()
            .expect("there are as many fetches as the recipe takes");
        let pages = fetch.pages;
        if let Err(fault) = fetch.ticket.await {
            self.forget(pages.len());
            return Err(Failure::Flash(fault));
        }
        self.top_up();
        Ok(pages)
    }

    /// Starts fetches until enough are on their way.
    fn top_up(&mut self) {
        while self.flying.len() < FETCHES_AHEAD {
            let order = &self.job.recipe.order;
            if self.next == order.len() {
                let Some(batch) = self.batches.next().filter(|_| !order.is_empty()) else {
                    return;
                };
                (self.batch, self.next) = (batch, 0);
            }
            let fetch = self.start(order[self.next]);
            self.flying.push_back(fetch);
            self.next += 1;
        }
    }

    fn start(&self, program: usize) -> Fetch<'a> {
        let bits = &self.job.bits;
        let pages = bits.take_pages(&self.batch);
        let groups = bits.groups.borrow();
        let planes = self.batch.iter().map(|&chunk| groups.layout().plane(chunk));
        let outputs = planes.zip(&pages).map(|(plane, page)| (plane, page.id()));
        let room = self.job.through_accelerator;
        let compute = Compute {
            steps: self.job.commands(program, &self.batch),
            outputs: outputs.collect(),
            room: room.then(|| bits.accelerator.room().clone()),
        };
        let ticket = bits.schedule.ticket();
        bits.schedule
            .push(bits.die_of(&self.batch), compute, ticket.id().into());
        Fetch { ticket, pages }
    }

    /// Waits for what is on its way and forgets it.
    async fn drain(&mut self) {
        while let Some(fetch) = self.flying.pop_front() {
            let pages = fetch.pages;
            // The evaluation has failed already.
            let _ = fetch.ticket.await;
            self.forget(pages.len());
        }
    }

    /// Gives back the room of pages that nobody takes in.
    fn forget(&self, pages: usize) {
        if self.job.through_accelerator {
            self.job.give_room(pages);
        }
    }
}
