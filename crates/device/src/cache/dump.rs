//! What a capacitor does when the power goes: it keeps the drive alive long enough
//! to program what is not on flash into blocks that were kept free for it.

use sim::Energy;

use super::Cache;
use super::sectors::Sectors;
use super::table::SlotId;
use crate::memory::Purpose;

/// What was saved when the power went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dumped {
    /// Pages programmed.
    pub pages: u64,
    /// Pages that could not be saved: no block was left, or the rest of the page was unreadable.
    pub lost: u64,
    /// What that took of the capacitor.
    pub energy: Energy,
}

impl Cache {
    /// The power is gone, and every task of the drive with it; the flash is at rest. Saves what
    /// flash misses if there is a capacitor. Takes no simulated time.
    pub fn power_lost(&self) -> Dumped {
        let mut dumped = Dumped::default();
        if !self.config.capacitor {
            return dumped;
        }
        let table = self.table.borrow();
        let unsaved: Vec<SlotId> = table.dirty().chain(table.flying()).collect();
        let mut dump = self.ftl.dump();
        let room = self.buffers.try_room(Purpose::WriteBack);
        let _room = room.expect("the write-backs have been dropped, and one buffer is theirs");
        let page = self.buffers.take();
        for id in unsaved {
            let slot = table.slot(id);
            let missing = Sectors::of(0, self.geometry.page_bytes) & !slot.present;
            let saved = (missing.is_empty() || dump.load(slot.lpn, page.id())) && {
                self.copy(slot.buffer, page.id(), slot.present);
                dump.save(slot.lpn, page.id())
            };
            dumped.pages += u64::from(saved);
            dumped.lost += u64::from(!saved);
        }
        dumped.energy = dump.energy();
        dumped
    }
}
