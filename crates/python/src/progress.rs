//! Telling Python how far work is, and ending the work when Python says so: by Ctrl-C, or by an
//! exception in its progress function.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::panic::resume_unwind;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::error::internal;
use crate::keeper::catch;

/// A progress function of Python's, or none.
pub(crate) struct Progress<'py> {
    py: Python<'py>,
    function: Option<Bound<'py, PyAny>>,
    failed: Cell<Option<PyErr>>,
}

impl<'py> Progress<'py> {
    pub(crate) fn new(py: Python<'py>, function: Option<Bound<'py, PyAny>>) -> Progress<'py> {
        Progress {
            py,
            function,
            failed: Cell::new(None),
        }
    }

    /// Looks for Ctrl-C, then calls the function.
    ///
    /// # Errors
    /// Ctrl-C, or what the function raised.
    pub(crate) fn tell(&self, done: impl IntoPyObject<'py>) -> PyResult<()> {
        self.py.check_signals()?;
        match &self.function {
            Some(function) => function
                .call1((done.into_bound_py_any(self.py)?,))
                .map(drop),
            None => Ok(()),
        }
    }

    /// Does work that can only be left by unwinding: [`Progress::tell_or_unwind`] does that.
    ///
    /// # Errors
    /// What [`Progress::tell`] gave, or a panic of the work's own.
    pub(crate) fn catch<T>(self, work: impl FnOnce(&Self) -> T) -> PyResult<T> {
        let done = catch(|| work(&self));
        match self.failed.take() {
            Some(error) => Err(error),
            None => done.map_err(internal),
        }
    }

    /// Does work that is told by [`Progress::go_on`] whether to.
    ///
    /// # Errors
    /// What the work gave, or [`Progress::tell`].
    pub(crate) fn watch<T>(self, work: impl FnOnce(&Self) -> PyResult<T>) -> PyResult<T> {
        let done = work(&self)?;
        self.failed.take().map_or(Ok(done), Err)
    }

    /// As [`Progress::tell`], for the work of [`Progress::watch`].
    pub(crate) fn go_on(&self, done: impl IntoPyObject<'py>) -> ControlFlow<()> {
        match self.tell(done) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed.set(Some(error));
                ControlFlow::Break(())
            }
        }
    }

    /// As [`Progress::tell`], for the work of [`Progress::catch`].
    pub(crate) fn tell_or_unwind(&self, done: impl IntoPyObject<'py>) {
        if let Err(error) = self.tell(done) {
            self.failed.set(Some(error));
            resume_unwind(Box::new("ended by its progress function"));
        }
    }
}
