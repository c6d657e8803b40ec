//! Random 4-KiB reads at queue depth 32 on a drive that keeps time but no data.

use std::time::Instant;

use bitline::workload::Flow;
use bitline::{Config, Drive};

fn main() -> Result<(), bitline::Error> {
    let config = Config::preset("flash-cosmos")?.with([("data.storage", "none")])?;
    let mut drive = Drive::open(config)?;
    let flow = Flow {
        requests: std::env::args()
            .nth(1)
            .and_then(|n| n.parse().ok())
            .unwrap_or(4_000_000),
        ..Flow::default()
    };
    let begin = Instant::now();
    let report = drive.run_flows(&[flow], |_| {})?;
    println!(
        "{:.2} polls a request",
        drive.simulation()?.events() as f64 / report.flows[0].requests as f64
    );
    let seconds = begin.elapsed().as_secs_f64();
    let flow = &report.flows[0];
    println!(
        "simulated: {:.0} requests a second, read latency {:?}",
        flow.requests_per_second, flow.read
    );
    println!(
        "this machine: {:.2} million requests a second",
        flow.requests as f64 / seconds / 1e6
    );
    Ok(())
}
