//! A section of keys: every key is asked for, or it is an error that names it.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use crate::Note;
use crate::error::MqsimError;
use crate::xml::Element;
use bitline::most_similar;

/// A key that is absent may be one that differs in so many letters.
const SLIPS_MAX: usize = 2;

/// An element whose children are keys with values.
pub(super) struct Section<'a> {
    pub(super) file: &'a Path,
    pub(super) element: &'a Element,
    /// Which children were asked for.
    asked: RefCell<Vec<bool>>,
    /// Every name that anyone asked for, the nearest of which an error offers.
    known: RefCell<Vec<String>>,
}

/// A value as the file has it.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    section: &'a Section<'a>,
    element: &'a Element,
}

impl<'a> Section<'a> {
    pub(super) fn new(file: &'a Path, element: &'a Element) -> Section<'a> {
        Section {
            file,
            element,
            asked: RefCell::new(vec![false; element.children.len()]),
            known: RefCell::default(),
        }
    }

    /// The child of one of these names, which are spellings of one key; none if it is absent.
    ///
    /// # Errors
    /// A key that is given twice.
    pub(super) fn optional(&'a self, names: &[&str]) -> Result<Option<Given<'a>>, MqsimError> {
        let all = self.all(names);
        if let [first, second, ..] = all[..] {
            let what = format!(
                "<{}> is given again; the first is in line {}",
                second.name, first.line
            );
            return Err(MqsimError::at(self.file, second.line, what));
        }
        Ok(all.first().map(|element| Given {
            section: self,
            element,
        }))
    }

    /// As [`Section::optional`], of a key that must be there.
    ///
    /// # Errors
    /// A key that is absent or given twice.
    pub(super) fn given(&'a self, names: &[&str]) -> Result<Given<'a>, MqsimError> {
        self.optional(names)?.ok_or_else(|| {
            let near = self.misspelt(names[0]).map_or(String::new(), |child| {
                format!("; is {} in line {} meant?", child.name, child.line)
            });
            let what = format!("<{}> lacks the key {}{near}", self.element.name, names[0]);
            MqsimError::at(self.file, self.element.line, what)
        })
    }

    /// A child that nobody asked for yet, whose name is that of a key but for a slip of the pen.
    fn misspelt(&self, name: &str) -> Option<&'a Element> {
        let asked = self.asked.borrow();
        let children = self.element.children.iter().zip(asked.iter());
        children
            .filter(|(_, asked)| !**asked)
            .map(|(child, _)| (slips(name, &child.name), child))
            .filter(|(slips, _)| *slips <= SLIPS_MAX)
            .min_by_key(|(slips, _)| *slips)
            .map(|(_, child)| child)
    }

    /// All children of these names.
    pub(super) fn all(&self, names: &[&str]) -> Vec<&'a Element> {
        let mut known = self.known.borrow_mut();
        known.extend(names.iter().map(|name| (*name).to_owned()));
        let mut asked = self.asked.borrow_mut();
        let children = self.element.children.iter().zip(asked.iter_mut());
        children
            .filter(|(child, _)| names.contains(&child.name.as_str()))
            .map(|(child, asked)| {
                *asked = true;
                child
            })
            .collect()
    }

    /// Everything was asked for.
    ///
    /// # Errors
    /// The first key that nobody knows, with the nearest that somebody does.
    pub(super) fn finish(&self) -> Result<(), MqsimError> {
        let asked = self.asked.borrow();
        let mut children = self.element.children.iter().zip(asked.iter());
        let Some((unknown, _)) = children.find(|(_, asked)| !**asked) else {
            return Ok(());
        };
        let nearest = most_similar(&unknown.name, &self.known.borrow())
            .map_or(String::new(), |name| format!("; did you mean {name}?"));
        let what = format!(
            "<{}> has no key {}{nearest}",
            self.element.name, unknown.name
        );
        Err(MqsimError::at(self.file, unknown.line, what))
    }
}

/// In how many letters names differ; one that was truncated, or written on, counts as one slip.
fn slips(name: &str, other: &str) -> usize {
    let is_truncated = |longer: &str, shorter: &str| {
        longer.starts_with(shorter) && 2 * shorter.len() > longer.len()
    };
    match is_truncated(name, other) || is_truncated(other, name) {
        true => usize::from(name != other),
        false => strsim::damerau_levenshtein(name, other),
    }
}

impl Given<'_> {
    /// The name that the file uses.
    pub(super) fn name(&self) -> &str {
        &self.element.name
    }

    pub(super) fn text(&self) -> &str {
        &self.element.text
    }

    /// That this value cannot be, with the reason.
    pub(super) fn refused(&self, reason: impl std::fmt::Display) -> MqsimError {
        let what = format!("{} = {:?} cannot be: {reason}", self.name(), self.text());
        MqsimError::at(self.section.file, self.element.line, what)
    }

    /// That this key changes nothing, with the reason.
    pub(super) fn note(&self, reason: impl std::fmt::Display) -> Note {
        Note {
            file: self.section.file.to_owned(),
            line: self.element.line,
            what: format!("{} = {} {reason}", self.name(), self.text()),
        }
    }

    /// A number within `range`.
    ///
    /// # Errors
    /// Anything else.
    pub(super) fn number<T>(&self, range: RangeInclusive<T>) -> Result<T, MqsimError>
    where
        T: FromStr + PartialOrd + std::fmt::Display,
    {
        let number = self.text().parse().ok();
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                self.refused(format!("it must be a number from {least} to {most}"))
            })
    }

    /// MQSim takes anything but FALSE as true; here it must be one of the two.
    ///
    /// # Errors
    /// Anything else.
    pub(super) fn flag(&self) -> Result<bool, MqsimError> {
        self.one_of(&[("TRUE", true), ("FALSE", false)])
    }

    /// One of several names, in any case of letters.
    ///
    /// # Errors
    /// Another name.
    pub(super) fn one_of<T: Copy>(&self, names: &[(&str, T)]) -> Result<T, MqsimError> {
        let found = names
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(self.text()));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
            self.refused(format!("it must be {}", names.join(" or ")))
        })
    }
}
