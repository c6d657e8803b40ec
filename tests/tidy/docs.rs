//! The pages of the repository: their links lead somewhere, the files they name exist,
//! and every example is run.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::tree::{Source, expect_none, root, sources};

/// Pages, by path from the root.
fn pages() -> Vec<Source> {
    let at_root = ["README.md", "ARCHITECTURE.md", "STYLE.md", "CHANGELOG.md"];
    let mut pages: Vec<_> = at_root
        .into_iter()
        .map(|path| Source {
            path: path.to_owned(),
            text: fs::read_to_string(root().join(path)).expect("the page exists"),
        })
        .collect();
    pages.extend(sources("docs", "md"));
    pages
}

#[test]
fn links_lead_somewhere() {
    let mut findings = Vec::new();
    let mut seen = 0;
    for page in pages() {
        for link in between(&page.text, "](", ")").filter(|link| !link.contains("://")) {
            seen += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = beside(&page.path, file);
            let text = fs::read_to_string(root().join(&target)).unwrap_or_default();
            let there = root().join(&target).exists();
            if !there || !(anchor.is_empty() || headings(&text).any(|name| name == anchor)) {
                findings.push(format!("{}: {link}", page.path));
            }
        }
    }
    assert!(seen > 10, "only {seen} links: the check is blind");
    expect_none("links that lead nowhere:", &findings);
}

#[test]
fn files_that_pages_name_exist() {
    let mut findings = Vec::new();
    let mut seen = 0;
    for page in pages() {
        for name in between(&page.text, "`", "`") {
            let rooted = ["crates/", "tests/", "examples/", "docs/", "python/"]
                .iter()
                .any(|folder| name.starts_with(folder));
            if rooted && !name.contains(' ') {
                seen += 1;
                if !root().join(name).exists() {
                    findings.push(format!("{}: {name}", page.path));
                }
            }
        }
    }
    assert!(seen > 10, "only {seen} names: the check is blind");
    expect_none("files that do not exist:", &findings);
}

/// A block without a language would be nobody's to run, or rustdoc's.
#[test]
fn code_blocks_name_their_language_and_end() {
    let mut findings = Vec::new();
    for page in pages() {
        let mut open = false;
        for (number, line) in page.text.lines().enumerate() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                let known = ["rust", "python", "console", "text"].contains(&language);
                if !(if open { language.is_empty() } else { known }) {
                    findings.push(format!("{}:{}: {line}", page.path, number + 1));
                }
                open = !open;
            }
        }
        if open {
            findings.push(format!("{}: the last block does not end", page.path));
        }
    }
    expect_none("code blocks that are not as they should be:", &findings);
}

/// Those in Python are found by a test of their own.
#[test]
fn every_example_in_rust_is_run() {
    // Those of the facade, and of what brings real hosts to a drive.
    let listed = ["bitline", "attach"].map(|of_crate| {
        let manifest = format!("crates/{of_crate}/Cargo.toml");
        let manifest = fs::read_to_string(root().join(manifest)).expect("it has a manifest");
        let manifest: toml::Table = manifest.parse().expect("it is TOML");
        manifest["example"]
            .as_array()
            .expect("it lists examples")
            .clone()
    });
    let entries = listed.concat();
    let runs = |path: &str| {
        entries.iter().any(|entry| {
            let file = entry["path"].as_str().unwrap_or_default();
            let tested = entry.get("test").and_then(toml::Value::as_bool);
            file.ends_with(path) && tested == Some(true)
        })
    };
    let findings: Vec<_> = sources("examples", "rs")
        .into_iter()
        .filter(|source| !runs(&source.path) || !source.text.contains("super::main()"))
        .map(|source| source.path)
        .collect();
    expect_none("examples that no test runs:", &findings);
}

/// What stands between `open` and the next `close` on the same line, outside of code blocks.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    let mut code = false;
    let prose = text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        code ^= fence;
        !code && !fence
    });
    prose.flat_map(move |line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            let (_, after) = rest.split_once(open)?;
            let (found, after) = after.split_once(close)?;
            rest = after;
            Some(found)
        })
    })
}

/// Anchors of the headings, as Markdown viewers derive them.
fn headings(text: &str) -> impl Iterator<Item = String> + '_ {
    let titles = text.lines().filter(|line| line.starts_with('#'));
    titles.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-');
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// `link` as seen from `page`, from the root.
fn beside(page: &str, link: &str) -> PathBuf {
    if link.is_empty() {
        return PathBuf::from(page);
    }
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    let mut path = PathBuf::new();
    for part in folder.join(link).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path
}

#[test]
fn links_and_headings_are_understood() {
    let text = "a [b](c.md) `d`\n```text\n[e](f)\n```\n[g](h#i) `j";
    assert_eq!(
        between(text, "](", ")").collect::<Vec<_>>(),
        ["c.md", "h#i"]
    );
    assert_eq!(between(text, "`", "`").collect::<Vec<_>>(), ["d"]);
    assert_eq!(beside("docs/a.md", "../b.md"), Path::new("b.md"));
    assert_eq!(beside("docs/a.md", ""), Path::new("docs/a.md"));
    let found: Vec<_> = headings("# What is not modelled?\ntext").collect();
    assert_eq!(found, ["what-is-not-modelled"]);
}
