//! Values of the configuration that cannot be.

use std::ops::RangeInclusive;

use super::geometry::GeometryError;

/// A configuration that cannot be: which key, and what it may be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The geometry is impossible.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// A value is out of its range.
    #[error("{key} = {value} is out of range; it must be {allowed}")]
    Range {
        /// The key, with its table.
        key: &'static str,
        /// The value found.
        value: u64,
        /// The values allowed.
        allowed: &'static str,
    },
    /// A number that need not be whole is out of its range.
    #[error("{key} = {value} is out of range; it must be {allowed}")]
    Real {
        /// The key, with its table.
        key: &'static str,
        /// The value found.
        value: String,
        /// The values allowed.
        allowed: &'static str,
    },
}

/// # Errors
/// If `value` is not in `range`, which `allowed` says in words.
pub(super) fn check_range(
    key: &'static str,
    value: u64,
    range: RangeInclusive<u64>,
    allowed: &'static str,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(ConfigError::Range {
        key,
        value,
        allowed,
    })
}
