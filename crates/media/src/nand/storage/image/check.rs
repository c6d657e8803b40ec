//! Looking through an image without changing it.

use super::super::StorageError;
use super::Image;
use super::record::Content;
use crate::nand::array::Array;
use crate::nand::geometry::{BlockId, PageAddress};
use std::path::Path;

/// What a look through an image found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageCheck {
    /// Programmed pages that have data.
    pub pages: u64,
    /// Those whose data does not match its checksum, if data was read.
    pub damaged_pages: Vec<PageAddress>,
    /// Copies of records that are damaged or too old; the other copy of each is sound, and the next drive on
    /// the image writes them again.
    pub damaged_copies: u64,
    /// The host lost power while a drive used the image, which is therefore as it was when it was last flushed.
    pub rolled_back: bool,
}

impl Image {
    /// Looks through the records of an image, and through the data of all its pages if `data` is set. The file
    /// is not written.
    ///
    /// # Errors
    /// As [`Image::open`], and damage that the image cannot be used with.
    pub fn check(
        path: &Path,
        content_version: u32,
        data: bool,
    ) -> Result<ImageCheck, StorageError> {
        let mut image = Image::open_read_only(path, content_version)?;
        image.load_into(&mut Array::new(&image.geometry().clone()))?;
        Ok(image.look_through(data))
    }

    pub(in crate::nand) fn look_through(&self, data: bool) -> ImageCheck {
        let mut checked = ImageCheck {
            damaged_copies: self.damaged_copies,
            rolled_back: self.rolled_back,
            ..ImageCheck::default()
        };
        let mut bytes = vec![0; self.geometry().page_bytes as usize];
        for (block, held) in (0..).map(BlockId).zip(&self.blocks) {
            for (page, content) in (0..).zip(held.pages.iter().flatten()) {
                let Content::Data(check, place) = *content else {
                    continue;
                };
                let page = PageAddress { block, page };
                let at = self.layout.in_place(page, place);
                checked.pages += 1;
                if data && self.read_page(at, check, &mut bytes).is_err() {
                    checked.damaged_pages.push(page);
                }
            }
        }
        checked
    }
}
