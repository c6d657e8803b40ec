//! Erasing for good, for Sanitize and Format: block after block, until the flash itself shows nothing
//! of what is to go. What is still needed of such a block is copied elsewhere first.
//!
//! It does not matter whose a block is, nor whether it is in use: one that was marked bad is erased
//! as well, as far as that can be, and stays bad. Blocks whose bits remain are counted, for whoever asked must
//! then say that the operation failed.

use std::collections::BTreeSet;
use std::ops::Range;

use media::nand::{BlockCondition, BlockId, PageAddress, PageState, PlaneId, Ppa};

use super::blocks::Use;
use super::spare::{Content, Record};
use super::{Ftl, FtlError};
use crate::planted::{Bug, is_planted};
use crate::region::Owner;

/// Erases of a block that are tried before its bits are said to remain.
const ERASES_MAX: u32 = 4;
/// How often emptying a block is begun before: what is needed of it may find no room.
const BEGUN_MAX: u32 = 64;

/// What is to be gone.
enum Target {
    /// All that was programmed before the page of this sequence number, and all data.
    Everything { since: u64 },
    /// Data of these logical pages, what cannot be told from it, and what was lent to evaluations before
    /// the page of this sequence number.
    Pages { pages: Range<u32>, since: u64 },
    /// Groups of facts of a version below this.
    Facts { below: u64 },
}

/// A block to be erased.
#[derive(Clone, Copy)]
struct Doomed {
    block: BlockId,
    /// Whether a root of a checkpoint is in it. Those go first: with a root, recovery would trust
    /// entries of whatever mapping pages are left.
    has_root: bool,
    /// How often emptying it was begun so far.
    begun: u32,
    /// How often it had been erased when it was found.
    erases: u32,
}

/// Blocks to be erased.
pub struct Purge {
    target: Target,
    left: Vec<Doomed>,
    /// Blocks that were to be erased, so far.
    all: usize,
    /// Those whose bits remain, for they cannot be emptied or erased.
    remaining: BTreeSet<BlockId>,
}

impl Purge {
    /// Blocks that are not erased yet.
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// All blocks that were to be erased, as far as they are known.
    pub fn all(&self) -> usize {
        self.all
    }

    /// Blocks whose bits remain.
    pub fn remaining(&self) -> usize {
        self.remaining.len()
    }
}

