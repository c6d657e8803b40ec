//! What streams did, in numbers and in the trace: who looks there sees reading, computing and writing overlap.

use std::cell::{Cell, RefCell};

use serde::{Deserialize, Serialize};
use sim::{Counter, Key, Name, Sim, Time, Track};

/// Bytes of a piece, or of what is written.
static BYTES: Key = Key::one("bytes");

/// The group of their tracks.
const GROUP: &str = "streams";

/// What streams have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamCounts {
    /// Streams opened.
    pub opened: u64,
    /// Those that ended well, with all that they wrote committed.
    pub committed: u64,
    /// Those that were stopped, or failed.
    pub failed: u64,
    /// Pieces of input that elements took.
    pub pieces: u64,
    /// Bytes of these.
    pub input_bytes: u64,
    /// Bytes that elements emitted.
    pub output_bytes: u64,
}

/// Notes of all streams of a drive.
pub(super) struct Notes {
    sim: Sim,
    counts: Cell<StreamCounts>,
    /// Bytes in the buffers now.
    held: Cell<(u64, u64)>,
    /// Made with the first stream: most drives never have one.
    lines: RefCell<Option<Lines>>,
}

/// Where the trace has them.
struct Lines {
    reads: Track,
    elements: Box<[Track]>,
    writes: Track,
    input: Counter,
    output: Counter,
}

impl Notes {
    pub(super) fn new(sim: &Sim) -> Notes {
        Notes {
            sim: sim.clone(),
            counts: Cell::default(),
            held: Cell::default(),
            lines: RefCell::default(),
        }
    }

    /// A stream is opened, where no stream has more elements than so many.
    pub(super) fn opened(&self, elements_max: u32) {
        self.add(|counts| counts.opened += 1);
        self.lines.borrow_mut().get_or_insert_with(|| {
            let trace = self.sim.trace();
            let element = |number| {
                let name = Name::numbered("element", number);
                trace.overlapping_track(GROUP, name)
            };
            Lines {
                reads: trace.overlapping_track(GROUP, "read"),
                elements: (0..elements_max).map(element).collect(),
                writes: trace.overlapping_track(GROUP, "write"),
                input: trace.counter(GROUP, "input, KiB"),
                output: trace.counter(GROUP, "output, KiB"),
            }
        });
    }

    /// A stream is over.
    pub(super) fn ended(&self, is_well: bool) {
        self.add(|counts| match is_well {
            true => counts.committed += 1,
            false => counts.failed += 1,
        });
    }

    /// An element takes a piece.
    pub(super) fn taken(&self, bytes: u32) {
        self.add(|counts| {
            counts.pieces += 1;
            counts.input_bytes += u64::from(bytes);
        });
    }

    /// An element emits.
    pub(super) fn emitted(&self, bytes: u32) {
        self.add(|counts| counts.output_bytes += u64::from(bytes));
    }

    /// A piece was read since `begin`.
    pub(super) fn read(&self, begin: Time, bytes: u32) {
        self.slice(|lines| Some(lines.reads), ("read", begin), bytes);
    }

    /// An element had a piece since `begin`.
    pub(super) fn computed(&self, element: u32, begin: Time, bytes: u32) {
        let track = |lines: &Lines| lines.elements.get(element as usize).copied();
        self.slice(track, ("compute", begin), bytes);
    }

    /// Output was written since `begin`.
    pub(super) fn written(&self, begin: Time, bytes: u32) {
        self.slice(|lines| Some(lines.writes), ("write", begin), bytes);
    }

    /// Room for input was taken, or given back.
    pub(super) fn input(&self, change: i64) {
        let (input, output) = self.held.get();
        self.held.set((input.wrapping_add_signed(change), output));
        self.count();
    }

    /// Room for output was taken, or given back.
    pub(super) fn output(&self, change: i64) {
        let (input, output) = self.held.get();
        self.held.set((input, output.wrapping_add_signed(change)));
        self.count();
    }

    /// The present instant.
    pub(super) fn now(&self) -> Time {
        self.sim.now()
    }

    /// What streams have done.
    pub(super) fn counts(&self) -> StreamCounts {
        self.counts.get()
    }

    fn add(&self, change: impl FnOnce(&mut StreamCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    fn slice(
        &self,
        track: impl FnOnce(&Lines) -> Option<Track>,
        (name, begin): (&'static str, Time),
        bytes: u32,
    ) {
        let trace = self.sim.trace();
        if !trace.enabled() {
            return;
        }
        if let Some(track) = self.lines.borrow().as_ref().and_then(track) {
            let now = self.sim.now();
            trace.slice_with(track, name, begin, now, |args| {
                args.number(&BYTES, bytes);
            });
        }
    }

    fn count(&self) {
        let trace = self.sim.trace();
        if !trace.enabled() {
            return;
        }
        if let Some(lines) = &*self.lines.borrow() {
            let now = self.sim.now();
            let (input, output) = self.held.get();
            trace.count(lines.input, now, (input >> 10) as usize);
            trace.count(lines.output, now, (output >> 10) as usize);
        }
    }
}
