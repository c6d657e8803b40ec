//! `cargo bench -p bitline`: the figures of `bitline bench`, without Python.

fn main() -> Result<(), bitline::Error> {
    let report = bitline::bench::run(|what| eprintln!("{what} ..."))?;
    println!(
        "{}",
        serde_json::to_string_pretty(&report).expect("plain numbers are JSON")
    );
    Ok(())
}
