//! Traces of a drive's life: what is in them, what it says, and what belongs to which command.

use std::collections::BTreeMap;

use bitline::inside::{InsideConfig, InsideHost};
use bitline::workload::{Arrival, Flow};
use bitline::{Config, Drive, Error, Expression, Keep, Platform, Span};
use serde_json::{Value, json};

/// No cache, so that commands reach the flash.
const PLAIN: [(&str, &str); 9] = [
    ("nand.geometry.channels", "2"),
    ("nand.geometry.chips_per_channel", "2"),
    ("nand.geometry.planes_per_die", "2"),
    ("nand.geometry.blocks_per_plane", "40"),
    ("nand.geometry.cells_per_string", "8"),
    ("cache.mode", "off"),
    ("ftl.mode", "slc"),
    ("frontend.block_bytes", "4096"),
    ("seed", "3"),
];

fn drive(changes: &[(&str, &str)]) -> Drive {
    let config = Config::preset("flash-cosmos").expect("a preset");
    let changes = PLAIN.iter().chain(changes).copied();
    let config = config.with(changes).expect("a configuration");
    Drive::open(config).expect("a drive")
}

/// A slice, with the names of its process and thread.
#[derive(Clone, Debug)]
struct Slice {
    group: String,
    thread: String,
    name: String,
    begin_us: f64,
    end_us: f64,
    args: Value,
    place: (u64, u64),
}

/// A trace, checked against the format: every event has what its phase needs.
struct Parsed {
    slices: Vec<Slice>,
    /// By command: phase, and the slice that holds the event.
    flows: BTreeMap<u64, Vec<(String, usize)>>,
    counters: Vec<(String, f64, u64)>,
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

impl Parsed {
    fn of(drive: &Drive) -> Parsed {
        let mut bytes = Vec::new();
        drive.write_trace(&mut bytes).expect("a trace");
        let trace: Value = serde_json::from_slice(&bytes).expect("the trace is JSON");
        let (mut processes, mut threads) = (BTreeMap::new(), BTreeMap::new());
        let mut parsed = Parsed {
            slices: Vec::new(),
            flows: BTreeMap::new(),
            counters: Vec::new(),
        };
        for event in trace["traceEvents"].as_array().expect("a list of events") {
            let number = |key: &str| event[key].as_u64().expect(key);
            let time = |key: &str| event[key].as_f64().expect(key);
            let place = (number("pid"), number("tid"));
            let name = text(&event["name"]);
            match event["ph"].as_str().expect("a phase") {
                "M" if name == "process_name" => {
                    processes.insert(place.0, text(&event["args"]["name"]));
                }
                "M" => {
                    threads.insert(place, text(&event["args"]["name"]));
                }
                "X" => parsed.slices.push(Slice {
                    group: processes[&place.0].clone(),
                    thread: threads[&place].clone(),
                    name,
                    begin_us: time("ts"),
                    end_us: time("ts") + time("dur"),
                    args: event["args"].clone(),
                    place,
                }),
                "C" => {
                    let value = event["args"]["value"].as_u64().expect("a count");
                    parsed.counters.push((name, time("ts"), value));
                }
                phase @ ("s" | "t" | "f") => {
                    // It binds to the slice before it.
                    let slice = parsed.slices.last().expect("a slice to bind to");
                    assert_eq!((slice.place, slice.begin_us), (place, time("ts")));
                    assert_eq!(phase == "f", event["bp"] == "e");
                    let steps = parsed.flows.entry(number("id")).or_default();
                    steps.push((phase.to_owned(), parsed.slices.len() - 1));
                }
                other => panic!("{other} is no phase of a trace of ours"),
            }
        }
        for steps in parsed.flows.values_mut() {
            let order = |(phase, slice): &(String, usize)| {
                let rank = ["s", "t", "f"].iter().position(|known| known == phase);
                (rank, (parsed.slices[*slice].begin_us * 1e6) as u64)
            };
            steps.sort_by_key(order);
            let phases: Vec<&str> = steps.iter().map(|(phase, _)| &phase[..]).collect();
            assert_eq!((phases[0], phases[phases.len() - 1]), ("s", "f"));
            assert_eq!(phases[1..phases.len() - 1], vec!["t"; phases.len() - 2]);
            let begins: Vec<f64> = steps
                .iter()
                .map(|(_, slice)| parsed.slices[*slice].begin_us)
                .collect();
            assert!(begins.is_sorted(), "{begins:?}");
        }
        parsed
    }

