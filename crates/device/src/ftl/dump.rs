//! Programming pages after the power went, on what a capacitor holds: outside of
//! simulated time, when no task is left.

use std::cell::Cell;
use std::rc::Rc;

use media::nand::{BlockId, Outcome, PageAddress, PlaneId};

use super::Ftl;
use super::journal::pages_of;
use super::lpn::Lpn;
use super::mapping::Mapping;
use super::spare::{Content, Record, data_record_bytes, encode_units};
use crate::journal::{Change, FactKey, Others};
use crate::memory::{BufferId, Work};
use crate::schedule::{AtRest, SpareBytes};

/// Where the next page that is saved goes.
#[derive(Clone, Copy, Default)]
pub(super) struct DumpFrontier {
    /// The next page of the block being filled.
    next: Option<PageAddress>,
    /// The plane that gives the next block.
    plane: u32,
}

/// A dump under way. Pages are written as any others, with records that make them the
/// current ones: recovery finds nothing special.
pub(crate) struct Dump<'a> {
    ftl: &'a Ftl,
    flash: AtRest<'a>,
    /// Whether the flash failed to read or to program something.
    failed: bool,
}

/// What a page is taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Data,
    /// To tell what could not be saved. The last page there is, at the least, is left for that.
    Note,
}

impl Ftl {
    /// Begins a dump, or goes on with that of another part. The flash is at rest.
    pub(crate) fn dump(&self) -> Dump<'_> {
        Dump {
            ftl: self,
            flash: self.schedule.at_rest(),
            failed: false,
        }
    }

    /// Where the cache counts the logical pages that a dump would have to save.
    pub(crate) fn unsaved(&self) -> Rc<Cell<u32>> {
        self.blocks.borrow().unsaved()
    }

    /// Logical pages that a dump has room for.
    #[inline]
    pub(crate) fn dump_units(&self) -> u32 {
        self.blocks.borrow().dump_pages() * self.unit.per_page()
    }
}

