//! The header of an image: what it is, of which geometry, and the caller's text.

use super::super::StorageError;
use super::Image;
use super::checksum::crc32;
use super::layout::{
    HEADER_BYTES, Layout, MAGIC, TEXT_BYTES_MAX, VERSION, geometry_fields, geometry_of, word,
};
use crate::nand::geometry::Geometry;

/// What a header says.
pub(super) struct Header {
    pub(super) geometry: Geometry,
    pub(super) text: String,
}

const GEOMETRY_AT: usize = 16;
const TEXT_LENGTH_AT: usize = GEOMETRY_AT + 9 * 4;
const TEXT_CHECK_AT: usize = TEXT_LENGTH_AT + 4;
const CHECK_AT: usize = TEXT_CHECK_AT + 4;

impl Header {
    pub(super) fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        let mut put = |at: usize, value: u32| {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        };
        put(8, VERSION);
        for (index, (_, value)) in geometry_fields(&self.geometry).into_iter().enumerate() {
            put(GEOMETRY_AT + 4 * index, value);
        }
        put(TEXT_LENGTH_AT, self.text.len() as u32);
        put(TEXT_CHECK_AT, crc32(&[self.text.as_bytes()]));
        let check = crc32(&[&bytes[..CHECK_AT]]);
        bytes[CHECK_AT..CHECK_AT + 4].copy_from_slice(&check.to_le_bytes());
        bytes
    }
}

impl Image {
    /// Reads and checks the header and the length of the file.
    pub(super) fn read_header(&mut self) -> Result<Header, StorageError> {
        let has = self.length()?;
        let path = self.path.clone();
        let mut magic = [0; MAGIC.len()];
        if has >= MAGIC.len() as u64 {
            self.read_at(&mut magic, 0, "header")?;
        }
        if magic != MAGIC {
            return Err(StorageError::NotAnImage { path });
        }
        let mut needs = (HEADER_BYTES + TEXT_BYTES_MAX) as u64;
        if has < needs {
            return Err(StorageError::Truncated { path, has, needs });
        }
        let mut bytes = [0; HEADER_BYTES];
        self.read_at(&mut bytes, 0, "header")?;
        let found = word(&bytes, 8);
        if found != VERSION {
            return Err(StorageError::Version {
                path,
                found,
                expected: VERSION,
            });
        }
        let header = self.parse_header(&bytes)?;
        needs = Layout::of(&header.geometry).file_bytes;
        if has < needs {
            return Err(StorageError::Truncated { path, has, needs });
        }
        if has > needs {
            return Err(StorageError::TooLong { path, has, needs });
        }
        Ok(header)
    }

    fn parse_header(&self, bytes: &[u8]) -> Result<Header, StorageError> {
        let damaged = |what: &str, at: usize| StorageError::Damaged {
            path: self.path.clone(),
            what: what.to_owned(),
            at: at as u64,
        };
        if word(bytes, CHECK_AT) != crc32(&[&bytes[..CHECK_AT]]) {
            return Err(damaged("the header", 0));
        }
        let geometry = geometry_of(std::array::from_fn(|index| {
            word(bytes, GEOMETRY_AT + 4 * index)
        }));
        let length = word(bytes, TEXT_LENGTH_AT) as usize;
        if geometry.validate().is_err() || length > TEXT_BYTES_MAX {
            return Err(damaged("the header", 0));
        }
        let mut text = vec![0; length];
        self.read_at(&mut text, HEADER_BYTES as u64, "text")?;
        if word(bytes, TEXT_CHECK_AT) != crc32(&[&text]) {
            return Err(damaged("the text", HEADER_BYTES));
        }
        let text = String::from_utf8(text).map_err(|_| damaged("the text", HEADER_BYTES))?;
        Ok(Header { geometry, text })
    }
}
