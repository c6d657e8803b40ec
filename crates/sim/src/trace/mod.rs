//! Spans and counts on tracks: all of them, written in the trace-event format that Perfetto
//! opens, or only those of the busiest window.

mod busiest;
mod json;

use std::cell::{Cell, RefCell};
use std::io;

use serde::Serialize;

use crate::quantity::{Span, Time};
use busiest::Busiest;

/// Names a track: a line of the trace, such as one die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(u32);

/// Names a counter: a curve of the trace, such as how much waits for one die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter(u32);

/// What a track shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// One thing at a time.
    Exclusive,
    /// Things that overlap.
    Overlapping,
    /// A number that changes.
    Counter,
}

#[derive(Clone, Debug, Serialize)]
struct Line {
    group: String,
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Slice {
    track: u32,
    name: &'static str,
    begin: Time,
    end: Time,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Count {
    counter: u32,
    at: Time,
    value: u32,
}

/// What was recorded.
#[derive(Clone, Default)]
struct Record {
    slices: Vec<Slice>,
    counts: Vec<Count>,
}

/// What happened when, on which track. Off until [`Trace::enable`]; while off,
/// [`Trace::slice`] and [`Trace::count`] cost one predictable branch.
#[derive(Default)]
pub struct Trace {
    enabled: Cell<bool>,
    lines: RefCell<Vec<Line>>,
    record: RefCell<Record>,
    busiest: RefCell<Busiest>,
}

/// What was recorded of a window. Times are in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Excerpt {
    /// The window's first instant.
    pub begin_ns: f64,
    /// Its last.
    pub end_ns: f64,
    lines: Vec<Line>,
    /// Line, name, begin, end.
    slices: Vec<(u32, &'static str, f64, f64)>,
    /// Line, instant, value from then on.
    counts: Vec<(u32, f64, u32)>,
}

impl Trace {
    /// Records from now on.
    pub fn enable(&self) {
        self.enabled.set(true);
    }

    /// Records from now on, and keeps only what [`Trace::busiest`] needs: memory stays
    /// bounded however long a run is.
    pub fn enable_busiest(&self) {
        self.busiest.borrow_mut().keep_only();
        self.enable();
    }

    /// Whether slices are recorded.
    #[inline]
    pub fn enabled(&self) -> bool {
        self.enabled.get()
    }

    /// A new track called `name`, shown under `group`, for slices of which one begins when
    /// another is over.
    pub fn track(&self, group: &str, name: &str) -> Track {
        Track(self.line(group, name, Kind::Exclusive))
    }

    /// As [`Trace::track`], for slices that overlap, such as the commands of a queue.
    pub fn overlapping_track(&self, group: &str, name: &str) -> Track {
        Track(self.line(group, name, Kind::Overlapping))
    }

    /// A new counter called `name`, shown under `group`.
    pub fn counter(&self, group: &str, name: &str) -> Counter {
        Counter(self.line(group, name, Kind::Counter))
    }

    fn line(&self, group: &str, name: &str, kind: Kind) -> u32 {
        let mut lines = self.lines.borrow_mut();
        lines.push(Line {
            group: group.to_owned(),
            name: name.to_owned(),
            kind,
        });
        lines.len() as u32 - 1
    }

    /// Records that `name` happened on `track` from `begin` to `end`.
    #[inline]
    pub fn slice(&self, track: Track, name: &'static str, begin: Time, end: Time) {
        if self.enabled.get() {
            self.record_slice(Slice {
                track: track.0,
                name,
                begin,
                end,
            });
        }
    }

    /// Records that `counter` is `value` from `at` on.
    #[inline]
    pub fn count(&self, counter: Counter, at: Time, value: usize) {
        if self.enabled.get() {
            self.record.borrow_mut().counts.push(Count {
                counter: counter.0,
                at,
                value: value.min(u32::MAX as usize) as u32,
            });
        }
    }

    #[cold]
    fn record_slice(&self, slice: Slice) {
        let exclusive = self.lines.borrow()[slice.track as usize].kind == Kind::Exclusive;
        let mut record = self.record.borrow_mut();
        record.slices.push(slice);
        self.busiest
            .borrow_mut()
            .note(slice, exclusive, &mut record);
    }

    /// What comes from `now` on is measured; only there is the busiest window looked for.
    pub fn measure_from(&self, now: Time) {
        if self.enabled.get() {
            self.busiest.borrow_mut().measure_from(now);
        }
    }

    /// How many slices were recorded, and kept.
    pub fn len(&self) -> usize {
        self.record.borrow().slices.len()
    }

    /// Whether none was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes everything recorded as one JSON object in the trace-event format.
    /// A track group is a process, a track a thread; times are in microseconds.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn write_json(&self, out: impl io::Write) -> io::Result<()> {
        json::write(&self.lines.borrow(), &self.record.borrow(), out)
    }

    /// What happened in the [`Trace::BUSIEST`] in which most was begun on the tracks where
    /// one thing happens at a time; `None` if nothing was recorded.
    pub fn busiest(&self) -> Option<Excerpt> {
        let (begin, record) = self.busiest.borrow().window(&self.record.borrow())?;
        let slice = |slice: &Slice| {
            let (begin, end) = (slice.begin.as_ns(), slice.end.as_ns());
            (slice.track, slice.name, begin, end)
        };
        let count = |count: &Count| (count.counter, count.at.as_ns(), count.value);
        Some(Excerpt {
            begin_ns: begin.as_ns(),
            end_ns: (begin + Trace::BUSIEST).as_ns(),
            lines: self.lines.borrow().clone(),
            slices: record.slices.iter().map(slice).collect(),
            counts: record.counts.iter().map(count).collect(),
        })
    }

    /// How long the busiest window is.
    pub const BUSIEST: Span = Span::from_us(2000);
}
