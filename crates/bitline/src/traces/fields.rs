//! Fields of a line, and what they say.

use super::{LineError, SECTOR_BYTES};

/// The fields of a line, one after another. Blanks around them do not count.
pub(super) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: Separator,
}

enum Separator {
    Comma,
    Blanks,
}

impl<'a> Fields<'a> {
    /// Separated by commas; an empty field is a field.
    pub(super) fn of_csv(line: &'a [u8]) -> Fields<'a> {
        Fields {
            rest: Some(line),
            separator: Separator::Comma,
        }
    }

    /// Separated by any number of blanks.
    pub(super) fn of_words(line: &'a [u8]) -> Fields<'a> {
        Fields {
            rest: Some(line),
            separator: Separator::Blanks,
        }
    }

    /// The next field, called `name` if it is missing.
    pub(super) fn field(&mut self, name: &'static str) -> Result<&'a [u8], LineError> {
        self.next().ok_or(LineError::Missing(name))
    }

    /// The next field, a number.
    pub(super) fn number(&mut self, name: &'static str) -> Result<u64, LineError> {
        number(self.field(name)?, name)
    }

    /// Nothing follows the `count` fields that were taken.
    pub(super) fn end(&mut self, count: usize) -> Result<(), LineError> {
        match self.next() {
            None => Ok(()),
            Some(_) => Err(LineError::TooManyFields(count)),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        match self.separator {
            Separator::Comma => {
                let end = rest.iter().position(|byte| *byte == b',');
                self.rest = end.map(|end| &rest[end + 1..]);
                Some(rest[..end.unwrap_or(rest.len())].trim_ascii())
            }
            Separator::Blanks => {
                let rest = rest.trim_ascii_start();
                if rest.is_empty() {
                    self.rest = None;
                    return None;
                }
                let end = rest.iter().position(u8::is_ascii_whitespace);
                self.rest = end.map(|end| &rest[end..]);
                Some(&rest[..end.unwrap_or(rest.len())])
            }
        }
    }
}

/// A number in decimal.
pub(super) fn number(field: &[u8], name: &'static str) -> Result<u64, LineError> {
    let wrong = LineError::Number(name);
    if field.is_empty() {
        return Err(wrong);
    }
    let mut value = 0u64;
    for byte in field {
        if !byte.is_ascii_digit() {
            return Err(wrong);
        }
        value = value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u64::from(byte - b'0')))
            .ok_or(wrong)?;
    }
    Ok(value)
}

/// Seconds with up to nine digits after the point, in nanoseconds.
pub(super) fn seconds(field: &[u8], name: &'static str) -> Result<u64, LineError> {
    let wrong = LineError::Number(name);
    let point = field.iter().position(|byte| *byte == b'.');
    let whole = number(&field[..point.unwrap_or(field.len())], name)?;
    let fraction = point.map_or(&[][..], |point| &field[point + 1..]);
    if fraction.len() > 9 || (point.is_some() && fraction.is_empty()) {
        return Err(wrong);
    }
    let nanoseconds = match fraction.len() {
        0 => 0,
        digits => number(fraction, name)? * 10u64.pow(9 - digits as u32),
    };
    scaled(whole, 1_000_000_000, name)?
        .checked_add(nanoseconds)
        .ok_or(wrong)
}

/// `value` times `factor`, such as sectors in bytes.
pub(super) fn scaled(value: u64, factor: u64, name: &'static str) -> Result<u64, LineError> {
    value.checked_mul(factor).ok_or(LineError::OutOfRange(name))
}

/// Sectors in bytes.
pub(super) fn sectors(value: u64, name: &'static str) -> Result<u64, LineError> {
    scaled(value, SECTOR_BYTES, name)
}
