//! What of the cache a capacitor saves when the power goes.

use media::nand::Geometry;

use super::sectors::Sectors;
use super::table::SlotId;
use super::{Cache, CacheConfig};
use crate::memory::{Claim, Dumped};
use crate::part::Part;

/// What the cache is called.
const NAME: &str = "cache";

impl CacheConfig {
    /// What may have to be saved: every slot, if there is a capacitor and writes complete from the cache.
    pub(crate) fn claim(&self, geometry: &Geometry) -> Option<Claim> {
        let covered = self.capacitor && self.mode.caches_writes();
        covered.then(|| Claim {
            part: NAME,
            key: "cache.capacity_bytes",
            pages: self.capacity_pages(geometry),
        })
    }
}

impl Part for Cache {
    fn name(&self) -> &'static str {
        NAME
    }

    fn power_lost(&self) -> Dumped {
        let (mut dump, mut dumped) = (self.ftl.dump(), Dumped::default());
        let table = self.table.borrow();
        let unsaved: Vec<SlotId> = table.dirty().chain(table.flying()).collect();
        // Every task is gone, and whatever page buffers they had with them: nobody is asked for room.
        let page = self.buffers.take_slot();
        for id in unsaved {
            let slot = table.slot(id);
            let missing = Sectors::of(0, self.geometry.page_bytes) & !slot.present;
            let saved = (missing.is_empty() || dump.load(slot.lpn, page)) && {
                self.copy(slot.buffer, page, slot.present);
                dump.save(slot.lpn, page)
            };
            dumped.pages += u64::from(saved);
            dumped.lost += u64::from(!saved);
        }
        self.buffers.give_back_slot(page);
        dumped.energy = dump.energy();
        dumped
    }
}
