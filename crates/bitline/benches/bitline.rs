//! `cargo bench -p bitline`: the figures of `bitline bench`, without Python. With the name of a
//! rate only that is measured, once, which is what a profiler wants; with `scaling`, how rates
//! depend on the size of the drive and the length of the run.

use bitline::bench::{self, Rate};

fn main() -> Result<(), bitline::Error> {
    let tell = |what: &str| eprintln!("{what} ...");
    let wanted = std::env::args()
        .skip(1)
        .find(|word| !word.starts_with("--"));
    let report = match wanted.as_deref() {
        None => serde_json::to_value(bench::run(tell)?),
        Some("scaling") => serde_json::to_value(bench::scaling(tell)?),
        Some(name) => match Rate::ALL.into_iter().find(|rate| rate.name() == name) {
            Some(rate) => serde_json::to_value(rate.measure()?.0),
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
