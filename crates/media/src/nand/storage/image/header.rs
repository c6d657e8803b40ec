//! The header of an image, which is there twice: what it is, who wrote it, of which geometry, and the
//! caller's text.

use super::super::StorageError;
use super::checksum::crc32;
use super::file::Medium;
use super::io_error;
use super::layout::{
    GEOMETRY_WORDS, HEAD_BYTES, HEADER_BYTES, Layout, MAGIC, TEXT_BYTES_MAX, VERSION, geometry_of,
    geometry_words,
};
use super::record::{Fields, word};
use crate::nand::geometry::Geometry;
use std::path::Path;

/// The version of Bitline that this is.
pub(super) const WRITER: &str = env!("CARGO_PKG_VERSION");

/// What a header says.
#[derive(Clone, Debug)]
pub(super) struct Header {
    /// The layout of what pages hold, as the firmware numbers it.
    pub(super) content_version: u32,
    /// The version of Bitline that made the image.
    pub(super) writer: String,
    pub(super) geometry: Geometry,
    pub(super) text: String,
}

// Magic, version of the format, version of the content and writer are where they are in every format from 2 on.
const FORMAT_AT: usize = 8;
const CONTENT_AT: usize = 12;
const WRITER_AT: usize = 16;
const WRITER_BYTES: usize = 32;
const GEOMETRY_AT: usize = WRITER_AT + WRITER_BYTES;
const TEXT_LENGTH_AT: usize = GEOMETRY_AT + GEOMETRY_WORDS * 4;
const TEXT_CHECK_AT: usize = TEXT_LENGTH_AT + 4;
const CHECK_AT: usize = TEXT_CHECK_AT + 4;

impl Header {
    pub(super) fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut writer = [0; WRITER_BYTES];
        let length = self.writer.len().min(WRITER_BYTES);
        writer[..length].copy_from_slice(&self.writer.as_bytes()[..length]);
        let mut fields = Fields::new(&mut bytes);
        fields
            .put(&MAGIC)
            .put(&VERSION.to_le_bytes())
            .put(&self.content_version.to_le_bytes())
            .put(&writer);
        for value in geometry_words(&self.geometry) {
            fields.put(&value.to_le_bytes());
        }
        fields
            .put(&(self.text.len() as u32).to_le_bytes())
            .put(&crc32(&[self.text.as_bytes()]).to_le_bytes())
            .check(0);
        bytes
    }

    /// Reads and checks header and length of a file; whether one of the two headers was damaged.
    pub(super) fn read(medium: &dyn Medium, path: &Path) -> Result<(Header, bool), StorageError> {
        let reader = Reader { medium, path };
        let has = reader.length()?;
        let first = reader.header_at(0, has);
        // Whatever it is, with an image's header at its end it was an image.
        let second = reader.header_at(has.wrapping_sub(HEAD_BYTES), has);
        let damaged = first.is_err() != second.is_err();
        let header = match (first, second) {
            (Ok(header), _) | (Err(_), Ok(header)) => header,
            (Err(error), Err(_)) => return Err(error),
        };
        reader.check_length(&header, has)?;
        Ok((header, damaged))
    }

    /// Refuses pages whose layout is another.
    pub(super) fn check_content(&self, path: &Path, expected: u32) -> Result<(), StorageError> {
        if self.content_version == expected {
            return Ok(());
        }
        Err(StorageError::Content {
            path: path.to_owned(),
            found: self.content_version,
            expected,
            writer: self.writer.clone(),
            reader: WRITER,
        })
    }
}

/// A file of which nothing is known yet.
struct Reader<'a> {
    medium: &'a dyn Medium,
    path: &'a Path,
}

impl Reader<'_> {
    fn length(&self) -> Result<u64, StorageError> {
        self.medium
            .length()
            .map_err(|source| io_error(self.path, "ask for the length of the image", source))
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<(), StorageError> {
        self.medium.read_at(bytes, at).map_err(|source| {
            let what = format!("read the header ({} bytes at byte {at})", bytes.len());
            io_error(self.path, what, source)
        })
    }

    fn header_at(&self, at: u64, has: u64) -> Result<Header, StorageError> {
        let path = self.path.to_owned();
        let mut magic = [0; MAGIC.len()];
        let room = has.saturating_sub(at);
        if at <= has && room >= MAGIC.len() as u64 {
            self.read_at(&mut magic, at)?;
        }
        if magic != MAGIC {
            return Err(StorageError::NotAnImage { path });
        }
        if room < HEAD_BYTES {
            return Err(StorageError::Truncated {
                path,
                has,
                needs: HEAD_BYTES,
            });
        }
        let mut bytes = [0; HEADER_BYTES];
        self.read_at(&mut bytes, at)?;
        let found = word(&bytes, FORMAT_AT);
        if found != VERSION {
            return Err(StorageError::Version {
                path,
                found,
                expected: VERSION,
                writer: writer_of(&bytes, found),
                reader: WRITER,
            });
        }
        self.parse(&bytes, at)
    }

    fn parse(&self, bytes: &[u8], at: u64) -> Result<Header, StorageError> {
        let damaged = |what: &str, at: u64| StorageError::Damaged {
            path: self.path.to_owned(),
            what: what.to_owned(),
            at,
        };
        let geometry = geometry_of(std::array::from_fn(|index| {
            word(bytes, GEOMETRY_AT + 4 * index)
        }));
        let length = word(bytes, TEXT_LENGTH_AT) as usize;
        let sound = word(bytes, CHECK_AT) == crc32(&[&[0; 4], &bytes[..CHECK_AT]]);
        if !sound || geometry.validate().is_err() || length > TEXT_BYTES_MAX {
            return Err(damaged("the header", at));
        }
        let text_at = at + HEADER_BYTES as u64;
        let mut text = vec![0; length];
        self.read_at(&mut text, text_at)?;
        if word(bytes, TEXT_CHECK_AT) != crc32(&[&text]) {
            return Err(damaged("the text", text_at));
        }
        Ok(Header {
            content_version: word(bytes, CONTENT_AT),
            writer: writer_of(bytes, VERSION),
            geometry,
            text: String::from_utf8(text).map_err(|_| damaged("the text", text_at))?,
        })
    }

    fn check_length(&self, header: &Header, has: u64) -> Result<(), StorageError> {
        let needs = Layout::of(&header.geometry).file_bytes;
        let path = self.path.to_owned();
        match has.cmp(&needs) {
            std::cmp::Ordering::Less => Err(StorageError::Truncated { path, has, needs }),
            std::cmp::Ordering::Greater => Err(StorageError::TooLong { path, has, needs }),
            std::cmp::Ordering::Equal => Ok(()),
        }
    }
}

/// The version of Bitline that wrote a header of some format.
fn writer_of(bytes: &[u8], format: u32) -> String {
    let field = &bytes[WRITER_AT..WRITER_AT + WRITER_BYTES];
    let end = field.iter().position(|byte| *byte == 0);
    let name = &field[..end.unwrap_or(WRITER_BYTES)];
    match std::str::from_utf8(name) {
        // Format 1 did not say; it was gone before there was a second version.
        _ if format < 2 => "0.1.0".to_owned(),
        Ok(name) if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()) => {
            name.to_owned()
        }
        _ => "an unknown version".to_owned(),
    }
}
