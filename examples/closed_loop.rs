//! A closed loop at growing queue depth: throughput rises until the drive is busy,
//! then only the latency does.
//!
//! `cargo run --release --example closed_loop`

use bitline::workload::{Arrival, Flow};
use bitline::{Config, Drive, Error};

fn main() -> Result<(), Error> {
    // Times do not depend on data, so none is kept.
    let config = Config::preset("flash-cosmos")?.with([("data.storage", "none")])?;
    println!("depth  requests/s     p50 us     p99 us");
    let mut slower = 0.0;
    for depth in [1, 4, 16, 64, 256] {
        let mut drive = Drive::open(config.clone())?;
        let flow = Flow {
            requests: 20_000,
            arrival: Arrival::Closed { depth },
            ..Flow::default()
        };
        let report = drive.run_flows(&[flow], |_completed| {})?;
        let flow = &report.flows[0];
        let read = flow.read.expect("a flow reads unless told otherwise");
        println!(
            "{depth:5}  {:10.0}  {:9.1}  {:9.1}",
            flow.requests_per_second,
            read.p50_ns / 1e3,
            read.p99_ns / 1e3
        );
        assert!(
            flow.requests_per_second > slower,
            "more in flight, more done"
        );
        slower = flow.requests_per_second;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn runs() -> Result<(), super::Error> {
        super::main()
    }
}
