//! The drives and contexts of a thread. What C has of one is its number, made to look like a pointer that nobody follows. No
//! number is given twice, so one that was given up is told from those that are open.
//!
//! While a call of a drive is under way the drive is taken out. If it panics, the drive is dropped, and every later call says why.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use bitline::{Drive, Error, Outcome, Pending, Stream, TaskRun, Unclosed};

use crate::error::{Code, Failure, catch};

/// What a name says that C has: of a drive, or of a context. It has no value.
#[repr(C)]
pub struct Named<T> {
    of: PhantomData<T>,
}

/// C's name of a drive.
pub type DriveName = *mut Named<Drive>;
/// C's name of a context.
pub type ContextName = *mut Named<Context>;

/// C's name of a stream.
pub type StreamName = *mut Named<Stream>;

/// What a run is asked to do, and then what became of it.
pub struct Context {
    pub(crate) drive: DriveName,
    pub(crate) run: TaskRun,
    /// The run that is in flight.
    pub(crate) pending: Option<Pending<Result<Outcome, Error>>>,
    /// What became of the last one.
    pub(crate) outcome: Option<Outcome>,
}

impl Context {
    /// This context, if it has no run in flight.
    pub(crate) fn idle(&mut self) -> Result<&mut Context, Failure> {
        match self.pending {
            None => Ok(self),
            Some(_) => Err(Failure::usage(
                "the context's run is in flight: wait for it first",
            )),
        }
    }
}

/// What has become of a drive.
enum Place {
    Ready(Box<Drive>),
    /// An internal error ended it.
    Broken(String),
}

#[derive(Default)]
struct Table {
    contexts: BTreeMap<usize, Context>,
    streams: BTreeMap<usize, (DriveName, Stream)>,
    drives: BTreeMap<usize, Place>,
}

impl Drop for Table {
    fn drop(&mut self) {
        // The thread ends: runs are let go of before their drives, whose power is cut. Nobody is left to hear of an error.
        let contexts = std::mem::take(&mut self.contexts);
        let streams = std::mem::take(&mut self.streams);
        let _ = catch(|| drop((contexts, streams)));
        for (_, place) in std::mem::take(&mut self.drives) {
            let _ = catch(|| drop(place));
        }
    }
}

thread_local! {
    static TABLE: RefCell<Table> = RefCell::default();
}

/// The last number that was given. All threads draw from it, so that one's name is never another's; no result depends on it.
static LAST: AtomicUsize = AtomicUsize::new(0);

/// What numbers are apart, so that their names are aligned as pointers are.
const APART: usize = 16;

fn new_number() -> usize {
    (LAST.fetch_add(1, Ordering::Relaxed) + 1) * APART
}

fn name_of<T>(number: usize) -> *mut Named<T> {
    std::ptr::without_provenance_mut(number)
}

fn with_table<T>(work: impl FnOnce(&mut Table) -> T) -> Result<T, Failure> {
    let ending = |_| Failure::new(Code::Handle, "the thread is ending: its drives are closed");
    TABLE
        .try_with(|table| work(&mut table.borrow_mut()))
        .map_err(ending)
}

fn unknown<T>(name: *mut Named<T>, what: &str) -> Failure {
    let text = match name.is_null() {
        true => format!("the {what} is NULL"),
        false => {
            format!("there is no such {what}: it was given up, is another thread's, or never was")
        }
    };
    Failure::new(Code::Handle, text)
}

/// Keeps a drive; gives its name.
pub(crate) fn keep_drive(drive: Drive) -> Result<DriveName, Failure> {
    let number = new_number();
    with_table(|table| table.drives.insert(number, Place::Ready(Box::new(drive))))?;
    Ok(name_of(number))
}

/// Calls `work` with a drive.
pub(crate) fn with_drive<T>(
    name: DriveName,
    work: impl FnOnce(&mut Drive) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut drive = take(name)?;
    let (left, told) = match catch(|| work(&mut drive)) {
        Ok(told) => (Place::Ready(drive), told),
        Err(message) => {
            // What is left of it may be inconsistent, so dropping it may panic, too.
            let _ = catch(|| drop(drive));
            let told = Failure::new(Code::Internal, message.clone());
            (Place::Broken(message), Err(told))
        }
    };
    with_table(|table| table.drives.insert(name.addr(), left))?;
    told
}

