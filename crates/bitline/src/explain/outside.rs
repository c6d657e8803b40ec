//! The host's own way: it reads every vector and combines them as they come (Flash-Cosmos 7, OSP).

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use device::bits::estimate::{
    Busy, Pipeline, Question, Rates, Spending, energies, live, with_activity,
};
use device::bits::plan::Plan;
use nvme::{Expression, VectorId};
use sim::resource::{Priority, Server};
use sim::{Sim, Simulation, Span};

use super::{EstimateReport, Part, entry};
use crate::bits::{AHEAD, Cut, Loop, Pace, Part as Share, Step, steps_of};
use crate::config::Config;
use crate::error::Error;

/// Bytes of an expression that is one vector.
const READ_BYTES: u64 = 9;

/// The expression itself, as the host carries it out.
pub(super) fn part(expression: &Expression) -> Part {
    let operator = match expression {
        Expression::Vector(id) => {
            return Part::Vector {
                vector: id.to_string(),
            };
        }
        Expression::Not(_) => "not",
        Expression::And(_) => "and",
        Expression::Or(_) => "or",
        Expression::Xor(_) => "xor",
    };
    Part::Combined {
        operator,
        parts: expression.operands().iter().map(part).collect(),
    }
}

/// What the host's evaluation takes, `reading` giving the plan that reads a vector.
pub(super) fn estimate(
    expression: &Expression,
    question: &Question,
    config: &Config,
    rates: &Rates,
    reading: impl Fn(VectorId) -> Result<Plan, Error>,
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
    let mut plans = BTreeMap::new();
    for &id in &reads {
        plans.insert(id, reading(id)?);
    }
    let page_bytes = config.device.nand.geometry.page_bytes;
    let host = Rc::new(Host {
        loops: steps.iter().filter_map(loop_of).collect(),
        steps,
        reads,
        plans,
        pace: Pace::of(&config.host),
        cut: Cut::new(page_bytes, config.host.batch_bytes),
        counts: question.count_only,
    });
    let commands = host.plans.len() as u64;
    let busy = live(question.bits, commands, rates, |bits| {
        host.live(bits, rates)
    });
    Ok(host.report(question.bits, busy, rates))
}

/// An evaluation of the host, as far as it takes time.
struct Host {
    steps: Vec<Step>,
    /// What it computes for each part.
    loops: Vec<Loop>,
    /// The vectors in the order of their first use.
    reads: Vec<VectorId>,
    /// How each vector is read.
    plans: BTreeMap<VectorId, Plan>,
    pace: Pace,
    cut: Cut,
    /// The ones of the result are counted.
    counts: bool,
}

/// Reading a part of a vector.
fn asked(part: Share) -> Question {
    Question {
        first_page: part.page.into(),
        bits: part.bits,
        expression_bytes: READ_BYTES,
        count_only: false,
    }
}

impl Host {
    fn live(self: &Rc<Host>, bits: u64, rates: &Rates) -> Busy {
        let simulation = Simulation::new(0);
        let sim = simulation.handle();
        let pipeline = Pipeline::new(&sim, rates);
        sim.spawn_detached(self.clone().run(sim.clone(), pipeline.clone(), bits));
        simulation.run();
        pipeline.busy()
    }

    async fn run(self: Rc<Host>, sim: Sim, pipeline: Rc<Pipeline>, bits: u64) {
        let computer = Server::new(&sim);
        let of_part = |part| self.reads.iter().map(move |id| (part, *id));
        let mut waiting = self.cut.parts(bits).flat_map(of_part);
        let mut reading = VecDeque::new();
        let mut read_ahead = |reading: &mut VecDeque<_>| {
            while reading.len() < AHEAD
                && let Some((part, id)) = waiting.next()
            {
                let read = pipeline.clone().evaluate(&self.plans[&id], asked(part));
                reading.push_back((id, sim.spawn(read)));
            }
        };
        for part in self.cut.parts(bits) {
            let bytes = part.bits.div_ceil(8);
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

    fn report(&self, bits: u64, busy: Busy, rates: &Rates) -> EstimateReport {
        let mut spent: Vec<Spending> = Vec::new();
        let mut add = |spending: Spending| {
            let name = (spending.component, spending.cause);
            let mut same = spent.iter_mut();
            match same.find(|other| (other.component, other.cause) == name) {
                Some(known) => known.energy += spending.energy,
                None => spent.push(spending),
            }
        };
        let mut computed = Span::ZERO;
        for part in self.cut.parts(bits) {
            for plan in self.plans.values() {
                energies(plan, &asked(part), rates)
                    .into_iter()
                    .for_each(&mut add);
            }
            let bytes = part.bits.div_ceil(8);
            let count = self.counts.then_some(Loop::Count);
            let (mut span, mut traffic) = (Span::ZERO, bytes * self.reads.len() as u64);
            let mut energy = sim::Energy::ZERO;
            for work in self.loops.iter().copied().chain(count) {
                span += self.pace.span(work, bytes);
                energy += self.pace.power_for(self.pace.span(work, bytes));
                traffic += bytes * work.traffic();
            }
            computed += span;
            let host = |cause, energy| Spending {
                component: "host",
                cause,
                energy,
            };
            add(host("compute", energy));
            add(host("memory", self.pace.memory(traffic)));
        }
        let spent = with_activity(spent, &busy, rates);
        let parts = [busy.array, busy.channel, busy.accelerator, busy.link];
        let is_longest = parts.iter().all(|part| *part < computed);
        let total = spent.iter().map(|spending| spending.energy.as_pj());
        EstimateReport {
            time_ns: busy.time.as_ns(),
            array_ns: busy.array.as_ns(),
            channel_ns: busy.channel.as_ns(),
            accelerator_ns: busy.accelerator.as_ns(),
            link_ns: busy.link.as_ns(),
            host_ns: computed.as_ns(),
            bound: if is_longest {
                "host"
            } else {
                busy.bound().name()
            },
            energy_pj: total.sum(),
            energy: spent.iter().map(entry).collect(),
        }
    }
}

/// What the host computes in a step.
fn loop_of(step: &Step) -> Option<Loop> {
    match step {
        Step::Read(_) => None,
        Step::Not => Some(Loop::Invert),
        Step::Combine(_) => Some(Loop::Combine),
    }
}
