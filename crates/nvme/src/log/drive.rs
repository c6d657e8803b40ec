//! Vendor pages: what a host has to know of a drive to use it from afar (vendor specific log pages, Base 5.1.12).

use std::mem::size_of;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// How the logical pages of a drive are laid out, and how late it is there: of the namespace that is asked about.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DriveLog {
    /// The drive's simulated clock, picoseconds.
    pub clock_ps: U64,
    /// The first logical page of the namespace.
    pub first_page: U32,
    /// The logical page after its last.
    pub end_page: U32,
    /// Logical pages of the drive.
    pub logical_pages: U32,
    /// Of these, how many are for ordinary data; the others are for what is computed with.
    pub data_pages: U32,
    /// Bytes of a logical page.
    pub logical_page_bytes: U32,
    /// Bytes of a flash page, without its spare bytes: one logical page or several.
    pub flash_page_bytes: U32,
    /// Dies of the drive.
    pub dies: U32,
    reserved_36: [u8; 28],
}

const _: () = assert!(size_of::<DriveLog>() == 64);

impl DriveLog {
    /// A page of zeroes, to be filled in.
    pub fn zeroed() -> DriveLog {
        DriveLog::new_zeroed()
    }
}

/// Pages of text: how many bytes it has, 8 bytes, little-endian, and the text.
pub struct TextLog;

impl TextLog {
    /// Bytes before the text.
    pub const HEAD: usize = size_of::<u64>();

    /// The page that has this text; zeroes fill its last dword.
    pub fn encode(text: &str) -> Vec<u8> {
        let mut page = (text.len() as u64).to_le_bytes().to_vec();
        page.extend_from_slice(text.as_bytes());
        page.resize(page.len().next_multiple_of(4), 0);
        page
    }

    /// Bytes of the whole page that begins with these.
    pub fn page_bytes(head: &[u8]) -> Option<u64> {
        let (length, _) = head.split_first_chunk()?;
        let bytes = u64::from_le_bytes(*length).checked_add(TextLog::HEAD as u64)?;
        bytes.checked_next_multiple_of(4)
    }

    /// The text of a page; none if it is cut off, or no text.
    pub fn decode(page: &[u8]) -> Option<&str> {
        let (length, rest) = page.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        std::str::from_utf8(rest.get(..length)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_and_what_is_cut_off_does_not() {
        for text in ["", "a", "four", "name = \"ü\""] {
            let page = TextLog::encode(text);
            assert!(page.len().is_multiple_of(4));
            assert_eq!(TextLog::page_bytes(&page), Some(page.len() as u64));
            assert_eq!(TextLog::decode(&page), Some(text));
        }
        let page = TextLog::encode("a longer text");
        assert_eq!(TextLog::decode(&page[..12]), None);
        assert_eq!(TextLog::decode(&[0xFF; 8]), None);
        assert_eq!(TextLog::page_bytes(&[0xFF; 8]), None);
        assert_eq!(TextLog::page_bytes(&[0; 7]), None);
    }
}
