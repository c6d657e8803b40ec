//! The pages of the journal: one group of facts after another is programmed, each page as any other of
//! this layer. Puts that come while a group is being written share the next one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use media::nand::{PageAddress, Ppa};
use sim::resource::Semaphore;
use sim::{Sim, join_all};

use super::spare::{Content, GROUP_PAGES_MAX};
use super::{Ftl, FtlError};
use crate::journal::{Change, Draft, FactKey, FactKind, Others};
use crate::memory::{BufferId, Purpose};
use crate::schedule::Origin;

/// Pages of a group that are programmed at a time, at most: more than any drive has buffers and planes for at once.
const PAGES_AT_ONCE: usize = 1024;

/// Puts that wait to be written together.
#[derive(Default)]
struct Batch {
    changes: Vec<Change>,
    outcome: Rc<Cell<Option<Result<(), FtlError>>>>,
}

/// Who writes groups, and what waits.
pub(super) struct JournalWriter {
    turn: Semaphore,
    waiting: RefCell<Batch>,
}

impl JournalWriter {
    pub(super) fn new(sim: &Sim) -> JournalWriter {
        JournalWriter {
            turn: Semaphore::new(sim, 1),
            waiting: RefCell::default(),
        }
    }
}

impl Ftl {
    /// What is kept under `key`.
    pub fn fact(&self, key: FactKey) -> Option<Vec<u8>> {
        self.facts.borrow().get(key).map(<[u8]>::to_vec)
    }

    /// What is kept of a part, by key.
    pub fn facts_of(&self, kind: FactKind) -> Vec<(u32, Vec<u8>)> {
        let facts = self.facts.borrow();
        let of_kind = facts.of(kind);
        of_kind.map(|(key, value)| (key, value.to_vec())).collect()
    }

    /// Keeps facts, or no longer, for all lives of the drive: all of `changes` or, if the power is
    /// cut before this returns, perhaps none. Of several calls for one key the last begun counts.
    ///
    /// # Errors
    /// No space; then they are as they were.
    pub async fn put_facts(&self, changes: Vec<Change>) -> Result<(), FtlError> {
        let outcome = {
            let mut waiting = self.journal.waiting.borrow_mut();
            waiting.changes.extend(changes);
            waiting.outcome.clone()
        };
        let _turn = self.journal.turn.acquire(1).await;
        if let Some(written) = outcome.get() {
            return written;
        }
        let batch = self.journal.waiting.take();
        let written = self.write_group(batch.changes, Others::Oldest).await;
        outcome.set(Some(written));
        written
    }

    /// As [`Ftl::put_facts`], of one.
    ///
    /// # Errors
    /// As there.
    pub async fn put_fact(&self, key: FactKey, value: &[u8]) -> Result<(), FtlError> {
        self.put_facts(vec![(key, Some(value.into()))]).await
    }

    /// Writes all facts anew, so that nothing but them is needed of the journal.
    ///
    /// # Errors
    /// No space.
    pub async fn rewrite_journal(&self) -> Result<(), FtlError> {
        let _turn = self.journal.turn.acquire(1).await;
        if self.facts.borrow().pages().next().is_none() {
            return Ok(());
        }
        self.write_group(Vec::new(), Others::All).await
    }

    /// Writes one group; the caller's turn it is.
    async fn write_group(&self, changes: Vec<Change>, others: Others) -> Result<(), FtlError> {
        let draft = self.facts.borrow().draft(changes, others);
        let version = self.next_version();
        let count = pages_of(&draft)?;
        let mut programmed = Vec::with_capacity(count as usize);
        for first in (0..count).step_by(PAGES_AT_ONCE) {
            let indices = first..count.min(first + PAGES_AT_ONCE as u32);
            let programs = indices.map(|index| self.program_page_of(&draft, index, version));
            programmed.append(&mut join_all(programs).await);
            if programmed.iter().any(Result::is_err) {
                break;
            }
        }
        let failure = programmed.iter().find_map(|page| page.err());
        for page in programmed.iter().flatten() {
            self.settle(*page, self.whole_if(failure.is_none()));
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        let ppa = |page: &PageAddress| self.geometry.ppa(*page);
        let pages: Vec<Ppa> = programmed.iter().flatten().map(ppa).collect();
        let freed = self.facts.borrow_mut().commit(version, draft, pages);
        freed.into_iter().for_each(|page| self.forget_page(page));
        Ok(())
    }

    async fn program_page_of(
        &self,
        draft: &Draft,
        index: u32,
        version: u64,
    ) -> Result<PageAddress, FtlError> {
        let number = self.facts.borrow().written() + u64::from(index);
        let preferred = self.plane_order[number as usize % self.plane_order.len()];
        let _room = self.buffers.room(Purpose::Record).await;
        let buffer = self.buffers.take_firmware();
        let content = self.fill_page_of(draft, index, buffer.id());
        self.program_record(preferred, buffer.id(), content, version, Origin::default())
            .await
    }

    /// Fills a buffer with a page of a group; gives what its record says of it.
    pub(super) fn fill_page_of(&self, draft: &Draft, index: u32, buffer: BufferId) -> Content {
        let bytes = &draft.pages[index as usize];
        self.buffers.with_mut(buffer, |page| {
            page[..bytes.len()].copy_from_slice(bytes);
            page[bytes.len()..].fill(0);
        });
        Content::Journal {
            index,
            count: draft.pages.len() as u32,
            oldest: draft.oldest,
        }
    }
}

/// How many pages a group has.
///
/// # Errors
/// [`FtlError::GroupTooLong`] if they are more than their records can tell apart.
pub(super) fn pages_of(draft: &Draft) -> Result<u32, FtlError> {
    let pages = u32::try_from(draft.pages.len()).ok();
    let pages = pages.filter(|pages| *pages <= GROUP_PAGES_MAX);
    pages.ok_or(FtlError::GroupTooLong)
}
