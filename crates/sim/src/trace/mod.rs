//! Spans and counts on tracks, of a section of time: all of them, written in the trace-event format
//! that Perfetto opens, or only those of the busiest window.
//!
//! Tracks are there from the beginning and cost nothing until a section is recorded. A slice carries
//! arguments ([`Args`]), and what is done for one command carries its [`TraceId`], so that a viewer
//! draws arrows from part to part.

mod args;
mod busiest;
mod flows;
mod ids;
mod json;
mod lanes;
mod record;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;

use serde::{Serialize, Serializer};

use crate::energy::Tenant;
use crate::quantity::{Span, Time};
pub use args::{Args, Key};
use busiest::Busiest;
use ids::Ids;
pub use ids::{Requester, TraceId};
use record::{Count, Record, Slice};

/// Names a track: a line of the trace, such as one die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(u32);

/// Names a counter: a curve of the trace, such as how much waits for one die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter(u32);

/// What a line is called: words, a number, more words. Put together only when it is written, as most
/// drives are never traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name {
    stem: &'static str,
    number: Option<u32>,
    rest: &'static str,
}

impl Name {
    /// Such as `die 3`.
    pub const fn numbered(stem: &'static str, number: u32) -> Name {
        Name {
            stem,
            number: Some(number),
            rest: "",
        }
    }

    /// With words after it, such as `die 3 waiting`.
    pub const fn followed_by(mut self, rest: &'static str) -> Name {
        self.rest = rest;
        self
    }
}

impl From<&'static str> for Name {
    fn from(stem: &'static str) -> Name {
        Name {
            stem,
            ..Name::default()
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.stem)?;
        if let Some(number) = self.number {
            write!(f, " {number}")?;
        }
        if !self.rest.is_empty() {
            write!(f, " {}", self.rest)?;
        }
        Ok(())
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

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

#[derive(Clone, Copy, Debug, Serialize)]
struct Line {
    group: &'static str,
    name: Name,
    kind: Kind,
}

/// What of a section is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// Everything: memory grows with every event.
    All,
    /// What [`Trace::busiest`] needs: memory stays bounded however long the section is.
    Busiest,
}

/// A section of time, which may not have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Section {
    begin: Time,
    end: Option<Time>,
    /// The first command that was named in it.
    first: TraceId,
}

/// What happened when, on which track, from [`Trace::start`] to [`Trace::stop`]. Otherwise
/// [`Trace::slice`] and [`Trace::count`] cost one predictable branch.
#[derive(Default)]
pub struct Trace {
    enabled: Cell<bool>,
    lines: RefCell<Vec<Line>>,
    record: RefCell<Record>,
    busiest: RefCell<Busiest>,
    section: Cell<Option<Section>>,
    ids: Ids,
    /// The arguments of the slice that is being recorded.
    args: RefCell<Args>,
    tenant_name: Cell<Option<TenantName>>,
}

/// What a tenant is called.
type TenantName = fn(Tenant) -> String;

