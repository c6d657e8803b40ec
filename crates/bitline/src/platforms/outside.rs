//! The host's own way: it reads every vector and combines them as they come (Flash-Cosmos 7, OSP).

use std::collections::VecDeque;
use std::rc::Rc;

use device::bits::job::Question;
use device::cost::{Cost, CostModel, IdleDrive, Job, of_at_most, of_stripes};
use nvme::{Expression, Operand};
use sim::resource::{Priority, Server};
use sim::{Energy, Sim, Simulation, Span};

use super::batches::{AHEAD, Batch, Batches};
use super::computer::{Loop, Pace};
use super::estimate::EstimateReport;
use super::steps::{Step, steps_of};
use crate::config::Config;
use crate::error::Error;

/// Bytes of an expression that is one vector.
const READ_BYTES: u64 = 9;
/// Stripes that are lived through where the estimate is one of many to choose between, and commands of the dies from which on.
const STRIPES_SHORT: u64 = 2;
const COMMANDS_SHORT: u64 = 2000;

/// The host and the drive beside it, as far as its evaluations take time.
#[derive(Clone, Debug)]
pub(crate) struct Outside {
    model: CostModel,
    pace: Pace,
    batches: Batches,
}

/// What reading a batch of a vector has the drive do.
pub(crate) type JobOf<'a, V> = &'a dyn Fn(V, Batch) -> Result<Job, Error>;

impl Outside {
    pub(crate) fn of(config: &Config) -> Outside {
        let page_bytes = config.device.nand.geometry.page_bytes;
        Outside {
            model: config.device.cost_model(),
            pace: Pace::of(&config.host),
            batches: Batches::new(page_bytes, config.host.batch_bytes),
        }
    }

    /// What the host's evaluation takes; if only a choice depends on it, of a part of long vectors.
    pub(crate) fn estimate<V: Operand + 'static>(
        &self,
        expression: &Expression<V>,
        question: Question,
        job_of: JobOf<'_, V>,
        is_choice: bool,
    ) -> Result<EstimateReport, Error> {
        let host = Rc::new(Host::new(self, expression, question.count_only));
        let stripe = self.model.stripe_bits();
        let stripes = question.bits.div_ceil(stripe);
        let commands = host.reads.len() as u64 * self.model.dies();
        let lived = |bits| {
            let jobs = host.jobs(job_of, bits)?;
            Ok::<_, Error>(host.live(jobs, bits, &self.model))
        };
        let cost = if is_choice && stripes * commands > COMMANDS_SHORT {
            of_at_most(question.bits, stripe, STRIPES_SHORT, lived)?
        } else {
            of_stripes(question.bits, stripe, || Ok(commands), lived)?
        };
        Ok(host.report(question.bits, &cost))
    }

    /// The host takes no less time than this for its own work, and for what crosses the link.
    pub(crate) fn least<V: Operand + 'static>(
        &self,
        expression: &Expression<V>,
        question: Question,
    ) -> Span {
        let host = Host::new(self, expression, question.count_only);
        let bytes = question.bits.div_ceil(8);
        let received = self.model.sent(bytes).span * host.reads.len() as u64;
        let count = question.count_only.then_some(Loop::Count);
        let computed = host.loops.iter().copied().chain(count);
        let computed = computed.fold(Span::ZERO, |sum, work| sum + self.pace.span(work, bytes));
        received.max(computed)
    }

    /// The energy of memory that a result of the drive costs the host.
    pub(crate) fn received(&self, question: Question) -> Energy {
        match question.count_only {
            true => Energy::ZERO,
            false => self.pace.memory(question.bits.div_ceil(8)),
        }
    }
}

/// What reading a batch of a vector is.
pub(crate) fn read_of(batch: Batch) -> Question {
    Question {
        bits: batch.bits,
        expression_bytes: READ_BYTES,
        count_only: false,
    }
}

/// An evaluation of the host, as far as it takes time.
struct Host<V> {
    steps: Vec<Step<V>>,
    /// What it computes for each batch.
    loops: Vec<Loop>,
    /// The vectors in the order of their first use.
    reads: Vec<V>,
    pace: Pace,
    batches: Batches,
    /// The ones of the result are counted.
    counts: bool,
}

