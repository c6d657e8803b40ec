//! Configured numbers that cannot be.

/// A number that is out of range. The message begins with the key, so that whoever passes it on can
/// put the section before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value} is out of range; it must be {allowed}")]
pub struct OutOfRange {
    /// The key within its section.
    pub key: &'static str,
    /// What was given.
    pub value: u64,
    /// What would be right.
    pub allowed: String,
}

/// Checks that a number lies between two others.
pub(crate) fn check(
    key: &'static str,
    value: impl Into<u64>,
    least: u64,
    most: u64,
) -> Result<(), OutOfRange> {
    let value = value.into();
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(OutOfRange {
        key,
        value,
        allowed: format!("{least} to {most}"),
    })
}
