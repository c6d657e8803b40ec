//! What cargo knows about the workspace and everything it depends on.

use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::tree::root;

/// `cargo metadata` for this machine's platform; asked for once.
pub(crate) fn metadata() -> &'static Value {
    static METADATA: OnceLock<Value> = OnceLock::new();
    METADATA.get_or_init(|| {
        // Other platforms' crates were never downloaded here.
        let platform = host_platform();
        let output = cargo(&[
            "metadata",
            "--format-version=1",
            "--locked",
            "--offline",
            "--filter-platform",
            &platform,
        ]);
        serde_json::from_str(&output).expect("cargo metadata prints JSON")
    })
}

/// The packages of the workspace itself.
pub(crate) fn own_packages() -> impl Iterator<Item = &'static Value> {
    // A package of the workspace has a path, not a source to download it from.
    packages().filter(|package| package["source"].is_null())
}

/// The packages that others wrote.
pub(crate) fn foreign_packages() -> impl Iterator<Item = &'static Value> {
    packages().filter(|package| !package["source"].is_null())
}

fn packages() -> impl Iterator<Item = &'static Value> {
    metadata()["packages"]
        .as_array()
        .expect("format version 1 lists packages")
        .iter()
}

/// A field of text, empty when absent.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn host_platform() -> String {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc runs: it built this test");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = output.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc -vV names its host").to_owned()
}

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "cargo {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}
