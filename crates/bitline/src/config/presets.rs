//! The presets: a TOML file each, which says only what its source does otherwise than the preset it
//! inherits from; every number with its source beside it.

use std::collections::BTreeMap;

use toml::{Table, Value};
use toml_edit::{Document, Item};

use super::error::{ConfigError, quoted};
use super::tables::{leaves_of, most_similar, parse, put};

/// The preset that a drive has unless told otherwise.
pub const DEFAULT_PRESET: &str = "flash-cosmos";

/// What every preset starts from. It has every key there is, and is no drive of anybody's.
pub(super) const BASE: (&str, &str) = ("base", include_str!("../../presets/base.toml"));

/// Name and text of each.
const PRESETS: [(&str, &str); 8] = [
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
    (
        "th-issd-edge",
        include_str!("../../presets/th-issd-edge.toml"),
    ),
    ("conduit", include_str!("../../presets/conduit.toml")),
    (
        "mqsim-default",
        include_str!("../../presets/mqsim-default.toml"),
    ),
];

/// Names what a file starts from.
const INHERITS: &str = "inherits";

/// A preset with everything that it inherits.
pub(super) struct Resolved {
    /// Every key.
    pub(super) table: Table,
    /// Of every key, by its dotted name, what its file says of its source.
    pub(super) sources: BTreeMap<String, String>,
    /// The keys in the order in which the files have them.
    pub(super) order: Vec<String>,
}

/// The names of all presets.
pub(super) fn names() -> Vec<String> {
    PRESETS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// The text of a preset's own file.
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

/// A preset on top of what it inherits.
///
/// # Errors
/// If there is none of this name, or a file has a key that what it inherits from lacks.
pub(super) fn resolve(name: &str) -> Result<Resolved, ConfigError> {
    if name == BASE.0 {
        return Ok(Resolved {
            table: parse(BASE.1)?,
            sources: sources_of(BASE.1)?.into_iter().collect(),
            order: sources_of(BASE.1)?
                .into_iter()
                .map(|(key, _)| key)
                .collect(),
        });
    }
    let text = text(name)?;
    let mut own = parse(text)?;
    let parent = match own.remove(INHERITS) {
        Some(Value::String(parent)) => parent,
        _ => BASE.0.to_owned(),
    };
    let mut resolved = resolve(&parent)?;
    for (key, value) in leaves_of(&own) {
        put(&mut resolved.table, &key, &value)?;
    }
    resolved.sources.extend(sources_of(text)?);
    Ok(resolved)
}

/// The comment beside the value of every key of a file, in its order.
fn sources_of(text: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let document = Document::parse(text).map_err(|error| ConfigError::Syntax(error.to_string()))?;
    let mut sources = Vec::new();
    collect(text, document.as_item(), "", &mut sources);
    Ok(sources)
}

fn collect(text: &str, item: &Item, path: &str, sources: &mut Vec<(String, String)>) {
    let Some(table) = item.as_table() else {
        return;
    };
    for (key, item) in table {
        let path = match path {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        if let Some(value) = item.as_value() {
            if path == INHERITS {
                continue;
            }
            let beside = value.decor().suffix().and_then(|suffix| {
                let beside = suffix
                    .span()
                    .map_or_else(|| suffix.as_str(), |span| text.get(span));
                beside.map(|beside| beside.trim().trim_start_matches('#').trim())
            });
            sources.push((path, beside.unwrap_or_default().to_owned()));
        } else {
            collect(text, item, &path, sources);
        }
    }
}
