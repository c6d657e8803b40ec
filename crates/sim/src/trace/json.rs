//! The trace-event format, which Perfetto and other viewers open.

use std::borrow::Cow;
use std::io;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::args::{Arg, KeyKind, Value};
use super::flows::{Flows, Step};
use super::record::{Record, Slice};
use super::{Kind, Line, TenantName, TraceId, lanes};
use crate::energy::Tenant;
use crate::quantity::Time;

/// What a flow is called, and its category: arrows of both the same belong together.
const FLOW: &str = "command";

/// Slices that are prepared between two looks at whether the sink still wants them.
const AT_ONCE: usize = 1 << 16;

/// A section, to be written as one JSON object. Groups of lines are processes; a line is a thread, a
/// counter, or as many threads as its slices overlap.
pub(super) struct Written<'a> {
    pub(super) lines: &'a [Line],
    pub(super) record: &'a Record,
    pub(super) begin: Time,
    pub(super) end: Time,
    pub(super) first: TraceId,
    pub(super) tenant_name: Option<TenantName>,
}

/// What of a slice lies within the section, and on which thread.
struct Shown<'a> {
    slice: &'a Slice,
    begin: Time,
    end: Time,
    thread: usize,
}

impl Written<'_> {
    /// Writes the section. Long before the first byte of a long one, `out` is flushed now and then: one whose caller
    /// has had enough breaks off by failing there.
    pub(super) fn write(&self, mut out: impl io::Write) -> io::Result<()> {
        let (groups, process_of) = processes(self.lines);
        let mut shown: Vec<Shown<'_>> = Vec::with_capacity(self.record.slices.len());
        for slices in self.record.slices.chunks(AT_ONCE) {
            shown.extend(slices.iter().filter_map(self.cut()));
            out.flush()?;
        }
        let threads = self.give_threads(&mut shown);
        out.flush()?;
        let flows = self.flows(&shown, &mut out)?;
        let steps = flows.steps();
        out.flush()?;
        let mut steps = steps.as_slice();
        let mut events = Events::new(&mut out);
        for (process, name) in groups.iter().enumerate() {
            events.emit(&Event::named("process_name", process + 1, 0, name))?;
        }
        for (thread, (line, name)) in threads.iter().enumerate() {
            let process = process_of[*line];
            events.emit(&Event::named("thread_name", process, thread + 1, name))?;
        }
        for (number, shown) in shown.iter().enumerate() {
            let process = process_of[shown.slice.track as usize];
            let of_slice;
            let count = steps.iter().take_while(|step| step.0 == number).count();
            (of_slice, steps) = steps.split_at(count);
            self.write_slice(&mut events, process, shown, of_slice)?;
        }
        for count in &self.record.counts {
            let line = count.counter as usize;
            events.emit(&Event {
                name: Cow::Owned(self.lines[line].name.to_string()),
                ph: "C",
                pid: process_of[line],
                ts: Some(us(count.at)),
                args: Some(EventArgs::Value { value: count.value }),
                ..Event::default()
            })?;
        }
        events.end()
    }

    /// What of a slice lies within the section; nothing of one that only touches it.
    fn cut<'a>(&self) -> impl Fn(&'a Slice) -> Option<Shown<'a>> {
        let section = (self.begin, self.end);
        move |slice| {
            let (begin, end) = (slice.begin.max(section.0), slice.end.min(section.1));
            let is_in = begin < end || (begin == end && slice.begin == slice.end);
            is_in.then_some(Shown {
                slice,
                begin,
                end,
                thread: 0,
            })
        }
    }

    /// Says on which thread each slice is; gives the line and name of every thread.
    fn give_threads(&self, shown: &mut [Shown<'_>]) -> Vec<(usize, String)> {
        let mut threads = Vec::new();
        let mut thread_of = vec![0; self.lines.len()];
        let mut overlapping = vec![Vec::new(); self.lines.len()];
        for (number, slice) in shown.iter().enumerate() {
            let line = slice.slice.track as usize;
            if self.lines[line].kind == Kind::Overlapping {
                overlapping[line].push(number);
            }
        }
        for (line, numbers) in overlapping.iter_mut().enumerate() {
            let name = self.lines[line].name;
            thread_of[line] = threads.len();
            match self.lines[line].kind {
                Kind::Counter => {}
                Kind::Exclusive => threads.push((line, name.to_string())),
                Kind::Overlapping => {
                    numbers.sort_by_key(|number| (shown[*number].begin, *number));
                    let spans = numbers.iter().map(|number| &shown[*number]);
                    let (lanes, count) = lanes::assign(spans.map(|slice| (slice.begin, slice.end)));
                    for (number, lane) in numbers.iter().zip(lanes) {
                        shown[*number].thread = thread_of[line] + lane;
                    }
                    threads.push((line, name.to_string()));
                    let further = (2..=count).map(|lane| (line, format!("{name}, lane {lane}")));
                    threads.extend(further);
                }
            }
        }
        for slice in shown {
            let line = slice.slice.track as usize;
            if self.lines[line].kind == Kind::Exclusive {
                slice.thread = thread_of[line];
            }
        }
        threads
    }

    fn flows(&self, shown: &[Shown<'_>], out: &mut impl io::Write) -> io::Result<Flows> {
        let mut flows = Flows::default();
        for (number, slice) in shown.iter().enumerate() {
            if number % AT_ONCE == 0 {
                out.flush()?;
            }
            let kind = self.lines[slice.slice.track as usize].kind;
            let rank = usize::from(kind != Kind::Overlapping);
            let args = self.record.args_of(slice.slice);
            for command in args.iter().filter_map(|arg| self.command(arg)) {
                flows.add(command, slice.begin.as_ps(), rank, number);
            }
        }
        Ok(flows)
    }

    /// The command that an argument names, if it is one of the section.
    fn command(&self, arg: &Arg) -> Option<TraceId> {
        match (arg.key.kind, arg.value) {
            (KeyKind::Commands, Value::Number(number)) => {
                Some(TraceId(number as u32)).filter(|command| *command >= self.first)
            }
            _ => None,
        }
    }

    fn write_slice(
        &self,
        events: &mut Events<impl io::Write>,
        process: usize,
        shown: &Shown<'_>,
        steps: &[(usize, TraceId, Step)],
    ) -> io::Result<()> {
        let place = Event {
            pid: process,
            tid: shown.thread + 1,
            ts: Some(us(shown.begin)),
            ..Event::default()
        };
        let args = SliceArgs {
            written: self,
            shown,
        };
        events.emit(&Event {
            name: Cow::Borrowed(shown.slice.name),
            ph: "X",
            dur: Some((shown.end - shown.begin).as_us()),
            args: (!args.is_empty()).then_some(EventArgs::Slice(args)),
            ..place.clone()
        })?;
        // Right behind their slice, to which viewers bind what lies within it.
        for (_, command, step) in steps {
            events.emit(&Event {
                name: Cow::Borrowed(FLOW),
                cat: Some(FLOW),
                ph: match step {
                    Step::First => "s",
                    Step::Between => "t",
                    Step::Last => "f",
                },
                bp: (*step == Step::Last).then_some("e"),
                id: Some(command.0),
                ..place.clone()
            })?;
        }
        Ok(())
    }
}

fn us(at: Time) -> f64 {
    at.as_ps() as f64 / 1e6
}

/// The groups in the order of their first lines, and the number of each line's, counted from one:
/// viewers take process 0 and thread 0 for the idle processor.
fn processes(lines: &[Line]) -> (Vec<&str>, Vec<usize>) {
    let mut groups: Vec<&str> = Vec::new();
    let mut process_of = Vec::with_capacity(lines.len());
    for line in lines {
        let known = groups.iter().position(|name| *name == line.group);
        process_of.push(
            known.unwrap_or_else(|| {
                groups.push(line.group);
                groups.len() - 1
            }) + 1,
        );
    }
    (groups, process_of)
}

/// The list of events as it is written.
struct Events<W> {
    out: W,
    separator: &'static str,
}

impl<W: io::Write> Events<W> {
    fn new(out: W) -> Events<W> {
        Events {
            out,
            separator: "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n",
        }
    }

    fn emit(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.out.write_all(self.separator.as_bytes())?;
        self.separator = ",\n";
        serde_json::to_writer(&mut self.out, event).map_err(io::Error::from)
    }

    fn end(mut self) -> io::Result<()> {
        let end = match self.separator {
            ",\n" => "\n]}\n",
            _ => "{\"traceEvents\":[]}\n",
        };
        self.out.write_all(end.as_bytes())
    }
}

#[derive(Clone, Default, Serialize)]
struct Event<'a> {
    name: Cow<'a, str>,
    ph: &'a str,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<EventArgs<'a>>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum EventArgs<'a> {
    Name { name: &'a str },
    Value { value: u32 },
    Slice(SliceArgs<'a>),
}

impl<'a> Event<'a> {
    fn named(kind: &'a str, pid: usize, tid: usize, name: &'a str) -> Event<'a> {
        Event {
            name: Cow::Borrowed(kind),
            ph: "M",
            pid,
            tid,
            args: Some(EventArgs::Name { name }),
            ..Event::default()
        }
    }
}

/// The arguments of a slice, as an object.
#[derive(Clone, Copy)]
struct SliceArgs<'a> {
    written: &'a Written<'a>,
    shown: &'a Shown<'a>,
}

