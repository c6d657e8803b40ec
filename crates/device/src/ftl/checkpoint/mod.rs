//! Checkpoints: what makes recovery read little.
//!
//! A checkpoint writes every mapping page that has changed, and then a *root*: where the
//! mapping pages are, the journal, and which blocks were open when the checkpoint began.
//! Host traffic goes on meanwhile. Whatever changes after the beginning is in a block that
//! was open then or was opened since, so that recovery reads those blocks, the mapping
//! pages of the last root, and the first page of every other block, which tells when it
//! was opened.

mod root;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use media::nand::{BlockId, PageAddress, PlaneId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::Sim;
use sim::resource::{Broadcast, Signal};

use super::mapping::MappingPages;
use super::spare::{Content, Record};
use super::{Ftl, FtlError};
use crate::memory::Purpose;
use crate::planted::{Bug, is_planted};
use crate::schedule::{Fault, Origin, Program};
use crate::tenants;
pub(super) use root::{Root, RootFacts};

/// When checkpoints are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointConfig {
    /// After so many pages programmed; zero means never.
    pub interval_pages: u32,
}

/// What the making of checkpoints keeps in mind.
pub(super) struct Checkpoints {
    bell: Signal,
    /// Whether one is being made.
    making: Cell<bool>,
    /// Whether none is to be made.
    held: Cell<bool>,
    /// The sequence number of a page at which the next one is due.
    due: Cell<u64>,
    /// Announced when a mapping page has been written, or could not be.
    pub(super) written: Broadcast,
    /// Mapping pages that could not be written, so far.
    pub(super) failures: Cell<u64>,
    /// The block that takes roots, and its next page.
    frontier: Cell<Option<(BlockId, u32)>>,
    /// The blocks of roots, the last of which has the current one; and whether a program failed
    /// there.
    blocks: RefCell<Vec<(BlockId, bool)>>,
}

impl Checkpoints {
    pub(super) fn new(sim: &Sim) -> Checkpoints {
        Checkpoints {
            bell: Signal::new(sim),
            making: Cell::new(false),
            held: Cell::new(false),
            due: Cell::new(0),
            written: Broadcast::new(sim),
            failures: Cell::new(0),
            frontier: Cell::new(None),
            blocks: RefCell::default(),
        }
    }

    /// There is no root any more; the next goes to another block.
    pub(super) fn forget_roots(&self) {
        debug_assert!(!self.making.get(), "a root is being written");
        self.frontier.set(None);
        self.blocks.borrow_mut().clear();
    }

    /// Recovery found the current root in `block`.
    pub(super) fn found(&self, block: BlockId, failed: bool) {
        self.blocks.borrow_mut().push((block, failed));
    }

    /// When the next one is due.
    pub(super) fn set_due(&self, sequence: u64) {
        self.due.set(sequence);
    }
}

impl Ftl {
    /// A page of this sequence number is about to be programmed.
    #[inline]
    pub(super) fn note_program(&self, sequence: u64) {
        if self.config.checkpoint.interval_pages > 0 && sequence >= self.checkpoints.due.get() {
            self.checkpoints.bell.ring();
        }
    }

    /// Makes checkpoints for ever, whenever one is due.
    pub(super) async fn make_checkpoints(self: Rc<Ftl>) {
        loop {
            self.checkpoints.bell.heard().await;
            let begin = self.next_sequence.get();
            if begin > self.checkpoints.due.get() && !self.checkpoints.held.get() {
                let interval = u64::from(self.config.checkpoint.interval_pages);
                self.checkpoints.due.set(begin + interval);
                // Without space for it the last one stays good; recovery takes longer then.
                self.checkpoints.making.set(true);
                if self.make_checkpoint(begin).await.is_ok() {
                    self.count(|counts| counts.checkpoints += 1);
                }
                self.checkpoints.making.set(false);
            }
        }
    }

    /// Whether a checkpoint is being made.
    pub fn is_making_checkpoint(&self) -> bool {
        self.checkpoints.making.get()
    }

    /// Keeps checkpoints from being made, or no longer.
    pub fn hold_checkpoints(&self, held: bool) {
        self.checkpoints.held.set(held);
    }

    async fn make_checkpoint(&self, begin: u64) -> Result<(), FtlError> {
        let mut blocks = self.blocks.borrow().unsettled();
        // A transaction may commit later: which of its pages count is then in their records only.
        blocks.extend(self.undone_blocks());
        let failures = self.checkpoints.failures.get();
        if !is_planted(Bug::CheckpointLeavesChanges) {
            self.write_changed_mapping_pages().await;
        }
        if self.checkpoints.failures.get() != failures {
            return Err(FtlError::NoSpace);
        }
        // It names the journal and what that is to know of.
        while self.has_unsaved_commits() {
            self.save_commits().await?;
        }
        let root = Root {
            begin,
            next_version: self.next_version(),
            next_sequence: self.next_sequence.get(),
            blocks,
            journal: self.journal_for_root(),
            mapping_pages: self.with_pages(|pages| pages.places()).unwrap_or_default(),
        };
        self.write_root(&root).await
    }

