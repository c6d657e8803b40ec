//! An import under way.

use toml::Value;

use crate::Note;
use crate::error::MqsimError;
use crate::section::{Given, Section};
use crate::xml::Element;
use bitline::ConfigBuilder;

/// What flows do not share: each has an equal part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Divided {
    /// `Data_Cache_Sharing_Mode`.
    pub(super) cache: bool,
    /// `CMT_Sharing_Mode`, where there is a cached mapping table.
    pub(super) mapping: bool,
}

/// An import under way: what the file says, in our words.
pub(super) struct Import<'n> {
    pub(super) keys: Vec<(&'static str, Value)>,
    /// As far as it is put together.
    pub(super) builder: ConfigBuilder,
    pub(super) notes: &'n mut Vec<Note>,
    /// What some keys depend on.
    pub(super) planes: u32,
    pub(super) blocks_per_plane: u32,
    pub(super) pages_per_block: u32,
    pub(super) page_bytes: u64,
    pub(super) divided: Divided,
    /// Flash pages of the drive.
    pub(super) pages: u64,
}

impl Import<'_> {
    pub(super) fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        self.keys.push((key, value.into()));
    }

    /// As [`Import::set`], with a value that the drive may refuse: then `given` is told to be wrong.
    pub(super) fn set_checked(
        &mut self,
        given: &Given<'_>,
        key: &'static str,
        value: impl Into<Value>,
    ) -> Result<(), MqsimError> {
        let value = value.into();
        let replaced = self.builder.replace(key, &value);
        replaced.map_err(|error| given.refused(error))?;
        self.keys.push((key, value));
        Ok(())
    }

    pub(super) fn note(&mut self, given: &Given<'_>, reason: impl std::fmt::Display) {
        self.notes.push(given.note(reason));
    }

    /// Notes keys that change nothing here, where the file has them.
    pub(super) fn without_effect(
        &mut self,
        section: &Section<'_>,
        keys: &[&str],
        reason: &str,
    ) -> Result<(), MqsimError> {
        for key in keys {
            if let Some(given) = section.optional(&[key])? {
                given.number(0..=u64::MAX)?;
                self.note(&given, reason);
            }
        }
        Ok(())
    }
}

/// The only element of this name.
pub(super) fn one<'a>(section: &Section<'a>, name: &str) -> Result<&'a Element, MqsimError> {
    match section.all(&[name])[..] {
        [element] => Ok(element),
        [] => {
            let what = format!("<{}> lacks <{name}>", section.element.name);
            Err(MqsimError::at(section.file, section.element.line, what))
        }
        [_, second, ..] => {
            let what = format!("<{name}> is given again");
            Err(MqsimError::at(section.file, second.line, what))
        }
    }
}

/// A key that may have one value only.
pub(super) fn only(
    section: &Section<'_>,
    key: &str,
    value: &'static str,
) -> Result<(), MqsimError> {
    section.given(&[key])?.one_of(&[(value, ())])
}
