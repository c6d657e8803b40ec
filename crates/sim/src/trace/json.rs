//! The trace-event format, which Perfetto and other viewers open.

use std::io;

use serde::Serialize;

use super::{Kind, Line, Record};

/// Writes `record` as one JSON object. Groups of lines are processes, lines are threads,
/// counters or asynchronous spans.
pub(super) fn write(lines: &[Line], record: &Record, mut out: impl io::Write) -> io::Result<()> {
    let mut separator = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    let mut emit = |event: &Event<'_>| -> io::Result<()> {
        out.write_all(separator.as_bytes())?;
        separator = ",\n";
        serde_json::to_writer(&mut out, event).map_err(io::Error::from)
    };
    let (groups, process_of) = processes(lines);
    for (process, name) in groups.iter().enumerate() {
        emit(&Event::named("process_name", process, 0, name))?;
    }
    for (thread, line) in lines.iter().enumerate() {
        if line.kind == Kind::Exclusive {
            emit(&Event::named(
                "thread_name",
                process_of[thread],
                thread,
                &line.name,
            ))?;
        }
    }
    for (number, slice) in record.slices.iter().enumerate() {
        let thread = slice.track as usize;
        let line = &lines[thread];
        let begin = Event {
            name: slice.name,
            ph: "X",
            pid: process_of[thread],
            tid: thread,
            ts: Some(slice.begin.as_ps() as f64 / 1e6),
            ..Event::default()
        };
        if line.kind == Kind::Exclusive {
            let dur = Some((slice.end - slice.begin).as_us());
            emit(&Event { dur, ..begin })?;
            continue;
        }
        // Spans that overlap come as a pair with a number of their own.
        let (cat, id) = (Some(line.name.as_str()), Some(number));
        emit(&Event {
            ph: "b",
            cat,
            id,
            ..begin
        })?;
        let ts = Some(slice.end.as_ps() as f64 / 1e6);
        emit(&Event {
            ph: "e",
            cat,
            id,
            ts,
            ..begin
        })?;
    }
    for count in &record.counts {
        let line = count.counter as usize;
        emit(&Event {
            name: &lines[line].name,
            ph: "C",
            pid: process_of[line],
            tid: 0,
            ts: Some(count.at.as_ps() as f64 / 1e6),
            args: Some(Args::Value { value: count.value }),
            ..Event::default()
        })?;
    }
    let end = if separator.starts_with('{') {
        "{\"traceEvents\":[]}\n"
    } else {
        "\n]}\n"
    };
    out.write_all(end.as_bytes())
}

/// The groups in the order of their first lines, and the number of each line's.
fn processes(lines: &[Line]) -> (Vec<&str>, Vec<usize>) {
    let mut groups: Vec<&str> = Vec::new();
    let number = |line: &Line, groups: &[&str]| groups.iter().position(|name| *name == line.group);
    let mut process_of = Vec::with_capacity(lines.len());
    for line in lines {
        let known = number(line, &groups);
        process_of.push(known.unwrap_or_else(|| {
            groups.push(&line.group);
            groups.len() - 1
        }));
    }
    (groups, process_of)
}

#[derive(Clone, Copy, Default, Serialize)]
struct Event<'a> {
    name: &'a str,
    ph: &'a str,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'a>>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum Args<'a> {
    Name { name: &'a str },
    Value { value: u32 },
}

impl<'a> Event<'a> {
    fn named(kind: &'a str, pid: usize, tid: usize, name: &'a str) -> Event<'a> {
        Event {
            name: kind,
            ph: "M",
            pid,
            tid,
            args: Some(Args::Name { name }),
            ..Event::default()
        }
    }
}
