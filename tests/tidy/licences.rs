//! Every crate that is linked has a licence that deny.toml allows. The part of
//! `cargo deny` that must never be skipped, for machines that do not have it.

use std::fs;

use crate::metadata::{foreign_packages, text};
use crate::tree::{expect_none, root};

#[test]
fn every_dependency_has_an_allowed_licence() {
    let allowed = allowed();
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
    let mut findings = Vec::new();
    for package in foreign_packages() {
        let licence = text(package, "license");
        if !permits(licence, &allowed) {
            findings.push(format!(
                "{} {}: {licence:?}",
                text(package, "name"),
                text(package, "version")
            ));
        }
    }
    expect_none("licences that deny.toml does not allow:", &findings);
}

fn allowed() -> Vec<String> {
    let file = fs::read_to_string(root().join("deny.toml")).expect("deny.toml is at the root");
    let table: toml::Table = file.parse().expect("deny.toml is TOML");
    let list = table["licenses"]["allow"]
        .as_array()
        .expect("licenses.allow is a list");
    list.iter()
        .map(|name| name.as_str().expect("a licence is text").to_owned())
        .collect()
}

/// Whether the SPDX expression can be met with the allowed licences alone.
fn permits(expression: &str, allowed: &[&str]) -> bool {
    // "/" is how crates wrote OR before SPDX expressions.
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    any(&mut words, allowed) && words.next().is_none()
}

type Words<'a, 'w> = std::iter::Peekable<std::str::SplitWhitespace<'w>>;

fn any(words: &mut Words<'_, '_>, allowed: &[&str]) -> bool {
    let mut met = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= all(words, allowed);
    }
    met
}

fn all(words: &mut Words<'_, '_>, allowed: &[&str]) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Words<'_, '_>, allowed: &[&str]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let met = any(words, allowed);
        return words.next_if_eq(&")").is_some() && met;
    }
    let mut licence = words.next().unwrap_or_default().to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        licence = format!("{licence} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&licence.as_str())
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
    for good in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0 OR MIT",
        "(MIT OR GPL-3.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(permits(good, &allowed), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "Apache-2.0",
        "(MIT",
        "MIT)",
        "MIT MIT",
    ] {
        assert!(!permits(bad, &allowed), "{bad}");
    }
}
