//! Spans on tracks, written in the trace-event format that Perfetto opens.

use std::cell::{Cell, RefCell};
use std::io;

use serde::Serialize;

use crate::quantity::Time;

/// Names a track: a line of the trace, such as one die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(u32);

#[derive(Clone, Copy)]
struct Slice {
    track: Track,
    name: &'static str,
    begin: Time,
    end: Time,
}

/// What happened when, on which track. Off until [`Trace::enable`]; while off,
/// [`Trace::slice`] costs one predictable branch.
#[derive(Default)]
pub struct Trace {
    enabled: Cell<bool>,
    tracks: RefCell<Vec<(String, String)>>,
    slices: RefCell<Vec<Slice>>,
}

impl Trace {
    /// Records from now on.
    pub fn enable(&self) {
        self.enabled.set(true);
    }

    /// Whether slices are recorded.
    #[inline]
    pub fn enabled(&self) -> bool {
        self.enabled.get()
    }

    /// A new track called `name`, shown under `group`.
    pub fn track(&self, group: &str, name: &str) -> Track {
        let mut tracks = self.tracks.borrow_mut();
        tracks.push((group.to_owned(), name.to_owned()));
        Track(tracks.len() as u32 - 1)
    }

    /// Records that `name` happened on `track` from `begin` to `end`.
    #[inline]
    pub fn slice(&self, track: Track, name: &'static str, begin: Time, end: Time) {
        if self.enabled.get() {
            self.slices.borrow_mut().push(Slice {
                track,
                name,
                begin,
                end,
            });
        }
    }

    /// How many slices were recorded.
    pub fn len(&self) -> usize {
        self.slices.borrow().len()
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
    pub fn write_json(&self, mut out: impl io::Write) -> io::Result<()> {
        let tracks = self.tracks.borrow();
        let mut groups: Vec<&str> = Vec::new();
        let mut process_of = Vec::with_capacity(tracks.len());
        for (group, _) in tracks.iter() {
            let known = groups.iter().position(|name| name == group);
            process_of.push(known.unwrap_or_else(|| {
                groups.push(group);
                groups.len() - 1
            }));
        }
        let mut separator = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
        let mut emit = |event: &Event<'_>| -> io::Result<()> {
            out.write_all(separator.as_bytes())?;
            separator = ",\n";
            serde_json::to_writer(&mut out, event).map_err(io::Error::from)
        };
        for (process, name) in groups.iter().enumerate() {
            emit(&Event::named("process_name", process, 0, name))?;
        }
        for (thread, (_, name)) in tracks.iter().enumerate() {
            emit(&Event::named(
                "thread_name",
                process_of[thread],
                thread,
                name,
            ))?;
        }
        for slice in self.slices.borrow().iter() {
            let thread = slice.track.0 as usize;
            emit(&Event {
                name: slice.name,
                ph: "X",
                pid: process_of[thread],
                tid: thread,
                ts: Some(slice.begin.as_ps() as f64 / 1e6),
                dur: Some((slice.end - slice.begin).as_us()),
                args: None,
            })?;
        }
        let end = if separator.starts_with('{') {
            "{\"traceEvents\":[]}\n"
        } else {
            "\n]}\n"
        };
        out.write_all(end.as_bytes())
    }
}

#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    ph: &'a str,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Label<'a>>,
}

#[derive(Serialize)]
struct Label<'a> {
    name: &'a str,
}

impl<'a> Event<'a> {
    fn named(kind: &'a str, pid: usize, tid: usize, name: &'a str) -> Event<'a> {
        Event {
            name: kind,
            ph: "M",
            pid,
            tid,
            ts: None,
            dur: None,
            args: Some(Label { name }),
        }
    }
}
