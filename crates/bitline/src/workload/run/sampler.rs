//! Looks at a run at regular intervals. The intervals grow with the run unless their length was asked for, so that a
//! run of any length has some tens of them.

use std::cell::RefCell;
use std::rc::Rc;

use device::Device;
use device::ftl::Ftl;
use device::schedule::Schedule;
use sim::{JoinHandle, Sim, Span, Time};

use super::running::RunningWorkload;
use crate::workload::series::{Sample, Series};
use crate::workload::tally::{Tally, TallyPart};

/// The first interval, where the length follows the run.
const SHORTEST: Span = Span::from_us(10);
/// As many intervals are made longer: 1, 2, 10, 20, 100, ... times the first.
const INTERVALS_MAX: usize = 100;
const LONGER: [usize; 2] = [2, 5];

/// What the parts of a drive count, to look at while it works.
#[derive(Clone)]
pub(super) struct Gauges {
    ftl: Rc<Ftl>,
    schedule: Rc<Schedule>,
}

impl Gauges {
    pub(super) fn of(device: &Device) -> Gauges {
        Gauges {
            ftl: device.ftl.clone(),
            schedule: device.schedule.clone(),
        }
    }

    fn sample(&self, at: Time, tallies: Vec<TallyPart>) -> Sample {
        let nand = self.schedule.nand();
        let blocks = f64::from(nand.geometry().blocks().max(1));
        Sample {
            at,
            flash: self.schedule.counts(),
            gc_page_copies: self.ftl.counts().gc_page_copies,
            erase_count_mean: nand.erases() as f64 / blocks,
            erase_count_max: nand.erases_most(),
            tallies,
        }
    }
}

/// Takes what workloads measure out of their tallies, interval by interval.
pub(super) struct Sampler {
    gauges: Gauges,
    workloads: Vec<RunningWorkload>,
    interval: Span,
    /// How often the intervals became longer; none if their length was asked for.
    grown: Option<usize>,
    /// The first is the beginning of the run.
    samples: Vec<Sample>,
}

impl Sampler {
    /// A sampler of workloads that begin now. An `interval` of nothing follows the length of the run.
    pub(super) fn new(
        gauges: Gauges,
        workloads: Vec<RunningWorkload>,
        interval: Span,
        begin: Time,
    ) -> Sampler {
        let is_asked_for = interval > Span::ZERO;
        let sampler = Sampler {
            samples: vec![gauges.sample(begin, Vec::new())],
            gauges,
            workloads,
            interval: if is_asked_for { interval } else { SHORTEST },
            grown: (!is_asked_for).then_some(0),
        };
        sampler.begin(begin);
        sampler
    }

    /// Has it look whenever an interval is over, until what this gives is dropped.
    pub(super) fn start(sampler: &Rc<RefCell<Sampler>>, sim: &Sim) -> Sampling {
        let (sampler, clock) = (sampler.clone(), sim.clone());
        Sampling(sim.spawn(async move {
            loop {
                let next = sampler.borrow().next();
                clock.sleep_until(next).await;
                // A run that waits for what never happens is stalled, and is to be seen so.
                if !clock.has_more() {
                    return;
                }
                sampler.borrow_mut().look(clock.now());
            }
        }))
    }

    /// When the present interval is over.
    fn next(&self) -> Time {
        self.samples[self.samples.len() - 1].at + self.interval
    }

    /// An interval is over.
    pub(super) fn look(&mut self, now: Time) {
        let tallies = self.workloads.iter().map(RunningWorkload::take).collect();
        let sample = self.gauges.sample(now, tallies);
        self.samples.push(sample);
        self.begin(now);
        if let Some(grown) = self.grown
            && self.samples.len() > INTERVALS_MAX
        {
            let factor = LONGER[grown % LONGER.len()];
            self.merge(factor);
            self.interval = Span::from_ps(self.interval.as_ps() * factor as u64);
            self.grown = Some(grown + 1);
        }
    }

    /// A new interval begins for what is counted as it completes.
    fn begin(&self, at: Time) {
        for workload in &self.workloads {
            workload.outstanding().begin(at);
        }
    }

    /// Makes one interval of so many, of which there is a multiple.
    fn merge(&mut self, factor: usize) {
        let mut samples = std::mem::take(&mut self.samples).into_iter();
        self.samples.extend(samples.next());
        while let Some(mut merged) = samples.next() {
            for sample in samples.by_ref().take(factor - 1) {
                let parts = merged.tallies.iter_mut().zip(&sample.tallies);
                parts.for_each(|(part, other)| part.merge(other));
                let tallies = merged.tallies;
                merged = Sample { tallies, ..sample };
            }
            self.samples.push(merged);
        }
        for workload in &self.workloads {
            workload.outstanding().merge(factor);
        }
    }

    /// The run is over: the last interval ends now.
    pub(super) fn finish(&mut self, now: Time) {
        self.look(now);
        // A look at the same instant as the one before found nothing but what ended in it.
        let last = self.samples.len() - 1;
        if last > 1 && self.samples[last].at == self.samples[last - 1].at {
            let Some(empty) = self.samples.pop() else {
                return;
            };
            let kept = self.samples[last - 1].tallies.iter_mut();
            kept.zip(&empty.tallies)
                .for_each(|(kept, late)| kept.merge(late));
        }
    }

    /// All that each workload did.
    pub(super) fn totals(&self) -> Vec<Tally> {
        let total = |number: usize| {
            let mut total = Tally::default();
            for sample in self.samples.iter().skip(1) {
                total.add(&sample.tallies[number]);
            }
            total
        };
        (0..self.workloads.len()).map(total).collect()
    }

    /// The run, interval by interval.
    pub(super) fn series(&self) -> Series {
        let names: Vec<String> = self.workloads.iter().map(RunningWorkload::name).collect();
        let page_bytes = self.gauges.schedule.geometry().page_bytes;
        let ends: Vec<Time> = self
            .samples
            .iter()
            .skip(1)
            .map(|sample| sample.at)
            .collect();
        let outstanding: Vec<Vec<f64>> = self
            .workloads
            .iter()
            .map(|workload| workload.outstanding().means(&ends))
            .collect();
        Series::new(
            self.interval,
            &self.samples,
            &names,
            &outstanding,
            page_bytes.into(),
        )
    }
}

/// A sampler at work, until this is dropped.
pub(super) struct Sampling(JoinHandle<()>);

impl Drop for Sampling {
    fn drop(&mut self) {
        self.0.abort();
    }
}