/// What was recorded of a window. Times are in nanoseconds.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
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
    /// Begins a section at `now`; what an earlier one recorded is gone.
    pub fn start(&self, now: Time, keep: Keep) {
        *self.record.borrow_mut() = Record::default();
        *self.busiest.borrow_mut() = Busiest::starting_at(now, keep);
        let first = self.ids.start();
        self.section.set(Some(Section {
            begin: now,
            end: None,
            first,
        }));
        self.enabled.set(true);
    }

    /// Ends the section at `now`; what it recorded stays until the next begins.
    pub fn stop(&self, now: Time) {
        if self.enabled.replace(false)
            && let Some(section) = self.section.get()
        {
            let end = Some(now);
            self.section.set(Some(Section { end, ..section }));
        }
    }

    /// Whether a section is being recorded.
    #[inline]
    pub fn enabled(&self) -> bool {
        self.enabled.get()
    }

    /// Whether a section was begun, be it over or not.
    pub fn has_section(&self) -> bool {
        self.section.get().is_some()
    }

    /// Says what tenants are called.
    pub fn name_tenants(&self, name: TenantName) {
        self.tenant_name.set(Some(name));
    }

    /// A new track called `name`, shown under `group`, for slices of which one begins when
    /// another is over.
    pub fn track(&self, group: &'static str, name: impl Into<Name>) -> Track {
        Track(self.line(group, name.into(), Kind::Exclusive))
    }

    /// As [`Trace::track`], for slices that overlap, such as the commands of a queue.
    pub fn overlapping_track(&self, group: &'static str, name: impl Into<Name>) -> Track {
        Track(self.line(group, name.into(), Kind::Overlapping))
    }

    /// A new counter called `name`, shown under `group`.
    pub fn counter(&self, group: &'static str, name: impl Into<Name>) -> Counter {
        Counter(self.line(group, name.into(), Kind::Counter))
    }

    fn line(&self, group: &'static str, name: Name, kind: Kind) -> u32 {
        let mut lines = self.lines.borrow_mut();
        lines.push(Line { group, name, kind });
        lines.len() as u32 - 1
    }

    /// Records that `name` happened on `track` from `begin` to `end`.
    #[inline]
    pub fn slice(&self, track: Track, name: &'static str, begin: Time, end: Time) {
        self.slice_with(track, name, begin, end, |_| {});
    }

    /// As [`Trace::slice`], with the arguments that `tell` gives; it is called only while a section
    /// is recorded.
    #[inline]
    pub fn slice_with(
        &self,
        track: Track,
        name: &'static str,
        begin: Time,
        end: Time,
        tell: impl FnOnce(&mut Args),
    ) {
        if self.enabled.get() {
            self.record_slice(Slice::new(track.0, name, begin, end), tell);
        }
    }

    /// Records that `counter` is `value` from `at` on.
    #[inline]
    pub fn count(&self, counter: Counter, at: Time, value: usize) {
        if self.enabled.get() {
            self.record_count(counter, at, value);
        }
    }

    #[cold]
    fn record_count(&self, counter: Counter, at: Time, value: usize) {
        self.record.borrow_mut().counts.push(Count {
            counter: counter.0,
            at,
            value: value.min(u32::MAX as usize) as u32,
        });
    }

    #[cold]
    #[inline(never)]
    fn record_slice(&self, slice: Slice, tell: impl FnOnce(&mut Args)) {
        let exclusive = self.lines.borrow()[slice.track as usize].kind == Kind::Exclusive;
        let args = &mut *self.args.borrow_mut();
        args.clear();
        tell(args);
        let mut record = self.record.borrow_mut();
        record.push(slice, args.as_slice());
        self.busiest
            .borrow_mut()
            .note(slice, args.as_slice(), exclusive, &mut record);
    }

    /// A number for the command whose entry lies at `place`, until [`Trace::taken`] asks for it.
    /// [`TraceId::NONE`] while no section is recorded.
    #[inline]
    pub fn announce(&self, place: u64) -> TraceId {
        if !self.enabled.get() {
            return TraceId::NONE;
        }
        self.ids.announce(place)
    }

    /// The number of the command whose entry lies at `place`.
    #[inline]
    pub fn announced(&self, place: u64) -> TraceId {
        if !self.enabled.get() {
            return TraceId::NONE;
        }
        self.ids.announced(place)
    }

    /// As [`Trace::announced`]; from now on something else may lie there.
    #[inline]
    pub fn taken(&self, place: u64) -> TraceId {
        if !self.enabled.get() {
            return TraceId::NONE;
        }
        self.ids.taken(place)
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

    /// Writes what the section has recorded until `now` as one JSON object in the trace-event
    /// format. A track group is a process, a track a thread; times are in microseconds. What crosses
    /// a border of the section is cut there, and says so.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn write_json(&self, now: Time, out: impl io::Write) -> io::Result<()> {
        let section = self.section.get();
        let begin = section.map_or(now, |section| section.begin);
        let end = section.and_then(|section| section.end).unwrap_or(now);
        let written = json::Written {
            lines: &self.lines.borrow(),
            record: &self.record.borrow(),
            begin,
            end,
            first: section.map_or(TraceId::NONE, |section| section.first),
            tenant_name: self.tenant_name.get(),
        };
        written.write(out)
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
