//! What each key of a configuration means. The meaning is the documentation of the field that holds
//! it, the unit the end of its name, the source what the preset says beside the value: nothing is told twice.

use std::fmt::Write;

use schemars::schema_for;
use serde::Serialize;
use serde_json::Value as Json;
use toml::Value;

use super::builder::ConfigBuilder;
use super::presets::{self, Resolved};
use super::{Config, ConfigError};

/// One key of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Key {
    /// Its dotted name.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The unit of the value; none for names, switches and plain numbers.
    pub unit: Option<&'static str>,
    /// What it is for.
    pub meaning: String,
    /// The names that it takes, if only some are, each with what it stands for.
    pub choices: Vec<Choice>,
    /// Where the value comes from.
    pub source: String,
}

/// A name that a key takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Choice {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub meaning: String,
}

/// Endings of names and the units that they stand for, the longest first.
const UNITS: [(&str, &str); 32] = [
    ("megabytes_per_second_per_lane", "MB/s a lane (10^6 bytes)"),
    ("megabytes_per_second", "MB/s (10^6 bytes)"),
    ("pj_per_kib", "pJ a KiB"),
    ("pj_per_byte", "pJ a byte"),
    ("pj_per_64b", "pJ for 64 bytes"),
    ("per_million", "of a million"),
    ("percent", "%"),
    ("milliwatts", "mW"),
    ("megahertz", "MHz"),
    ("millijoules", "mJ"),
    ("kelvin", "K"),
    ("celsius", "degrees Celsius"),
    ("hours", "h"),
    ("_ppm", "millionths"),
    ("_sigma_mv", "mV"),
    ("_mv_per_million_reads", "mV a million reads"),
    ("_mv", "mV"),
    ("_ev", "eV"),
    ("_us", "us"),
    ("_ns", "ns"),
    ("_pj", "pJ"),
    ("_bytes", "bytes"),
    ("_bits", "bits"),
    ("_blocks_per_plane", "blocks a plane"),
    ("blocks_per_plane", "blocks a plane"),
    ("_blocks", "blocks"),
    ("_pages", "pages"),
    ("_entries", "entries"),
    ("_erases", "erases"),
    ("_dies", "dies"),
    ("_queues", "queues"),
    ("_pairs", "queue pairs"),
];

impl Config {
    /// Every key but name and description, in the order of the presets' files, with what it means and
    /// where its value comes from.
    ///
    /// # Errors
    /// None for a valid configuration.
    pub fn keys(&self) -> Result<Vec<Key>, ConfigError> {
        let preset = presets::resolve(&self.name).or_else(|_| presets::resolve(presets::BASE.0))?;
        let builder = ConfigBuilder::of(self)?;
        let values = builder.leaves();
        let schema = Json::from(schema_for!(Config));
        let of_preset = |key: &str| value_at(&preset, key);
        let mut keys = Vec::with_capacity(values.len());
        for key in &preset.order {
            let Some((_, value)) = values.iter().find(|(name, _)| name == key) else {
                continue;
            };
            if ["name", "description"].contains(&key.as_str()) {
                continue;
            }
            let source = match of_preset(key) {
                Some(stated) if stated == *value => preset.sources.get(key).cloned(),
                _ => Some(format!(
                    "set here; the preset {} has another value",
                    self.name
                )),
            };
            keys.push(Key {
                key: key.clone(),
                value: value.clone(),
                unit: unit_of(key),
                meaning: meaning_of(&schema, key),
                choices: choices_of(&schema, key),
                source: source.unwrap_or_default(),
            });
        }
        Ok(keys)
    }

    /// The configuration as TOML text with a comment above each key: what it means, in which unit,
    /// and where the value comes from. Reading it back gives the same configuration.
    ///
    /// # Errors
    /// As [`Config::to_toml`].
    pub fn to_annotated_toml(&self) -> Result<String, ConfigError> {
        let mut text = format!(
            "name = {}\ndescription = {}\n",
            Value::from(self.name.as_str()),
            Value::from(self.description.as_str())
        );
        let mut section = "";
        let keys = self.keys()?;
        for key in &keys {
            let (table, name) = key.key.rsplit_once('.').unwrap_or(("", &key.key));
            if table != section {
                section = table;
                push(&mut text, format_args!("\n[{section}]\n"));
            }
            wrap(&mut text, &key.comment());
            push(&mut text, format_args!("{name} = {}\n", key.value));
        }
        Ok(text)
    }
}

