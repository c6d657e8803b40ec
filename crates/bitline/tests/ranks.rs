//! Requests that are ranked (TH-iSSD 3.3): what the application gives them, and the order in which dies take them up.

use std::ops::ControlFlow;

use bitline::inside::InsideHost;
use bitline::{Config, Drive, Error, Expression, Host, Keep, Request, Span, Time};
use serde_json::Value;

const MIB: u64 = 1 << 20;
/// Logical blocks of the drive.
const BLOCK: u64 = 4096;

/// A drive of two dies on two channels whose policy ranks requests. Times do not depend on bits, so none are kept.
fn drive(changes: &[(&str, &str)]) -> Drive {
    let changes = [
        ("data.storage", "none"),
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.planes_per_die", "2"),
        ("nand.geometry.blocks_per_plane", "512"),
        ("bits.compute_blocks_percent", "70"),
        ("cache.mode", "off"),
        ("ftl.mode", "slc"),
        ("frontend.block_bytes", "4096"),
        ("schedule.policy", "priority_aware"),
        ("schedule.piece_max_us", "1"),
        ("schedule.bypass_max", "0"),
    ]
    .iter()
    .chain(changes)
    .copied()
    .collect::<Vec<_>>();
    let config = Config::preset("flash-cosmos").expect("a preset");
    let config = config.with(changes).expect("a configuration");
    Drive::open(config).expect("a drive")
}

/// What a die did: names of commands, and when they began, in microseconds; in order.
fn track(trace: &Value, die: &str) -> Vec<(String, f64)> {
    let events = trace["traceEvents"].as_array().expect("events");
    let place = |event: &Value| (event["pid"].as_u64(), event["tid"].as_u64());
    let thread = events
        .iter()
        .find(|event| event["ph"] == "M" && event["args"]["name"] == die);
    let place_of_die = place(thread.expect("a track"));
    let slices = events
        .iter()
        .filter(|event| event["ph"] == "X" && place(event) == place_of_die);
    let mut slices: Vec<_> = slices
        .map(|event| {
            let name = event["name"].as_str().expect("a name").to_owned();
            (name, event["ts"].as_f64().expect("a time"))
        })
        .collect();
    slices.sort_by(|one, other| one.1.total_cmp(&other.1));
    slices
}

/// When what `host` is asked for at `at` is over.
async fn when<T>(
    host: &Host,
    at: Time,
    asked: impl Future<Output = Result<T, bitline::HostError>>,
) -> Result<Time, Error> {
    host.sim().sleep_until(at).await;
    asked.await?;
    Ok(host.sim().now())
}

