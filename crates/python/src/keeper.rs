//! Keeps the drives of a thread: Python may pass its objects to any thread, a drive stays
//! where it was opened. A Python object holds only the number of its drive.
//!
//! While a call is under way its drive is taken out, so a callback that calls the same
//! drive is told so. A panic is caught here and nowhere else; the drive that it struck is
//! dropped, and every later call says why.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bitline::{Drive, Error, Unclosed};
use pyo3::PyResult;

use crate::error::{internal, to_python, usage};

/// What has become of a drive.
enum Place {
    Ready(Box<Drive>),
    /// A call is under way.
    Busy,
    /// An internal error ended it.
    Broken(String),
}

/// Called with the number of a drive that is closed.
type Forgetters = Vec<fn(u64)>;

thread_local! {
    static PLACES: RefCell<BTreeMap<u64, Place>> = const { RefCell::new(BTreeMap::new()) };
    /// What is to be forgotten with a drive, by its number.
    static FORGET: RefCell<BTreeMap<u64, Forgetters>> = const { RefCell::new(BTreeMap::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Names a drive of the thread that opened it.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    number: u64,
    thread: std::thread::ThreadId,
}

/// Opens a drive and keeps it.
pub(crate) fn keep(open: impl FnOnce() -> PyResult<Drive>) -> PyResult<Key> {
    let drive = catch(open).map_err(internal)??;
    let number = NEXT.replace(NEXT.get() + 1);
    put(number, Place::Ready(Box::new(drive)));
    Ok(Key {
        number,
        thread: std::thread::current().id(),
    })
}

impl Key {
    /// What names its drive among those of its thread.
    pub(crate) fn number(self) -> u64 {
        self.number
    }

    /// Has `forget` called once the drive is closed: what handles hold of it would keep it.
    pub(crate) fn when_closed(self, forget: fn(u64)) {
        FORGET.with_borrow_mut(|all| all.entry(self.number).or_default().push(forget));
    }

    /// Calls `work` with the drive.
    pub(crate) fn with<T>(self, work: impl FnOnce(&mut Drive) -> PyResult<T>) -> PyResult<T> {
        let mut drive = self.take()?;
        match catch(|| work(&mut drive)) {
            Ok(result) => {
                put(self.number, Place::Ready(drive));
                result
            }
            Err(message) => {
                // What is left of it may be inconsistent, so dropping it may panic, too.
                let _ = catch(|| drop(drive));
                put(self.number, Place::Broken(message.clone()));
                Err(internal(message))
            }
        }
    }

    /// As [`Key::with`], of work whose errors are the drive's.
    pub(crate) fn ask<T>(self, work: impl FnOnce(&mut Drive) -> Result<T, Error>) -> PyResult<T> {
        self.with(|drive| work(drive).map_err(to_python))
    }

    /// Closes the drive; the key opens nothing afterwards. A drive that cannot be closed stays, so that it can be
    /// tried again. Does nothing if there is no drive any more.
    pub(crate) fn close(self) -> PyResult<()> {
        if self.is_gone() {
            return Ok(());
        }
        if self.is_over() {
            // The copy of a fork: dropping it touches nothing.
            self.forget();
            return Ok(());
        }
        let drive = self.take()?;
        let closed = catch(|| drive.close());
        if let Ok(Err(Unclosed { drive, error, .. })) = closed {
            put(self.number, Place::Ready(drive));
            return Err(to_python(error));
        }
        PLACES.with_borrow_mut(|places| places.remove(&self.number));
        let forget = FORGET.with_borrow_mut(|all| all.remove(&self.number));
        for forget in forget.unwrap_or_default() {
            forget(self.number);
        }
        closed.map(drop).map_err(internal)
    }

    /// Whether there is nothing to finish any more: the drive is closed, an internal error ended it, or
    /// it is the copy of another process's that a fork has.
    pub(crate) fn is_over(self) -> bool {
        let is_foreign = |place: Option<&Place>| match place {
            Some(Place::Ready(drive)) => drive.is_foreign(),
            _ => false,
        };
        self.is_gone()
            || (self.is_here() && PLACES.with_borrow(|places| is_foreign(places.get(&self.number))))
    }

    /// Whether the drive was closed, or an internal error ended it.
    fn is_gone(self) -> bool {
        let is_gone = |place: Option<&Place>| matches!(place, None | Some(Place::Broken(_)));
        self.is_here() && PLACES.with_borrow(|places| is_gone(places.get(&self.number)))
    }

    /// Forgets the drive without a word, as dropping it does. Another thread's drive stays
    /// until that thread ends.
    pub(crate) fn forget(self) {
        if self.is_here() {
            // The thread may be ending, its drives gone already.
            let place = PLACES.try_with(|places| places.borrow_mut().remove(&self.number));
            let _ = catch(|| drop(place));
        }
    }

    fn is_here(self) -> bool {
        self.thread == std::thread::current().id()
    }

    fn take(self) -> PyResult<Box<Drive>> {
        if !self.is_here() {
            return Err(usage(
                "this drive was opened in another thread; a drive is used in the thread that opened it",
            ));
        }
        PLACES.with_borrow_mut(|places| match places.get_mut(&self.number) {
            None => Err(usage("the drive is closed; open it again")),
            Some(Place::Busy) => Err(usage(
                "the drive is busy: it cannot be called from its own progress function",
            )),
            Some(Place::Broken(message)) => Err(internal(format!(
                "the drive is unusable since an internal error ({message}); open it again"
            ))),
            Some(Place::Ready(drive)) if drive.is_foreign() => Err(usage(
                "this drive keeps its bits in an image that the process which opened it is using; a process \
                 forked from that cannot use its copy: open the image here once it is closed there",
            )),
            Some(place) => match std::mem::replace(place, Place::Busy) {
                Place::Ready(drive) => Ok(drive),
                Place::Busy | Place::Broken(_) => unreachable!("the arms above have taken these"),
            },
        })
    }
}

fn put(number: u64, place: Place) {
    PLACES.with_borrow_mut(|places| places.insert(number, place));
}

/// Runs `work`; a panic in it becomes its message.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // Whatever the panic leaves inconsistent is dropped by the callers, not used again.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message_of(&*panic))
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a bug in Bitline: {}", text.unwrap_or("no message"))
}
