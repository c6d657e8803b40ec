//! The arrows inside the device crate (ARCHITECTURE.md), as those between crates: they run one way. And files of a
//! folder, of any crate, do not lean on each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{Source, code, expect_none, sources};

const DEVICE: &str = "crates/device/src/";

/// The arrows as drawn, from below. A folder may use what its arrows reach, directly or through others.
const ARROWS: &[(&str, &[&str])] = &[
    // What is beside all of it.
    ("slab", &[]),
    ("planted", &[]),
    ("energy", &[]),
    ("tenants", &[]),
    ("served", &[]),
    ("journal", &[]),
    ("memory", &["energy", "slab", "tenants"]),
    ("part", &["memory"]),
    ("schedule", &["part", "planted", "served"]),
    ("cores", &["schedule"]),
    ("accelerators", &["schedule", "memory"]),
    ("region", &["energy", "planted"]),
    ("ftl", &["cores", "journal", "region"]),
    ("port", &["part", "tenants"]),
    ("backend", &["accelerators", "ftl", "port"]),
    ("cost", &["port", "schedule"]),
    ("cache", &["backend"]),
    ("bits", &["cache", "cost"]),
    ("search", &["cache", "cost"]),
    ("task", &["backend"]),
    ("tx", &["cache"]),
    ("local_memory", &["backend"]),
    (
        "programs",
        &["bits", "local_memory", "search", "task", "tx"],
    ),
    ("stream", &["programs"]),
    ("frontend", &["stream"]),
    ("faults", &["ftl"]),
    ("compatibility", &["frontend"]),
    ("config", &["frontend", "faults", "compatibility"]),
    ("device", &["config"]),
];

/// Circles that may be. One that is gone must go from here, too.
const CIRCLES: &[(&str, &str)] = &[
    // Formulas are made of the smallest ones, which are formulas.
    (
        "device/bits/plan/synthesis/formula",
        "device/bits/plan/synthesis/smallest",
    ),
    // A stage is asked for what to fetch, and asks for the pages.
    ("device/bits/execute/fetch", "device/bits/execute/stage"),
];

#[test]
fn arrows_inside_the_device_run_one_way() {
    let mut findings = Vec::new();
    let mut seen = 0;
    for source in parts(DEVICE) {
        let from = folder(&source.path);
        if from == "lib" {
            continue;
        }
        let Some(allowed) = reach(from) else {
            findings.push(format!("{from} has no arrows in {}", file!()));
            continue;
        };
        for (number, to) in used(&source.text) {
            seen += usize::from(to != from);
            let is_folder = ARROWS.iter().any(|(name, _)| *name == to);
            if is_folder && to != from && !allowed.contains(to.as_str()) {
                findings.push(format!("{}:{number}: {from} -> {to}", source.path));
            }
        }
    }
    assert!(
        seen > 50,
        "only {seen} arrows were seen: the check is blind"
    );
    findings.sort();
    findings.dedup();
    expect_none(
        "arrows inside the device that ARCHITECTURE.md does not draw:",
        &findings,
    );
}

/// What a crate is made of, below the folder of its sources: no unit tests, which look at it from outside.
fn parts(crate_sources: &str) -> impl Iterator<Item = Source> {
    let all = sources(crate_sources, "rs").into_iter();
    all.filter(|source| !source.path.ends_with("/tests.rs") && !source.path.contains("/tests/"))
}

/// The folders of the crates' sources.
fn crates() -> BTreeSet<String> {
    let all = sources("crates/", "rs").into_iter();
    all.filter_map(|source| {
        let end = source.path.find("/src/")? + "/src/".len();
        Some(source.path[..end].to_owned())
    })
    .collect()
}

