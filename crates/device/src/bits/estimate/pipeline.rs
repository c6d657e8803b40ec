//! The parts of a drive that an evaluation passes through, in a simulation without data: the same
//! channels and link, and dies and an accelerator that only take their time.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use media::channel::Channel;
use media::core::{Cores, Work};
use media::link::{Link, READ_REQUEST_BYTES};
use sim::resource::{Priority, Semaphore, Server};
use sim::{JoinHandle, Ledger, Sim, Simulation, Span, Tenant, Time};

use super::{COMPLETION_BYTES, COUNT_BYTES, DOORBELL_BYTES, ENTRY_BYTES, Question, Rates, Stage};
use crate::bits::engine::FETCHES_AHEAD;
use crate::bits::plan::Plan;
use crate::bits::recipe::{Instruction, Recipe};
use crate::region::{DieBatch, Layout};

/// For whom nothing is counted.
const NOBODY: Tenant = Tenant(0);

/// How long an evaluation took, and of this its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// In all.
    pub time: Span,
    /// Senses of the busiest die.
    pub array: Span,
    /// The busiest channel.
    pub channel: Span,
    /// The accelerator.
    pub accelerator: Span,
    /// The link to the host.
    pub link: Span,
    /// Commands were in flight.
    pub active: Span,
    /// The controller's cores, all of them together.
    pub cores: Span,
}

impl Busy {
    /// This, of so many more stripes; `shorter` is the same of `fewer` stripes less.
    pub(super) fn extended(self, shorter: Busy, more: u64, fewer: u64) -> Busy {
        let extend = |of: fn(&Busy) -> Span| {
            let (long, short) = (of(&self).as_ps(), of(&shorter).as_ps());
            let added = u128::from(long.saturating_sub(short)) * u128::from(more);
            Span::from_ps(long + (added / u128::from(fewer)) as u64)
        };
        Busy {
            time: extend(|busy| busy.time),
            array: extend(|busy| busy.array),
            channel: extend(|busy| busy.channel),
            accelerator: extend(|busy| busy.accelerator),
            link: extend(|busy| busy.link),
            active: extend(|busy| busy.active),
            cores: extend(|busy| busy.cores),
        }
    }

    /// The part that is busy longest.
    pub fn bound(&self) -> Stage {
        let parts = [
            (self.link, Stage::Link),
            (self.accelerator, Stage::Accelerator),
            (self.channel, Stage::Channel),
            (self.array, Stage::Array),
        ];
        let longest = parts.into_iter().max_by_key(|(span, _)| *span);
        longest.map_or(Stage::Array, |(_, stage)| stage)
    }
}

/// An idle drive, as far as evaluations pass through it.
pub struct Pipeline {
    sim: Sim,
    rates: Rates,
    layout: Layout,
    dies: Vec<Server>,
    /// How long each die sensed.
    sensed: Vec<Cell<Span>>,
    channels: Vec<Rc<Channel>>,
    accelerator: Server,
    room: Semaphore,
    link: Rc<Link>,
    cores: Cores,
    in_flight: Cell<u64>,
    active_since: Cell<Time>,
    active: Cell<Span>,
}

/// An evaluation under way.
struct Evaluation {
    pipeline: Rc<Pipeline>,
    recipe: Recipe,
    /// By program and planes less one: what each command occupies of channel and array.
    commands: Vec<Vec<Vec<(Span, Span)>>>,
    chunks: Range<u64>,
    /// Where it ends, in bits of the vectors.
    end: u64,
    count_only: bool,
}

