//! How Rust sources read: a line that says what lives here, nothing unfinished, and
//! below the facade nothing that would make a run depend on anything but its seed.

use crate::tree::{Source, code, expect_none, sources};

/// Crates whose every run must be a function of configuration and seed.
const DETERMINISTIC: &[&str] = &[
    "crates/sim/src",
    "crates/nvme/src",
    "crates/media/src",
    "crates/device/src",
    "crates/host/src",
];

/// What reads the wall clock, starts threads or draws unseeded randomness.
const NONDETERMINISTIC: &[&str] = &[
    "time::Instant",
    "Instant::now",
    "SystemTime",
    "std::thread",
    "thread::spawn",
    "std::net",
    "rand::random",
    "rand::rng",
    "thread_rng",
    "OsRng",
    "from_os_rng",
    "from_entropy",
    "RandomState",
];

/// The line above a HashMap says, after this mark, why its order does not matter.
const ORDER_MARK: &str = "// order:";

const UNFINISHED: &[&str] = &["todo!(", "unimplemented!(", "dbg!("];

#[test]
fn every_module_says_what_lives_in_it() {
    let findings: Vec<_> = all()
        .filter(|source| !source.text.starts_with("//!"))
        .map(|source| source.path)
        .collect();
    expect_none("Rust files whose first line is not `//!`:", &findings);
}

#[test]
fn nothing_is_unfinished() {
    let findings: Vec<_> = all()
        .flat_map(|source| lines_with(&source, UNFINISHED))
        .collect();
    expect_none("unfinished code:", &findings);
}

#[test]
fn the_drive_depends_on_its_seed_alone() {
    let findings: Vec<_> = deterministic()
        .flat_map(|source| lines_with(&source, NONDETERMINISTIC))
        .collect();
    expect_none(
        "wall clock, threads or unseeded randomness below the facade:",
        &findings,
    );
}

#[test]
fn hash_maps_say_why_their_order_does_not_matter() {
    let findings: Vec<_> = deterministic()
        .flat_map(|source| unordered(&source))
        .collect();
    expect_none(
        "HashMap or HashSet without a line `// order: why it does not matter` above:",
        &findings,
    );
}

/// What those crates compile into the drive; their unit tests may do as they like.
fn deterministic() -> impl Iterator<Item = Source> {
    let every = DETERMINISTIC
        .iter()
        .flat_map(|folder| sources(folder, "rs"));
    every.filter(|source| !source.path.ends_with("/tests.rs") && !source.path.contains("/tests/"))
}

fn all() -> impl Iterator<Item = Source> {
    // This file holds the forbidden words.
    let own = ["crates", "tests"]
        .into_iter()
        .flat_map(|folder| sources(folder, "rs"));
    own.filter(|source| source.path != "tests/tidy/rust.rs")
}

fn lines_with(source: &Source, words: &[&str]) -> Vec<String> {
    let hits = code(&source.text).filter(|(_, line)| words.iter().any(|word| line.contains(word)));
    hits.map(|(number, line)| format!("{}:{number}: {line}", source.path))
        .collect()
}

/// The lines that declare a map or set of no order, unless the line above says why that
/// is well. One such line covers the declarations that follow it directly.
fn unordered(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
    let marked = |number: usize| {
        let above = lines[..number - 1].iter().rev();
        let mut above = above.skip_while(|line| declares_unordered(line));
        above
            .next()
            .is_some_and(|line| line.starts_with(ORDER_MARK))
    };
    code(&source.text)
        .filter(|(number, line)| declares_unordered(line) && !marked(*number))
        .map(|(number, line)| format!("{}:{number}: {line}", source.path))
        .collect()
}

fn declares_unordered(line: &str) -> bool {
    // An import decides nothing yet, and a field is declared before it is filled.
    let names = |suffix: &str| {
        line.contains(&format!("HashMap{suffix}")) || line.contains(&format!("HashSet{suffix}"))
    };
    names("<") || (line.starts_with("let ") && names("::"))
}

#[test]
fn forbidden_words_are_found_in_code_only() {
    let source = |text: &str| Source {
        path: "x.rs".to_owned(),
        text: text.to_owned(),
    };
    let count = |text: &str| lines_with(&source(text), NONDETERMINISTIC).len();
    assert_eq!(count("let now = std::time::Instant::now();"), 1);
    assert_eq!(count("// no SystemTime here\n//! nor std::thread"), 0);
    assert_eq!(
        count("fn f() {}\n#[cfg(test)]\nmod tests { use std::thread; }"),
        0
    );
    assert_eq!(count("#[cfg(test)]\nmod tests;\nuse std::thread;"), 1);

    let maps = |text: &str| unordered(&source(text)).len();
    assert_eq!(
        maps("use std::collections::HashMap;\nmap: HashMap<u8, u8>,"),
        1
    );
    assert_eq!(maps("let map = HashMap::new();"), 1);
    assert_eq!(
        maps("// order: never iterated\na: HashMap<u8, u8>,\nb: HashSet<u8>,"),
        0
    );
    assert_eq!(maps("Self { map: HashMap::new() }"), 0);
}
