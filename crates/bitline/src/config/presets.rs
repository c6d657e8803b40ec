//! The presets: one complete TOML file each, every number with its source.

use super::builder::most_similar;
use super::error::{ConfigError, quoted};

/// The preset that a drive has unless told otherwise.
pub const DEFAULT_PRESET: &str = "flash-cosmos";

/// Name and text of each.
const PRESETS: [(&str, &str); 7] = [
    (
        "flash-cosmos",
        include_str!("../../presets/flash-cosmos.toml"),
    ),
    (
        "anvil-ssd-a",
        include_str!("../../presets/anvil-ssd-a.toml"),
    ),
    (
        "anvil-ssd-b",
        include_str!("../../presets/anvil-ssd-b.toml"),
    ),
    ("txisc", include_str!("../../presets/txisc.toml")),
    ("th-issd", include_str!("../../presets/th-issd.toml")),
    ("conduit", include_str!("../../presets/conduit.toml")),
    (
        "mqsim-default",
        include_str!("../../presets/mqsim-default.toml"),
    ),
];

/// The names of all presets.
pub(super) fn names() -> Vec<String> {
    PRESETS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// The text of a preset.
///
/// # Errors
/// If there is none of this name.
pub(super) fn text(name: &str) -> Result<&'static str, ConfigError> {
    let found = PRESETS.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text).ok_or_else(|| {
        let known = names();
        ConfigError::UnknownPreset {
            name: quoted(name),
            nearest: most_similar(name, &known),
            known,
        }
    })
}