impl Ftl {
    /// Forgets all data, durably only when the purge is over, and begins to erase all that was ever
    /// programmed but the journal. No host command may be under way, no block may be lent to an evaluation or be
    /// collected ([`Ftl::hold_collection`]): as long as there is a root, recovery trusts what it names. And
    /// no checkpoint may be made until the purge is over: a root would vouch for entries
    /// that old mapping pages still have.
    pub fn begin_purge(&self) -> Purge {
        self.forget_everything();
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            self.blocks.borrow_mut().close_frontiers(plane);
        }
        let since = self.next_sequence.get();
        let mut purge = self.purge(Target::Everything { since });
        // A bad block that was erased before may or may not have held on to its bits.
        let nand = self.schedule.nand();
        let doubtful = (0..self.geometry.blocks()).map(BlockId).filter(|block| {
            let state = nand.block_state(*block);
            let worn_out = state.condition == BlockCondition::Bad && state.erase_count > 0;
            worn_out && nand.is_erased(*block)
        });
        let doubtful = doubtful.map(|block| self.doom(block));
        purge.left.extend(doubtful);
        purge.all = purge.left.len();
        drop(nand);
        purge
    }

    /// Begins to erase what the flash still has of logical pages, all of which are deallocated.
    pub fn begin_purge_of(&self, pages: Range<u32>) -> Purge {
        self.give_up_within(&pages);
        let since = self.next_sequence.get();
        self.purge(Target::Pages { pages, since })
    }

    /// Writes all facts anew, and begins to erase what the flash still has of those that are no more.
    ///
    /// # Errors
    /// No space.
    pub async fn begin_purge_of_facts(&self) -> Result<Purge, FtlError> {
        // A copy made by collection keeps its version.
        let below = self.next_version();
        self.rewrite_journal().await?;
        Ok(self.purge(Target::Facts { below }))
    }

    fn purge(&self, target: Target) -> Purge {
        let left = self.doomed(&target);
        Purge {
            target,
            all: left.len(),
            left,
            remaining: BTreeSet::new(),
        }
    }

    /// Has one more block of each plane emptied and erased, where none is; says how many are left.
    pub fn go_on_purging(&self, purge: &mut Purge) -> usize {
        purge.left.retain(|doomed| {
            let doubtful = doomed.begun == 0 && self.is_bad(doomed.block);
            doubtful || self.holds(doomed.block, &purge.target)
        });
        if purge.left.is_empty() {
            self.look_again(purge);
        }
        let only_roots = purge.left.iter().any(|doomed| doomed.has_root);
        if !only_roots {
            self.release_collection();
        }
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            if !self.is_collecting(plane) && !self.region.borrow().is_emptying(plane) {
                self.purge_one(plane, purge, only_roots);
            }
        }
        purge.left.len()
    }

    /// A copy that was under way when the purge began is in a block that was blank then.
    fn look_again(&self, purge: &mut Purge) {
        let mut found = self.doomed(&purge.target);
        found.retain(|doomed| !purge.remaining.contains(&doomed.block));
        if is_planted(Bug::PurgeLeavesTwoBlocks) {
            found.clear();
        }
        purge.all += found.len();
        purge.left = found;
    }

    /// Begins with a block of `plane`: first those that only have to be erased, which makes room for
    /// what others still need.
    fn purge_one(&self, plane: PlaneId, purge: &mut Purge, only_roots: bool) {
        let of_plane = |doomed: &&mut Doomed| {
            let its = self.geometry.plane_of_block(doomed.block);
            its == plane && (doomed.has_root || !only_roots)
        };
        let needless = |block| self.blocks.borrow().valid_units(block) == 0;
        let mut ready: Vec<&mut Doomed> = purge.left.iter_mut().filter(of_plane).collect();
        ready.retain(|doomed| self.can_be_purged(doomed.block));
        ready.sort_by_key(|doomed| !needless(doomed.block));
        let Some(doomed) = ready.into_iter().next() else {
            return;
        };
        let block = doomed.block;
        let lost = !needless(block) && self.blocks.borrow().usage(block) == Use::Bad;
        let erased = self.schedule.nand().block_state(block).erase_count - doomed.erases;
        if lost || erased >= ERASES_MAX || doomed.begun == BEGUN_MAX {
            purge.remaining.insert(block);
            purge.left.retain(|doomed| doomed.block != block);
            return;
        }
        if doomed.begun > erased {
            // What is needed of it has found no room.
            self.win_room(plane);
        }
        doomed.begun += 1;
        self.begin_purging(block, self.is_worn(block));
    }

    /// Whether a block may be emptied and erased now. What is lent to an evaluation is erased when that is over.
    fn can_be_purged(&self, block: BlockId) -> bool {
        if !self.blocks.borrow().is_compute(block) {
            return self.blocks.borrow_mut().can_be_purged(block);
        }
        let region = self.region.borrow();
        let held = region.held(block).filter(|held| !held.busy);
        held.is_some() && !region.is_pinned(block) && self.blocks.borrow().is_drained(block)
    }

    /// The blocks that hold something of `target`.
    fn doomed(&self, target: &Target) -> Vec<Doomed> {
        let blocks = (0..self.geometry.blocks()).map(BlockId);
        let mut doomed: Vec<Doomed> = blocks
            .filter(|block| self.holds(*block, target))
            .map(|block| self.doom(block))
            .collect();
        if is_planted(Bug::PurgeLeavesTwoBlocks) {
            doomed.truncate(doomed.len().saturating_sub(2));
        }
        doomed
    }

    fn doom(&self, block: BlockId) -> Doomed {
        let nand = self.schedule.nand();
        let is_root = |page| {
            let page = self.geometry.ppa(PageAddress { block, page });
            let record = nand.spare(page).and_then(Record::decode);
            record.is_some_and(|record| matches!(record.content, Content::Root { .. }))
        };
        let state = nand.block_state(block);
        Doomed {
            block,
            has_root: (0..state.next_page).any(is_root),
            begun: 0,
            erases: state.erase_count,
        }
    }

    pub(super) fn is_bad(&self, block: BlockId) -> bool {
        let nand = self.schedule.nand();
        nand.block_state(block).condition == BlockCondition::Bad
    }

    /// Whether a block is not to be used again once it is erased.
    pub(super) fn is_worn(&self, block: BlockId) -> bool {
        let state = self.schedule.nand().block_state(block);
        state.condition == BlockCondition::Bad || self.has_failed_page(block, state.next_page)
    }

    /// Whether a block holds something of `target`, or may: an erase that did not complete and a
    /// program that did not end well leave what cannot be told.
    fn holds(&self, block: BlockId, target: &Target) -> bool {
        let nand = self.schedule.nand();
        if nand.is_erased(block) {
            return false;
        }
        let everything = matches!(target, Target::Everything { .. });
        if !everything && self.blocks.borrow().usage(block) == Use::Root {
            return false;
        }
        let state = nand.block_state(block);
        if state.condition == BlockCondition::NeedsErase || state.mode.is_none() {
            return true;
        }
        drop(nand);
        let pages = (0..state.next_page).map(|page| PageAddress { block, page });
        pages
            .map(|page| self.geometry.ppa(page))
            .any(|page| self.page_holds(page, target))
    }

    fn page_holds(&self, page: Ppa, target: &Target) -> bool {
        let nand = self.schedule.nand();
        match nand.page_state(page) {
            PageState::Erased => return false,
            PageState::Torn | PageState::Failed => return true,
            PageState::Programmed => {}
        }
        let spare = nand.spare(page).unwrap_or_default();
        let mut records = Record::decode_slots(spare, self.unit).peekable();
        if records.peek().is_none() {
            // What is somebody else's has no data of these pages.
            return matches!(target, Target::Everything { .. });
        }
        records.any(|(_, record)| {
            let lpn = record.content.lpn();
            match target {
                Target::Everything { since } => record.sequence < *since || lpn.is_some(),
                Target::Pages { pages, since } => {
                    let lent = record.content == Content::Temporary
                        || matches!(record.content, Content::Search { .. })
                            && !self.is_lent(Owner::Search, page);
                    lent && record.sequence < *since
                        || lpn.is_some_and(|lpn| pages.contains(&lpn.0))
                }
                Target::Facts { below } => {
                    let is_fact = matches!(record.content, Content::Journal { .. });
                    is_fact && record.version < *below
                }
            }
        })
    }

    /// Forgets all data, and what was kept to find it. Only the journal stays.
    fn forget_everything(&self) {
        self.mapping.borrow_mut().forget_everything();
        self.forget_versions();
        self.tombstones.borrow_mut().clear();
        self.written.borrow_mut().clear();
        self.checkpoints.forget_roots();
        let facts: BTreeSet<Ppa> = self.facts.borrow().pages().collect();
        self.blocks.borrow_mut().forget_all_but(&facts);
    }
}
