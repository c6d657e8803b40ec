//! Cases of MQSim: imported, run, and held against what MQSim reported.

use std::path::{Path, PathBuf};

use bitline::mqsim::{Case, Comparison};

/// Where the cases are, beside the repository; none if they are not there.
fn cases() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().ok()?;
    root.ancestors()
        .map(|above| above.join("shared/mqsim/cases"))
        .find(|folder| folder.is_dir())
}

fn validate(names: &[&str]) {
    let Some(folder) = cases() else {
        eprintln!("SKIPPED: there is no folder shared/mqsim/cases beside the repository");
        return;
    };
    let mut wrong = Vec::new();
    for name in names {
        let case = Case::read(&folder.join(name)).unwrap_or_else(|error| panic!("{error}"));
        let compared = case
            .validate(|_| {})
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for row in &compared {
            println!("{}", line(row));
        }
        wrong.extend(compared.iter().filter(|row| !row.ok).map(line));
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
        row.theirs,
        if row.ok { "ok" } else { "NOT OK" }
    )
}

/// The case that is over soonest. Others do not all come out yet: docs/validation.md says which.
#[test]
fn reads_one_at_a_time() {
    validate(&["rr4k-qd1-ideal-nocache"]);
}

/// `cargo test -p bitline-tests --test mqsim -- --ignored`; the command line does the same.
#[test]
#[ignore = "takes minutes in a development build"]
fn all_cases() {
    let Some(folder) = cases() else { return };
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("the folder can be read").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    validate(&names);
}
