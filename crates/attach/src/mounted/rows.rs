//! Files of bitmaps, whose blocks are written with a placement handle so that they meet in the array (Flash-Cosmos 6.3).

use bitline::Extent;

use super::error::MountedError;
use super::file::MountedFile;

/// A file of bitmaps of the same length, one after the other, as rows of logical blocks that are to meet. Written with a placement handle of
/// this anchor and pitch, they are combined in the array; the file reads as any. What the file system itself writes there later
/// is placed as any data is, and combined by the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rows {
    /// The logical block that the first begins with.
    pub anchor: u64,
    /// From one to the next, in logical blocks.
    pub pitch: u64,
    /// How many there are.
    pub count: u64,
}

impl Rows {
    /// The bitmaps of a file that is registered to be written, of so many bytes each, on a drive with flash pages of so many bytes.
    ///
    /// # Errors
    /// Bitmaps that are not whole flash pages; a file that is in pieces, or does not begin with a flash page.
    pub fn of(file: &MountedFile, bytes: u64, page_bytes: u64) -> Result<Rows, MountedError> {
        let refused = |why: String, instead: &str| {
            Err(MountedError::refused(file.path(), why, instead.to_owned()))
        };
        if bytes == 0 || !bytes.is_multiple_of(page_bytes) || !file.bytes().is_multiple_of(bytes) {
            return refused(
                format!(
                    "it has {} bytes, in bitmaps of {bytes}, on flash pages of {page_bytes}",
                    file.bytes()
                ),
                "pad bitmaps to whole flash pages, and the file to whole bitmaps",
            );
        }
        let block_bytes = file.block_bytes();
        let page_blocks = page_bytes / block_bytes;
        match file.extents() {
            [Extent { first, .. }] if first.is_multiple_of(page_blocks) => Ok(Rows {
                anchor: *first,
                pitch: bytes / block_bytes,
                count: file.bytes() / bytes,
            }),
            [Extent { first, .. }] => refused(
                format!("it begins with logical block {first}, and a flash page has {page_blocks}"),
                "create it anew with that alignment: Mounted::create_aligned",
            ),
            pieces => refused(
                format!("it lies in {} pieces", pieces.len()),
                "create it anew, where there is room for it as a whole",
            ),
        }
    }

    /// The logical block that a bitmap begins with, as expressions call it.
    pub fn block(&self, number: u64) -> u64 {
        self.anchor + number * self.pitch
    }
}
