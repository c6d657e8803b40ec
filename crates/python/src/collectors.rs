//! Collectors for Python: a handle names what was attached, which stays in the thread of its drive.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use bitline::inside::nvme::collector::{CollectorRecord, CollectorState, Policy};
use bitline::inside::sim::Span;
use bitline::{Attach, Collector, Error, Pace, Packet, Source, Timing, Wiring};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyIterator;

use crate::drive::Drive;
use crate::error::usage;
use crate::tasks::{PlacedRow, placed_of};

thread_local! {
    static ATTACHED: RefCell<BTreeMap<u64, Attached>> = const { RefCell::new(BTreeMap::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// A collector, and when it sends its packets.
#[derive(Clone)]
struct Attached {
    /// What names its drive.
    drive: u64,
    collector: Collector,
    timing: Rc<RefCell<Timing>>,
}

/// Packets that a Python iterator gives when they are due. It has to be one that raises nothing: then there are no more.
struct Iterated {
    packets: Py<PyIterator>,
    timing: Rc<RefCell<Timing>>,
}

impl Source for Iterated {
    fn next(&mut self) -> Option<Packet> {
        let data = Python::attach(|py| {
            let packet = self.packets.bind(py).clone().next()?;
            let data: PyBackedBytes = packet.ok()?.extract().ok()?;
            Some(data.to_vec())
        })?;
        Some(Packet {
            after: self.timing.borrow_mut().next(data.len() as u64),
            data,
        })
    }
}

/// Bytes a second, bytes that a packet of the protocol carries, and what it adds to each.
type WiringRow = (u64, u32, u32);
/// Bytes a second, jitter, and for how many nanoseconds it sends and does not.
type PaceRow = (f64, f64, f64, f64);
/// Port, state, identifier, bytes, room, packets and bytes taken in, dropped as they came, dropped later, bytes lost at the end
/// and not taken by streams, nanoseconds stalled.
type RecordRow = (
    u32,
    &'static str,
    u64,
    u64,
    u64,
    [u64; 2],
    [u64; 2],
    [u64; 2],
    [u64; 2],
    u64,
);

/// The collectors of a drive.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Collectors(Py<Drive>);

#[pymethods]
impl Collectors {
    /// Those of `drive`.
    #[new]
    fn new(drive: Py<Drive>) -> Collectors {
        drive.get().key().when_closed(forget_all);
        Collectors(drive)
    }

    /// Sets aside an object.
    fn allocate(&self, name: &str, size: u64) -> PyResult<()> {
        self.with(|collectors| collectors.allocate(name, size))
    }

    /// Attaches a collector; its handle.
    #[allow(
        clippy::too_many_arguments,
        reason = "a keyword argument each in Python"
    )]
    fn attach(
        &self,
        port: u16,
        path: Option<(String, Option<PlacedRow>)>,
        wiring: WiringRow,
        policy: &str,
        share: u32,
        growth: (u32, u64),
        resume: bool,
        through_host: bool,
        pace: PaceRow,
    ) -> PyResult<u64> {
        let mut asked = match path {
            Some((path, Some(placed))) => Attach::to(port, path).at(placed_of(placed)),
            Some((path, None)) => Attach::to(port, path),
            None => Attach::for_streams(port),
        };
        asked = asked.wired(Wiring {
            bytes_per_second: wiring.0,
            packet_bytes: wiring.1,
            overhead_bytes: wiring.2,
        });
        let policy = match policy {
            "stall" => Policy::Stall,
            "drop newest" => Policy::DropNewest,
            "drop oldest" => Policy::DropOldest,
            other => return Err(usage(format!("{other:?} is no policy"))),
        };
        asked = asked
            .policy(policy)
            .share(share)
            .growing(growth.0, growth.1);
        if resume {
            asked = asked.going_on();
        }
        if through_host {
            asked = asked.through_host();
        }
        let drive = self.0.get().key().number();
        let attached = self.with(|collectors| {
            let collector = collectors.attach(&asked)?;
            let timing = collectors.timing(&collector, pace_of(pace));
            Ok(Attached {
                drive,
                collector,
                timing: Rc::new(RefCell::new(timing)),
            })
        })?;
        let handle = NEXT.replace(NEXT.get() + 1);
        ATTACHED.with_borrow_mut(|all| all.insert(handle, attached));
        Ok(handle)
    }

    /// Has a collector send random bytes.
    fn generate(&self, handle: u64, pace: PaceRow, packet: u32, size: u64) -> PyResult<()> {
        let collector = of(handle)?.collector;
        self.with(|collectors| collectors.generate(&collector, pace_of(pace), packet, size))
    }

    /// Has a collector send what an iterator gives, as time passes.
    fn send(&self, handle: u64, packets: Py<PyIterator>) -> PyResult<()> {
        let attached = of(handle)?;
        let timing = attached.timing.clone();
        let source = Iterated { packets, timing };
        self.with(|collectors| collectors.send(&attached.collector, source))
    }

    /// Lets time pass until a collector has sent everything.
    fn run(&self, handle: u64) -> PyResult<()> {
        let collector = of(handle)?.collector;
        self.with(|collectors| collectors.run(&collector))
    }

    /// What the drive tells of a collector.
    fn status(&self, handle: u64) -> PyResult<RecordRow> {
        let collector = of(handle)?.collector;
        self.with(|collectors| collectors.status(&collector))
            .map(row)
    }

    /// What it tells of all of them.
    fn list(&self) -> PyResult<Vec<RecordRow>> {
        let records = self.with(|collectors| collectors.list())?;
        Ok(records.into_iter().map(row).collect())
    }

    /// Ends a collection; what the drive tells of it at its end. Only then is there nothing behind the handle any more.
    fn detach(&self, handle: u64) -> PyResult<RecordRow> {
        let collector = of(handle)?.collector;
        let ended = self.with(|collectors| {
            collectors.detach(collector.clone())?;
            collectors.status(&collector)
        })?;
        ATTACHED.with_borrow_mut(|all| all.remove(&handle));
        Ok(row(ended))
    }

    /// Nobody has the handle any more: what it names goes on by itself.
    fn forget(&self, handle: u64) {
        ATTACHED.with_borrow_mut(|all| all.remove(&handle));
    }

    /// Ends one that a power cut has ended; how many bytes there are.
    fn settle(&self, port: u16) -> PyResult<u64> {
        self.with(|collectors| collectors.settle(port))
    }
}

impl Collectors {
    fn with<T>(
        &self,
        call: impl FnOnce(&mut bitline::Collectors<'_>) -> Result<T, Error>,
    ) -> PyResult<T> {
        self.0.get().with(|drive| call(&mut drive.collectors()))
    }
}

fn pace_of((bytes_per_second, jitter, on, off): PaceRow) -> Pace {
    let span = |nanoseconds: f64| Span::from_ps((nanoseconds * 1000.0) as u64);
    Pace {
        bytes_per_second,
        jitter,
        burst: (span(on), span(off)),
    }
}

fn row(record: CollectorRecord) -> RecordRow {
    let state = match CollectorState::of_code(record.state) {
        Some(CollectorState::Collecting) => "collecting",
        Some(CollectorState::Over) => "over",
        _ => "failed",
    };
    (
        record.port.get(),
        state,
        record.identifier.get(),
        record.bytes.get(),
        record.room_bytes.get(),
        [record.packets.get(), record.packet_bytes.get()],
        [record.newest.get(), record.newest_bytes.get()],
        [record.oldest.get(), record.oldest_bytes.get()],
        [record.lost_bytes.get(), record.unread_bytes.get()],
        record.stalled_ns.get(),
    )
}

/// Forgets the collectors of a drive that is closed.
fn forget_all(drive: u64) {
    ATTACHED.with_borrow_mut(|all| all.retain(|_, attached| attached.drive != drive));
}

/// What is attached by that handle.
fn of(handle: u64) -> PyResult<Attached> {
    let found = ATTACHED.with_borrow(|all| all.get(&handle).cloned());
    found.ok_or_else(gone)
}

fn gone() -> PyErr {
    usage("the collector is detached, of a drive that was closed, or of another thread")
}
