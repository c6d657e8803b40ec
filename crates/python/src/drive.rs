//! Drives for Python. Every call lets simulated time pass until it is done, and looks for
//! Ctrl-C meanwhile.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitline::advise::Asked;
use bitline::workload::RunOptions;
use bitline::{Error, Host, Platform, Request, Span, VectorId};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::advise::{Advice, asked_of};
use crate::config::Config;
use crate::error::{json, to_python, usage, watch};
use crate::expression::Expression;
use crate::keeper::{Key, keep};
use crate::pending::{Answer, Pending, bytes_of};
use crate::progress::Progress;
use crate::rows::{VectorRow, vector_row};
use crate::running;
use crate::tracing;
use crate::workload::{parse_precondition, parse_workloads};

/// The most bytes one call moves, so that a slip of the pen does not ask for more memory
/// than the machine has.
const CALL_BYTES_MAX: u64 = 4 << 30;

/// What a vector was called in expressions before it was moved, the name of its group, and itself.
type MovedRow = ((u32, u32), String, VectorRow);

/// A drive in this process, of the thread that opened it.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Drive(pub(crate) Key);

impl Drop for Drive {
    fn drop(&mut self) {
        self.0.forget();
    }
}

#[pymethods]
impl Drive {
    /// Opens a drive of the configuration: its bits in the image file at `image`, which is
    /// made if it does not exist, else where the configuration says.
    #[new]
    #[pyo3(signature = (config, image = None))]
    fn new(config: &Config, image: Option<PathBuf>) -> PyResult<Drive> {
        let config = config.0.clone();
        let key = keep(|| {
            let drive = bitline::Drive::open_watched(config, image.as_deref(), watch());
            drive.map_err(to_python)
        })?;
        Ok(Drive(key))
    }

    /// Opens the drive in an existing image file, with the configuration it was made with; or to look
    /// at it, without writing the file.
    #[staticmethod]
    #[pyo3(signature = (image, read_only = false))]
    fn existing(image: PathBuf, read_only: bool) -> PyResult<Drive> {
        let open = match read_only {
            true => bitline::Drive::open_image_read_only_watched,
            false => bitline::Drive::open_existing_image_watched,
        };
        let key = keep(|| open(&image, watch()).map_err(to_python))?;
        Ok(Drive(key))
    }

    /// Finishes what is in flight and makes the image durable. Interrupted, the drive stays open.
    fn close(&self) -> PyResult<()> {
        if !self.0.is_over() {
            self.with(bitline::Drive::settle)?;
        }
        self.0.close()
    }

    /// Cuts the power in this instant.
    fn power_cut(&self) -> PyResult<()> {
        self.with(bitline::Drive::power_cut)
    }

    /// Powers up after a power cut.
    fn power_up(&self) -> PyResult<()> {
        self.with(bitline::Drive::power_up)
    }

    /// Records a trace from now on: all of it, or what its busiest window needs.
    #[pyo3(signature = (busiest = false))]
    fn start_trace(&self, busiest: bool) -> PyResult<()> {
        self.with(|drive| drive.start_trace(tracing::keep(busiest)))
    }

    /// Ends the trace.
    fn stop_trace(&self) -> PyResult<()> {
        self.with(bitline::Drive::stop_trace)
    }

    /// As `start_trace`, after a restart of the drive, which is in the trace.
    #[pyo3(signature = (busiest = false))]
    fn restart_traced(&self, busiest: bool) -> PyResult<()> {
        self.with(|drive| drive.restart_traced(tracing::keep(busiest)))
    }

    /// What happened in the busiest window of the trace, as JSON; null if nothing was traced.
    fn busiest(&self) -> PyResult<String> {
        json(&self.with(|drive| Ok(drive.busiest()))?)
    }

    /// Writes what was traced as JSON in the trace-event format, all of it or nothing.
    fn write_trace(&self, path: PathBuf) -> PyResult<()> {
        self.0.with(|drive| tracing::write(drive, &path))
    }

    /// Its configuration.
    fn config(&self) -> PyResult<Config> {
        self.with(|drive| Ok(Config(drive.config().clone())))
    }

    /// Gives commands that are sent from now on a priority.
    fn set_priority(&self, priority: u32) -> PyResult<()> {
        self.with(|drive| {
            drive.set_priority(priority);
            Ok(())
        })
    }

    /// The priority of commands that are given no other.
    fn priority(&self) -> PyResult<u32> {
        self.with(|drive| Ok(drive.priority()))
    }

