//! The interface of the crate that users depend on: what may grow says so, so that growing breaks nobody's program.

use std::collections::BTreeSet;

use crate::tree::{Source, expect_none, sources};

const FACADE: &str = "crates/bitline/src/";
const GROWS: &str = "#[non_exhaustive]";

/// Types that do not say so, and why: what has no more to it, and what users write down as a literal.
const CLOSED: &[(&str, &str)] = &[
    (
        "Extent",
        "a run of blocks is where it begins and how long it is",
    ),
    ("VectorId", "a vector is called by two numbers"),
    (
        "Expression",
        "a language: who evaluates it must know all of it",
    ),
    ("StatusType", "the tables of the standard (NVMe Base 4.2.3)"),
    ("ProgramMode", "one to four bits a cell, and ESP"),
    ("Home", "the first die and how many"),
    ("Stalled", "when it was"),
    ("Record", "what all formats of traces have"),
    ("Flow", "written as a literal, the rest by default"),
    ("Replay", "written as a literal, the rest by default"),
    ("Queries", "written as a literal, the rest by default"),
    ("RunOptions", "written as a literal, the rest by default"),
    ("TraceOptions", "written as a literal, the rest by default"),
];

/// A type that others may use: where it is, what it is called, whether it says that it grows.
struct Type {
    path: String,
    name: String,
    grows: bool,
}

#[test]
fn what_will_grow_says_so() {
    let facade = sources(FACADE, "rs");
    let named: BTreeSet<_> = facade.iter().flat_map(|f| reexported(&f.text)).collect();
    assert!(named.len() > 30, "only {named:?} were seen");
    let mut types = Vec::new();
    for of_crate in ["device", "host", "media", "nvme", "sim"] {
        let all = sources(&format!("crates/{of_crate}/src/"), "rs");
        let all = all.iter().flat_map(open_types);
        let wanted = |found: &Type| named.contains(&(of_crate.to_owned(), found.name.clone()));
        types.extend(all.filter(wanted));
    }
    types.extend(facade.iter().flat_map(open_types));
    assert!(types.len() > 80, "only {} types were seen", types.len());
    let is_closed = |name: &str| CLOSED.iter().any(|(closed, _)| *closed == name);
    let mut findings = Vec::new();
    for found in &types {
        if found.grows == is_closed(&found.name) {
            let Type { path, name, .. } = found;
            findings.push(format!("{path}: {name}"));
        }
    }
    expect_none(
        "public types without #[non_exhaustive] that tests/tidy/interface.rs does not list, or with it that it does:",
        &findings,
    );
    let seen = |name: &str| types.iter().any(|found| found.name == name);
    let gone: Vec<String> = CLOSED
        .iter()
        .filter(|(name, _)| !seen(name))
        .map(|(name, _)| (*name).to_owned())
        .collect();
    expect_none("types that are gone, but still on the list:", &gone);
}

/// Crate and name of what a file of the facade gives on, from the crates beneath or from its own; what is `inside` of it is
/// another matter.
fn reexported(text: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let uses = text.split("\npub use ").skip(1);
    for text in uses.filter_map(|text| text.split(';').next()) {
        let (path, last) = text.rsplit_once("::").unwrap_or(("", text));
        // A list in braces has the path before it.
        let (path, names) = text.split_once('{').map_or((path, last), |(path, names)| {
            (path.trim_end_matches("::"), names.trim_end_matches('}'))
        });
        let of_crate = path.split("::").next().unwrap_or(path);
        for name in names.split(',') {
            let name = name.trim().split(" as ").next().unwrap_or(name);
            if !name.is_empty() {
                found.insert((of_crate.to_owned(), name.to_owned()));
            }
        }
    }
    found
}

/// The public enums of a file, and its structs with public fields.
fn open_types(source: &Source) -> Vec<Type> {
    let mut types = Vec::new();
    let mut grows = false;
    let mut lines = source.text.lines().peekable();
    while let Some(line) = lines.next() {
        grows |= line == GROWS;
        let kind = ["pub struct ", "pub enum "];
        let Some((kind, rest)) = kind
            .iter()
            .find_map(|kind| Some((*kind, line.strip_prefix(kind)?)))
        else {
            // Attributes and their lists stand directly above.
            if line.is_empty() || line == "}" {
                grows = false;
            }
            continue;
        };
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
        let mut is_open = kind == "pub enum ";
        while let Some(inner) = lines.next_if(|inner| line.ends_with('{') && *inner != "}") {
            is_open |= inner.starts_with("    pub ") && !inner.starts_with("    pub(");
            // Nobody else can make, or take apart, what has a field of its own.
            let is_field = inner.starts_with("    ") && inner.contains(": ");
            let is_private =
                !inner.starts_with("    pub ") && !inner.trim_start().starts_with("//");
            grows |= kind == "pub struct " && is_field && is_private;
        }
        if is_open {
            let path = source.path.clone();
            types.push(Type { path, name, grows });
        }
        grows = false;
    }
    types
}

#[test]
fn types_and_reexports_are_seen() {
    let source = Source {
        path: "a.rs".to_owned(),
        text: "#[derive(Debug)]\n#[non_exhaustive]\npub struct A {\n    pub a: u8,\n}\n\npub struct B {\n    b: u8,\n}\n\n\
               pub enum C {\n    D,\n}\npub struct E;\n"
            .to_owned(),
    };
    let types = open_types(&source);
    let seen: Vec<_> = types.iter().map(|t| (t.name.as_str(), t.grows)).collect();
    assert_eq!(seen, [("A", true), ("C", false)]);
    let lib = "mod a;\npub use a::B;\npub use host::{\n    C as D, E,\n};\npub mod inside {\n    pub use sim::F;\n}\n";
    let pair = |of: &str, name: &str| (of.to_owned(), name.to_owned());
    let expected = [pair("a", "B"), pair("host", "C"), pair("host", "E")];
    assert_eq!(reexported(lib), BTreeSet::from(expected));
}
