//! Which logical pages of the drive the logical blocks of a namespace are.

use std::ops::Range;

use device::Device;
use device::ftl::Lpn;
use nvme::NamespaceId;
use nvme::log::DriveLog;

/// The logical pages of a namespace. They are what the translation layer maps, a flash page or a part of one: what the
/// drive prefers to write at once (NPWG) may be several of them.
#[derive(Clone, Debug)]
pub(crate) struct LogicalPages {
    pages: Range<u32>,
    /// Logical blocks of one.
    blocks: u64,
}

impl LogicalPages {
    /// Those of a namespace whose blocks have so many bytes; none if there is no such namespace.
    pub(crate) fn of(device: &Device, namespace: NamespaceId, block_bytes: u32) -> LogicalPages {
        let pages = device.controller.pages_of(namespace);
        LogicalPages {
            pages: pages.unwrap_or(0..0),
            blocks: device.ftl.unit().blocks(block_bytes),
        }
    }

    /// Those of a namespace as its drive tells of it.
    ///
    /// # Errors
    /// A page that makes no sense: whoever told is no drive of Bitline's.
    pub(crate) fn told(log: &DriveLog, block_bytes: u32) -> Result<LogicalPages, host::Error> {
        let (pages, bytes) = (
            log.first_page.get()..log.end_page.get(),
            log.logical_page_bytes.get(),
        );
        let is_sound =
            pages.start <= pages.end && bytes >= block_bytes && bytes.is_multiple_of(block_bytes);
        if !is_sound {
            return Err(host::Error::Protocol(format!(
                "logical pages {pages:?} of {bytes} bytes, and blocks of {block_bytes}"
            )));
        }
        Ok(LogicalPages {
            pages,
            blocks: u64::from(bytes / block_bytes),
        })
    }

    /// All of them.
    pub(crate) fn all(&self) -> Range<u32> {
        self.pages.clone()
    }

    /// Logical blocks of one.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The page that a block lies in; none beyond the namespace.
    pub(crate) fn page_of(&self, block: u64) -> Option<Lpn> {
        let page = u32::try_from(block / self.blocks).ok()?;
        let page = self.pages.start.checked_add(page)?;
        self.pages.contains(&page).then_some(Lpn(page))
    }

    /// The pages that some blocks touch, as far as the namespace goes.
    pub(crate) fn touched(&self, blocks: Range<u64>) -> Range<u32> {
        let end = u64::from(self.pages.end);
        let page = |number: u64| (u64::from(self.pages.start) + number).min(end) as u32;
        page(blocks.start / self.blocks)..page(blocks.end.div_ceil(self.blocks))
    }

    /// The first block of a page.
    pub(crate) fn first_block(&self, page: u32) -> u64 {
        u64::from(page - self.pages.start) * self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_in_pages_of_their_namespace() {
        let pages = LogicalPages {
            pages: 100..110,
            blocks: 4,
        };
        assert_eq!(pages.page_of(0), Some(Lpn(100)));
        assert_eq!(pages.page_of(7), Some(Lpn(101)));
        assert_eq!(pages.page_of(39), Some(Lpn(109)));
        assert_eq!(pages.page_of(40), None);
        assert_eq!(pages.page_of(u64::MAX), None);
        assert_eq!(
            (pages.touched(3..5), pages.touched(4..8)),
            (100..102, 101..102)
        );
        assert_eq!(pages.touched(36..44), 109..110);
        assert_eq!(pages.first_block(102), 8);
    }
}
