//! Drives for Python. Every call lets simulated time pass until it is done, and looks for
//! Ctrl-C meanwhile.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use bitline::workload::{RunOptions, UnderWay};
use bitline::{Answer as Asked, Error, Host, Platform, Request, VectorId};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::config::Config;
use crate::error::{file, json, to_python, usage, watch};
use crate::expression::Expression;
use crate::keeper::{Key, keep};
use crate::pending::{Answer, Pending};
use crate::progress::Progress;
use crate::volume::Volume;
use crate::workload::{columns, parse_precondition, parse_workloads};

/// Events of a workload between two calls of its progress function: some tens of milliseconds.
const EVENTS_PER_TELLING: u64 = 1 << 17;
/// Events of a workload between two looks for Ctrl-C.
const EVENTS_PER_LOOK: u64 = 1 << 13;

/// Requests are handed to Python when there are so many, or a little more.
const LATENCIES_PER_CHUNK: usize = 1 << 16;

/// The most bytes one call moves, so that a slip of the pen does not ask for more memory
/// than the machine has.
const CALL_BYTES_MAX: u64 = 4 << 30;

/// Pages with data, block and page of those that are damaged, damaged copies of records, and whether the image
/// went back to its last flush.
type Checked = (u64, Vec<(u32, u32)>, u64, bool);

/// Looks through an image without writing it, and through all its data if `data` is set.
#[pyfunction]
pub(crate) fn check_image(py: Python<'_>, image: PathBuf, data: bool) -> PyResult<Checked> {
    let checked = py
        .detach(|| bitline::Drive::check_image(&image, data))
        .map_err(to_python)?;
    let damaged = checked.damaged_pages.iter();
    let damaged = damaged.map(|page| (page.block.0, page.page)).collect();
    let copies = checked.damaged_copies;
    Ok((checked.pages, damaged, copies, checked.rolled_back))
}

