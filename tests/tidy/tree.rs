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

/// Fails with the whole list of findings, one a line, under a heading that says the rule.
pub(crate) fn expect_none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}\n  {}\n", findings.join("\n  "));
}