impl Pipeline {
    /// A drive of these rates in `sim`.
    pub fn new(sim: &Sim, rates: &Rates) -> Rc<Pipeline> {
        let geometry = &rates.nand.geometry;
        let channels = 0..geometry.channels as usize;
        let room = rates.bits.accelerator_buffer_bytes / rates.page_bytes();
        Rc::new(Pipeline {
            sim: sim.clone(),
            layout: rates.layout(),
            dies: (0..geometry.dies()).map(|_| Server::new(sim)).collect(),
            sensed: (0..geometry.dies()).map(|_| Cell::default()).collect(),
            channels: channels
                .map(|number| Channel::new(sim, &rates.channel, number))
                .collect(),
            accelerator: Server::new(sim),
            room: Semaphore::new(sim, room),
            link: Link::new(sim, &rates.link, &Ledger::default()),
            cores: Cores::new(&rates.cores),
            in_flight: Cell::new(0),
            active_since: Cell::new(sim.now()),
            active: Cell::default(),
            rates: rates.clone(),
        })
    }

    /// What one evaluation on an idle drive takes.
    pub(super) fn live(plan: &Plan, question: &Question, rates: &Rates) -> Busy {
        let simulation = Simulation::new(0);
        let pipeline = Pipeline::new(&simulation.handle(), rates);
        let evaluation = pipeline.clone().evaluate(plan, *question);
        simulation.handle().spawn_detached(evaluation);
        simulation.run();
        pipeline.busy()
    }

    /// What the parts did until now.
    pub fn busy(&self) -> Busy {
        let channels = self.channels.iter().map(|channel| channel.busy());
        Busy {
            time: self.sim.now().since(Time::ZERO),
            array: self.sensed.iter().map(Cell::get).max().unwrap_or_default(),
            channel: channels.max().unwrap_or_default(),
            accelerator: self.accelerator.busy(),
            link: self.link.up.busy(),
            active: self.active.get(),
            cores: self.cores.busy(),
        }
    }

    /// A command came, or one is done.
    fn count(&self, begins: bool) {
        let before = self.in_flight.get();
        let after = if begins { before + 1 } else { before - 1 };
        self.in_flight.set(after);
        match (before, after) {
            (0, _) => self.active_since.set(self.sim.now()),
            (_, 0) => {
                let span = self.sim.now().since(self.active_since.get());
                self.active.set(self.active.get() + span);
            }
            _ => {}
        }
    }

    /// One evaluation, from the host's doorbell to its completion.
    pub fn evaluate(
        self: Rc<Pipeline>,
        plan: &Plan,
        question: Question,
    ) -> impl Future<Output = ()> + use<> {
        let planes = self.rates.nand.geometry.planes_per_die as usize;
        let commands = plan.programs.iter().map(|program| {
            let of = |planes: usize| {
                let steps = program.steps.iter().map(|step| {
                    let command = self.rates.command(step, planes);
                    let cycles = self.rates.nand.command_span(&command);
                    (cycles, self.rates.step(step).0)
                });
                steps.collect()
            };
            (1..=planes).map(of).collect()
        });
        let first = question.first_page;
        let evaluation = Rc::new(Evaluation {
            recipe: Recipe::new(plan, question.count_only, None, false),
            commands: commands.collect(),
            chunks: first..first + self.layout.chunks(question.bits),
            end: first * self.rates.page_bytes() * 8 + question.bits,
            count_only: question.count_only,
            pipeline: self,
        });
        evaluation.run(question.expression_bytes)
    }

    async fn fetch_from_host(&self, bytes: u64) {
        self.link.up.transfer(NOBODY, READ_REQUEST_BYTES).await;
        self.link.down.transfer(NOBODY, bytes).await;
    }

    async fn firmware(&self, work: Work) {
        let cycles = self.rates.cores.work.cycles(work);
        if cycles > 0 {
            let done = self.cores.run(NOBODY, self.sim.now(), cycles);
            self.sim.sleep_until(done).await;
        }
    }

    async fn accelerate(&self, pages: u64) {
        if pages == 0 {
            return;
        }
        let rate = self.rates.bits.accelerator_megabytes_per_second * 1_000_000;
        let span = Span::of_transfer(pages * self.rates.page_bytes(), rate);
        self.accelerator.serve(Priority(0), span).await;
    }
}

