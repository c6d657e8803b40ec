//! Programming pages after the power went, on what a capacitor holds: outside of
//! simulated time, when no task is left.

use std::cell::Cell;
use std::rc::Rc;

use media::nand::{BlockId, Command, Feature, Outcome, PageAddress, PageStatus, PlaneId};
use sim::Time;

use super::Ftl;
use super::lpn::Lpn;
use super::mapping::Mapping;
use super::spare::{data_record_bytes, encode_units};
use crate::memory::{BufferId, Work};

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
    work: Work,
}

impl Ftl {
    /// Begins a dump, or goes on with that of another part. The flash is at rest.
    pub(crate) fn dump(&self) -> Dump<'_> {
        Dump {
            ftl: self,
            work: Work::default(),
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
        self.work
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
        if !self.read(address, inverse) {
            return false;
        }
        self.work.moved_bytes += u64::from(ftl.unit.bytes());
        let nand = ftl.schedule.nand().borrow();
        let plane = ftl.geometry.plane_of_block(address.block);
        let column = ftl.unit.column(at) as usize;
        let loaded = ftl.buffers.with_mut(buffer, |page| {
            nand.data_out(plane, column, &mut page[place])
        });
        loaded.is_none_or(|outcome| outcome.is_ok())
    }

    /// Reads a page into its register, again with lower references if need be; whether it could be
    /// corrected.
    fn read(&mut self, address: PageAddress, inverse: bool) -> bool {
        let retries_max = self.ftl.schedule.nand().borrow().config().ecc.retries_max;
        let plane = self.ftl.geometry.plane_of_block(address.block);
        let read = Command::Read {
            pages: [address].into_iter().collect(),
            inverse,
        };
        let (mut status, mut lowered) = (PageStatus::TooManyErrors, false);
        for level in 0..=retries_max {
            lowered |= level > 0;
            let set = level == 0 || self.lower_references(address, level).is_some();
            if !set || self.perform(address, &read).is_none() {
                return false;
            }
            let nand = self.ftl.schedule.nand().borrow();
            status = nand.page_status(plane).unwrap_or(PageStatus::Uncorrectable);
            if status != PageStatus::TooManyErrors {
                break;
            }
        }
        let restored = !lowered || self.lower_references(address, 0).is_some();
        status == PageStatus::Ok && restored
    }

    fn lower_references(&mut self, address: PageAddress, level: u32) -> Option<Outcome> {
        let command = Command::SetFeature {
            feature: Feature::ReadReference,
            value: level,
        };
        self.perform(address, &command)
    }

    /// Programs logical pages that lie in the first slots of `from`, at most as many as a flash page has; false if there is no
    /// page left for them.
    pub(crate) fn save(&mut self, lpns: &[Lpn], from: BufferId) -> bool {
        let ftl = self.ftl;
        let version = ftl.next_version();
        let used = lpns.len() * ftl.unit.bytes() as usize;
        ftl.buffers.with_mut(from, |page| page[used..].fill(0));
        while let Some(address) = self.next_page() {
            let plane = ftl.geometry.plane_of_block(address.block);
            let spare = self.record(lpns, version);
            self.work.moved_bytes += u64::from(ftl.geometry.page_bytes);
            let loaded = {
                let nand = &mut *ftl.schedule.nand().borrow_mut();
                let data = ftl
                    .buffers
                    .with(from, |page| nand.data_in(plane, 0, page))
                    .unwrap_or(Ok(()));
                data.and_then(|()| nand.set_spare(plane, &spare))
            };
            let program = Command::Program {
                pages: [address].into_iter().collect(),
                mode: ftl.config.mode,
            };
            match loaded.ok().and_then(|()| self.perform(address, &program)) {
                Some(Outcome::Done) => return true,
                // Recovery will see that the block is failing; there is no other to spare now.
                Some(_) => {}
                None => self.leave_block(),
            }
        }
        false
    }

    /// The record of a page with these units, in its first slots.
    fn record(&self, lpns: &[Lpn], version: u64) -> Vec<u8> {
        let mut spare = vec![0; data_record_bytes(self.ftl.unit) as usize];
        let units = (0..).zip(lpns).map(|(slot, lpn)| (slot, *lpn, version));
        encode_units(&mut spare, units, self.ftl.next_sequence());
        spare
    }

    /// The next page of the block being filled, or of another.
    fn next_page(&mut self) -> Option<PageAddress> {
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

    /// Has a die carry out a command, and waits for it outside of simulated time.
    fn perform(&mut self, address: PageAddress, command: &Command) -> Option<Outcome> {
        let die = self.ftl.geometry.die_of_block(address.block);
        let nand = &mut *self.ftl.schedule.nand().borrow_mut();
        // Dies at rest do not look at the clock.
        let busy = nand.begin(die, command, Time::ZERO).ok()?;
        self.work.array += busy.energy;
        self.work.busy += busy.span;
        nand.finish(die, Time::ZERO + busy.span).ok()
    }
}