/// The folder, or file, of the crate's root that a file belongs to.
fn folder(path: &str) -> &str {
    let inside = path.strip_prefix(DEVICE).unwrap_or(path);
    let first = inside.split('/').next().unwrap_or(inside);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// What a file names of the crate: the first word after each `crate::`.
fn used(text: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    code(text).flat_map(|(number, line)| {
        let paths = line
            .match_indices("crate::")
            .map(|(place, word)| &line[place + word.len()..]);
        paths.map(move |path| (number, first_word(path)))
    })
}

fn first_word(path: &str) -> String {
    path.chars()
        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
        .collect()
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

/// Who may hold the flash so that it can be changed: the schedule, what makes a drive of its media before that, and who has
/// the media of a drive without power.
const HOLDERS_OF_FLASH: &[&str] = &[
    "crates/device/src/schedule/",
    "crates/device/src/device.rs",
    "crates/device/src/faults.rs",
    "crates/bitline/src/drive/",
    "crates/bitline/src/ageing.rs",
];

/// Of these, who may have it carry something out.
const COMMANDERS_OF_FLASH: &[&str] = &["crates/device/src/schedule/"];

/// What every way to a die that changes it or moves its data goes through.
const COMMANDS_OF_FLASH: &[&str] = &[
    "nand.begin(",
    "nand.finish(",
    ".data_in(",
    ".data_out(",
    ".frame_in(",
    ".frame_out(",
    "nand.restore(",
    ".set_spare(",
    ".end_lease(",
];

#[test]
fn only_the_schedule_sends_commands_to_the_media() {
    let above = |source: &Source| !source.path.starts_with("crates/media/");
    let crates = crates();
    let all = crates.iter().flat_map(|of_crate| parts(of_crate));
    let all: Vec<Source> = all.filter(above).collect();
    let (mut findings, mut seen) = (Vec::new(), 0);
    for source in &all {
        let mut allow = |words: &[&str], allowed: &[&str]| {
            let among = |begin: &&str| source.path.starts_with(*begin);
            let found: Vec<String> = lines_naming(source, words).collect();
            seen += found.len();
            if !allowed.iter().any(among) {
                findings.extend(found);
            }
        };
        allow(&["RefCell<Nand>", "&mut Nand"], HOLDERS_OF_FLASH);
        allow(COMMANDS_OF_FLASH, COMMANDERS_OF_FLASH);
    }
    assert!(
        seen > 15,
        "only {seen} uses of the flash were seen: the check is blind"
    );
    expect_none(
        "flash that others than the schedule could command:",
        &findings,
    );
}

/// The lines of code with one of these words.
fn lines_naming<'s>(source: &'s Source, words: &'s [&str]) -> impl Iterator<Item = String> + 's {
    let named =
        code(&source.text).filter(move |(_, line)| words.iter().any(|word| line.contains(word)));
    named.map(|(number, line)| format!("{}:{number}: {line}", source.path))
}

#[test]
fn files_of_a_folder_form_no_circle() {
    let mut seen = 0;
    let (mut findings, mut found) = (Vec::new(), BTreeSet::new());
    let crates = crates();
    assert!(crates.len() > 7, "only {crates:?} were seen");
    for of_crate in &crates {
        let files: Vec<Source> = parts(of_crate).collect();
        let folders: BTreeSet<&str> = files
            .iter()
            .filter_map(|source| parent(of_crate, &source.path))
            .collect();
        for folder in folders {
            let arrows = siblings(of_crate, &files, folder);
            seen += arrows.values().map(BTreeSet::len).sum::<usize>();
            for (one, others) in &arrows {
                for other in others {
                    let circle = reaches(&arrows, other, one) && one < other;
                    let name = |file: &str| {
                        let of = of_crate.trim_start_matches("crates/");
                        format!("{}/{folder}{file}", of.trim_end_matches("/src/"))
                    };
                    let (one, other) = (name(one), name(other));
                    let meant = CIRCLES.iter().find(|circle| **circle == (&one, &other));
                    match meant {
                        Some(meant) if circle => {
                            found.insert(meant);
                        }
                        None if circle => findings.push(format!("{one} and {other}")),
                        _ => {}
                    }
                }
            }
        }
    }
    assert!(
        seen > 150,
        "only {seen} arrows were seen: the check is blind"
    );
    expect_none("files of a folder that lean on each other:", &findings);
    let gone = CIRCLES.iter().filter(|circle| !found.contains(circle));
    let gone: Vec<String> = gone
        .map(|(one, other)| format!("{one} and {other}"))
        .collect();
    expect_none("circles that are gone, but still on the list:", &gone);
}

/// The folder of a file below the crate's root, with a slash, which is none for those of the root.
fn parent<'p>(of_crate: &str, path: &'p str) -> Option<&'p str> {
    let inside = path.strip_prefix(of_crate)?;
    let end = inside.rfind('/').map_or(0, |slash| slash + 1);
    Some(&inside[..end])
}