impl Key {
    /// Meaning, unit and source, in a sentence each.
    fn comment(&self) -> String {
        let mut comment = self.meaning.clone();
        for choice in &self.choices {
            push(
                &mut comment,
                format_args!(" {}: {}", choice.name, choice.meaning),
            );
        }
        if let Some(unit) = self.unit {
            push(&mut comment, format_args!(" Unit: {unit}."));
        }
        if !self.source.is_empty() {
            push(&mut comment, format_args!(" Source: {}.", self.source));
        }
        comment
    }
}

/// The reference page of all keys, in Markdown: those of the base, which every preset starts from.
///
/// # Errors
/// None, as long as the base is complete.
pub fn reference_of_keys() -> Result<String, ConfigError> {
    let base = ConfigBuilder::preset(presets::BASE.0)?.build()?;
    let mut text = String::from(REFERENCE_HEAD);
    let mut section = None;
    for key in base.keys()? {
        let (table, name) = key.key.rsplit_once('.').unwrap_or(("", &key.key));
        if section.as_deref() != Some(table) {
            section = Some(table.to_owned());
            let title = if table.is_empty() { "The drive" } else { table };
            push(&mut text, format_args!("\n## `{title}`\n\n{TABLE_HEAD}"));
        }
        let choices = key.choices.iter();
        let choices: String = choices
            .map(|choice| format!("<br>`{}`: {}", choice.name, choice.meaning))
            .collect();
        push(
            &mut text,
            format_args!(
                "| `{name}` | `{}` | {} | {}{} | {} |\n",
                key.value,
                key.unit.unwrap_or_default(),
                escaped(&key.meaning),
                escaped(&choices),
                escaped(&key.source)
            ),
        );
    }
    Ok(text)
}

const REFERENCE_HEAD: &str = "# Every key of a configuration

Generated from the documentation of the code and from `presets/base.toml`, which all presets inherit from: do not edit.
The values are the base's. `bitline show PRESET` prints those of a preset with their sources, `--set KEY=VALUE` changes one.
";
const TABLE_HEAD: &str = "| key | base | unit | meaning | source |\n| -- | -- | -- | -- | -- |\n";

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn value_at(preset: &Resolved, key: &str) -> Option<Value> {
    let mut parts = key.split('.');
    let mut place = preset.table.get(parts.next()?)?;
    for part in parts {
        place = place.as_table()?.get(part)?;
    }
    Some(place.clone())
}

fn unit_of(key: &str) -> Option<&'static str> {
    let ends = |(ending, _): &&(&str, &str)| key.ends_with(ending);
    UNITS.iter().find(ends).map(|(_, unit)| *unit)
}

/// The schema of the field that a dotted key names.
fn field<'a>(schema: &'a Json, key: &str) -> Option<&'a Json> {
    let mut place = schema;
    for part in key.split('.') {
        place = followed(schema, place)["properties"].get(part)?;
    }
    Some(place)
}

/// What a reference refers to.
fn followed<'a>(schema: &'a Json, place: &'a Json) -> &'a Json {
    let name = place["$ref"]
        .as_str()
        .and_then(|path| path.strip_prefix("#/$defs/"));
    name.map_or(place, |name| &schema["$defs"][name])
}

fn meaning_of(schema: &Json, key: &str) -> String {
    let described = field(schema, key).and_then(|field| field["description"].as_str());
    one_line(described.unwrap_or_default())
}

/// The names that a key takes, from the variants of its type.
fn choices_of(schema: &Json, key: &str) -> Vec<Choice> {
    let Some(field) = field(schema, key) else {
        return Vec::new();
    };
    let variants = followed(schema, field)["oneOf"].as_array();
    let choice = |variant: &Json| {
        Some(Choice {
            name: variant["const"].as_str()?.to_owned(),
            meaning: one_line(variant["description"].as_str().unwrap_or_default()),
        })
    };
    variants.into_iter().flatten().filter_map(choice).collect()
}

/// Documentation as a line of text: without line ends, and links to items by their names.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace("[`", "`").replace("`]", "`")
}

/// Writes a comment in lines that fit a terminal.
fn wrap(text: &mut String, comment: &str) {
    const WIDTH: usize = 80;
    let mut line = String::from("#");
    for word in comment.split(' ') {
        if line.len() + 1 + word.len() > WIDTH && line.len() > 1 {
            push(text, format_args!("{line}\n"));
            line.truncate(1);
        }
        push(&mut line, format_args!(" {word}"));
    }
    push(text, format_args!("{line}\n"));
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what)
        .expect("writing to a string does not fail");
}
