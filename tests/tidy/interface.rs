//! The interface of the crate that users depend on: what may grow says so, so that growing breaks nobody's program.

use std::collections::BTreeSet;

use crate::tree::{Source, expect_none, sources};

const FACADE: &str = "crates/bitline/src/";
/// The crates beneath it, some of whose types it gives on.
const BENEATH: [&str; 5] = ["device", "host", "media", "nvme", "sim"];
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
    ("PageAddress", "a page is one of a block"),
    ("Home", "the first die and how many"),
    ("Stalled", "when it was"),
    ("Record", "what all formats of traces have"),
    ("Part", "the first byte and how many"),
    ("NameKind", "how many bits, and whether some may not count"),
    ("NameTerm", "which name, and what it is compared with"),
    ("RegionRecord", "what a command puts into memory"),
    ("NewStore", "written as a literal"),
    ("Wanted", "written as a literal, the rest by default"),
    (
        "ExpectedMatches",
        "written as a literal, the rest by default",
    ),
    ("Returns", "the two kinds of lookups"),
    (
        "KeyValueOptions",
        "written as a literal, the rest by default",
    ),
    ("Isolation", "what the field of a request can be"),
    ("Limits", "written as a literal, the rest by default"),
    (
        "CycleCosts",
        "the classes of instructions, each of which costs something",
    ),
    ("Loading", "written as a literal, the rest by default"),
    ("Shape", "written as a literal, the rest by default"),
    ("Flow", "written as a literal, the rest by default"),
    ("Replay", "written as a literal, the rest by default"),
    ("Queries", "written as a literal, the rest by default"),
    ("Wiring", "written as a literal"),
    ("Packet", "when, and what"),
    ("Pace", "written as a literal"),
    ("MemoryRun", "written as a literal"),
    ("RunRanges", "a set, or ranges told with the command"),
    ("Policy", "stall, or drop the newest or the oldest"),
    ("RunOptions", "written as a literal, the rest by default"),
    ("TraceOptions", "written as a literal, the rest by default"),
];

/// A type that others may use: where it is, what it is called, whether it says that it grows, and of which types its fields are.
struct Type {
    path: String,
    name: String,
    grows: bool,
    fields: Vec<String>,
}

/// The public types that the facade gives on or has of its own, and the crate and name of all that it gives on.
fn public_types() -> (Vec<Type>, BTreeSet<(String, String)>) {
    let facade = sources(FACADE, "rs");
    let named: BTreeSet<_> = facade.iter().flat_map(|f| reexported(&f.text)).collect();
    assert!(named.len() > 30, "only {named:?} were seen");
    let mut types = Vec::new();
    for of_crate in BENEATH {
        let all = sources(&format!("crates/{of_crate}/src/"), "rs");
        let all = all.iter().flat_map(open_types);
        let wanted = |found: &Type| named.contains(&(of_crate.to_owned(), found.name.clone()));
        types.extend(all.filter(wanted));
    }
    types.extend(facade.iter().flat_map(open_types));
    assert!(types.len() > 80, "only {} types were seen", types.len());
    (types, named)
}

#[test]
fn what_will_grow_says_so() {
    let (types, _) = public_types();
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

#[test]
fn what_public_fields_hold_has_a_public_name() {
    let (types, named) = public_types();
    let of = |folder: &str| -> BTreeSet<String> {
        let all = sources(folder, "rs");
        all.iter().flat_map(|file| declared(&file.text)).collect()
    };
    let beneath: Vec<(&str, BTreeSet<String>)> = BENEATH
        .iter()
        .map(|of_crate| (*of_crate, of(&format!("crates/{of_crate}/src/"))))
        .collect();
    let (own, inside) = (of(FACADE), given_inside());
    let (mut findings, mut seen) = (Vec::new(), 0);
    for found in &types {
        let Type { path, name, .. } = found;
        if path.starts_with(FACADE) && inside.contains(name) {
            continue;
        }
        for field in &found.fields {
            // A crate's own types come before those of the same name of others.
            let mut homes = beneath.iter().filter(|(_, types)| types.contains(field));
            let is_its =
                |(of_crate, _): &&(&str, _)| path.starts_with(&format!("crates/{of_crate}/"));
            let is_public = if path.starts_with(FACADE) && own.contains(field) {
                true
            } else if let Some((of_crate, _)) = homes.clone().find(is_its) {
                named.contains(&((*of_crate).to_owned(), field.clone()))
            } else {
                let mut others = homes.clone();
                others.any(|(of_crate, _)| named.contains(&((*of_crate).to_owned(), field.clone())))
            };
            let is_of_drive = homes.next().is_some();
            seen += usize::from(is_of_drive);
            if is_of_drive && !is_public {
                findings.push(format!("{path}: {name} has a {field}"));
            }
        }
    }
    assert!(
        seen > 30,
        "only {seen} types of fields were seen: the check is blind"
    );
    expect_none(
        "fields whose types have no name but under `inside`:",
        &findings,
    );
}

/// What the facade gives under `inside`, whose fields may be of anything there.
fn given_inside() -> BTreeSet<String> {
    let facade = sources(FACADE, "rs");
    let root = facade.iter().find(|file| file.path.ends_with("/lib.rs"));
    let text = &root.expect("the facade has a root").text;
    let (_, block) = text.split_once("pub mod inside {").expect("it has one");
    let (block, _) = block.split_once("\n}").expect("it ends");
    let words = block.split(|c: char| !c.is_alphanumeric());
    let types = words.filter(|word| word.starts_with(char::is_uppercase));
    types.map(str::to_owned).collect()
}

/// The names of the public types of a file.
fn declared(text: &str) -> impl Iterator<Item = String> + '_ {
    let kinds = ["pub struct ", "pub enum ", "pub type "];
    let named = text
        .lines()
        .filter_map(move |line| kinds.iter().find_map(|kind| line.strip_prefix(kind)));
    named.map(first_word)
}