impl SliceArgs<'_> {
    fn args(&self) -> &[Arg] {
        self.written.record.args_of(self.shown.slice)
    }

    fn cuts(&self) -> [(&'static str, bool); 2] {
        let Shown {
            slice, begin, end, ..
        } = self.shown;
        [
            ("began_before_the_section", slice.begin < *begin),
            ("goes_on_after_the_section", slice.end > *end),
        ]
    }

    fn is_empty(&self) -> bool {
        self.args().is_empty() && self.cuts().iter().all(|(_, is_cut)| !is_cut)
    }

    fn value(&self, arg: &Arg) -> Json<'static> {
        match (arg.value, arg.key.kind, self.written.tenant_name) {
            (Value::Number(number), KeyKind::Tenants, Some(name)) => {
                Json::Word(Cow::Owned(name(Tenant(number as u16))))
            }
            (Value::Number(number), ..) => Json::Number(number),
            (Value::Word(word), ..) => Json::Word(Cow::Borrowed(word)),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Json<'a> {
    Number(u64),
    Word(Cow<'a, str>),
}

impl Serialize for SliceArgs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // Values of a list come one after another.
        for args in self.args().chunk_by(|one, next| one.key == next.key) {
            let key = args[0].key;
            match key.kind {
                KeyKind::One => map.serialize_entry(key.name, &self.value(&args[0]))?,
                KeyKind::Many | KeyKind::Tenants => {
                    let values: Vec<Json<'_>> = args.iter().map(|arg| self.value(arg)).collect();
                    map.serialize_entry(key.name, &values)?;
                }
                KeyKind::Commands => {
                    let commands = args.iter().filter_map(|arg| self.written.command(arg));
                    let commands: Vec<u32> = commands.map(|command| command.0).collect();
                    if !commands.is_empty() {
                        map.serialize_entry(key.name, &commands)?;
                    }
                }
            }
        }
        for (name, is_cut) in self.cuts() {
            if is_cut {
                map.serialize_entry(name, &true)?;
            }
        }
        map.end()
    }
}