/// A drive in this process, of the thread that opened it.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Drive(Key);

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

    /// Restarts the drive with tracing on: of all, or of the busiest window only.
    #[pyo3(signature = (busiest = false))]
    fn restart_traced(&self, busiest: bool) -> PyResult<()> {
        if busiest {
            return self.with(bitline::Drive::restart_traced_busiest);
        }
        self.with(bitline::Drive::restart_traced)
    }

    /// What happened in the busiest window of the trace, as JSON; null if nothing was traced.
    fn busiest(&self) -> PyResult<String> {
        json(&self.with(|drive| Ok(drive.simulation()?.handle().trace().busiest()))?)
    }

    /// Writes what was traced as JSON in the trace-event format.
    fn write_trace(&self, path: PathBuf) -> PyResult<()> {
        self.0.with(|drive| {
            let simulation = drive.simulation().map_err(to_python)?;
            if !simulation.handle().trace().enabled() {
                return Err(usage(
                    "the drive records no trace: call tracing.restart() before what is to be in it",
                ));
            }
            let write = || {
                let out = Watched(File::create(&path)?);
                let mut out = BufWriter::with_capacity(1 << 20, out);
                simulation.handle().trace().write_json(&mut out)?;
                out.flush()
            };
            write().map_err(|error| {
                let error = match error.downcast::<PyErr>() {
                    Ok(raised) => return raised,
                    Err(error) => error,
                };
                let message = format!("cannot write the trace: {error}");
                file(&path, &message, error.raw_os_error())
            })
        })
    }

    /// Its configuration.
    fn config(&self) -> PyResult<Config> {
        self.with(|drive| Ok(Config(drive.config().clone())))
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
            let read = drive.run(move |host| async move { host.block().read(lba, blocks).await });
            read.and_then(|read| read.map_err(Error::from))
                .map_err(to_python)
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
        self.run(move |host| async move { host.block().compare(lba, &data).await })
    }

    /// Has the drive read blocks without sending them.
    fn verify(&self, lba: u64, blocks: u64) -> PyResult<()> {
        self.run(move |host| async move { host.block().verify(lba, blocks).await })
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

    /// Its named objects.
    fn volume(this: Py<Drive>) -> Volume {
        Volume(this)
    }

    /// Begins to read blocks; the answer is their bytes.
    fn submit_read(this: Py<Drive>, lba: u64, blocks: u64) -> PyResult<Pending> {
        let block_bytes = this.get().block_bytes()?;
        check_size(blocks.saturating_mul(u64::from(block_bytes)))?;
        Pending::submit(this, async move |host| {
            Ok(Answer::Bytes(host.block().read(lba, blocks).await?))
        })
    }

    /// Begins to write whole blocks.
    fn submit_write(this: Py<Drive>, lba: u64, data: PyBackedBytes) -> PyResult<Pending> {
        check_size(data.len() as u64)?;
        Pending::submit(this, async move |host| {
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
        let request = Request {
            platform: parse_platform(platform)?,
            answer: match count {
                true => Asked::Count,
                false => Asked::Read,
            },
            ..Request::new(&expression.0)
        };
        Pending::submit(this, async move |host| {
            let reply = host.ask(&request).await?;
            Ok(match count {
                true => Answer::Count(reply.ones),
                false => Answer::Bytes(reply.bits),
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
        let result = self.with(|drive| drive.query(&expression.0).on(platform).read())?;
        Ok(PyBytes::new(py, &result))
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
    #[pyo3(signature = (workloads, progress = None, latencies = None, keep_going = false))]
    fn run_workloads(
        &self,
        py: Python<'_>,
        workloads: &str,
        progress: Option<Bound<'_, PyAny>>,
        latencies: Option<Bound<'_, PyAny>>,
        keep_going: bool,
    ) -> PyResult<String> {
        let workloads = parse_workloads(workloads)?;
        let options = RunOptions {
            latencies: latencies.is_some(),
            keep_going,
        };
        let progress = Progress::new(py, progress);
        let report = self.0.with(|drive| {
            let under_way = drive
                .start_workloads(&workloads, options)
                .map_err(to_python)?;
            loop {
                let mut done = false;
                for _ in 0..EVENTS_PER_TELLING / EVENTS_PER_LOOK {
                    py.check_signals()?;
                    done = under_way
                        .advance(drive, EVENTS_PER_LOOK)
                        .map_err(to_python)?;
                    if done {
                        break;
                    }
                }
                if let Some(latencies) = &latencies {
                    hand_over(py, &under_way, latencies, done)?;
                }
                progress.tell(under_way.completed())?;
                if done {
                    return under_way.report(drive).map_err(to_python);
                }
            }
        })?;
        json(&report)
    }

    /// Everything counted since power-up, as JSON.
    fn statistics(&self) -> PyResult<String> {
        json(&self.with(|drive| drive.statistics())?)
    }

    /// What the drive answers to Identify, as JSON.
    fn identify(&self) -> PyResult<String> {
        json(&self.with(bitline::Drive::identify)?)
    }

    /// Makes the drive older at once; how old it is then, as JSON.
    fn grow_older(&self, hours: f64, celsius: f64, cycles: u32) -> PyResult<String> {
        let ageing = bitline::Ageing {
            hours,
            celsius,
            cycles,
        };
        json(&self.with(|drive| drive.grow_older(&ageing))?)
    }

    /// How old the drive is, as JSON.
    fn age(&self) -> PyResult<String> {
        json(&self.with(|drive| Ok::<_, bitline::Error>(drive.age()))?)
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
        Ok(runs.iter().map(|run| (run.lba, run.blocks)).collect())
    }

    /// Fails as a bug of the drive would, for the tests of what becomes of it.
    fn _panic(&self, message: String) -> PyResult<()> {
        self.0.with(|_| panic!("{message}"))
    }
}

impl Drive {
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut bitline::Drive) -> Result<T, Error>,
    ) -> PyResult<T> {
        self.0.with(|drive| work(drive).map_err(to_python))
    }

    pub(crate) fn run<T: 'static, E, F>(&self, function: impl FnOnce(Host) -> F) -> PyResult<T>
    where
        E: Into<Error> + 'static,
        F: Future<Output = Result<T, E>> + 'static,
    {
        self.with(|drive| drive.run(function)?.map_err(Into::into))
    }
}

/// Hands requests to Python once there are enough of them, or at the end.
fn hand_over(
    py: Python<'_>,
    under_way: &UnderWay,
    latencies: &Bound<'_, PyAny>,
    done: bool,
) -> PyResult<()> {
    let kept = under_way.latencies_kept();
    if kept >= LATENCIES_PER_CHUNK || (done && kept > 0) {
        latencies.call1((columns(py, &under_way.take_latencies())?,))?;
    }
    Ok(())
}

/// A file whose writes end when a signal handler raises something, with that as their error.
struct Watched(File);

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Python::attach(|py| py.check_signals()).map_err(std::io::Error::other)?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
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