impl<V: Operand + 'static> Host<V> {
    fn new(outside: &Outside, expression: &Expression<V>, counts: bool) -> Host<V> {
        let mut steps = Vec::new();
        steps_of(expression, &mut steps);
        let mut reads: Vec<V> = Vec::new();
        for step in &steps {
            if let Step::Read(id) = step
                && !reads.contains(id)
            {
                reads.push(*id);
            }
        }
        Host {
            loops: steps.iter().filter_map(loop_of).collect(),
            steps,
            reads,
            pace: outside.pace,
            batches: outside.batches,
            counts,
        }
    }

    /// The reads of vectors of so many bits, in the order in which they are asked for.
    fn jobs(&self, job_of: JobOf<'_, V>, bits: u64) -> Result<VecDeque<(V, Job)>, Error> {
        let mut jobs = VecDeque::new();
        for batch in self.batches.of(bits) {
            for &id in &self.reads {
                jobs.push_back((id, job_of(id, batch)?));
            }
        }
        Ok(jobs)
    }

    fn live(self: &Rc<Host<V>>, jobs: VecDeque<(V, Job)>, bits: u64, model: &CostModel) -> Cost {
        let simulation = Simulation::new(0);
        let sim = simulation.handle();
        let idle = IdleDrive::new(&sim, model);
        let run = self.clone().run(sim.clone(), idle.clone(), jobs, bits);
        sim.spawn_detached(run);
        simulation.run();
        idle.cost()
    }

    async fn run(
        self: Rc<Host<V>>,
        sim: Sim,
        idle: Rc<IdleDrive>,
        mut waiting: VecDeque<(V, Job)>,
        bits: u64,
    ) {
        let computer = Server::new(&sim);
        let mut reading = VecDeque::new();
        let mut read_ahead = |reading: &mut VecDeque<_>| {
            while reading.len() < AHEAD
                && let Some((id, job)) = waiting.pop_front()
            {
                reading.push_back((id, sim.spawn(idle.clone().carry_out(job))));
            }
        };
        for batch in self.batches.of(bits) {
            let bytes = batch.bits.div_ceil(8);
            let mut held: Vec<V> = Vec::new();
            for step in &self.steps {
                if let Step::Read(id) = step {
                    while !held.contains(id) {
                        read_ahead(&mut reading);
                        let (id, handle) = reading.pop_front().expect("every vector is read");
                        handle.await;
                        read_ahead(&mut reading);
                        held.push(id);
                    }
                }
                if let Some(work) = loop_of(step) {
                    let span = self.pace.span(work, bytes);
                    computer.serve(Priority(0), span).await;
                }
            }
            if self.counts {
                let span = self.pace.span(Loop::Count, bytes);
                computer.serve(Priority(0), span).await;
            }
        }
    }

    fn report(&self, bits: u64, cost: &Cost) -> EstimateReport {
        let (mut computed, mut traffic) = (Span::ZERO, 0);
        let mut energy = Energy::ZERO;
        for batch in self.batches.of(bits) {
            let bytes = batch.bits.div_ceil(8);
            let count = self.counts.then_some(Loop::Count);
            traffic += bytes * self.reads.len() as u64;
            for work in self.loops.iter().copied().chain(count) {
                let span = self.pace.span(work, bytes);
                computed += span;
                energy += self.pace.power_for(span);
                traffic += bytes * work.traffic();
            }
        }
        let parts = [cost.array, cost.channel, cost.accelerator, cost.link];
        let is_longest = parts.iter().all(|part| *part < computed);
        let mut report = EstimateReport::of(cost);
        report.host_ns = computed.as_ns();
        if is_longest {
            report.bottleneck = "host";
        }
        report.add("host", "compute", energy.as_pj());
        report.add("host", "memory", self.pace.memory(traffic).as_pj());
        report
    }
}

/// What the host computes in a step.
fn loop_of<V>(step: &Step<V>) -> Option<Loop> {
    match step {
        Step::Read(_) => None,
        Step::Not => Some(Loop::Invert),
        Step::Combine(_) => Some(Loop::Combine),
    }
}
