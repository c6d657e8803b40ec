//! Streams for Python: a handle names what was opened, which stays in the thread of its drive.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use bitline::{Error, Host, Outcome, Program, Stream, StreamRun, StreamShape};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::drive::{Drive, check_size};
use crate::error::usage;
use crate::rows::{OutcomeRow, outcome_row};
use crate::tasks::{FileRows, LimitsRow, What, run_of};

thread_local! {
    /// What names the drive of each, and the stream.
    static OPEN: RefCell<BTreeMap<u64, (u64, Stream)>> = const { RefCell::new(BTreeMap::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Input by number of the file, or port of the collector; output by number of the file, bytes of a piece, elements, and whether output keeps the order of the input.
type ShapeRow = (Option<u32>, Option<u16>, Option<u32>, u32, u16, bool);

/// The streams of a drive.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Streams(Py<Drive>);

#[pymethods]
impl Streams {
    /// Those of `drive`.
    #[new]
    fn new(drive: Py<Drive>) -> Streams {
        drive.get().key().when_closed(forget_all);
        Streams(drive)
    }

    /// Opens a stream of a program, or of a module; its handle.
    #[allow(
        clippy::too_many_arguments,
        reason = "a keyword argument each in Python"
    )]
    fn open(
        &self,
        what: What,
        files: FileRows,
        stores: Vec<String>,
        arguments: PyBackedBytes,
        isolation: &str,
        limits: LimitsRow,
        shape: ShapeRow,
        priority: u32,
        on_card: bool,
    ) -> PyResult<u64> {
        let run = run_of((files, stores), &arguments, isolation, 0, limits)?;
        let (input, collector, output, piece_bytes, elements, ordered) = shape;
        let shape = StreamShape {
            input,
            collector,
            output,
            piece_bytes,
            elements,
            unordered: !ordered,
        };
        let mut asked = StreamRun::of(run.priority(priority));
        asked.shape = shape;
        if !on_card {
            self.0.get().with(|drive| drive.streams().check(&asked))?;
        }
        let stream = self.run_call(async move |host| {
            let program = match what {
                What::Module(module) if on_card => {
                    return host.open_stream_on_card(&module, &asked).await;
                }
                What::Program((index, identifier)) => Program::new(index, identifier),
                What::Module(module) => host.load_program(&module, Default::default()).await?,
            };
            host.open_stream(&program, &asked).await
        })?;
        let handle = NEXT.replace(NEXT.get() + 1);
        let drive = self.0.get().key().number();
        OPEN.with_borrow_mut(|open| open.insert(handle, (drive, stream)));
        Ok(handle)
    }

    /// Reads what comes next, and tells what became of a stream that has failed.
    fn read<'py>(
        &self,
        py: Python<'py>,
        handle: u64,
        size: u64,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<OutcomeRow<'py>>)> {
        check_size(size)?;
        let mut stream = of(handle)?;
        let read = self.try_call(async move |host| host.read_stream(&mut stream, size).await)?;
        Ok(match read {
            Ok(read) => (PyBytes::new(py, &read), None),
            Err(outcome) => (PyBytes::new(py, &[]), Some(outcome_row(py, outcome))),
        })
    }

    /// Sends what a stream is to take next, and whether no more will come; what became of one that has failed.
    fn write<'py>(
        &self,
        py: Python<'py>,
        handle: u64,
        data: PyBackedBytes,
        end: bool,
    ) -> PyResult<Option<OutcomeRow<'py>>> {
        check_size(data.len() as u64)?;
        let mut stream = of(handle)?;
        let write = async move |host: Host| host.write_stream(&mut stream, &data, end).await;
        Ok(match self.try_call(write)? {
            Ok(()) => None,
            Err(outcome) => Some(outcome_row(py, outcome)),
        })
    }

    /// What became of a stream, once it is over.
    fn outcome<'py>(&self, py: Python<'py>, handle: u64) -> PyResult<OutcomeRow<'py>> {
        let mut stream = of(handle)?;
        let outcome = self.try_call(async move |host| host.stream_outcome(&mut stream).await)?;
        Ok(outcome_row(py, outcome.unwrap_or_else(|failed| failed)))
    }

    /// Lets a stream that nobody has any more be closed, as soon as time passes.
    fn forget(&self, handle: u64) {
        drop(OPEN.with_borrow_mut(|open| open.remove(&handle)));
    }

    /// Closes a stream.
    fn close(&self, handle: u64) -> PyResult<()> {
        let Some((_, stream)) = OPEN.with_borrow_mut(|open| open.remove(&handle)) else {
            return Ok(());
        };
        self.0.get().with(|drive| drive.streams().close(stream))
    }
}

impl Streams {
    fn run_call<T: 'static>(
        &self,
        call: impl AsyncFnOnce(Host) -> Result<T, Error> + 'static,
    ) -> PyResult<T> {
        self.0.get().run(|host| async move { call(host).await })
    }

    /// The same, where what became of a stream that has failed is an answer.
    fn try_call<T: 'static>(
        &self,
        call: impl AsyncFnOnce(Host) -> Result<T, Error> + 'static,
    ) -> PyResult<Result<T, Outcome>> {
        self.run_call(async move |host| match call(host).await {
            Ok(done) => Ok(Ok(done)),
            Err(Error::Stream(outcome)) => Ok(Err(*outcome)),
            Err(error) => Err(error),
        })
    }
}

/// The stream of a handle.
fn of(handle: u64) -> PyResult<Stream> {
    let found = OPEN.with_borrow(|open| open.get(&handle).cloned());
    let found = found.map(|(_, stream)| stream);
    found.ok_or_else(|| {
        usage("the stream is closed, of a drive that was closed, or of another thread")
    })
}

/// Forgets the streams of a drive that is closed.
fn forget_all(drive: u64) {
    OPEN.with_borrow_mut(|open| open.retain(|_, (of, _)| *of != drive));
}