/// Closes a drive and gives up its name. One that cannot be closed stays. One that an internal error ended is gone anyway.
pub(crate) fn close_drive(name: DriveName) -> Result<(), Failure> {
    if with_table(|table| {
        let broken = matches!(table.drives.get(&name.addr()), Some(Place::Broken(_)));
        broken.then(|| table.drives.remove(&name.addr()))
    })?
    .is_some()
    {
        return Ok(());
    }
    let drive = take(name)?;
    match catch(|| drive.close()) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(Unclosed { drive, error, .. })) => {
            with_table(|table| table.drives.insert(name.addr(), Place::Ready(drive)))?;
            Err(error.into())
        }
        Err(message) => Err(Failure::new(Code::Internal, message)),
    }
}

fn take(name: DriveName) -> Result<Box<Drive>, Failure> {
    let number = name.addr();
    with_table(|table| match table.drives.remove(&number) {
        None => Err(unknown(name, "drive")),
        Some(Place::Broken(message)) => {
            let text = format!("the drive is unusable since an internal error ({message})");
            table.drives.insert(number, Place::Broken(message));
            Err(Failure::new(Code::Internal, text))
        }
        Some(Place::Ready(drive)) if drive.is_foreign() => {
            table.drives.insert(number, Place::Ready(drive));
            Err(Failure::usage(
                "this drive keeps its bits in an image that the process which opened it is using; a process forked from that \
                 cannot use its copy",
            ))
        }
        Some(Place::Ready(drive)) => Ok(drive),
    })?
}

/// Keeps a context; gives its name.
pub(crate) fn keep_context(context: Context) -> Result<ContextName, Failure> {
    let number = new_number();
    with_table(|table| table.contexts.insert(number, context))?;
    Ok(name_of(number))
}

/// Calls `work`, which calls no drive, with a context.
pub(crate) fn with_context<T>(
    name: ContextName,
    work: impl FnOnce(&mut Context) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_table(|table| match table.contexts.get_mut(&name.addr()) {
        Some(context) => work(context),
        None => Err(unknown(name, "context")),
    })?
}

/// Gives a context up.
pub(crate) fn free_context(name: ContextName) -> Result<(), Failure> {
    let context = with_table(|table| table.contexts.remove(&name.addr()))?;
    context.map(drop).ok_or_else(|| unknown(name, "context"))
}

/// Keeps a stream of a drive; gives its name.
pub(crate) fn keep_stream(drive: DriveName, stream: Stream) -> Result<StreamName, Failure> {
    let number = new_number();
    with_table(|table| table.streams.insert(number, (drive, stream)))?;
    Ok(name_of(number))
}

/// Calls `work`, which calls no drive, with a stream and the name of its drive.
pub(crate) fn with_stream<T>(
    name: StreamName,
    work: impl FnOnce(DriveName, &Stream) -> T,
) -> Result<T, Failure> {
    with_table(|table| match table.streams.get(&name.addr()) {
        Some((drive, stream)) => Ok(work(*drive, stream)),
        None => Err(unknown(name, "stream")),
    })?
}

/// Gives the name of a stream up.
pub(crate) fn forget_stream(name: StreamName) -> Result<(DriveName, Stream), Failure> {
    let stream = with_table(|table| table.streams.remove(&name.addr()))?;
    stream.ok_or_else(|| unknown(name, "stream"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_its_drive_and_no_other() {
        let open = || {
            let config = bitline::Config::from_toml("data.storage = \"none\"").expect("a drive");
            keep_drive(Drive::open(config).expect("a drive"))
                .ok()
                .expect("a thread")
        };
        let (one, other) = (open(), open());
        let told = with_drive(one, |_| -> Result<(), Failure> { panic!("seven") });
        assert!(told.is_err());
        assert!(with_drive(one, |_| Ok(())).is_err(), "it stays broken");
        assert!(with_drive(other, |_| Ok(())).is_ok());
        assert!(close_drive(one).is_ok());
        assert!(close_drive(one).is_err(), "its name was given up");
        assert!(close_drive(other).is_ok());
    }
}
