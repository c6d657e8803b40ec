//! What a capacitor does when the power goes: it keeps the drive alive long enough
//! to program what is not on flash into blocks that were kept free for it.

use super::Cache;
use super::sectors::Sectors;
use super::table::SlotId;
use crate::part::{Dumped, Part};

impl Part for Cache {
    fn name(&self) -> &'static str {
        "cache"
    }

    /// Saves what flash misses if there is a capacitor.
    fn power_lost(&self) -> Dumped {
        let mut dumped = Dumped::default();
        if !self.config.capacitor {
            return dumped;
        }
        let table = self.table.borrow();
        let unsaved: Vec<SlotId> = table.dirty().chain(table.flying()).collect();
        let mut dump = self.ftl.dump();
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
