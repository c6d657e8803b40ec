//! A value with its name as one value of a store: the lengths of both, the name, the value, and nothing to the end.

use crate::error::KeyValueError;

/// Bytes before the name: its length, 2, and the value's, 4, little-endian.
pub(super) const HEADER_BYTES: usize = 6;

/// An entry of so many bytes.
pub(super) fn encode(name: &[u8], value: &[u8], bytes: usize) -> Vec<u8> {
    let mut entry = Vec::with_capacity(bytes);
    entry.extend((name.len() as u16).to_le_bytes());
    entry.extend((value.len() as u32).to_le_bytes());
    entry.extend(name);
    entry.extend(value);
    entry.resize(bytes, 0);
    entry
}

/// Name and value of an entry.
///
/// # Errors
/// [`KeyValueError::Damaged`] for bytes that are no entry.
pub(super) fn decode(entry: &[u8]) -> Result<(&[u8], &[u8]), KeyValueError> {
    let parts = || {
        let (header, rest) = entry.split_at_checked(HEADER_BYTES)?;
        let name = usize::from(u16::from_le_bytes([header[0], header[1]]));
        let value = u32::from_le_bytes([header[2], header[3], header[4], header[5]]);
        let (name, rest) = rest.split_at_checked(name)?;
        let (value, _) = rest.split_at_checked(value as usize)?;
        Some((name, value))
    };
    parts().ok_or(KeyValueError::Damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_what_was_put_into_it() {
        let entry = encode(b"name", b"value", 40);
        assert_eq!(entry.len(), 40);
        assert_eq!(decode(&entry).unwrap(), (&b"name"[..], &b"value"[..]));
        let empty = encode(b"", b"", HEADER_BYTES);
        assert_eq!(decode(&empty).unwrap(), (&b""[..], &b""[..]));
        assert!(decode(&entry[..14]).is_err());
        assert!(decode(&[1]).is_err());
        assert!(decode(&[0xFF; 40]).is_err());
    }
}
