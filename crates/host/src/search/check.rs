//! The host's look at what a drive has found (ANVIL 5.1): where values have a copy of the names, names that flash errors made
//! match are told and dropped.

use nvme::RegionId;
use nvme::query::{Pattern, Query, Term};

use super::error::SearchError;
use super::look_up::Found;
use super::region::NameField;

/// Where values have a copy of the names of a search region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameCopy {
    /// The search region, and what its names are.
    pub name: NameField,
    /// The first byte of the copy in a record; behind it follows the mask, if names may have don't cares.
    pub at: usize,
}

/// Checks records against a query by the copies of names in them. Terms about other search regions are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recheck {
    copies: Vec<NameCopy>,
}

/// What a check has left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// What matches.
    pub found: Found,
    /// Records that do not, and were dropped.
    pub dropped: u32,
}

impl Recheck {
    /// By these copies.
    pub fn new(copies: Vec<NameCopy>) -> Recheck {
        Recheck { copies }
    }

    /// Whether a record matches a query.
    ///
    /// # Errors
    /// [`SearchError::Usage`] for a record that ends before a copy does.
    pub fn matches(&self, query: &Query, record: &[u8]) -> Result<bool, SearchError> {
        let mut stored = Vec::with_capacity(self.copies.len());
        for copy in &self.copies {
            stored.push((copy.name.region, stored_name(copy, record)?));
        }
        let mut groups = query.groups().iter();
        Ok(groups.any(|terms| terms.iter().all(|term| is_met(term, &stored))))
    }

    /// Keeps the records that match.
    ///
    /// # Errors
    /// As [`Recheck::matches`].
    pub fn keep(&self, query: &Query, found: Found) -> Result<Checked, SearchError> {
        let mut kept = Found {
            record_bytes: found.record_bytes,
            ..Found::default()
        };
        for (index, record) in found.iter().enumerate() {
            if self.matches(query, record)? {
                kept.count += 1;
                kept.records.extend(record);
                kept.numbers.extend(found.numbers.get(index));
            }
        }
        let dropped = found.count - kept.count;
        Ok(Checked {
            found: kept,
            dropped,
        })
    }
}

fn is_met(term: &Term, stored: &[(RegionId, Pattern)]) -> bool {
    let mut copies = stored.iter();
    let copy = copies.find(|(region, _)| *region == term.region);
    copy.is_none_or(|(_, name)| term.pattern.matches(name))
}

/// The name that a record has a copy of.
fn stored_name(copy: &NameCopy, record: &[u8]) -> Result<Pattern, SearchError> {
    let kind = copy.name.kind;
    let bytes = kind.name_bytes();
    let from = |at: usize| record.get(at..at + bytes);
    let short = || {
        let (found, wanted) = (record.len(), copy.at + kind.record_bytes());
        SearchError::Usage(format!(
            "a record of {found} bytes, of which a name should end at {wanted}"
        ))
    };
    let name = from(copy.at).ok_or_else(short)?;
    if !kind.ternary {
        return Ok(Pattern::exact(kind.bits, name)?);
    }
    let mask = from(copy.at + bytes).ok_or_else(short)?;
    Ok(Pattern::new(kind.bits, name, mask)?)
}
