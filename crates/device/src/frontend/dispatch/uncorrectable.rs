//! Write Uncorrectable: blocks whose reads fail until they are written (NVM 3.3.7). Marks survive
//! power cuts; what is beneath them stays until it is replaced.

use std::cell::RefCell;
use std::ops::Range;

use nvme::Status;
use nvme::command::BlockCommand;
use sim::Sim;
use sim::resource::Semaphore;

use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::namespace::Namespace;
use crate::frontend::note;
use crate::ftl::SoleWriter;

/// Marks that Write Uncorrectable may make; writes into them may split them further.
const MARKS_MAX: usize = 1024;
const SLOTS_MAX: usize = 0x4000;
/// Marks are kept in sectors, so that they outlive changes of format.
const SECTOR_BYTES: u64 = 512;
const COUNT_BITS: u32 = 24;

/// Ranges of sectors that cannot be read, by the slot of their fact.
pub(in crate::frontend) struct Marks {
    slots: RefCell<Vec<Range<u64>>>,
    /// Changes are made one after another.
    turn: Semaphore,
}

impl Marks {
    pub(in crate::frontend) fn new(sim: &Sim) -> Marks {
        Marks {
            slots: RefCell::default(),
            turn: Semaphore::new(sim, 1),
        }
    }

    /// Whether some of `sectors` cannot be read.
    #[inline]
    pub(in crate::frontend) fn overlap(&self, sectors: &Range<u64>) -> bool {
        let slots = self.slots.borrow();
        slots.iter().any(|mark| overlaps(mark, sectors))
    }

    fn covers(&self, sectors: &Range<u64>) -> bool {
        let slots = self.slots.borrow();
        let mut marks = slots.iter();
        marks.any(|mark| mark.start <= sectors.start && sectors.end <= mark.end)
    }

    /// A slot without a mark, if any of the first `most` has none.
    fn free_slot(&self, most: usize) -> Option<usize> {
        let slots = self.slots.borrow();
        let free = slots.iter().position(Range::is_empty);
        Some(free.unwrap_or(slots.len())).filter(|slot| *slot < most)
    }

    fn set(&self, slot: usize, mark: Range<u64>) {
        let mut slots = self.slots.borrow_mut();
        if slot >= slots.len() {
            slots.resize(slot + 1, 0..0);
        }
        slots[slot] = mark;
    }

    fn overlapping(&self, sectors: &Range<u64>) -> Option<(usize, Range<u64>)> {
        let slots = self.slots.borrow();
        let place = slots.iter().position(|mark| overlaps(mark, sectors))?;
        Some((place, slots[place].clone()))
    }
}

fn overlaps(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

fn encode(mark: &Range<u64>) -> u64 {
    mark.start << COUNT_BITS | (mark.end - mark.start)
}

fn decode(value: u64) -> Range<u64> {
    let start = value >> COUNT_BITS;
    start..start + (value & ((1 << COUNT_BITS) - 1))
}

impl Controller {
    /// The sectors of a range of bytes of a namespace, among those of the drive.
    pub(in crate::frontend) fn sectors(
        &self,
        namespace: &Namespace,
        bytes: Range<u64>,
    ) -> Range<u64> {
        let base = self.unit.start(namespace.pages().start);
        (base + bytes.start) / SECTOR_BYTES..(base + bytes.end) / SECTOR_BYTES
    }

    /// # Errors
    /// Unrecovered Read Error if some of `bytes` are marked.
    #[inline]
    pub(in crate::frontend) fn check_marks(
        &self,
        namespace: &Namespace,
        bytes: Range<u64>,
    ) -> Result<(), Status> {
        if namespace.plain.get() || !self.marks.overlap(&self.sectors(namespace, bytes)) {
            return Ok(());
        }
        Err(Status::UNRECOVERED_READ_ERROR)
    }

    pub(in crate::frontend) async fn write_uncorrectable(
        &self,
        namespace: &Namespace,
        command: &BlockCommand,
    ) -> Result<Answer, Status> {
        let bytes = namespace.byte_range(&command.blocks)?;
        let sectors = self.sectors(namespace, bytes.clone());
        let _lock = self.ftl.lock(self.pages(namespace, &bytes)).await;
        let _turn = self.marks.turn.acquire(1).await;
        if !self.marks.covers(&sectors) {
            let slot = self.marks.free_slot(MARKS_MAX);
            let slot = slot.ok_or(Status::CAPACITY_EXCEEDED)?;
            self.keep(note::mark(slot), encode(&sectors)).await?;
            self.marks.set(slot, sectors);
            self.look_for_obstacles();
        }
        Ok(Answer::DONE)
    }

    /// `bytes` of a namespace, whose pages `lock` covers, were written: their marks go, on flash
    /// too. A power cut on the way leaves marks standing on what was never
    /// acknowledged.
    #[inline]
    pub(in crate::frontend) async fn clear_marks(
        &self,
        lock: &impl SoleWriter,
        namespace: &Namespace,
        bytes: Range<u64>,
    ) -> Result<(), Status> {
        debug_assert!(lock.covers(&self.pages(namespace, &bytes)));
        if namespace.plain.get() {
            return Ok(());
        }
        Box::pin(self.clear_sectors(self.sectors(namespace, bytes))).await
    }

    async fn clear_sectors(&self, sectors: Range<u64>) -> Result<(), Status> {
        let _turn = self.marks.turn.acquire(1).await;
        while let Some((slot, mark)) = self.marks.overlapping(&sectors) {
            let before = mark.start..sectors.start.max(mark.start);
            let after = sectors.end.min(mark.end)..mark.end;
            let mut split = None;
            let rest = match (before.is_empty(), after.is_empty()) {
                (true, true) => 0..0,
                (false, true) => before,
                (true, false) => after,
                (false, false) => {
                    let other = self.marks.free_slot(SLOTS_MAX);
                    let other = other.ok_or(Status::INTERNAL_ERROR)?;
                    split = Some((other, after));
                    before
                }
            };
            let value = (!rest.is_empty()).then(|| encode(&rest));
            let mut facts = vec![(note::mark(slot), value)];
            facts.extend(
                split
                    .iter()
                    .map(|(other, after)| (note::mark(*other), Some(encode(after)))),
            );
            self.keep_all(&facts).await?;
            self.marks.set(slot, rest);
            if let Some((other, after)) = split {
                self.marks.set(other, after);
            }
        }
        self.look_for_obstacles();
        Ok(())
    }

    /// All marks go: everything was erased.
    pub(in crate::frontend) async fn clear_all_marks(&self) -> Result<(), Status> {
        self.clear_sectors(0..u64::MAX).await
    }

    /// Takes the marks of an earlier life.
    pub(in crate::frontend) fn restore_marks(&self) {
        for (slot, mark) in self.ftl.facts_of(note::MARKS) {
            self.marks.set(slot as usize, decode(note::number(&mark)));
        }
    }

    /// Decides of each namespace whether its reads may go directly.
    pub(in crate::frontend) fn look_for_obstacles(&self) {
        let sanitizing = self.sanitize.is_under_way() || self.sanitize.has_failed();
        for namespace in self.namespaces.iter() {
            let all = self.sectors(namespace, 0..namespace.capacity_bytes());
            let plain = !sanitizing && namespace.is_ready() && !self.marks.overlap(&all);
            namespace.plain.set(plain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_its_note() {
        for mark in [5..6, (1 << 39)..(1 << 39) + (1 << 20)] {
            assert_eq!(decode(encode(&mark)), mark);
        }
        assert!(decode(0).is_empty());
    }
}
