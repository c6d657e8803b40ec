//! What can be wrong with a configuration.

/// A configuration that cannot be used. Messages name the key, the value and
/// what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No such preset.
    #[error("there is no preset {name:?}{}; the presets are {}", suggestion(.nearest), .known.join(", "))]
    UnknownPreset {
        /// What was asked for.
        name: String,
        /// The most similar that exists.
        nearest: Option<String>,
        /// All that exist.
        known: Vec<String>,
    },
    /// No such key.
    #[error("there is no key {key:?}{}", suggestion_or(.nearest, "; `bitline show` lists all"))]
    UnknownKey {
        /// What was given, dotted.
        key: String,
        /// The most similar that exists.
        nearest: Option<String>,
    },
    /// The text is no TOML.
    #[error("this is no TOML: {0}")]
    Syntax(String),
    /// A value of the wrong kind, or one that cannot be for another reason.
    #[error("{key} = {value} cannot be: {reason}")]
    Value {
        /// The key, dotted.
        key: String,
        /// What was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A number out of range.
    #[error("{key} = {value} is out of range; it must be {least} to {most}")]
    Range {
        /// The key, dotted.
        key: &'static str,
        /// What was given.
        value: u64,
        /// The least allowed.
        least: u64,
        /// The most allowed.
        most: u64,
    },
    /// Tables that do not fit into memory.
    #[error(
        "nand.geometry makes {blocks} blocks in {planes} planes, {pages} pages in all, whose tables take \
         {needed} bytes of memory; there are {limit}: make channels = {channels}, chips_per_channel, \
         dies_per_chip, planes_per_die or blocks_per_plane smaller"
    )]
    Memory {
        /// Channels.
        channels: u32,
        /// Planes of the drive.
        planes: u32,
        /// Blocks of the drive.
        blocks: u32,
        /// Pages of the drive.
        pages: u64,
        /// Bytes that tables would take.
        needed: u64,
        /// Bytes there are.
        limit: u64,
    },
    /// An override that is not `key=value`.
    #[error("{0:?} is no override; it must be KEY=VALUE, such as ftl.overprovisioning=0.1")]
    Override(String),
    /// The image was made with another value, which its content depends on.
    #[error("{}{key} = {given} does not fit the image {}, which was made with {stored}",
        other_preset(.name, .stored_name), image.display())]
    ImageMismatch {
        /// The name of the configuration.
        name: Box<str>,
        /// The name of the configuration that the image was made for.
        stored_name: Box<str>,
        /// The key, dotted.
        key: String,
        /// What the configuration says.
        given: Box<str>,
        /// What the image was made with.
        stored: Box<str>,
        /// The image file.
        image: std::path::PathBuf,
    },
    /// Values that make no drive: the key, its value and what is allowed, in words.
    #[error("{0}")]
    Device(String),
}

impl From<device::ConfigError> for ConfigError {
    fn from(error: device::ConfigError) -> ConfigError {
        ConfigError::Device(error.to_string())
    }
}

/// The most characters of a text of the user's that a message repeats.
const QUOTED_MAX: usize = 120;

/// A text as messages repeat it: the beginning of a long one, and how long it is.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.chars().count()),
    }
}

/// The same of every line of a message.
pub(crate) fn quoted_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(quoted).collect();
    lines.join("\n")
}

/// How an error message offers what may have been meant.
fn suggestion(name: &Option<String>) -> String {
    suggestion_or(name, "")
}

fn suggestion_or(name: &Option<String>, otherwise: &str) -> String {
    name.as_ref()
        .map_or(otherwise.into(), |name| format!("; did you mean {name:?}?"))
}

/// What an error message begins with when an image was made for another preset.
fn other_preset(name: &str, stored: &str) -> String {
    if name == stored {
        String::new()
    } else {
        format!("the image was made for {stored}, this configuration is {name}: ")
    }
}
