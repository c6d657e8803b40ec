//! Cases of MQSim: imported, run, and held against what MQSim reported.

use std::io::Write;
use std::path::{Path, PathBuf};

use mqsim::{Case, Comparison};

/// The cases that every run of the tests goes through. A development build takes half a minute for
/// them; `all_cases` has the others.
const READS: &[&str] = &[
    "rr4k-qd1-ideal-nocache",
    "rr4k-qd32-ideal-nocache",
    "chk-chanrate-333",
    "seqr128k-qd32-ideal-nocache",
    "plane-alloc-CWDP",
];
const WRITES: &[&str] = &["rw4k-qd1-ideal-nocache", "mix70-4k-qd32-ideal-nocache"];
/// Cases of `open` that agree since their cause was found.
const SETTLED: &[&str] = &["plane-alloc-WCDP", "trace-cloudphysics-wcache"];
const COLLECTION: &[&str] = &["gcw-pre-o70w80-qd1"];
const CACHES: &[&str] = &["rr4k-qd32-default"];

/// Where the cases are, beside the repository; none if they are not there.
fn cases() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().ok()?;
    let found = root
        .ancestors()
        .map(|above| above.join("shared/mqsim/cases"))
        .find(|folder| folder.is_dir());
    if found.is_none() {
        tell(
            "SKIPPED, nothing was compared: there is no folder shared/mqsim/cases beside the repository",
        );
    }
    found
}

/// Tells whoever runs the tests, even if they succeed.
fn tell(what: &str) {
    let told = writeln!(std::io::stderr(), "\nmqsim: {what}");
    drop(told);
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("the folder can be read").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn validate(names: &[&str]) {
    let Some(folder) = cases() else { return };
    let mut wrong = Vec::new();
    for name in names {
        let settled = folder.with_file_name("open").join(name);
        let case = match settled.is_dir() {
            true => settled,
            false => folder.join(name),
        };
        let case = Case::read(&case).unwrap_or_else(|error| panic!("{error}"));
        let compared = case
            .validate(|_| {})
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let is_compared = |row: &Comparison| row.theirs.is_some();
        assert!(
            compared.iter().any(is_compared),
            "{name}: nothing was compared"
        );
        for row in &compared {
            println!("{}", line(row));
        }
        wrong.extend(compared.iter().filter(|row| row.ok != Some(true)).map(line));
    }
    assert!(
        wrong.is_empty(),
        "not as MQSim reports:\n{}",
        wrong.join("\n")
    );
}

fn line(row: &Comparison) -> String {
    let deviation = row
        .deviation
        .map_or("-".into(), |d| format!("{:+.2} %", d * 100.0));
    format!(
        "{:32} {:26} {:>10} {:>10} {deviation:>10} {}",
        row.case,
        row.quantity,
        row.ours,
        row.theirs
            .map_or_else(|| "-".to_owned(), |theirs| theirs.to_string()),
        if row.ok == Some(true) { "ok" } else { "NOT OK" }
    )
}

#[test]
fn reads() {
    validate(READS);
}

#[test]
fn writes() {
    validate(WRITES);
}

#[test]
fn settled() {
    validate(SETTLED);
}

#[test]
fn collection() {
    validate(COLLECTION);
}

#[test]
fn mapping_and_data_caches() {
    validate(CACHES);
}

#[test]
fn the_cases_that_are_run_are_there_and_others_are_told() {
    let Some(folder) = cases() else { return };
    let run = [READS, WRITES, COLLECTION, CACHES].concat();
    let names = names(&folder);
    let absent = |name: &&&str| !names.iter().any(|other| other == **name);
    assert_eq!(run.iter().find(absent), None, "no such case");
    let left: Vec<String> = names
        .into_iter()
        .filter(|name| !run.contains(&name.as_str()))
        .collect();
    if !left.is_empty() {
        tell(&format!(
            "NOT RUN, they take longer: {}; `cargo test -p bitline-tests --test mqsim -- --ignored` or `bitline validate mqsim` runs all",
            left.join(", ")
        ));
    }
}

/// `BITLINE_MQSIM_CASES` may name parts of the names of those to run, with commas between them.
#[test]
#[ignore = "takes a minute or more in a development build"]
fn all_cases() {
    let Some(folder) = cases() else { return };
    let chosen = std::env::var("BITLINE_MQSIM_CASES").unwrap_or_default();
    let names = names(&folder);
    let names: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| chosen.split(',').any(|part| name.contains(part)))
        .collect();
    validate(&names);
}
