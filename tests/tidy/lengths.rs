//! A file holds one idea, which takes a few hundred lines. A longer one is split by idea, or says here why not.

use crate::tree::{Source, expect_none, sources_if_any};

/// Lines of a file, at most.
const LINES_MAX: usize = 500;

/// Files that are longer, each with why. One that is not any more must go from here, too.
const LONGER: &[(&str, &str)] = &[(
    "python/bitline/_bitline.pyi",
    "the stub of one module, which Python looks for in one file",
)];

#[test]
fn files_hold_one_idea() {
    let folders = [
        "benches", "crates", "examples", "python", "scripts", "tests",
    ];
    let files: Vec<Source> = folders.into_iter().flat_map(files).collect();
    assert!(files.len() > 700, "only {} files were seen", files.len());
    let longer = |source: &&Source| source.text.lines().count() > LINES_MAX;
    let longer: Vec<&str> = files
        .iter()
        .filter(longer)
        .map(|source| &*source.path)
        .collect();
    let is_meant = |path: &str| LONGER.iter().any(|(meant, _)| *meant == path);
    let findings: Vec<String> = longer
        .iter()
        .filter(|path| !is_meant(path))
        .map(|path| (*path).to_owned())
        .collect();
    expect_none(&format!("files of more than {LINES_MAX} lines:"), &findings);
    let gone = LONGER.iter().filter(|(path, _)| !longer.contains(path));
    let gone: Vec<String> = gone.map(|(path, _)| (*path).to_owned()).collect();
    expect_none("files that are short by now, but still listed:", &gone);
}

/// The sources in a folder; it may have none of one language.
fn files(folder: &str) -> Vec<Source> {
    ["rs", "py", "pyi"]
        .into_iter()
        .flat_map(|extension| sources_if_any(folder, extension))
        .collect()
}
