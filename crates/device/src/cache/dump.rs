//! What of the cache a capacitor saves when the power goes.

use arrayvec::ArrayVec;

use super::sectors::Sectors;
use super::table::SlotId;
use super::{Cache, CacheConfig};
use crate::ftl::{Ftl, Lpn, MappingUnit, UNITS_PER_PAGE_MAX};
use crate::journal::{FactKey, FactKind};
use crate::memory::{Claim, Dumped};
use crate::part::Part;

/// What the cache is called.
const NAME: &str = "cache";
/// Logical pages that a capacitor should have saved and did not, in all lives.
const LOST: FactKey = FactKind::CACHE.key(0);

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

/// Logical pages that were not saved when the power went, in the lives before.
fn lost_before(ftl: &Ftl) -> u64 {
    let fact = ftl.fact(LOST);
    let number = fact.as_deref().and_then(<[u8]>::first_chunk);
    number.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl Cache {
    /// Whether acknowledged pages were lost when the power went, though a capacitor should have saved them, in any life
    /// before. Nothing mends that.
    pub fn lost_backup(&self) -> bool {
        lost_before(&self.ftl) > 0
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
                let (slot, number) = (table.slot(*id), lpns.len() as u32);
                let missing = Sectors::of(0, self.unit.bytes()) & !slot.present;
                if missing.is_empty() || dump.load(slot.lpn, page, number) {
                    let base = number * self.unit.bytes();
                    self.copy(slot.place, (page, base), slot.present);
                    lpns.push(slot.lpn);
                }
            }
            let saved = !lpns.is_empty() && dump.save(&lpns, page);
            let (saved, all) = (if saved { lpns.len() } else { 0 }, together.len());
            dumped.pages += u64::from(saved > 0);
            dumped.lost += (all - saved) as u64;
        }
        self.buffers.give_back_spare_page(page);
        debug_assert!(
            dumped.lost == 0 || dump.met_failures(),
            "{} acknowledged pages are lost, and no flash failed",
            dumped.lost
        );
        if dumped.lost > 0 {
            let all = lost_before(&self.ftl) + dumped.lost;
            // Where there is no page left to tell of it, nobody hears of it.
            let _ = dump.put_fact(LOST, &all.to_le_bytes());
        }
        dumped.work = dump.work();
        dumped
    }
}
