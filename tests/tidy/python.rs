//! How Python sources read. (Style, types and the docstrings of what is public: ruff and mypy.)

use crate::tree::{expect_none, sources};

#[test]
fn every_module_has_a_docstring() {
    let files = ["py", "pyi"]
        .into_iter()
        .flat_map(|extension| sources("python", extension));
    let findings: Vec<_> = files
        .filter(|source| !source.text.starts_with("\"\"\""))
        .map(|source| source.path)
        .collect();
    expect_none(
        "Python files that do not start with a docstring:",
        &findings,
    );
}
