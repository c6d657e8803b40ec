//! Workloads under way: prefilling, then all of them side by side, measured.

mod asked;
mod blocks;
mod carrier;
mod crew;
mod outstanding;
mod running;
mod sampler;

use std::cell::RefCell;
use std::rc::Rc;

use sim::{JoinHandle, Span, join_all};

use self::running::RunningWorkload;
use self::sampler::{Gauges, Sampler};
use super::facts::Room;
use super::latencies::Latencies;
use super::plan::Plan;
use super::prefill::{self, Filling};
use super::progress::Progress;
use super::report::{Report, Reports};
use super::warnings::warnings;
use super::{RunOptions, Workload};
use crate::host_end::Host;
use crate::media_state::Wear;
use crate::statistics::Statistics;
use crate::{Drive, Error};

/// Where a run stands.
enum Phase {
    Prefilling {
        task: JoinHandle<Result<(), Error>>,
        plans: Vec<Plan>,
    },
    Measuring {
        task: JoinHandle<Result<Reports, Error>>,
        before: Box<Statistics>,
    },
    /// Between the two, while one takes the place of the other.
    Changing,
}

/// Workloads that were started. Dropping this stops them once what is in flight is done.
pub struct UnderWay {
    phase: RefCell<Phase>,
    progress: Rc<Progress>,
    options: RunOptions,
}

impl UnderWay {
    pub(super) fn start(
        drive: &mut Drive,
        workloads: &[Workload],
        options: RunOptions,
    ) -> Result<UnderWay, Error> {
        let draw = options.draw.unwrap_or_else(|| drive.next_draw());
        let options = RunOptions {
            draw: Some(draw),
            ..options
        };
        let mut plans: Vec<Plan> = workloads
            .iter()
            .map(|workload| Plan::of(workload, drive, draw))
            .collect::<Result<_, _>>()?;
        let progress = Rc::new(Progress {
            latencies: options.latencies.then(RefCell::default),
            ..Progress::default()
        });
        let host = drive.host()?;
        let mut fillings = Vec::new();
        for prefill in plans.iter_mut().filter_map(Plan::take_prefill) {
            fillings.push(Filling {
                namespace: prefill.namespace,
                parts: prefill.empty(drive)?,
            });
        }
        let task = host
            .sim()
            .clone()
            .spawn(prefill::all(host, fillings, progress.clone()));
        Ok(UnderWay {
            phase: RefCell::new(Phase::Prefilling { task, plans }),
            progress,
            options,
        })
    }

    /// Requests completed so far; those that fill the range beforehand do not count.
    pub fn completed(&self) -> u64 {
        self.progress.completed.get()
    }

    /// Lets up to `events` events happen on the drive that the workloads were started
    /// on; true once they are done.
    ///
    /// # Errors
    /// [`Error::NoPower`]; [`Error::Stalled`] if nothing is left to happen.
    pub fn advance(&self, drive: &Drive, events: u64) -> Result<bool, Error> {
        let phase = &mut *self.phase.borrow_mut();
        let simulation = drive.simulation()?;
        if let Phase::Prefilling { task, .. } = phase {
            if !simulation.advance(task, events)? {
                return Ok(false);
            }
            self.measure(phase, drive)?;
            return Ok(false);
        }
        match phase {
            Phase::Measuring { task, .. } => Ok(simulation.advance(task, events)?),
            // A failure ended the prefilling, and was told.
            _ => Ok(true),
        }
    }

    /// What is filled is filled: from here on everything counts.
    fn measure(&self, phase: &mut Phase, drive: &Drive) -> Result<(), Error> {
        let Phase::Prefilling { task, plans } = std::mem::replace(phase, Phase::Changing) else {
            return Ok(());
        };
        // The task has finished, so it has an outcome.
        task.take().unwrap_or(Ok(()))?;
        let host = drive.host()?;
        let gauges = Gauges::of(drive.device_for("a workload")?);
        let (options, progress) = (self.options, self.progress.clone());
        let sim = host.sim().clone();
        let task = sim.spawn(measured(host, gauges, plans, options, progress));
        *phase = Phase::Measuring {
            task,
            before: Box::new(drive.statistics()?),
        };
        Ok(())
    }

    /// The requests that completed since the last call, one by one; none unless
    /// [`RunOptions::latencies`] asked for them. Taken after every
    /// [`UnderWay::advance`], they are never more than its events.
    pub fn take_latencies(&self) -> Latencies {
        let kept = self.progress.latencies.as_ref();
        kept.map(RefCell::take).unwrap_or_default()
    }

    /// How many requests [`UnderWay::take_latencies`] would give.
    pub fn latencies_kept(&self) -> usize {
        let kept = self.progress.latencies.as_ref();
        kept.map_or(0, |latencies| latencies.borrow().len())
    }

    /// What the workloads measured.
    ///
    /// # Errors
    /// A request that failed, a trace that could not be read; [`Error::Workload`] if
    /// they are not done.
    pub fn report(self, drive: &Drive) -> Result<Report, Error> {
        let not_done = || Error::Workload("the workload is still under way".into());
        let phase = self.phase.replace(Phase::Changing);
        let Phase::Measuring { task, before } = phase else {
            return Err(not_done());
        };
        let mut reports = task.take().ok_or_else(not_done)??;
        let facts = std::mem::take(&mut reports.facts);
        let wear = Wear::of(&drive.flash("a workload")?.borrow());
        let mut report = Report::new(reports, &before, drive, &wear)?;
        report.warnings = warnings(&facts, &report, Room::of(drive, &wear));
        Ok(report)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.progress.stopped.set(true);
    }
}

/// Runs all workloads until each is done.
async fn measured(
    host: Host,
    gauges: Gauges,
    plans: Vec<Plan>,
    options: RunOptions,
    progress: Rc<Progress>,
) -> Result<Reports, Error> {
    let mut workloads = Vec::new();
    for (number, plan) in plans.into_iter().enumerate() {
        let workload = RunningWorkload::new(&host, plan, number as u32, options, progress.clone());
        workloads.push(workload.await?);
    }
    let sim = host.sim();
    let begin = sim.now();
    sim.trace().measure_from(begin);
    let interval = Span::from_ns(options.interval_ns);
    let sampler = Sampler::new(gauges, workloads.clone(), interval, begin);
    let sampler = Rc::new(RefCell::new(sampler));
    let tasks: Vec<_> = workloads
        .iter()
        .map(|workload| sim.spawn(workload.clone().run(begin)))
        .collect();
    let sampling = Sampler::start(&sampler, sim);
    let outcomes = join_all(tasks).await;
    drop(sampling);
    outcomes.into_iter().collect::<Result<(), _>>()?;
    let mut sampler = sampler.borrow_mut();
    sampler.finish(sim.now());
    let mut reports = Reports {
        draw: options.draw.unwrap_or(0),
        series: sampler.series(),
        ..Reports::default()
    };
    for (workload, total) in workloads.iter().zip(sampler.totals()) {
        workload.report(&total, begin, &mut reports);
        reports.facts.push(workload.facts(&total, begin));
    }
    Ok(reports)
}
