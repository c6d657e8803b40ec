//! Emptying a block: copy what is needed, then erase.

use std::rc::Rc;

use media::nand::{BlockId, PageAddress, PlaneId};

use crate::ftl::blocks::{Stream, Use};
use crate::ftl::mapping::Mapping;
use crate::ftl::spare::{Content, Record};
use crate::ftl::{Ftl, FtlError};
use crate::planted::{Bug, is_planted};
use crate::schedule::{Erase, Fault, Origin, Read};

/// The collecting task of one plane.
pub(in crate::ftl) struct Collector {
    ftl: Rc<Ftl>,
    plane: PlaneId,
}

impl Collector {
    pub(in crate::ftl) fn new(ftl: Rc<Ftl>, plane: PlaneId) -> Collector {
        Collector { ftl, plane }
    }

    /// Collects for ever, whenever the plane runs short of free blocks.
    pub(in crate::ftl) async fn run(self) {
        let state = &self.ftl.planes[self.plane.0 as usize];
        loop {
            match self.next_victim() {
                Some(victim) if self.empty(victim).await.is_ok() => state.space.announce(),
                _ => {
                    // Nothing to gain here for now: who waits may look elsewhere.
                    let short = self.is_short();
                    state.exhausted.set(short);
                    if short {
                        state.space.announce();
                    }
                    state.bell.heard().await;
                    state.exhausted.set(false);
                }
            }
        }
    }

    fn is_short(&self) -> bool {
        self.ftl.blocks.borrow().free_blocks(self.plane)
            < self.ftl.config.gc.threshold_blocks as usize
    }

    fn next_victim(&self) -> Option<BlockId> {
        let blocks = self.ftl.blocks.borrow();
        if self.is_short() {
            return self.ftl.config.gc.policy.victim(&blocks, self.plane);
        }
        // A failing block is emptied at once, before more of it is lost.
        let failing = |(block, _): &(BlockId, u32)| blocks.usage(*block) == Use::Failing;
        let any_failing = self.ftl.planes[self.plane.0 as usize].failing.get() > 0;
        any_failing
            .then(|| blocks.candidates(self.plane).find(failing))
            .flatten()
            .map(|(block, _)| block)
    }

    /// Copies what is needed out of `victim` and erases it, or retires it.
    async fn empty(&self, victim: BlockId) -> Result<(), FtlError> {
        let ftl = &*self.ftl;
        let mut from_page = 0;
        loop {
            let next = ftl.blocks.borrow().next_valid(victim, from_page);
            let Some(address) = next else { break };
            from_page = address.page + 1;
            match self.copy(address).await {
                Err(FtlError::Flash(Fault::Uncorrectable(_))) => {
                    // It cannot be saved, and erasing it would make its mapping point
                    // at somebody else's data: the block is set aside as it is.
                    ftl.count(|counts| counts.pages_lost += 1);
                    self.retire(victim);
                    return Ok(());
                }
                copied => copied?,
            }
        }
        if ftl.blocks.borrow().usage(victim) == Use::Failing {
            ftl.schedule.mark_bad(victim);
            self.retire(victim);
            return Ok(());
        }
        let die = ftl.geometry.die_of_block(victim);
        let erase = Erase {
            block: victim,
            origin: Origin::Collection,
        };
        let erased = ftl.schedule.perform(die, erase).await;
        ftl.count(|counts| counts.gc_blocks += 1);
        if erased.is_ok() {
            ftl.blocks.borrow_mut().add_free(victim);
        } else {
            ftl.schedule.mark_bad(victim);
            self.retire(victim);
        }
        Ok(())
    }

    /// Takes a block out of use.
    fn retire(&self, block: BlockId) {
        let ftl = &*self.ftl;
        let was = ftl.blocks.borrow().usage(block);
        if was == Use::Failing {
            let failing = &ftl.planes[self.plane.0 as usize].failing;
            failing.set(failing.get() - 1);
        }
        ftl.blocks.borrow_mut().set_use(block, Use::Bad);
        ftl.count(|counts| counts.blocks_retired += 1);
    }

    /// Copies one needed page elsewhere, unless the host overtakes.
    async fn copy(&self, from: PageAddress) -> Result<(), FtlError> {
        let ftl = &*self.ftl;
        let old = ftl.geometry.ppa(from);
        let buffer = ftl.buffers.take();
        let read = Read {
            page: from,
            column: 0,
            bytes: ftl.geometry.page_bytes,
            into: buffer.id(),
            origin: Origin::Collection,
        };
        ftl.schedule
            .perform(ftl.geometry.die_of_block(from.block), read)
            .await?;
        let record = ftl
            .schedule
            .nand()
            .borrow()
            .spare(old)
            .and_then(Record::decode);
        let record = record.expect("only pages with a record become needed");
        if !ftl.blocks.borrow().is_valid(old) {
            return Ok(());
        }
        let new = ftl
            .program(
                self.plane,
                Stream::Collection,
                buffer.id(),
                record.content,
                record.version,
            )
            .await?;
        ftl.count(|counts| counts.gc_page_copies += 1);
        let still_needed =
            ftl.blocks.borrow().is_valid(old) || is_planted(Bug::CollectionIgnoresOvertaking);
        ftl.blocks.borrow_mut().settle(new, still_needed);
        if still_needed {
            self.moved(record.content, old, new);
        }
        Ok(())
    }

    /// The mapping follows the copy.
    fn moved(&self, content: Content, old: media::nand::Ppa, new: PageAddress) {
        let ftl = &*self.ftl;
        let new = ftl.geometry.ppa(new);
        let mut mapping = ftl.mapping.borrow_mut();
        match content {
            Content::Data(lpn) => mapping.set(lpn, Mapping::Data(new)),
            Content::Note { key, .. } => ftl.notes.borrow_mut().moved(key, old, new),
            Content::Tombstone { start, count } => {
                for lpn in start.0..start.0 + count {
                    let lpn = crate::ftl::Lpn(lpn);
                    if mapping.get(lpn) == Mapping::Tombstone(old) {
                        mapping.set(lpn, Mapping::Tombstone(new));
                    }
                }
                let mut tombstones = ftl.tombstones.borrow_mut();
                if let Some(live) = tombstones.remove(&old) {
                    tombstones.insert(new, live);
                }
            }
        }
        drop(mapping);
        ftl.blocks.borrow_mut().invalidate(old);
    }
}