    /// The pages of the journal that are needed.
    fn journal_for_root(&self) -> Vec<RootFacts> {
        let facts = self.facts.borrow();
        let groups = facts.groups();
        groups
            .map(|(version, pages)| RootFacts {
                version,
                pages: pages.to_vec(),
            })
            .collect()
    }

    /// Has every mapping page written that has changed, and waits for those being written.
    async fn write_changed_mapping_pages(&self) {
        let numbers = self.with_pages(|pages| self.request_changed(pages));
        for number in numbers.unwrap_or_default() {
            while self.with_pages(|pages| pages.is_busy(number)) == Some(true) {
                self.checkpoints.written.next().await;
            }
        }
    }

    fn request_changed(&self, pages: &mut MappingPages) -> Vec<u32> {
        let numbers = pages.changed_or_busy();
        for number in &numbers {
            if pages.is_changed(*number) {
                self.write_backs.request(pages, *number);
            }
        }
        numbers
    }

    /// Writes a root to pages one after another in one block.
    async fn write_root(&self, root: &Root) -> Result<(), FtlError> {
        let content = root.encode();
        let pages: Vec<&[u8]> = content.chunks(self.geometry.page_bytes as usize).collect();
        let room = self.geometry.pages_per_block(self.config.mode) as usize;
        if pages.len() > room {
            return Err(FtlError::NoSpace);
        }
        let block = loop {
            let (block, first) = self.root_frontier(pages.len() as u32)?;
            match self.program_root(root, &pages, block, first).await {
                Ok(()) => break block,
                Err(Fault::ProgramFailed(_)) => self.root_failed(block),
                Err(fault) => return Err(fault.into()),
            }
        };
        self.release_roots(block);
        Ok(())
    }

    /// A block with room for a root of so many pages, and its next page.
    fn root_frontier(&self, count: u32) -> Result<(BlockId, u32), FtlError> {
        let pages = self.geometry.pages_per_block(self.config.mode);
        let open = self.checkpoints.frontier.get();
        if let Some((block, next)) = open.filter(|(_, next)| next + count <= pages) {
            return Ok((block, next));
        }
        let mut blocks = self.blocks.borrow_mut();
        let taken = self
            .plane_order
            .iter()
            .find_map(|plane| blocks.take_root(*plane));
        let block = taken.ok_or(FtlError::NoSpace)?;
        self.checkpoints.blocks.borrow_mut().push((block, false));
        self.checkpoints.frontier.set(Some((block, 0)));
        Ok((block, 0))
    }

    async fn program_root(
        &self,
        root: &Root,
        pages: &[&[u8]],
        block: BlockId,
        first: u32,
    ) -> Result<(), Fault> {
        let die = self.geometry.die_of_block(block);
        for (index, bytes) in pages.iter().enumerate() {
            let page = first + index as u32;
            self.checkpoints.frontier.set(Some((block, page + 1)));
            let _room = self.buffers.room(Purpose::Record).await;
            let buffer = self.buffers.take_firmware();
            self.buffers.with_mut(buffer.id(), |page| {
                page.fill(0);
                page[..bytes.len()].copy_from_slice(bytes);
            });
            let record = Record {
                content: Content::Root {
                    index: index as u16,
                    count: pages.len() as u16,
                },
                version: root.next_version,
                sequence: self.next_sequence(),
            };
            let program = Program {
                page: PageAddress { block, page },
                mode: self.config.mode,
                from: buffer.id(),
                bytes: self.geometry.page_bytes,
                spare: record.encode().into(),
                origin: Origin::own(tenants::MAPPING),
            };
            self.schedule.perform(die, program).await?;
        }
        Ok(())
    }

    /// A program failed in a block of roots: no more go there.
    fn root_failed(&self, block: BlockId) {
        self.count(|counts| counts.program_failures += 1);
        self.checkpoints.frontier.set(None);
        for (other, failed) in &mut *self.checkpoints.blocks.borrow_mut() {
            *failed |= *other == block;
        }
    }

    /// The current root is in `current`; other blocks of roots are not needed any more.
    fn release_roots(&self, current: BlockId) {
        let mut released = Vec::new();
        self.checkpoints.blocks.borrow_mut().retain(|entry| {
            let keep = entry.0 == current;
            if !keep {
                released.push(*entry);
            }
            keep
        });
        for (block, failed) in released {
            self.release_root(block, failed);
        }
    }

    fn release_root(&self, block: BlockId, failed: bool) {
        let plane: PlaneId = self.geometry.plane_of_block(block);
        {
            let mut blocks = self.blocks.borrow_mut();
            if failed {
                blocks.fail(block);
            } else {
                blocks.close(block);
            }
        }
        self.collect(plane);
    }
}
