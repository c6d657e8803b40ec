//! The dependency arrows between the crates (ARCHITECTURE.md): they run one way.

use std::collections::BTreeSet;

use crate::metadata::{own_packages, text};
use crate::tree::expect_none;

/// The arrows as drawn. A crate may use what its arrows reach, directly or through others.
const ARROWS: &[(&str, &[&str])] = &[
    ("bitline-sim", &[]),
    ("bitline-nvme", &[]),
    ("bitline-operators", &[]),
    ("bitline-media", &["bitline-operators", "bitline-sim"]),
    (
        "bitline-device",
        &["bitline-media", "bitline-nvme", "bitline-sim"],
    ),
    ("bitline-host", &["bitline-nvme"]),
    ("bitline", &["bitline-host", "bitline-device"]),
    ("bitline-attach", &["bitline"]),
    ("bitline-c", &["bitline"]),
    ("bitline-mqsim", &["bitline"]),
    ("bitline-compiler", &[]),
    (
        "bitline-python",
        &[
            "bitline-attach",
            "bitline-compiler",
            "bitline-mqsim",
            "bitline",
        ],
    ),
];

/// Looks at the whole from outside, so it may use everything.
const OBSERVER: &str = "bitline-tests";

/// Libraries that only one crate may link.
const RESERVED: &[(&str, &str)] = &[
    ("pyo3", "bitline-python"),
    ("fuser", "bitline-attach"),
    ("llvm-sys", "bitline-compiler"),
];

#[test]
fn arrows_run_one_way() {
    let mut findings = Vec::new();
    let mut seen = 0;
    for package in own_packages().filter(|package| text(package, "name") != OBSERVER) {
        let name = text(package, "name");
        let Some(allowed) = reach(name) else {
            findings.push(format!("{name} has no arrows in {}", file!()));
            continue;
        };
        for dependency in dependencies(package).filter(|name| name.starts_with("bitline")) {
            seen += 1;
            if !allowed.contains(dependency) {
                findings.push(format!("{name} -> {dependency}"));
            }
        }
    }
    assert!(seen > 0, "no crate depends on another: the check is blind");
    expect_none(
        "dependencies between crates that ARCHITECTURE.md does not draw:",
        &findings,
    );
}

#[test]
fn reserved_libraries_stay_where_they_belong() {
    let mut findings = Vec::new();
    for package in own_packages() {
        for (library, owner) in RESERVED {
            let name = text(package, "name");
            if name != *owner && dependencies(package).any(|found| found == *library) {
                findings.push(format!("{name} links {library}, which only {owner} may"));
            }
        }
    }
    expect_none("libraries outside their crate:", &findings);
}

fn dependencies(package: &'static serde_json::Value) -> impl Iterator<Item = &'static str> {
    let list = package["dependencies"].as_array();
    list.into_iter()
        .flatten()
        .map(|dependency| text(dependency, "name"))
}

/// Everything the arrows from `name` reach; none when it has no entry.
fn reach(name: &str) -> Option<BTreeSet<&'static str>> {
    let direct = ARROWS.iter().find(|(from, _)| *from == name)?.1;
    let mut reached: BTreeSet<_> = direct.iter().copied().collect();
    for next in direct {
        reached.extend(reach(next)?);
    }
    Some(reached)
}

#[test]
fn an_upward_arrow_is_seen() {
    let media = reach("bitline-media").unwrap();
    assert!(media.contains("bitline-sim"));
    assert!(!media.contains("bitline-device"));
    let bitline = reach("bitline").unwrap();
    assert!(bitline.contains("bitline-sim"), "through the device");
    assert!(reach("bitline-unknown").is_none());
}
