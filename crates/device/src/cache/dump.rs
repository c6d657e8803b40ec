//! What of the cache a capacitor saves when the power goes.

use arrayvec::ArrayVec;

use super::sectors::Sectors;
use super::table::SlotId;
use super::{Cache, CacheConfig};
use crate::ftl::{Lpn, MappingUnit, UNITS_PER_PAGE_MAX};
use crate::memory::{Claim, Dumped};
use crate::part::Part;

/// What the cache is called.
const NAME: &str = "cache";

impl CacheConfig {
    /// What may have to be saved, if there is a capacitor and writes complete from the cache: every slot, and what was
    /// evicted and has not arrived on flash. More than that is not taken in.
    pub(crate) fn claim(&self, unit: MappingUnit) -> Option<Claim> {
        let covered = self.capacitor && self.mode.caches_writes();
        covered.then(|| Claim {
            part: NAME,
            keys: &["cache.capacity_bytes", "cache.back_pressure_pages"],
            pages: self.unsaved_pages_max(unit),
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
        let page = self.buffers.take_spare_page();
        for together in unsaved.chunks(self.unit.per_page() as usize) {
            let mut lpns = ArrayVec::<Lpn, { UNITS_PER_PAGE_MAX as usize }>::new();
            for id in together {
                let (slot, place) = (table.slot(*id), lpns.len() as u32);
                let missing = Sectors::of(0, self.unit.bytes()) & !slot.present;
                if missing.is_empty() || dump.load(slot.lpn, page, place) {
                    let base = place * self.unit.bytes();
                    self.copy((slot.buffer, 0), (page, base), slot.present);
                    lpns.push(slot.lpn);
                }
            }
            let saved = !lpns.is_empty() && dump.save(&lpns, page);
            let (saved, all) = (if saved { lpns.len() } else { 0 }, together.len());
            dumped.pages += u64::from(saved > 0);
            dumped.lost += (all - saved) as u64;
        }
        self.buffers.give_back_spare_page(page);
        dumped.work = dump.work();
        dumped
    }
}
