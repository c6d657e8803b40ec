//! What jobs see of a drive that is served.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Instant;

use bitline::inside::sim::resource::RangeLock;
use bitline::inside::{Durable, InsideConfig, InsideDrive, InsideHost};
use bitline::{Drive, Host, HostError, Sim, Time};
use host::block::BlockDevice;

use super::EngineError;
use super::clock::Clock;
use super::drift::Lateness;
use super::figures::{Counted, Kind, Snapshot};
use super::format::Format;
use super::pace::Pace;

/// The host's end of a drive that is served, on the drive's thread. Cheap to clone.
#[derive(Clone)]
pub struct Served(Rc<Inner>);

struct Inner {
    host: Host,
    durable: Durable,
    writing: RangeLock,
    clock: Clock,
    began: Time,
    /// Flash pages that had been programmed by then, and their size.
    programmed: u64,
    page_bytes: u64,
    in_flight: Cell<u64>,
    format: Format,
    counted: RefCell<[Counted; Kind::ALL.len()]>,
    lateness: RefCell<Lateness>,
    /// What those who serve hosts keep here, by the numbers of [`Kept`].
    kept: RefCell<BTreeMap<u64, Rc<dyn Any>>>,
    kept_last: Cell<u64>,
}

/// Where something is kept on the thread of one drive, for whoever is on another thread.
pub(crate) struct Kept<T> {
    number: u64,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Kept<T> {
        *self
    }
}

impl<T> Copy for Kept<T> {}

/// A request that the drive is at.
#[must_use = "it counts as one in flight until it is ended"]
pub(crate) struct Begun {
    served: Served,
    kind: Kind,
    at: Time,
}

impl Served {
    pub(super) fn new(drive: &Drive, pace: Pace) -> Result<Served, EngineError> {
        let host = drive.host()?;
        let began = host.sim().now();
        Ok(Served(Rc::new(Inner {
            durable: drive.durable()?,
            writing: RangeLock::new(host.sim()),
            clock: Clock::new(pace, Instant::now(), began),
            began,
            programmed: drive.statistics()?.flash.page_programs,
            page_bytes: drive.config().device().nand.geometry.page_bytes.into(),
            in_flight: Cell::default(),
            format: Format::default(),
            counted: RefCell::default(),
            lateness: RefCell::default(),
            kept: RefCell::default(),
            kept_last: Cell::new(0),
            host,
        })))
    }

    /// The host's end of the drive.
    pub fn host(&self) -> &Host {
        &self.0.host
    }

    /// The simulated clock.
    pub fn sim(&self) -> &Sim {
        self.0.host.sim()
    }

    /// What makes durable what the drive has acknowledged.
    pub fn durable(&self) -> &Durable {
        &self.0.durable
    }

    /// Logical blocks that the file over FUSE is writing: a request that reads some, to write them back with a part changed, has
    /// them exclusively. It covers requests of that file alone: hosts over NVMe write whole blocks, and two hosts that write the same
    /// block have to agree on that anyway.
    pub(crate) fn writing(&self) -> &RangeLock {
        &self.0.writing
    }

    /// Refuses what goes by the block size of the namespace where that may be another one since.
    ///
    /// # Errors
    /// That it is.
    pub(crate) fn check_format(&self) -> Result<(), bitline::Error> {
        match self.0.format.is_kept() {
            true => Ok(()),
            false => Err(HostError::Usage(
                "the namespace is being formatted, or has blocks of another size now: attach the drive anew".into(),
            )
            .into()),
        }
    }

    /// Has the namespace formatted by `format`, for another host; then looks how long its blocks are now.
    pub(crate) async fn formatted<T>(&self, format: impl Future<Output = T>) -> T {
        self.0.format.begin();
        let done = format.await;
        let block = self.host().block();
        let now = BlockDevice::open(block.transport().clone(), block.namespace()).await;
        let is_same = now.is_ok_and(|now| {
            (now.block_bytes(), now.blocks()) == (block.block_bytes(), block.blocks())
        });
        self.0.format.end(!is_same);
        done
    }

    /// Has work begin on the drive; it goes on as simulated time passes.
    pub fn spawn(&self, work: impl Future<Output = ()> + 'static) {
        self.sim().spawn_detached(work);
    }

    /// Keeps something on this thread for jobs to come, which find it again by what this gives.
    pub(crate) fn keep<T: 'static>(&self, value: Rc<T>) -> Kept<T> {
        let number = self.0.kept_last.get() + 1;
        self.0.kept_last.set(number);
        self.0.kept.borrow_mut().insert(number, value);
        Kept {
            number,
            kind: PhantomData,
        }
    }

    /// What is kept there; none once it was given back.
    pub(crate) fn kept<T: 'static>(&self, at: Kept<T>) -> Option<Rc<T>> {
        let kept = self.0.kept.borrow().get(&at.number).cloned();
        Some(
            kept?
                .downcast()
                .expect("what this drive keeps by that number"),
        )
    }

    /// What was kept there, and is not any more.
    pub(crate) fn give_back<T: 'static>(&self, at: Kept<T>) -> Option<Rc<T>> {
        let kept = self.0.kept.borrow_mut().remove(&at.number);
        Some(
            kept?
                .downcast()
                .expect("what this drive keeps by that number"),
        )
    }

    /// A request begins now, which is counted when it is ended ([`Begun::end`]).
    pub(crate) fn begin(&self, kind: Kind) -> Begun {
        self.0.in_flight.set(self.0.in_flight.get() + 1);
        Begun {
            served: self.clone(),
            kind,
            at: self.sim().now(),
        }
    }

    /// Keeps nothing any more.
    pub(super) fn forget_kept(&self) {
        // What is dropped may ask for what is kept.
        let kept = std::mem::take(&mut *self.0.kept.borrow_mut());
        drop(kept);
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Requests that are under way.
    pub(super) fn in_flight(&self) -> u64 {
        self.0.in_flight.get()
    }

    /// What was done so far.
    pub(super) fn snapshot(&self, drive: &Drive) -> Result<Snapshot, bitline::Error> {
        let (statistics, counted) = (drive.statistics()?, self.0.counted.borrow());
        let (clock, now) = (&self.0.clock, Instant::now());
        let simulated = self.sim().now();
        let of = |kind: &Kind| counted[*kind as usize].figures(*kind);
        let written = counted[Kind::Write as usize].bytes();
        let programmed = statistics.flash.page_programs - self.0.programmed;
        let programmed = (programmed * self.0.page_bytes) as f64;
        Ok(Snapshot {
            wall_s: now.saturating_duration_since(clock.began()).as_secs_f64(),
            simulated_s: simulated.since(self.0.began).as_ns() / 1e9,
            in_flight: self.in_flight(),
            kinds: Kind::ALL.iter().map(of).collect(),
            write_amplification: (written > 0).then(|| programmed / written as f64),
            drift: self.0.lateness.borrow().drift(clock.late(simulated, now)),
            drive: statistics,
        })
    }
}

impl Begun {
    /// The request has ended and its completion is told now, or together with others in a moment: so many bytes were moved, unless it
    /// failed.
    pub(crate) fn end(self, bytes: u64, is_fine: bool) {
        let inner = &self.served.0;
        let now = inner.host.sim().now();
        let counted = &mut inner.counted.borrow_mut()[self.kind as usize];
        counted.note(now.since(self.at), bytes, is_fine);
        if let Some(late) = inner.clock.late_now(now) {
            inner.lateness.borrow_mut().note(late);
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let in_flight = &self.served.0.in_flight;
        in_flight.set(in_flight.get() - 1);
    }
}