    /// The present instant, in picoseconds.
    fn now_ps(&self) -> PyResult<u64> {
        self.with(|drive| Ok(drive.now().as_ps()))
    }

    /// Bytes of a logical block.
    fn block_bytes(&self) -> PyResult<u32> {
        self.with(|drive| drive.block_bytes())
    }

    /// Logical blocks.
    fn blocks(&self) -> PyResult<u64> {
        self.with(|drive| drive.blocks())
    }

    /// Logical blocks that are for ordinary data.
    fn data_blocks(&self) -> PyResult<u64> {
        self.with(|drive| drive.data_blocks())
    }

    /// Reads whole blocks.
    fn read<'py>(&self, py: Python<'py>, lba: u64, blocks: u64) -> PyResult<Bound<'py, PyBytes>> {
        let data = self.0.with(|drive| {
            let bytes = blocks.saturating_mul(drive.block_bytes().map_err(to_python)?.into());
            check_size(bytes)?;
            drive.read(lba, blocks).map_err(to_python)
        })?;
        Ok(PyBytes::new(py, &data))
    }

    /// Writes whole blocks.
    fn write(&self, lba: u64, data: PyBackedBytes) -> PyResult<()> {
        check_size(data.len() as u64)?;
        self.run(move |host| async move { host.write(lba, &data).await })
    }

    /// Makes everything written so far durable.
    fn flush(&self) -> PyResult<()> {
        self.with(bitline::Drive::flush)
    }

    /// Gives blocks back.
    fn deallocate(&self, lba: u64, blocks: u64) -> PyResult<()> {
        self.run(move |host| async move { host.deallocate(lba, blocks).await })
    }

    /// Makes blocks read as zeroes.
    fn write_zeroes(&self, lba: u64, blocks: u64) -> PyResult<()> {
        self.run(move |host| async move { host.write_zeroes(lba, blocks).await })
    }

    /// Sets up at once what earlier writes would have left, given as JSON; tells what was
    /// set up as JSON. `progress(share)` is called now and then; an exception in it leaves
    /// the rest of the drive blank.
    #[pyo3(signature = (plan, progress = None))]
    fn precondition(
        &self,
        py: Python<'_>,
        plan: &str,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let plan = parse_precondition(plan)?;
        let done = Progress::new(py, progress).watch(|progress| {
            self.with(|drive| drive.precondition_while(&plan, |share| progress.go_on(share)))
        })?;
        json(&done)
    }

    /// Compares whole blocks with data, inside the drive.
    fn compare(&self, lba: u64, data: PyBackedBytes) -> PyResult<()> {
        check_size(data.len() as u64)?;
        self.run(move |host| async move { host.compare(lba, &data).await })
    }

    /// Has the drive read blocks without sending them.
    fn verify(&self, lba: u64, blocks: u64) -> PyResult<()> {
        self.run(move |host| async move { host.verify(lba, blocks).await })
    }

    /// Makes reads of blocks fail until they are written.
    fn write_uncorrectable(&self, lba: u64, blocks: u64) -> PyResult<()> {
        self.run(move |host| async move { host.write_uncorrectable(lba, blocks).await })
    }

    /// Copies ranges of blocks inside the drive.
    fn copy(&self, sources: Vec<(u64, u32)>, destination: u64) -> PyResult<()> {
        self.run(move |host| async move { host.copy(&sources, destination).await })
    }

    /// Gives a namespace another block size and erases it.
    fn format(&self, namespace: u32, block_bytes: u32) -> PyResult<()> {
        self.with(|drive| drive.format(namespace, block_bytes))
    }

    /// Erases everything on the drive, beyond recovery.
    fn sanitize(&self) -> PyResult<()> {
        self.with(bitline::Drive::sanitize)
    }

    /// Begins to read blocks; the answer is their bytes.
    fn submit_read(this: Py<Drive>, lba: u64, blocks: u64) -> PyResult<Pending> {
        let block_bytes = this.get().block_bytes()?;
        check_size(blocks.saturating_mul(u64::from(block_bytes)))?;
        Drive::submit(this, async move |host| {
            Ok(Answer::Bytes(host.read(lba, blocks).await?))
        })
    }

    /// Begins to write whole blocks.
    fn submit_write(this: Py<Drive>, lba: u64, data: PyBackedBytes) -> PyResult<Pending> {
        check_size(data.len() as u64)?;
        Drive::submit(this, async move |host| {
            host.write(lba, &data).await?;
            Ok(Answer::Done)
        })
    }

    /// Begins to evaluate an expression; the answer is its bytes, or the number of ones of it.
    fn submit_query(
        this: Py<Drive>,
        expression: &Expression,
        platform: &str,
        count: bool,
    ) -> PyResult<Pending> {
        let request = Request::new(&expression.0).on(parse_platform(platform)?);
        Drive::submit(this, async move |host| {
            Ok(match count {
                true => Answer::Count(host.ask(&request).await?.ones),
                false => Answer::Result(host.receive(&request).await?),
            })
        })
    }

    /// Evaluates an expression.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        expression: &Expression,
        platform: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let platform = parse_platform(platform)?;
        let result = self.with(|drive| drive.query(&expression.0).on(platform).receive())?;
        bytes_of(py, &result)
    }

    /// Evaluates an expression, and puts the result into `into`, which has room for exactly that.
    fn evaluate_into(
        &self,
        py: Python<'_>,
        expression: &Expression,
        platform: &str,
        into: PyBuffer<u8>,
    ) -> PyResult<()> {
        let platform = parse_platform(platform)?;
        let result = self.with(|drive| drive.query(&expression.0).on(platform).receive())?;
        let copied = result.look(|bytes| into.copy_from_slice(py, bytes));
        copied.map_err(to_python)?
    }

    /// Counts the ones of an expression's result: in the drive, or in the host as it arrives.
    fn count_ones(&self, expression: &Expression, platform: &str, in_host: bool) -> PyResult<u64> {
        let platform = parse_platform(platform)?;
        self.with(|drive| {
            let query = drive.query(&expression.0).on(platform);
            match in_host {
                true => query.count_in_host(),
                false => query.count(),
            }
        })
    }

    /// Evaluates an expression and drops the result as it arrives in the host.
    fn stream(&self, expression: &Expression, platform: &str) -> PyResult<()> {
        let platform = parse_platform(platform)?;
        self.with(|drive| drive.query(&expression.0).on(platform).stream())
    }

    /// Evaluates an expression twice, by two plans: the first one's result, and the number of bits in
    /// which the second one's differs.
    fn evaluate_checked<'py>(
        &self,
        py: Python<'py>,
        expression: &Expression,
        platform: &str,
    ) -> PyResult<(Bound<'py, PyBytes>, u32)> {
        let platform = parse_platform(platform)?;
        let checked = self.with(|drive| drive.query(&expression.0).on(platform).read_checked())?;
        Ok((PyBytes::new(py, &checked.result), checked.differing_bits))
    }

    /// Counts the ones of an expression's result, checked in the same way.
    fn count_ones_checked(&self, expression: &Expression, platform: &str) -> PyResult<(u64, u32)> {
        let platform = parse_platform(platform)?;
        let checked = self.with(|drive| drive.query(&expression.0).on(platform).count_checked())?;
        Ok((checked.result, checked.differing_bits))
    }

    /// Proposes groups and inversions for expressions over its vectors, each with how often it is asked.
    fn advise(&self, asked: Vec<(PyRef<'_, Expression>, u64)>) -> PyResult<Advice> {
        let asked: Vec<Asked> = asked_of(&asked).collect();
        Ok(Advice(self.with(|drive| drive.advise(&asked))?))
    }

    /// Follows advice: what vectors that were moved have become, with the names of their groups.
    fn apply(&self, advice: &Advice) -> PyResult<Vec<MovedRow>> {
        let applied = self.with(|drive| drive.apply(&advice.0))?;
        let moved = applied.into_iter();
        let moved = moved.map(|(id, vector)| {
            let group = vector.group.clone();
            ((id.group, id.vector), group, vector_row(vector))
        });
        Ok(moved.collect())
    }

    /// How an expression would be evaluated, in words.
    fn explain(&self, expression: &Expression, platform: &str) -> PyResult<String> {
        let platform = parse_platform(platform)?;
        self.with(|drive| drive.query(&expression.0).on(platform).explain())
    }

    /// How an expression would be evaluated and what that would take, as JSON.
    ///
    /// Vectors are called as `labels` says, by what they are called in expressions.
    #[pyo3(signature = (expression, platform, bits = None, count_only = false, labels = BTreeMap::new()))]
    fn explanation(
        &self,
        expression: &Expression,
        platform: &str,
        bits: Option<u64>,
        count_only: bool,
        labels: BTreeMap<(u32, u32), String>,
    ) -> PyResult<String> {
        let platform = parse_platform(platform)?;
        let labels = labels.into_iter();
        let labels = labels.map(|((group, vector), label)| (VectorId::new(group, vector), label));
        let explain = |drive: &mut bitline::Drive| {
            let query = drive.query(&expression.0).on(platform);
            query.explanation_called(bits, count_only, &labels.collect())
        };
        json(&self.with(explain)?)
    }

    /// Runs flows and traces, given as a JSON list; gives the report as JSON. `latencies`
    /// is called with columns of requests as they complete.
    #[pyo3(signature = (workloads, progress = None, latencies = None, keep_going = false, interval_ns = 0, draw = None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "a keyword argument each in Python"
    )]
    fn run_workloads(
        &self,
        py: Python<'_>,
        workloads: &str,
        progress: Option<Bound<'_, PyAny>>,
        latencies: Option<Bound<'_, PyAny>>,
        keep_going: bool,
        interval_ns: u64,
        draw: Option<u64>,
    ) -> PyResult<String> {
        let workloads = parse_workloads(workloads)?;
        let options = RunOptions {
            latencies: latencies.is_some(),
            keep_going,
            interval_ns,
            draw,
        };
        let progress = Progress::new(py, progress);
        let report = self
            .0
            .with(|drive| running::run(py, drive, &workloads, options, &progress, latencies))?;
        json(&report)
    }

    /// Everything counted since power-up, as JSON.
    fn statistics(&self) -> PyResult<String> {
        json(&self.with(|drive| drive.statistics())?)
    }

    /// Lets so much time pass.
    fn wait(&self, picoseconds: u64) -> PyResult<()> {
        self.run(move |host: Host| async move {
            host.sim().sleep(Span::from_ps(picoseconds)).await;
            Ok::<(), Error>(())
        })
    }

    /// What the drive answers to Identify, as JSON.
    fn identify(&self) -> PyResult<String> {
        json(&self.with(bitline::Drive::identify)?)
    }

    /// Makes the drive older at once; how old it is then, as JSON.
    fn grow_older(&self, hours: f64, celsius: f64, cycles: u32) -> PyResult<String> {
        let ageing = bitline::Ageing::new(hours, celsius).after_cycles(cycles);
        json(&self.with(|drive| drive.grow_older(&ageing))?)
    }

    /// How old the drive is, as JSON.
    fn age(&self) -> PyResult<String> {
        json(&self.with(|drive| drive.age())?)
    }

    /// The drive's health as its SMART page tells it, as JSON.
    fn health(&self) -> PyResult<String> {
        json(&self.with(bitline::Drive::health)?)
    }

    /// What the media holds and how worn it is, as JSON.
    fn inventory(&self) -> PyResult<String> {
        json(&self.with(|drive| drive.inventory())?)
    }

    /// The logical blocks that hold data: runs of first block and number of blocks.
    fn mapped_runs(&self) -> PyResult<Vec<(u64, u64)>> {
        let runs = self.with(|drive| drive.mapped_runs())?;
        Ok(runs.iter().map(|run| (run.first, run.blocks)).collect())
    }

    /// Fails as a bug of the drive would, for the tests of what becomes of it.
    fn _panic(&self, message: String) -> PyResult<()> {
        self.0.with(|_| panic!("{message}"))
    }
}

