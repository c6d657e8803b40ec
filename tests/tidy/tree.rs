//! The files of the checkout, and a way to report what is wrong in them.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A source file: its path from the root with `/` between folders, and its text.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Every file below `folder` whose name ends in `.extension`, in order of path.
/// Panics when there is none: a check over nothing would always pass.
pub(crate) fn sources(folder: &str, extension: &str) -> Vec<Source> {
    let found = sources_if_any(folder, extension);
    assert!(!found.is_empty(), "no .{extension} file below {folder}");
    found
}

/// As [`sources`], of a folder that may have no such file.
pub(crate) fn sources_if_any(folder: &str, extension: &str) -> Vec<Source> {
    let mut paths = Vec::new();
    collect(&root().join(folder), extension, &mut paths);
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn collect(folder: &Path, extension: &str, paths: &mut Vec<PathBuf>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a listed entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            // Build output and caches are nobody's source.
            if name != "target" && name != "__pycache__" {
                collect(&path, extension, paths);
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
}

fn read(path: &Path) -> Source {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let inside = path.strip_prefix(root()).unwrap_or(path);
    Source {
        path: inside.to_string_lossy().replace('\\', "/"),
        text,
    }
}

/// The lines of code, trimmed, with their numbers: no comments, and nothing that only unit tests are compiled with.
/// An item below `#[cfg(test)]` ends as rustfmt ends it: with the line of its own indentation that closes it.
pub(crate) fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut lines = text.lines().zip(1..);
    let next = move || {
        loop {
            let (line, number) = lines.next()?;
            let trimmed = line.trim();
            if trimmed == "#[cfg(test)]" {
                skip_item(lines.by_ref().map(|(line, _)| line), indentation(line));
            } else if !trimmed.starts_with("//") {
                return Some((number, trimmed));
            }
        }
    };
    std::iter::from_fn(next)
}

/// Takes the lines of one item, of which the first has this indentation.
fn skip_item<'l>(lines: impl Iterator<Item = &'l str>, own: usize) {
    let mut is_open = false;
    for line in lines {
        let ends = |with: &[char]| line.ends_with(with);
        is_open |= ends(&['{', '(', '[']);
        let closes = indentation(line) == own && ends(&['}', ';', ',']);
        let is_comment = line.trim_start().starts_with("//");
        if !is_comment && (closes || (!is_open && ends(&[';']))) {
            return;
        }
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Fails with the whole list of findings, one a line, under a heading that says the rule.
pub(crate) fn expect_none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}\n  {}\n", findings.join("\n  "));
}

#[test]
fn what_unit_tests_alone_have_is_no_code() {
    let text = "//! A.\n#[cfg(test)]\nmod tests;\na\n#[cfg(test)]\n#[derive(Debug)]\n/// Of it;\nconst B: u8 =\n    1;\nb\n\
                impl C {\n    #[cfg(test)]\n    fn d<T>(\n        e: T,\n    )\n    where\n        T: F,\n    {\n        g;\n    }\n\
                \x20   c\n}\n#[cfg(test)]\nmod more { use z; }\nd\n#[cfg(test)]\nmod rest {\n    fn f() {\n    }\n}\ne";
    let seen: Vec<_> = code(text).collect();
    let expected = [
        (4, "a"),
        (10, "b"),
        (11, "impl C {"),
        (21, "c"),
        (22, "}"),
        (25, "d"),
        (31, "e"),
    ];
    assert_eq!(seen, expected);
}
