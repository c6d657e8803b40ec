//! Names that the drive looks up within the flash array, in the stores registered for the run.

use alloc::vec;
use alloc::vec::Vec;

use crate::{Error, checked, imports, length};

/// Bytes of an entry of a mapping before the key: a hash, which part of an item it is, bytes of the item, bytes of the key.
const BEFORE_KEY: usize = 28;

/// Looks up a name, all bits of it, in a store registered for the run; copies as much of the value of the first entry that has
/// it as there is room for, and gives the bytes of the value.
///
/// # Errors
/// [`Error::NO_ENTRY`]; [`Error::BAD_FILE`] for no such store; [`Error::INVALID`] for a name of another length than the
/// store's.
pub fn look_up(store: i32, name: &[u8], to: &mut [u8]) -> Result<usize, Error> {
    let (bytes, room) = (length(name.len()), length(to.len()));
    // SAFETY: `name` has as many bytes as are told, and `to` room for as many.
    checked(unsafe { imports::look_up(store, name.as_ptr(), bytes, to.as_mut_ptr(), room) })
}

/// A name in an index of a table: its columns one after the other, each the bits of a number, the most significant first. A
/// column that may be null has a bit before them: 1, or 0 and zeros for a null. The value is the table's row.
///
/// ```ignore
/// let mut number = isc::Name::default();
/// let got = number.add(4711, 32).look_up(0, &mut row)?;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Name {
    bits: usize,
    bytes: Vec<u8>,
}

impl Name {
    /// Adds the lowest `bits` bits of a number, at most 64. Of a signed column, or one of a range, less its least value.
    pub fn add(&mut self, number: u64, bits: u32) -> &mut Name {
        for bit in (0..bits).rev() {
            if self.bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            self.bytes[self.bits / 8] |= ((number >> bit & 1) as u8) << (self.bits % 8);
            self.bits += 1;
        }
        self
    }

    /// As [`look_up`].
    ///
    /// # Errors
    /// As [`look_up`] has them.
    pub fn look_up(&self, store: i32, to: &mut [u8]) -> Result<usize, Error> {
        look_up(store, &self.bytes, to)
    }
}

/// Looks up a key of a mapping of bytes to bytes, made with this `name_bytes`; gives the value, of at most `value_bytes`.
///
/// # Errors
/// [`Error::NO_ENTRY`]; [`Error::TOO_BIG`] for a key of more than `name_bytes`, a value of more than `value_bytes`, or an item
/// of more than one entry, which lie apart.
pub fn look_up_key(
    store: i32,
    name_bytes: usize,
    key: &[u8],
    value_bytes: usize,
) -> Result<Vec<u8>, Error> {
    if key.len() > name_bytes {
        return Err(Error::TOO_BIG);
    }
    let mut name = key.to_vec();
    name.resize(name_bytes, 0);
    name.extend((key.len() as u16).to_be_bytes());
    // An entry is filled up to the length that all of its store have.
    let begin = BEFORE_KEY + key.len();
    let mut entry = vec![0; begin + value_bytes];
    let got = look_up(store, &name, &mut entry)?;
    let number = |at: usize| {
        let bytes = entry
            .get(at..at + 4)
            .and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes) as usize
    };
    let (part, whole, key_bytes) = (number(16), number(20), number(24));
    let end = BEFORE_KEY - 4 + whole;
    if part != 0 || end > got || end > entry.len() {
        return Err(Error::TOO_BIG);
    }
    // Another key was found by mistake: flash gave a wrong bit.
    if key_bytes != key.len() || end < begin || entry[BEFORE_KEY..begin] != *key {
        return Err(Error::NO_ENTRY);
    }
    entry.truncate(end);
    entry.drain(..begin);
    Ok(entry)
}
