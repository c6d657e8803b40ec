//! The host's own way: it reads every vector and combines them as they come (Flash-Cosmos 7, OSP).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;

use device::bits::demand::Question;
use device::cost::{Cost, CostModel, Demand, IdleDrive, of_at_most, of_stripes};
use nvme::{Expression, Operand};
use sim::resource::{Priority, Server};
use sim::{Energy, JoinHandle, Sim, Simulation, Span};

use super::batches::{Batch, Batches};
use super::computer::{Loop, Pace};
use super::estimate::EstimateReport;
use super::evaluation::{Apply, Evaluation, Machine};
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
pub(crate) type DemandOf<'a, V> = &'a dyn Fn(V, Batch) -> Result<Demand, Error>;

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
        demand_of: DemandOf<'_, V>,
        is_choice: bool,
    ) -> Result<EstimateReport, Error> {
        let host = Rc::new(Host::new(self, expression, question.count_only));
        let stripe = self.model.stripe_bits();
        let stripes = question.bits.div_ceil(stripe);
        let commands = host.evaluation.vectors().len() as u64 * self.model.dies();
        let lived = |bits| {
            let demands = host.demands(demand_of, bits)?;
            Ok::<_, Error>(host.live(demands, bits, &self.model))
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
        let received = self.model.sent(bytes).span * host.evaluation.vectors().len() as u64;
        let count = question.count_only.then_some(Loop::Count);
        let computed = host.evaluation.loops().chain(count);
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
    evaluation: Evaluation<V>,
    pace: Pace,
    batches: Batches,
    /// The ones of the result are counted.
    counts: bool,
}

impl<V: Operand + 'static> Host<V> {
    fn new(outside: &Outside, expression: &Expression<V>, counts: bool) -> Host<V> {
        Host {
            evaluation: Evaluation::of(expression),
            pace: outside.pace,
            batches: outside.batches,
            counts,
        }
    }

    /// The reads of vectors of so many bits, in the order in which they are asked for.
    fn demands(&self, demand_of: DemandOf<'_, V>, bits: u64) -> Result<VecDeque<Demand>, Error> {
        let mut demands = VecDeque::new();
        for batch in self.batches.of(bits) {
            for vector in self.evaluation.vectors() {
                demands.push_back(demand_of(vector, batch)?);
            }
        }
        Ok(demands)
    }

    fn live(self: &Rc<Host<V>>, demands: VecDeque<Demand>, bits: u64, model: &CostModel) -> Cost {
        let simulation = Simulation::new(0);
        let sim = simulation.handle();
        let idle = IdleDrive::new(&sim, model);
        let mut alone = Alone {
            computer: Server::new(&sim),
            sim: sim.clone(),
            drive: idle.clone(),
            demands,
            pace: self.pace,
            counts: self.counts,
        };
        let host = self.clone();
        sim.spawn_detached(async move {
            let run = host.evaluation.run(host.batches, bits, &mut alone);
            let Ok(()) = run.await;
        });
        simulation.run();
        idle.cost()
    }

    fn report(&self, bits: u64, cost: &Cost) -> EstimateReport {
        let (mut computed, mut traffic) = (Span::ZERO, 0);
        let mut energy = Energy::ZERO;
        for batch in self.batches.of(bits) {
            let bytes = batch.bits.div_ceil(8);
            let count = self.counts.then_some(Loop::Count);
            traffic += bytes * self.evaluation.vectors().len() as u64;
            for work in self.evaluation.loops().chain(count) {
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

/// A host that does nothing else, beside an idle drive: time passes, bits there are none.
struct Alone {
    sim: Sim,
    drive: Rc<IdleDrive>,
    /// What the reads have the drive do, in their order.
    demands: VecDeque<Demand>,
    computer: Server,
    pace: Pace,
    counts: bool,
}

impl<V> Machine<V> for Alone {
    type Bits = ();
    type Reading = JoinHandle<()>;
    type Error = Infallible;

    fn read(&mut self, _: V, _: Batch) -> JoinHandle<()> {
        let demand = self.demands.pop_front();
        let demand = demand.expect("one for each vector of each batch");
        self.sim.spawn(self.drive.clone().carry_out(demand))
    }

    async fn arrival(&mut self, reading: JoinHandle<()>) -> Result<(), Infallible> {
        reading.await;
        Ok(())
    }

    async fn compute(&mut self, work: Loop, bytes: u64) {
        let span = self.pace.span(work, bytes);
        self.computer.serve(Priority(0), span).await;
    }

    fn invert(&mut self, (): &mut ()) {}

    fn combine(&mut self, _: Apply, (): &mut (), (): &()) {}

    async fn finish(&mut self, (): (), batch: Batch) {
        if self.counts {
            let bytes = batch.bits.div_ceil(8);
            Machine::<V>::compute(self, Loop::Count, bytes).await;
        }
    }
}