fn first_word(text: &str) -> String {
    let letters = text.chars().take_while(|c| c.is_alphanumeric());
    letters.collect()
}

/// The types that a line within a public type gives its fields: whatever is written as types are.
fn types_of_field(line: &str, is_enum: bool) -> Vec<String> {
    let line = line.trim();
    let is_public = is_enum || line.starts_with("pub ");
    if !is_public || line.starts_with("//") || line.starts_with('#') {
        return Vec::new();
    }
    // A variant's own name stands before its parenthesis.
    let types = line.split_once(": ").or_else(|| line.split_once('('));
    let Some((_, types)) = types else {
        return Vec::new();
    };
    let words = types.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| word.starts_with(char::is_uppercase));
    words.map(str::to_owned).collect()
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
        let name = first_word(rest);
        let is_enum = kind == "pub enum ";
        let mut is_open = is_enum;
        let mut fields = Vec::new();
        if line.ends_with(';') {
            fields.extend(types_of_field(&rest.replace("pub ", ""), true));
        }
        while let Some(inner) = lines.next_if(|inner| line.ends_with('{') && *inner != "}") {
            fields.extend(types_of_field(inner, is_enum));
            is_open |= inner.starts_with("    pub ") && !inner.starts_with("    pub(");
            // Nobody else can make, or take apart, what has a field of its own.
            let is_field = inner.starts_with("    ") && inner.contains(": ");
            let is_private =
                !inner.starts_with("    pub ") && !inner.trim_start().starts_with("//");
            grows |= !is_enum && is_field && is_private;
        }
        if is_open {
            let path = source.path.clone();
            types.push(Type {
                path,
                name,
                grows,
                fields,
            });
        }
        grows = false;
    }
    types
}

#[test]
fn types_and_reexports_are_seen() {
    let source = Source {
        path: "a.rs".to_owned(),
        text: "#[derive(Debug)]\n#[non_exhaustive]\npub struct A {\n    pub a: Option<C>,\n    b: Own,\n}\n\npub struct B {\n    b: u8,\n}\n\n\
               pub enum C {\n    // Not: Seen\n    D(F, b::G),\n    E {\n        a: H,\n    },\n}\npub struct E;\n"
            .to_owned(),
    };
    let types = open_types(&source);
    let seen: Vec<_> = types.iter().map(|t| (t.name.as_str(), t.grows)).collect();
    assert_eq!(seen, [("A", true), ("C", false)]);
    assert_eq!(types[0].fields, ["Option", "C"]);
    assert_eq!(types[1].fields, ["F", "G", "H"]);
    assert_eq!(
        declared(&source.text).collect::<Vec<_>>(),
        ["A", "B", "C", "E"]
    );
    let lib = "mod a;\npub use a::B;\npub use host::{\n    C as D, E,\n};\npub mod inside {\n    pub use sim::F;\n}\n";
    let pair = |of: &str, name: &str| (of.to_owned(), name.to_owned());
    let expected = [pair("a", "B"), pair("host", "C"), pair("host", "E")];
    assert_eq!(reexported(lib), BTreeSet::from(expected));
}
