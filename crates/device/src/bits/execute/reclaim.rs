//! `fc_delete`, and the erasure of strings that hold nothing needed any more.

use std::rc::Rc;

use media::nand::BlockId;
use nvme::VectorId;
use sim::join_all;

use super::locks::{Access, lock};
use super::{Bits, Blocks, ExecuteError};
use crate::bits::BitsError;
use crate::bits::placement::{Deletion, Reclaim, RowSetId};
use crate::ftl::Recovered;
use crate::schedule::{Fault, Origin};

/// How often the record of a deletion is placed anew after its program failed.
const PLACEMENTS_MAX: u32 = 8;

impl Bits {
    /// Deletes one vector, or the whole group. When this returns, that is durable.
    ///
    /// # Errors
    /// No such vector or group, no room for the record of the deletion, or flash that keeps failing.
    pub async fn delete(
        self: &Rc<Bits>,
        group: u32,
        vector: Option<u32>,
        origin: Origin,
    ) -> Result<(), ExecuteError> {
        match vector {
            Some(vector) => {
                let vector = VectorId { group, vector };
                self.delete_vector(vector, origin).await?;
            }
            None => {
                let _lock = lock(&self.locks, [group], Access::Exclusive).await;
                let reclaims = self.groups.borrow_mut().delete_group(group)?;
                self.erase_all(reclaims).await;
            }
        }
        self.count(|counts| counts.deletions += 1);
        self.reclaim_later();
        Ok(())
    }

    async fn delete_vector(
        self: &Rc<Bits>,
        vector: VectorId,
        origin: Origin,
    ) -> Result<(), ExecuteError> {
        let mut placements = 0;
        loop {
            let held = lock(&self.locks, [vector.group], Access::Exclusive).await;
            let deletion = self
                .groups
                .borrow_mut()
                .delete(&mut Blocks(&self.ftl), vector);
            match deletion {
                Ok(Deletion::Group(reclaims)) => {
                    self.erase_all(reclaims).await;
                    return Ok(());
                }
                Ok(Deletion::Record(write)) => match self.program_record(&write, origin).await {
                    Ok(()) => {
                        self.groups.borrow_mut().commit(write);
                        return Ok(());
                    }
                    Err(fault) => {
                        self.groups.borrow_mut().abandon(write);
                        placements += 1;
                        let again = matches!(fault, Fault::ProgramFailed(_));
                        if !again || placements == PLACEMENTS_MAX {
                            return Err(fault.into());
                        }
                    }
                },
                // As in a write: what is being erased must not wait for us.
                Err(BitsError::OutOfBlocks { .. }) if self.blocks_will_come() => {
                    drop(held);
                    self.reclaimed.next().await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether nothing is being erased, or lent to an evaluation.
    pub fn is_at_rest(&self) -> bool {
        !self.blocks_will_come()
    }

    /// Forgets every vector: their blocks are somebody else's to erase. No command may be under way.
    pub fn forget_everything(&self) {
        debug_assert!(self.is_at_rest(), "blocks are being erased");
        self.groups.borrow_mut().forget_everything();
    }

    /// Erases in the background what holds nothing needed any more.
    pub(super) fn reclaim_later(self: &Rc<Bits>) {
        for group in self.groups.borrow().reclaimable() {
            self.reclaiming.set(self.reclaiming.get() + 1);
            self.sim.spawn(self.clone().reclaim(group));
        }
    }

    async fn reclaim(self: Rc<Bits>, group: u32) {
        {
            let _lock = lock(&self.locks, [group], Access::Exclusive).await;
            // Handed out and erased under one lock, so that no two tasks erase strings of one
            // group out of order.
            let reclaims = self.groups.borrow_mut().reclaim_group(group);
            self.erase_all(reclaims).await;
        }
        self.reclaiming.set(self.reclaiming.get() - 1);
        self.reclaimed.announce();
    }

    /// Erases, in the background, strings that were lent.
    pub(super) fn give_back(self: &Rc<Bits>, row_set: RowSetId) {
        let blocks = self.groups.borrow_mut().take_back(row_set);
        self.reclaiming.set(self.reclaiming.get() + 1);
        self.sim.spawn(self.clone().erase_lent(blocks));
    }

    async fn erase_lent(self: Rc<Bits>, blocks: Vec<BlockId>) {
        let erases = blocks
            .iter()
            .map(|&block| self.ftl.return_compute_block(block));
        // A block whose erase fails is out of use.
        let _ = join_all(erases).await;
        self.count(|counts| counts.blocks_erased += blocks.len() as u64);
        self.reclaiming.set(self.reclaiming.get() - 1);
        self.reclaimed.announce();
    }

    /// Erases row set after row set, the blocks of each side by side.
    async fn erase_all(&self, reclaims: Vec<Reclaim>) {
        for reclaim in reclaims {
            let erases = reclaim
                .blocks
                .iter()
                .map(|&block| self.ftl.return_compute_block(block));
            // A block whose erase fails is out of use, and what it held cannot be read any more.
            let _ = join_all(erases).await;
            self.count(|counts| counts.blocks_erased += reclaim.blocks.len() as u64);
            self.groups.borrow_mut().erased(reclaim.row_set);
        }
    }

    /// Erases what recovery found and no vector needs.
    pub(super) async fn reclaim_recovered(&self, recovered: &Recovered) {
        let owned: std::collections::BTreeSet<_> = self.groups.borrow().blocks().collect();
        let ownerless = recovered
            .foreign_blocks
            .iter()
            .filter(|block| !owned.contains(block))
            .map(|&block| self.ftl.return_compute_block(block));
        // As above.
        let _ = join_all(ownerless).await;
        loop {
            let reclaims = self.groups.borrow_mut().reclaim();
            if reclaims.is_empty() {
                return;
            }
            self.erase_all(reclaims).await;
        }
    }
}