impl Evaluation {
    async fn run(self: Rc<Evaluation>, expression_bytes: u64) {
        let (link, sim) = (&self.pipeline.link, &self.pipeline.sim);
        link.down.transfer(NOBODY, DOORBELL_BYTES).await;
        self.pipeline.fetch_from_host(ENTRY_BYTES).await;
        self.pipeline.count(true);
        self.pipeline.firmware(Work::Fetch).await;
        self.pipeline.firmware(Work::Plan).await;
        self.pipeline.fetch_from_host(expression_bytes).await;
        let lanes = self.pipeline.layout.lanes(self.chunks.clone());
        let lanes: Vec<JoinHandle<()>> = lanes
            .map(|lane| sim.spawn(self.clone().lane(lane)))
            .collect();
        for lane in lanes {
            lane.await;
        }
        self.pipeline.firmware(Work::Complete).await;
        if self.count_only {
            link.up.post(NOBODY, COUNT_BYTES);
        }
        let arrives = link.up.post(NOBODY, COMPLETION_BYTES);
        self.pipeline.count(false);
        sim.sleep_until(arrives).await;
    }

    /// The chunks of one die.
    async fn lane(self: Rc<Evaluation>, lane: u32) {
        let pipeline = &self.pipeline;
        let order = &self.recipe.order;
        let batches = || pipeline.layout.lane(lane, self.chunks.clone());
        let of_batch = |batch: DieBatch| order.iter().map(move |&at| (at, batch.len()));
        let mut fetches = batches().flat_map(of_batch);
        let mut flying = VecDeque::with_capacity(FETCHES_AHEAD);
        let mut top_up = |flying: &mut VecDeque<JoinHandle<()>>| {
            while flying.len() < FETCHES_AHEAD
                && let Some((program, planes)) = fetches.next()
            {
                let fetch = self.clone().fetch(lane, program, planes);
                flying.push_back(pipeline.sim.spawn(fetch));
            }
        };
        let mut sent = Time::ZERO;
        for batch in batches() {
            let planes = batch.len() as u64;
            for instruction in &self.recipe.instructions {
                let due = match *instruction {
                    Instruction::Fetch { operand, .. } => {
                        top_up(&mut flying);
                        let fetch = flying.pop_front();
                        fetch.expect("a recipe fetches what it orders").await;
                        top_up(&mut flying);
                        pipeline.accelerate(u64::from(operand) * planes).await;
                        pipeline.room.release(u64::from(operand) * planes);
                        0
                    }
                    Instruction::Again { .. } | Instruction::Constant(_) => 0,
                    Instruction::Not { due }
                    | Instruction::Combine { due, .. }
                    | Instruction::Compare { due }
                    | Instruction::Count { due } => due,
                };
                pipeline.accelerate(due * planes).await;
            }
            if !self.count_only {
                pipeline.sim.sleep_until(sent).await;
                let page = pipeline.rates.page_bytes();
                let bytes = |&chunk: &u64| (self.end - chunk * page * 8).div_ceil(8).min(page);
                sent = pipeline.link.up.post(NOBODY, batch.iter().map(bytes).sum());
            }
        }
    }

    /// A page of each plane of a batch.
    async fn fetch(self: Rc<Evaluation>, lane: u32, program: usize, planes: usize) {
        let pipeline = &self.pipeline;
        let geometry = &pipeline.rates.nand.geometry;
        let channel = &pipeline.channels[(lane % geometry.channels) as usize];
        let die = pipeline.dies[lane as usize].acquire(Priority(0)).await;
        for &(cycles, array) in &self.commands[program][planes - 1] {
            channel.command(cycles).await;
            pipeline.sim.sleep(array).await;
            let sensed = &pipeline.sensed[lane as usize];
            sensed.set(sensed.get() + array);
        }
        if self.recipe.uses_accelerator() {
            pipeline.room.acquire(planes as u64).await.keep();
        }
        let setup = Span::from_ns(pipeline.rates.nand.bus.t_rr_ns);
        for _ in 0..planes {
            channel
                .data(NOBODY, setup, pipeline.rates.page_bytes())
                .await;
        }
        drop(die);
    }
}
