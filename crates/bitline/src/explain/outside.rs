//! The host's own way: it reads every vector and combines them as they come (Flash-Cosmos 7, OSP).

use std::collections::VecDeque;
use std::rc::Rc;

use device::bits::Engine;
use device::bits::job::Question;
use device::cost::{Cost, CostModel, IdleDrive, Job, of_stripes};
use nvme::{Expression, VectorId};
use sim::resource::{Priority, Server};
use sim::{Energy, Sim, Simulation, Span};

use super::{EstimateReport, PlanPart, VectorNames};
use crate::bits::{AHEAD, Batch, Batches, Loop, Pace, Step, steps_of};
use crate::drive::Drive;
use crate::error::Error;

/// Bytes of an expression that is one vector.
const READ_BYTES: u64 = 9;

/// The expression itself, as the host carries it out.
pub(super) fn part(expression: &Expression, names: &VectorNames<'_>) -> PlanPart {
    let operator = match expression {
        Expression::Vector(id) => {
            return PlanPart::Vector {
                vector: names.of(*id).to_string(),
            };
        }
        Expression::Not(_) => "not",
        Expression::And(_) => "and",
        Expression::Or(_) => "or",
        Expression::Xor(_) => "xor",
    };
    PlanPart::Combined {
        operator,
        parts: expression
            .operands()
            .iter()
            .map(|operand| part(operand, names))
            .collect(),
    }
}

/// What the host's evaluation takes.
pub(super) fn estimate(
    drive: &Drive,
    expression: &Expression,
    question: Question,
) -> Result<EstimateReport, Error> {
    let mut steps = Vec::new();
    steps_of(expression, &mut steps);
    let mut reads: Vec<VectorId> = Vec::new();
    for step in &steps {
        if let Step::Read(id) = step
            && !reads.contains(id)
        {
            reads.push(*id);
        }
    }
    let config = drive.config();
    let page_bytes = config.device.nand.geometry.page_bytes;
    let host = Rc::new(Host {
        loops: steps.iter().filter_map(loop_of).collect(),
        steps,
        reads,
        pace: Pace::of(&config.host),
        batches: Batches::new(page_bytes, config.host.batch_bytes),
        counts: question.count_only,
    });
    let (model, geometry) = (config.device.cost_model(), &config.device.nand.geometry);
    let stripe = u64::from(geometry.planes()) * u64::from(page_bytes) * 8;
    let commands = host.reads.len() as u64 * u64::from(geometry.dies());
    let cost = of_stripes(
        question.bits,
        stripe,
        || Ok(commands),
        |bits| {
            let jobs = host.jobs(drive, bits)?;
            Ok::<_, Error>(host.live(jobs, bits, &model))
        },
    )?;
    Ok(host.report(question.bits, &cost))
}

/// An evaluation of the host, as far as it takes time.
struct Host {
    steps: Vec<Step<VectorId>>,
    /// What it computes for each batch.
    loops: Vec<Loop>,
    /// The vectors in the order of their first use.
    reads: Vec<VectorId>,
    pace: Pace,
    batches: Batches,
    /// The ones of the result are counted.
    counts: bool,
}

impl Host {
    /// The reads of vectors of so many bits, in the order in which they are asked for.
    fn jobs(&self, drive: &Drive, bits: u64) -> Result<VecDeque<(VectorId, Job)>, Error> {
        let mut jobs = VecDeque::new();
        for batch in self.batches.of(bits) {
            for &id in &self.reads {
                jobs.push_back((id, read(drive, id, batch)?));
            }
        }
        Ok(jobs)
    }

    fn live(
        self: &Rc<Host>,
        jobs: VecDeque<(VectorId, Job)>,
        bits: u64,
        model: &CostModel,
    ) -> Cost {
        let simulation = Simulation::new(0);
        let sim = simulation.handle();
        let idle = IdleDrive::new(&sim, model);
        let run = self.clone().run(sim.clone(), idle.clone(), jobs, bits);
        sim.spawn_detached(run);
        simulation.run();
        idle.cost()
    }

    async fn run(
        self: Rc<Host>,
        sim: Sim,
        idle: Rc<IdleDrive>,
        mut waiting: VecDeque<(VectorId, Job)>,
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
            let mut held: Vec<VectorId> = Vec::new();
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
            report.bound = "host";
        }
        report.add("host", "compute", energy.as_pj());
        report.add("host", "memory", self.pace.memory(traffic).as_pj());
        report
    }
}

/// Reading a batch of a vector.
fn read(drive: &Drive, id: VectorId, batch: Batch) -> Result<Job, Error> {
    let question = Question {
        bits: batch.bits,
        expression_bytes: READ_BYTES,
        count_only: false,
    };
    let vector = Expression::Vector(id);
    drive.job_of(&vector, Engine::FlashCosmos, question, batch.page)
}

/// What the host computes in a step.
fn loop_of(step: &Step<VectorId>) -> Option<Loop> {
    match step {
        Step::Read(_) => None,
        Step::Not => Some(Loop::Invert),
        Step::Combine(_) => Some(Loop::Combine),
    }
}
