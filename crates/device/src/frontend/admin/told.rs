//! Vendor log pages: what a host that is not in this process has to know of the drive, and what it may ask of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use nvme::command::LogPageId;
use nvme::log::{DriveLog, TextLog};
use nvme::{NamespaceId, Status};
use sim::Time;

use crate::frontend::Controller;
use crate::ftl::{Lpn, Mapping};

/// Tells a text, of the present instant.
pub type Teller = Rc<dyn Fn(Time) -> String>;

/// Pages whose texts only those know who assembled the drive.
#[derive(Default)]
pub(in crate::frontend) struct Told(RefCell<BTreeMap<LogPageId, Teller>>);

impl Told {
    /// The pages there are.
    pub(super) fn pages(&self) -> Vec<LogPageId> {
        self.0.borrow().keys().copied().collect()
    }

    /// A page, if there is such a one.
    pub(super) fn page(&self, page: LogPageId, now: Time) -> Option<Vec<u8>> {
        let teller = self.0.borrow().get(&page).cloned();
        Some(TextLog::encode(&teller?(now)))
    }
}

impl Controller {
    /// Has a log page tell what `teller` says.
    pub fn tell(&self, page: LogPageId, teller: Teller) {
        self.told.0.borrow_mut().insert(page, teller);
    }

    /// How the drive is laid out, for a namespace of it.
    ///
    /// # Errors
    /// Invalid Namespace or Format.
    pub fn drive_log(&self, namespace: NamespaceId) -> Result<DriveLog, Status> {
        let pages = self.namespaces.get(namespace)?.pages();
        let mut log = DriveLog::zeroed();
        log.clock_ps.set(self.sim.now().as_ps());
        log.first_page.set(pages.start);
        log.end_page.set(pages.end);
        log.logical_pages.set(self.ftl.logical_pages());
        log.data_pages.set(self.ftl.data_pages());
        log.logical_page_bytes.set(self.unit.bytes());
        log.flash_page_bytes.set(self.unit.page_bytes());
        log.dies.set(self.dies);
        Ok(log)
    }

    /// Whether a logical page holds data, on flash or in the cache.
    pub fn holds_data(&self, lpn: Lpn) -> bool {
        matches!(self.ftl.lookup(lpn), Mapping::Data(_)) || self.cache.has_unsaved(lpn)
    }

    /// Which logical pages of a namespace hold data, from a byte on: so many bytes of it, or fewer at its end.
    ///
    /// # Errors
    /// Invalid Namespace or Format; Invalid Field for an offset beyond the end.
    pub(super) fn holding(
        &self,
        namespace: NamespaceId,
        offset: u64,
        bytes: u64,
    ) -> Result<Vec<u8>, Status> {
        let pages = self.namespaces.get(namespace)?.pages();
        let end = u64::from(pages.end - pages.start)
            .div_ceil(8)
            .next_multiple_of(4);
        if offset > end {
            return Err(Status::INVALID_FIELD);
        }
        let asked = offset..end.min(offset + bytes);
        let bits = asked.map(|byte| {
            let first = u64::from(pages.start) + byte * 8;
            let last = (first + 8).min(pages.end.into());
            let held = (first..last).filter(|page| self.holds_data(Lpn(*page as u32)));
            held.fold(0, |bits, page| bits | 1 << (page - first))
        });
        Ok(bits.collect())
    }
}