#[test]
fn the_three_requests_of_figure_5_go_in_its_order_on_every_die() {
    let mut drive = drive(&[]);
    // Written before, so that there is something to read.
    drive
        .write(1024, &vec![0; 2 * MIB as usize])
        .expect("a write");
    // #1: 48 vectors of 64 MiB, 3 GiB, whose AND is counted.
    let group = drive.group("operands").expect("a group");
    let vectors = group
        .place(64 * MIB * 8, 48, |_| ControlFlow::Continue(()))
        .expect("vectors");
    let all = Expression::all(&vectors).expect("an expression");
    drive.start_trace(Keep::All).expect("a trace");
    let arrived = drive
        .run(move |host| async move {
            let begin = host.sim().now();
            let compute = host.sim().spawn({
                let host = host.clone();
                async move { host.ask(&Request::new(&all)).await.map(drop) }
            });
            let at = begin + Span::from_us(2_000);
            let write = host.sim().spawn({
                let host = host.clone();
                // #2: 1 MiB, to which the application gives nothing.
                async move {
                    let data = vec![0; MIB as usize];
                    when(&host, at + Span::from_us(1), host.block().write(0, &data)).await
                }
            });
            // #3: 2 MiB, to which it gives 2,000. Its entry is fetched before the data of #2, which comes to the dies while it
            // waits there.
            let block = host.block().clone().with_priority(2_000);
            let read = when(&host, at, block.read(1024, 2 * MIB / BLOCK)).await?;
            let written = write.await?;
            compute.await?;
            assert!(at < read && read < written && written < host.sim().now());
            Ok::<_, Error>(at)
        })
        .expect("time")
        .expect("all three");
    drive.stop_trace().expect("a trace");
    let mut json = Vec::new();
    drive.write_trace(&mut json).expect("a trace");
    let trace: Value = serde_json::from_slice(&json).expect("JSON");
    let arrived = arrived.since(Time::ZERO).as_ns() / 1e3;
    for die in ["die 0", "die 1"] {
        let slices = track(&trace, die);
        let at = |wanted: &str| {
            let of_name = slices.iter().filter(move |(name, _)| name == wanted);
            of_name.map(|(_, begin)| *begin).collect::<Vec<f64>>()
        };
        let (senses, reads, programs) = (at("multi-wordline sense"), at("read"), at("program"));
        assert!(senses[0] < arrived, "step 1: the compute request begins");
        let (first, last) = (reads[0], reads[reads.len() - 1]);
        assert!(reads.len() >= 32 && programs.len() >= 16, "{slices:?}");
        // A piece that was under way may end; the next is the read's.
        let before = senses
            .iter()
            .filter(|begin| (arrived..first).contains(*begin));
        assert!(before.count() <= 1, "step 3: as soon as P0 is over");
        assert!(last < programs[0], "step 3: the read before the write");
        let written = programs[programs.len() - 1];
        let between = senses
            .iter()
            .filter(|begin| (first..written).contains(*begin));
        assert_eq!(between.count(), 0, "step 2: the write before P1 and P2");
        let after = senses.iter().filter(|begin| **begin > written);
        assert!(after.count() > 100, "what was put off is done");
    }
}

/// How long a read of 2 MiB takes beside another, which comes first, if both are given these priorities.
fn second_read(given: [u32; 2]) -> [Span; 2] {
    let mut drive = drive(&[]);
    drive.write(0, &vec![0; 8 * MIB as usize]).expect("a write");
    drive
        .run(move |host| async move {
            let begin = host.sim().now();
            let read = |number: usize| {
                let host = host.clone();
                async move {
                    let block = host.block().clone().with_priority(given[number]);
                    let (lba, at) = (number as u64 * 1024, Span::from_us(number as u64));
                    when(&host, begin + at, block.read(lba, 2 * MIB / BLOCK)).await
                }
            };
            let first = host.sim().spawn(read(0));
            let second = read(1).await?;
            let first = first.await?;
            Ok::<_, Error>([first.since(begin), second.since(begin)])
        })
        .expect("time")
        .expect("both")
}

#[test]
fn what_the_application_gives_decides_among_equals() {
    for (given, is_first) in [([0, 0], 0), ([0, 1], 1), ([3, 2], 0), ([2_000, 3_000], 1)] {
        let took = second_read(given);
        assert_eq!(took[1] < took[0], is_first == 1, "{given:?}: {took:?}");
    }
}

#[test]
fn commands_that_are_given_none_have_that_of_the_drive() {
    for (priority, is_first) in [(0, false), (2, false), (4, true)] {
        let mut drive = drive(&[]);
        drive.write(0, &vec![0; 8 * MIB as usize]).expect("a write");
        drive.power_cut().expect("a cut");
        drive.set_priority(priority);
        drive.power_up().expect("power");
        assert_eq!(drive.priority(), priority, "it is the host's");
        let host = drive.host().expect("power");
        let first = host.sim().spawn({
            let host = host.clone();
            async move {
                let block = host.block().clone().with_priority(3);
                when(&host, host.sim().now(), block.read(0, 2 * MIB / BLOCK)).await
            }
        });
        drive.read(1024, 2 * MIB / BLOCK).expect("a read");
        let second = drive.now();
        let first = drive.run(|_| first).expect("time").expect("a read");
        assert_eq!(second < first, is_first, "{priority}: {second} {first}");
    }
}
