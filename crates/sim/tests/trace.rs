//! Traces: sections, arguments, lanes and flows, as viewers read them.

use serde_json::Value;
use sim::{Keep, Key, Name, Requester, Simulation, Span, Tenant, Time, Trace, TraceId};

static BYTES: Key = Key::one("bytes");
static MODE: Key = Key::one("mode");
static PLANES: Key = Key::many("planes");

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn written(trace: &Trace, now: Time) -> Vec<Value> {
    let mut bytes = Vec::new();
    trace
        .write_json(now, &mut bytes)
        .expect("a vector takes all bytes");
    let trace: Value = serde_json::from_slice(&bytes).expect("the trace is JSON");
    let events = trace["traceEvents"].as_array();
    events.expect("a list of events").clone()
}

fn of_phase<'a>(events: &'a [Value], phase: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == phase).collect()
}

#[test]
fn a_section_holds_what_happens_in_it() {
    let trace = Trace::default();
    let track = trace.track("dies", Name::numbered("die", 7));
    assert!(!trace.has_section());
    trace.slice(track, "before", us(0), us(1));
    trace.start(us(10), Keep::All);
    trace.slice(track, "over", us(5), us(10));
    trace.slice(track, "begun", us(8), us(12));
    trace.slice(track, "inside", us(12), us(13));
    trace.slice(track, "longer", us(18), us(25));
    trace.stop(us(20));
    trace.slice(track, "after", us(21), us(22));
    let events = written(&trace, us(30));
    let slices = of_phase(&events, "X");
    let found: Vec<_> = slices
        .iter()
        .map(|slice| {
            (
                slice["name"].as_str(),
                slice["ts"].as_f64(),
                slice["dur"].as_f64(),
            )
        })
        .collect();
    let slice = |name, ts, dur| (Some(name), Some(ts), Some(dur));
    let expected = [
        slice("begun", 10.0, 2.0),
        slice("inside", 12.0, 1.0),
        slice("longer", 18.0, 2.0),
    ];
    assert_eq!(found, expected);
    assert_eq!(slices[0]["args"]["began_before_the_section"], true);
    assert!(slices[1].get("args").is_none());
    assert_eq!(slices[2]["args"]["goes_on_after_the_section"], true);
    trace.start(us(30), Keep::All);
    assert!(of_phase(&written(&trace, us(31)), "X").is_empty());
}

#[test]
fn arguments_are_numbers_words_and_lists() {
    let trace = Trace::default();
    trace.name_tenants(|Tenant(number)| format!("tenant {number}"));
    trace.start(us(0), Keep::All);
    let command = trace.announce(64);
    let both = [2, 3].map(|number| Requester {
        tenant: Tenant(number),
        trace: command,
    });
    let track = trace.track("dies", "die");
    trace.slice_with(track, "read", us(0), us(1), |args| {
        args.word(&MODE, "SLC")
            .numbers(&PLANES, [1u32, 0])
            .known(&BYTES, Some(4096u32))
            .known(&BYTES, None::<u32>)
            .requesters(both.into_iter());
    });
    let events = written(&trace, us(2));
    let expected = serde_json::json!({
        "mode": "SLC", "planes": [1, 0], "bytes": 4096, "tenants": ["tenant 2", "tenant 3"], "commands": [1],
    });
    assert_eq!(of_phase(&events, "X")[0]["args"], expected);
    assert!(of_phase(&events, "s").is_empty(), "one slice is no flow");
}

#[test]
fn a_flow_leads_from_a_command_to_what_is_done_for_it() {
    let trace = Trace::default();
    let queue = trace.overlapping_track("host", "queue");
    let die = trace.track("dies", "die");
    assert_eq!(trace.announce(64), TraceId::NONE, "nothing is recorded");
    trace.start(us(0), Keep::All);
    let ids = [trace.announce(64), trace.announce(128)];
    assert_eq!(trace.announced(64), ids[0]);
    assert_eq!(trace.taken(64), ids[0]);
    assert_eq!(trace.taken(64), TraceId::NONE);
    for (number, trace_id) in ids.into_iter().enumerate() {
        let for_it = Requester {
            tenant: Tenant(0),
            trace: trace_id,
        };
        let number = number as u64;
        let (begin, end) = (us(10 * number), us(10 * number + 10));
        trace.slice_with(die, "sense", begin, end, |args| {
            args.requesters([for_it].into_iter());
        });
        // The commands overlap; each is recorded when it is over.
        trace.slice_with(queue, "read", us(number), us(30), |args| {
            args.requesters([for_it].into_iter());
        });
    }
    let events = written(&trace, us(30));
    let names = of_phase(&events, "M");
    let threads: Vec<_> = names
        .iter()
        .filter(|name| name["name"] == "thread_name")
        .map(|name| name["args"]["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(threads, ["queue", "queue, lane 2", "die"]);
    for id in [1, 2] {
        let steps: Vec<_> = events.iter().filter(|event| event["id"] == id).collect();
        let found: Vec<_> = steps
            .iter()
            .map(|step| (step["ph"].as_str(), step["tid"].as_u64()))
            .collect();
        // In the order of slices: the die's is recorded first.
        assert_eq!(found, [(Some("f"), Some(3)), (Some("s"), Some(id))]);
        assert!(steps[0]["ts"].as_f64() >= steps[1]["ts"].as_f64());
    }
    // In another section, what still goes on for a command of the first is linked to nothing.
    trace.start(us(40), Keep::All);
    let late = Requester {
        tenant: Tenant(0),
        trace: ids[1],
    };
    trace.slice_with(die, "sense", us(40), us(41), |args| {
        args.requesters([late].into_iter());
    });
    assert!(trace.announce(64) > ids[1]);
    let events = written(&trace, us(50));
    assert!(of_phase(&events, "X")[0]["args"].get("commands").is_none());
}

#[test]
fn a_trace_of_nothing_is_a_list_of_nothing() {
    let simulation = Simulation::new(0);
    let sim = simulation.handle();
    assert!(written(sim.trace(), sim.now()).is_empty());
}