impl Drive {
    /// What names it among those of its thread.
    pub(crate) fn key(&self) -> Key {
        self.0
    }

    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut bitline::Drive) -> Result<T, Error>,
    ) -> PyResult<T> {
        self.0.ask(work)
    }

    /// Begins a call, which goes on while others do.
    pub(crate) fn submit(
        this: Py<Drive>,
        call: impl AsyncFnOnce(Host) -> Result<Answer, Error> + 'static,
    ) -> PyResult<Pending> {
        Pending::submit(this.get().0, this.into_any(), call)
    }

    pub(crate) fn run<T: 'static, E, F>(&self, function: impl FnOnce(Host) -> F) -> PyResult<T>
    where
        E: Into<Error> + 'static,
        F: Future<Output = Result<T, E>> + 'static,
    {
        self.with(|drive| drive.run(function)?.map_err(Into::into))
    }
}

pub(crate) fn check_size(bytes: u64) -> PyResult<()> {
    if bytes <= CALL_BYTES_MAX {
        return Ok(());
    }
    Err(usage(format!(
        "one call moves at most {CALL_BYTES_MAX} bytes, not {bytes}; move them in pieces"
    )))
}

fn parse_platform(name: &str) -> PyResult<Platform> {
    name.parse().map_err(|error: Error| to_python(error))
}
