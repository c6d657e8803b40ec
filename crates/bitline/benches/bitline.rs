//! `cargo bench -p bitline`: the figures of `bitline bench`, without Python. With the name of a
//! rate only that is measured, once, which is what a profiler wants; with a number of requests after it, so many are
//! only carried out, and the pages told that were programmed (`scripts/instructions.py`); with `scaling`, how rates depend on the size of the drive and the
//! length of the run.

use bitline::bench::{self, Rate};

fn main() -> Result<(), bitline::Error> {
    let tell = |what: &str| eprintln!("{what} ...");
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"));
    let (wanted, requests) = (words.next(), words.next());
    let report = match wanted.as_deref() {
        None => serde_json::to_value(bench::run(tell)?),
        Some("scaling") => serde_json::to_value(bench::scaling(tell)?),
        Some(name) => match Rate::ALL.into_iter().find(|rate| rate.name() == name) {
            Some(rate) => match requests.map(|word| word.parse()) {
                None => serde_json::to_value(rate.measure()?.0),
                Some(Ok(requests)) => serde_json::to_value(rate.carry_out(requests)?),
                Some(Err(error)) => {
                    eprintln!("a number of requests was expected after {name}: {error}");
                    std::process::exit(2);
                }
            },
            None => {
                let names = Rate::ALL.map(Rate::name).join(", ");
                eprintln!("there is no rate {name:?}; there are {names} and scaling");
                std::process::exit(2);
            }
        },
    };
    let report = report.expect("numbers are JSON");
    println!("{report:#}");
    Ok(())
}