/// Which of its siblings each file or folder in `folder` names.
fn siblings(of_crate: &str, files: &[Source], folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let inside = |source: &Source| {
        let path = source.path.strip_prefix(of_crate)?.strip_prefix(folder)?;
        let name = first_word(path);
        (name != "mod" && name != "lib").then_some((name, path.matches('/').count()))
    };
    let names: BTreeSet<String> = files
        .iter()
        .filter_map(|source| Some(inside(source)?.0))
        .collect();
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let absolute = format!("crate::{}", folder.replace('/', "::"));
    for source in files {
        let Some((name, depth)) = inside(source) else {
            continue;
        };
        // A file names its sibling by one `super` for each folder between, or from the root.
        let is_mod = source.path.ends_with("/mod.rs");
        let relative = "super::".repeat(depth + usize::from(!is_mod));
        for (_, line) in code(&source.text) {
            let by_super = line.match_indices(&relative).filter(|(place, _)| {
                !line[..*place].ends_with("super::")
                    && !line[place + relative.len()..].starts_with("super::")
            });
            let by_root = line.match_indices(&absolute);
            for (place, path) in by_super.chain(by_root) {
                let to = first_word(&line[place + path.len()..]);
                if to != name && names.contains(&to) {
                    arrows.entry(name.clone()).or_default().insert(to);
                }
            }
        }
    }
    arrows
}

fn reaches(arrows: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let (mut left, mut seen) = (vec![from], BTreeSet::new());
    while let Some(next) = left.pop() {
        if next == to {
            return true;
        }
        if seen.insert(next) {
            left.extend(arrows.get(next).into_iter().flatten().map(String::as_str));
        }
    }
    false
}

#[test]
fn an_upward_arrow_and_a_circle_are_seen() {
    let schedule = reach("schedule").unwrap();
    assert!(schedule.contains("memory") && !schedule.contains("ftl"));
    assert!(reach("bits").unwrap().contains("ftl"), "through the cache");
    assert!(!reach("bits").unwrap().contains("frontend"));
    let text = "use crate::ftl::Ftl;\n// crate::bits\nlet a: crate::port::X = crate::cache::y();\n#[cfg(test)]\nuse crate::z;\n\
                #[cfg(test)]\nmod tests;\nuse crate::frontend::X;";
    let found: Vec<_> = used(text).map(|(_, to)| to).collect();
    assert_eq!(found, ["ftl", "port", "cache", "frontend"]);
    let file = |path: &str, text: &str| Source {
        path: format!("{DEVICE}x/{path}"),
        text: text.to_owned(),
    };
    let files = [
        file("a.rs", "use super::b::B;"),
        file("b.rs", "use super::c::C;"),
        file("c/mod.rs", "mod d;"),
        file("c/d.rs", "use super::super::a::A;\nuse crate::x::b::B;"),
    ];
    let arrows = siblings(DEVICE, &files, "x/");
    assert_eq!(
        arrows["c"],
        BTreeSet::from(["a".to_owned(), "b".to_owned()])
    );
    assert!(reaches(&arrows, "b", "a") && !reaches(&arrows, "a", "x"));
}