    fn of_group(&self, group: &str) -> Vec<&Slice> {
        let slices = self.slices.iter();
        slices.filter(|slice| slice.group == group).collect()
    }

    /// What is done for a command, in order: group and name.
    fn way(&self, command: u64) -> Vec<(&str, &str)> {
        let slices = self.flows[&command]
            .iter()
            .map(|(_, slice)| &self.slices[*slice]);
        slices
            .map(|slice| (&slice.group[..], &slice.name[..]))
            .collect()
    }

    /// The slice of that group and name that is for a command.
    fn for_command(&self, command: u64, group: &str, name: &str) -> &Slice {
        let mut slices = self.flows[&command]
            .iter()
            .map(|(_, slice)| &self.slices[*slice]);
        let found = slices.find(|slice| slice.group == group && slice.name == name);
        found.expect("a slice")
    }
}

/// Records `work` alone; the trace, and where its section begins and ends.
fn section(drive: &mut Drive, work: impl FnOnce(&mut Drive)) -> (Parsed, f64, f64) {
    let begin = drive.now().as_ps() as f64 / 1e6;
    drive.start_trace(Keep::All).expect("no trace is recorded");
    work(drive);
    drive.stop_trace().expect("one is recorded");
    let end = drive.now().as_ps() as f64 / 1e6;
    (Parsed::of(drive), begin, end)
}

fn write(drive: &mut Drive, block: u64, blocks: usize) {
    let data = vec![7; blocks * 4096];
    drive.write(block, &data).expect("room");
}

#[test]
fn a_read_leads_from_the_doorbell_to_the_completion() {
    let mut drive = drive(&[]);
    write(&mut drive, 0, 64);
    let (parsed, begin, end) = section(&mut drive, |drive| {
        drive.read(13, 2).expect("they were written");
    });
    for slice in &parsed.slices {
        // A sum of microseconds is rounded by less than a picosecond.
        let is_within = begin <= slice.begin_us && slice.end_us < end + 1e-6;
        assert!(is_within, "{slice:?}");
    }
    let commands = parsed.of_group("host");
    assert_eq!(commands.len(), 1);
    assert_eq!(commands[0].thread, "queue pair 1");
    let command = commands[0].args["commands"][0].as_u64().expect("a number");
    assert_eq!(
        parsed.way(command),
        [
            ("host", "read"),
            ("link", "doorbell"),
            ("link", "request"),
            ("link", "submission entry"),
            ("channels", "read"),
            ("dies", "read"),
            ("channels", "data"),
            ("link", "data"),
            ("link", "completion"),
        ]
    );
    let id = &commands[0].args["command_id"];
    let told = json!({
        "opcode": "Read", "queue_pair": 1, "command_id": id, "namespace": 1, "first_block": 13, "blocks": 2, "bytes": 8192,
        "status": "Successful Completion", "commands": [command],
    });
    assert_eq!(commands[0].args, told);
    let die = &parsed.for_command(command, "dies", "read").args;
    // Four blocks a page.
    assert_eq!(die["logical_pages"], json!([3]));
    assert_eq!(die["bytes"], 16384);
    assert_eq!(die["mode"], "SLC");
    assert_eq!(die["tenants"], json!(["namespace 1"]));
    let (page, string) = (die["page"].as_u64(), die["string"].as_u64());
    let strings = u64::from(drive.config().device().nand.geometry.strings_per_block);
    let wordline = die["wordline"].as_u64().zip(string);
    assert_eq!(
        wordline.map(|(layer, string)| layer * strings + string),
        page
    );
    let data = &parsed.for_command(command, "channels", "data").args;
    assert_eq!(
        (&data["bytes"], &data["for"]),
        (&json!(8192), &json!("read"))
    );
    assert_eq!(data["planes"], die["planes"]);
    let die_name = format!("die {}", data["die"]);
    assert_eq!(parsed.for_command(command, "dies", "read").thread, die_name);
    let sent = &parsed.for_command(command, "link", "data").args;
    assert_eq!(sent["bytes"], 8192);
    let entry = &parsed.for_command(command, "link", "submission entry").args;
    assert_eq!(
        (&entry["bytes"], &entry["tenants"]),
        (&json!(64), &json!(["drive"]))
    );
}

#[test]
fn a_write_leads_to_its_program() {
    let mut drive = drive(&[]);
    let (parsed, ..) = section(&mut drive, |drive| write(drive, 40, 4));
    let command = parsed.of_group("host")[0].args["commands"][0].as_u64();
    let command = command.expect("a number");
    assert_eq!(
        parsed.way(command),
        [
            ("host", "write"),
            ("link", "doorbell"),
            ("link", "request"),
            ("link", "submission entry"),
            ("link", "request"),
            ("link", "data"),
            ("channels", "program"),
            ("channels", "data"),
            ("dies", "program"),
            ("link", "completion"),
        ]
    );
    let die = &parsed.for_command(command, "dies", "program").args;
    assert_eq!(die["logical_pages"], json!([10]));
    let data = &parsed.for_command(command, "channels", "data").args;
    assert_eq!(
        (&data["bytes"], &data["for"]),
        (&json!(16384), &json!("program"))
    );
}

#[test]
fn a_computation_says_what_it_senses_at_once() {
    let mut drive = drive(&[]);
    let group = drive.group("group").expect("an empty drive");
    let vectors = group.write(800, vec![vec![0b1010; 100]; 3]).expect("room");
    let expression = Expression::all(&vectors).expect("three");
    let (parsed, ..) = section(&mut drive, |drive| {
        let query = drive.query(&expression).on(Platform::FlashCosmos);
        query.read().expect("a result");
    });
    let dies = parsed.of_group("dies");
    let names: Vec<_> = dies.iter().map(|slice| &slice.name[..]).collect();
    assert_eq!(names, ["multi-wordline sense"]);
    let sense = &dies[0].args;
    assert_eq!(sense["wordlines_at_once"], 3);
    assert_eq!(sense["blocks_at_once"], 1);
    assert_eq!(sense["senses"], 1);
    assert_eq!(sense["mode"], "ESP");
    let command = sense["commands"][0].as_u64().expect("a number");
    let way = parsed.way(command);
    assert_eq!(way[0].0, "host");
    assert!(way.contains(&("link", "parameters")), "{way:?}");
    assert!(way.contains(&("channels", "data")), "{way:?}");
    let host = parsed.flows[&command][0].1;
    assert_eq!(parsed.slices[host].args["engine"], "flash-cosmos");
    let one = Expression::Not(Box::new(Expression::from(&vectors[0])));
    let query = |drive: &mut Drive| drop(drive.query(&one).on(Platform::FlashCosmos).read());
    let (parsed, ..) = section(&mut drive, query);
    assert_eq!(parsed.of_group("dies")[0].name, "single-wordline sense");
}

#[test]
fn the_dram_tells_what_it_moves_and_for_whom() {
    for timing in ["banks", "mqsim"].map(|timing| ("compatibility.dram_timing", timing)) {
        let mut drive = drive(&[("cache.mode", "read_write"), timing]);
        drive.write(0, &vec![7; 1 << 16]).expect("room");
        let (parsed, ..) = section(&mut drive, |drive| drop(drive.read(0, 16)));
        let mut bytes = 0;
        for slice in parsed.of_group("dram") {
            assert!(slice.name == "read" && slice.end_us > slice.begin_us);
            assert!(slice.args["commands"].is_array() && slice.args["tenants"].is_array());
            bytes += slice.args["bytes"].as_u64().expect("a number");
        }
        assert_eq!(bytes, 1 << 16, "{timing:?}");
    }
}

fn flow(requests: u64) -> Flow {
    Flow {
        requests,
        read_fraction: 0.5,
        arrival: Arrival::Open {
            requests_per_second: 400_000.0,
            outstanding_max: 64,
        },
        range_blocks: 512,
        ..Flow::default()
    }
}

#[test]
fn commands_that_overlap_lie_in_lanes_and_are_linked_to_what_is_theirs() {
    let mut drive = drive(&[]);
    let (parsed, ..) = section(&mut drive, |drive| {
        drive.run_flows(&[flow(400)], |_| {}).expect("a flow");
    });
    let mut lanes: BTreeMap<&str, Vec<&Slice>> = BTreeMap::new();
    for slice in parsed.of_group("host") {
        lanes.entry(&slice.thread).or_default().push(slice);
    }
    assert!(lanes.len() > 2, "commands overlap: {:?}", lanes.keys());
    for (lane, slices) in &mut lanes {
        slices.sort_by(|one, other| one.begin_us.total_cmp(&other.begin_us));
        // Instants in microseconds are rounded by less than a picosecond.
        let apart = |pair: &[&Slice]| pair[0].end_us <= pair[1].begin_us + 1e-6;
        assert!(slices.windows(2).all(apart), "{lane}");
    }
    for (command, steps) in &parsed.flows {
        let host = &parsed.slices[steps[0].1];
        assert_eq!(host.group, "host", "a flow begins at its command");
        let (first, blocks) = (
            host.args["first_block"].as_u64(),
            host.args["blocks"].as_u64(),
        );
        let Some((first, blocks)) = first.zip(blocks) else {
            // The workload asks what the namespace is like, and what filled it is flushed.
            let opcode = host.args["opcode"].as_str();
            assert!(matches!(opcode, Some("Identify" | "Flush")), "{opcode:?}");
            continue;
        };
        let pages: Vec<u64> = (first / 4..(first + blocks).div_ceil(4)).collect();
        for (_, slice) in &steps[1..] {
            let slice = &parsed.slices[*slice];
            assert!(host.begin_us <= slice.begin_us, "{slice:?}");
            if slice.group == "dies" {
                // Several commands may share a multi-plane command.
                let touched = slice.args["logical_pages"].as_array().expect("pages");
                let is_theirs = |page: &Value| pages.contains(&page.as_u64().expect("a page"));
                assert!(touched.iter().any(is_theirs), "{command}: {slice:?}");
            }
        }
    }
    let host_reads = parsed.of_group("dies").into_iter();
    let unlinked = host_reads.filter(|slice| slice.args["tenants"] == json!(["namespace 1"]));
    assert!(unlinked.clone().count() > 300);
    assert!(
        unlinked
            .clone()
            .all(|slice| slice.args["commands"].is_array())
    );
}

#[test]
fn a_recovery_is_in_a_trace_that_asks_for_it() {
    let mut drive = drive(&[]);
    write(&mut drive, 0, 64);
    let recovers = |parsed: &Parsed| {
        let dies = parsed.of_group("dies").into_iter();
        dies.filter(|slice| slice.args["tenants"] == json!(["recovery"]))
            .count()
    };
    let (alone, ..) = section(&mut drive, |drive| drop(drive.read(0, 1)));
    assert_eq!(recovers(&alone), 0);
    drive.restart_traced(Keep::All).expect("a restart");
    drop(drive.read(0, 1));
    let parsed = Parsed::of(&drive);
    assert!(recovers(&parsed) > 0);
    let host = parsed.of_group("host");
    assert!(
        host.iter().any(|slice| slice.thread == "queue pair 0"),
        "the admin queue"
    );
    assert!(host.iter().any(|slice| slice.name == "read"));
}

#[test]
fn a_trace_changes_nothing() {
    let mut found = Vec::new();
    for keep in [None, Some(Keep::All), Some(Keep::Busiest)] {
        let mut drive = drive(&[]);
        write(&mut drive, 0, 64);
        if let Some(keep) = keep {
            drive.start_trace(keep).expect("no trace is recorded");
        }
        let report = drive.run_flows(&[flow(500)], |_| {}).expect("a flow");
        let statistics = drive.statistics().expect("power");
        let told = (
            serde_json::to_value(&report),
            serde_json::to_value(&statistics),
        );
        found.push((
            drive.now(),
            told.0.expect("plain data"),
            told.1.expect("plain data"),
        ));
    }
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
}

#[test]
fn traces_follow_each_other_and_do_not_nest() {
    let mut drive = drive(&[]);
    let refused = |outcome: Result<(), Error>, because: &str| {
        let error = outcome.expect_err("there is none").to_string();
        assert!(error.contains(because), "{error}");
    };
    refused(drive.write_trace(Vec::new()), "has recorded no trace");
    refused(drive.stop_trace(), "has recorded no trace");
    assert!(drive.busiest().is_none());
    drive.start_trace(Keep::All).expect("no trace is recorded");
    refused(drive.start_trace(Keep::All), "already");
    refused(drive.restart_traced(Keep::All), "already");
    write(&mut drive, 0, 4);
    drive.stop_trace().expect("one is recorded");
    drive.stop_trace().expect("it stays as it is");
    let kept = Parsed::of(&drive).slices.len();
    write(&mut drive, 4, 4);
    assert_eq!(Parsed::of(&drive).slices.len(), kept);
    let (second, ..) = section(&mut drive, |drive| drop(drive.read(0, 1)));
    assert_eq!(second.of_group("host").len(), 1);
    assert!(
        second.flows.keys().all(|command| *command > 1),
        "numbers go on"
    );
}

#[test]
fn a_power_cut_ends_a_trace() {
    let mut drive = drive(&[]);
    drive.start_trace(Keep::All).expect("no trace is recorded");
    write(&mut drive, 0, 4);
    drive.power_cut().expect("no image");
    assert!(!drive.is_traced());
    let error = drive.start_trace(Keep::All).expect_err("there is no power");
    assert!(matches!(error, Error::NoPower));
    drive.power_up().expect("it recovers");
    drop(drive.read(0, 1));
    drive.stop_trace().expect("it is over");
    let names: Vec<String> = Parsed::of(&drive)
        .of_group("host")
        .iter()
        .map(|slice| slice.name.clone())
        .collect();
    assert_eq!(names, ["write"]);
}

#[test]
fn what_waits_already_is_counted_from_the_beginning() {
    let mut drive = drive(&[]);
    write(&mut drive, 0, 64);
    let host = drive.host().expect("power");
    for page in 0..16 {
        let device = host.block().clone();
        let read = async move { device.read(4 * page, 1).await.map(drop).expect("written") };
        host.sim().spawn_detached(read);
    }
    let simulation = drive.simulation().expect("power");
    simulation.run_until(drive.now() + Span::from_us(10));
    let (parsed, begin, _) = section(&mut drive, |drive| {
        drive.settle().expect("no image");
    });
    let outstanding = parsed.counters.first().expect("counts");
    assert_eq!(outstanding.1, begin);
    let cut = parsed.slices.iter();
    let cut = cut.filter(|slice| slice.args["began_before_the_section"] == true);
    assert!(cut.clone().all(|slice| slice.begin_us == begin));
    assert!(cut.clone().any(|slice| slice.group == "host"));
}

#[test]
fn the_busiest_window_is_found_in_the_middle_of_a_life() {
    let mut drive = drive(&[]);
    drive.run_flows(&[flow(2000)], |_| {}).expect("a flow");
    let begin = drive.now();
    drive
        .start_trace(Keep::Busiest)
        .expect("no trace is recorded");
    drop(drive.read(0, 1));
    let busiest = drive.busiest().expect("a read");
    assert!(busiest.end_ns > begin.as_ns());
    assert!(
        busiest.begin_ns > begin.as_ns() - 100_000.0,
        "no window reaches far back"
    );
}
