//! Calls in flight together, for Python: a handle names what was submitted, which stays in the thread of its drive.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use bitline::{Error, Host, Outcome, Pending as Submitted, Received};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{to_python, usage};
use crate::keeper::Key;
use crate::rows::{VectorRow, outcome_row};

/// What an answer is.
pub(crate) enum Answer {
    Bytes(Vec<u8>),
    Result(Received),
    Count(u64),
    Vectors(Vec<VectorRow>),
    Outcome(Outcome),
    Done,
}

type Task = Submitted<Result<Answer, Error>>;

thread_local! {
    static TASKS: RefCell<BTreeMap<u64, Task>> = const { RefCell::new(BTreeMap::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Something that was submitted to a drive.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Pending {
    drive: Key,
    /// Python's drive, which forgets the drive when it goes.
    _owner: Py<PyAny>,
    number: u64,
    thread: std::thread::ThreadId,
}

impl Pending {
    /// Begins a call of the drive, which stays open at least as long as `owner`.
    pub(crate) fn submit(
        drive: Key,
        owner: Py<PyAny>,
        function: impl AsyncFnOnce(Host) -> Result<Answer, Error> + 'static,
    ) -> PyResult<Pending> {
        let task = drive.ask(|drive| drive.submit(function))?;
        let number = NEXT.replace(NEXT.get() + 1);
        TASKS.with_borrow_mut(|tasks| tasks.insert(number, task));
        let thread = std::thread::current().id();
        Ok(Pending {
            drive,
            _owner: owner,
            number,
            thread,
        })
    }

    fn check_thread(&self) -> PyResult<()> {
        if self.thread == std::thread::current().id() {
            return Ok(());
        }
        Err(usage(
            "this was submitted in another thread; a drive is used in the thread that opened it",
        ))
    }
}

#[pymethods]
impl Pending {
    /// Whether it has ended, or was waited for.
    fn is_finished(&self) -> PyResult<bool> {
        self.check_thread()?;
        Ok(TASKS.with_borrow(|tasks| tasks.get(&self.number).is_none_or(Task::is_finished)))
    }

    /// Whether its answer was told, so that it cannot be waited for any more.
    fn was_waited_for(&self) -> PyResult<bool> {
        self.check_thread()?;
        Ok(TASKS.with_borrow(|tasks| !tasks.contains_key(&self.number)))
    }

    /// Lets time pass until it has ended: what it gave, and the picoseconds it took. Can be called once.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, u64)> {
        self.check_thread()?;
        let task = TASKS.with_borrow_mut(|tasks| tasks.remove(&self.number));
        let task = task.ok_or_else(|| usage("this was waited for before"))?;
        let waited = self.drive.ask(|drive| Ok(drive.wait(&task)));
        let finished = match waited {
            Ok(Err(Error::Interrupted)) | Err(_) => {
                // The call was broken off, or the drive is busy: it can be waited for again.
                TASKS.with_borrow_mut(|tasks| tasks.insert(self.number, task));
                return Err(waited
                    .and_then(|waited| waited.map(drop).map_err(to_python))
                    .expect_err("one of the two"));
            }
            Ok(waited) => waited.map_err(to_python)?,
        };
        let answer = match finished.answer.map_err(to_python)? {
            Answer::Bytes(bytes) => PyBytes::new(py, &bytes).into_any(),
            Answer::Result(result) => bytes_of(py, &result)?.into_any(),
            Answer::Count(count) => count.into_pyobject(py)?.into_any(),
            Answer::Vectors(rows) => rows.into_pyobject(py)?.into_any(),
            Answer::Outcome(outcome) => outcome_row(py, outcome).into_pyobject(py)?.into_any(),
            Answer::Done => py.None().into_bound(py),
        };
        Ok((answer, finished.took.as_ps()))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.check_thread().is_ok() {
            // The thread may be ending, its tasks gone already; what was sent to the drive is carried out.
            let _ = TASKS.try_with(|tasks| tasks.borrow_mut().remove(&self.number));
        }
    }
}

/// The bytes of a result, copied once: from where they arrived.
pub(crate) fn bytes_of<'py>(py: Python<'py>, result: &Received) -> PyResult<Bound<'py, PyBytes>> {
    if result.is_without_data() {
        // They are made of zeroes.
        return PyBytes::new_with(py, result.bytes() as usize, |_| Ok(()));
    }
    let copied = result.look(|bytes| PyBytes::new(py, bytes));
    copied.map_err(to_python)
}