impl Dump<'_> {
    /// What the dump has taken.
    pub(crate) fn work(&self) -> Work {
        self.flash.work()
    }

    /// Whether the flash failed, so that not all may have been saved.
    pub(crate) fn met_failures(&self) -> bool {
        self.failed
    }

    /// Reads what flash has of a logical page to slot number `slot` of `buffer`; zeroes if it has nothing. False if
    /// that cannot be read.
    pub(crate) fn load(&mut self, lpn: Lpn, buffer: BufferId, slot: u32) -> bool {
        let ftl = self.ftl;
        let bytes = ftl.unit.bytes() as usize;
        let place = slot as usize * bytes..(slot as usize + 1) * bytes;
        let Mapping::Data(at) = ftl.lookup(lpn) else {
            ftl.buffers.with_mut(buffer, |page| page[place].fill(0));
            return true;
        };
        let page = ftl.unit.page(at);
        let address = ftl.geometry.page_address(page);
        let inverse = ftl.blocks.borrow().is_inverse(page);
        let column = ftl.unit.column(at);
        let loaded = self.flash.read(address, inverse)
            && self.flash.move_out(address, column, (buffer, place));
        self.failed |= !loaded;
        loaded
    }

    /// Programs logical pages that lie in the first slots of `from`, at most as many as a flash page has; false if there is no
    /// page left for them.
    pub(crate) fn save(&mut self, lpns: &[Lpn], from: BufferId) -> bool {
        let ftl = self.ftl;
        let version = ftl.next_version();
        let used = lpns.len() * ftl.unit.bytes() as usize;
        if used < ftl.unit.page_bytes() as usize {
            ftl.buffers.with_mut(from, |page| page[used..].fill(0));
        }
        self.program(For::Data, from, |dump| dump.record(lpns, version))
    }

    /// Keeps a fact for the lives to come, as [`Ftl::put_facts`] does; false if there is no page left for it.
    pub(crate) fn put_fact(&mut self, key: FactKey, value: &[u8]) -> bool {
        self.put_group(For::Note, vec![(key, Some(value.into()))])
            .is_some()
    }

    /// Keeps facts that an owner has in memory; gives the pages that they took, or none if there is not enough room for all.
    pub(crate) fn put_facts(&mut self, changes: Vec<Change>) -> Option<u32> {
        self.put_group(For::Data, changes)
    }

    fn put_group(&mut self, what: For, changes: Vec<Change>) -> Option<u32> {
        let ftl = self.ftl;
        // What is saved takes the pages that were claimed for it, and no others move.
        let draft = ftl.facts.borrow().draft(changes, Others::Fitting);
        let count = pages_of(&draft).ok()?;
        let version = ftl.next_version();
        let buffer = ftl.buffers.take_spare_firmware_page();
        let kept = (0..count).all(|index| {
            let content = ftl.fill_page_of(&draft, index, buffer);
            self.program(what, buffer, |dump| dump.page_record(content, version))
        });
        ftl.buffers.give_back_spare_page(buffer);
        if kept {
            // So that a group after this one names it; where its pages are nobody asks in this life.
            ftl.facts.borrow_mut().commit(version, draft, Vec::new());
        }
        kept.then_some(count)
    }

    /// Programs a buffer to the next page that takes it, with the record that it is to have there; false if there is no
    /// page left.
    fn program<R: AsRef<[u8]>>(
        &mut self,
        what: For,
        from: BufferId,
        record: impl Fn(&Self) -> R,
    ) -> bool {
        while let Some(address) = self.next_page(what) {
            let (mode, record) = (self.ftl.config.mode, record(self));
            match self.flash.program(address, mode, from, record.as_ref()) {
                Some(Outcome::Done) => return true,
                // Recovery will see that the block is failing; there is no other to spare now.
                Some(_) => {}
                None => self.leave_block(),
            }
            self.failed = true;
        }
        false
    }

    /// The record of a page that holds something else than data.
    fn page_record(&self, content: Content, version: u64) -> SpareBytes {
        let sequence = self.ftl.next_sequence();
        let record = Record {
            content,
            version,
            sequence,
        };
        record.encode()
    }

    /// The record of a page with these units, in its first slots.
    fn record(&self, lpns: &[Lpn], version: u64) -> Vec<u8> {
        let mut spare = vec![0; data_record_bytes(self.ftl.unit) as usize];
        let units = (0..).zip(lpns).map(|(slot, lpn)| (slot, *lpn, version));
        encode_units(&mut spare, units, self.ftl.next_sequence());
        spare
    }

    /// The next page of the block being filled, or of another.
    fn next_page(&mut self, what: For) -> Option<PageAddress> {
        let ftl = self.ftl;
        let pages_per_block = ftl.geometry.pages_per_block(ftl.config.mode);
        let mut frontier = ftl.dump_frontier.get();
        let next = match frontier.next {
            Some(next) if next.page < pages_per_block => next,
            _ => PageAddress {
                block: self.next_block(&mut frontier)?,
                page: 0,
            },
        };
        let is_last = next.page + 1 == pages_per_block && ftl.blocks.borrow().is_none_free();
        if is_last && what == For::Data {
            frontier.next = Some(next);
            ftl.dump_frontier.set(frontier);
            return None;
        }
        frontier.next = Some(PageAddress {
            page: next.page + 1,
            ..next
        });
        ftl.dump_frontier.set(frontier);
        Some(next)
    }

    /// What comes next goes to another block.
    fn leave_block(&self) {
        let frontier = self.ftl.dump_frontier.get();
        self.ftl.dump_frontier.set(DumpFrontier {
            next: None,
            ..frontier
        });
    }

    /// An erased block, from one plane after the other.
    fn next_block(&self, frontier: &mut DumpFrontier) -> Option<BlockId> {
        let planes = self.ftl.geometry.planes();
        let blocks = &mut *self.ftl.blocks.borrow_mut();
        (0..planes).find_map(|_| {
            let plane = PlaneId(frontier.plane);
            frontier.plane = (frontier.plane + 1) % planes;
            blocks.take_for_dump(plane)
        })
    }
}
