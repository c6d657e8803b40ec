//! What is asked for, and the operands of an expression: numbered, found, and kept where they are while it is evaluated.

use media::nand::BlockId;
use nvme::command::FcRead;
use nvme::{Expression, Status};

use super::fetch::{ChunkPart, each_part};
use super::{Bits, ExecuteError};
use crate::bits::classes::{Class, classes};
use crate::bits::engine::Evaluator;
use crate::bits::rows::Leaf;
use crate::cost::PageRead;
use crate::ftl::{Lpn, PageSlice, Stored};
use crate::memory::BufferId;

/// What is wanted of an expression.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Bits of the operands.
    pub bits: u64,
    /// Who evaluates it.
    pub by: Evaluator,
    /// Whether the result is compared with that of a second plan.
    pub check: bool,
}

impl From<&FcRead> for Wanted {
    fn from(command: &FcRead) -> Wanted {
        Wanted {
            bits: command.bits,
            by: command.engine.into(),
            check: command.check,
        }
    }
}

/// An expression with its operands numbered, and where each begins.
pub(super) struct Asked {
    pub(super) expression: Expression<Leaf>,
    pub(super) first: Vec<Lpn>,
}

/// Blocks that are not erased until this is dropped.
pub(super) struct Pins<'a> {
    bits: &'a Bits,
    blocks: Vec<BlockId>,
}

impl Drop for Pins<'_> {
    fn drop(&mut self) {
        let ftl = &self.bits.ftl;
        self.blocks.iter().for_each(|block| ftl.unpin(*block));
    }
}

impl Bits {
    /// Has the mapping entries of all operands at hand.
    pub(super) async fn entries_for(
        &self,
        asked: &Asked,
        wanted: Wanted,
    ) -> Result<(), ExecuteError> {
        let pages = self.unit().of_bits(wanted.bits) as u32;
        let all = asked
            .first
            .iter()
            .flat_map(|first| first.0..first.0 + pages);
        Ok(self.ftl.entries_for(all.map(Lpn)).await?)
    }

    /// The classes of chunks, and their blocks pinned.
    pub(super) fn pinned(&self, asked: &Asked, wanted: Wanted) -> (Vec<Class>, Pins<'_>) {
        let mut pins = Pins {
            bits: self,
            blocks: Vec::new(),
        };
        let geometry = self.schedule.geometry();
        let stored = |lpn, reads: &mut _| self.stored(lpn, reads);
        let first = (&asked.first[..], self.unit().per_page());
        let chunks = 0..self.chunks_of(wanted.bits);
        let classes = classes(stored, geometry, first, chunks, |block| {
            self.ftl.pin(block);
            pins.blocks.push(block);
        });
        (classes, pins)
    }

    /// Where the chunk is that begins with a logical page: where the data cache has what flash misses, it is nowhere that
    /// could be sensed. The reads that it takes outside of the region are added to `reads`.
    pub(super) fn stored(&self, lpn: Lpn, reads: &mut Vec<PageRead>) -> Stored {
        let mut lpns = (lpn.0..lpn.0 + self.unit().per_page()).map(Lpn);
        let stored = match lpns.any(|lpn| self.cache.has_unsaved(lpn)) {
            true => Stored::Elsewhere(None),
            false => self.ftl.stored(lpn),
        };
        if matches!(stored, Stored::Elsewhere(_)) {
            self.add_reads(lpn, reads);
        }
        stored
    }

    /// Adds what reading the chunk that begins with a logical page asks of flash, beside what the data cache has.
    fn add_reads(&self, lpn: Lpn, reads: &mut Vec<PageRead>) {
        let whole = PageSlice::new(lpn, 0, self.page_bytes() as u32, BufferId::NONE);
        each_part(
            &whole,
            self.unit(),
            |slice| self.cache.peek(slice),
            |part| {
                let slice = match part {
                    ChunkPart::Missed(run) => run,
                    ChunkPart::Found(_) => return,
                    ChunkPart::PartlyFound(slice, rest) => rest.of(slice),
                };
                self.ftl
                    .each_read(slice, |read, mode| reads.push(PageRead::of(&read, mode)));
            },
        );
    }
}

/// Numbers the operands of an expression, and finds the page that each begins with.
pub(super) fn number<V: nvme::Operand>(
    expression: &Expression<V>,
    page_of: impl Fn(V) -> Result<Lpn, Status>,
) -> Result<Asked, ExecuteError> {
    let names = expression.vectors();
    let place = |name: V| {
        let at = names.binary_search(&name);
        Leaf::Stored(at.expect("every operand is named") as u32)
    };
    Ok(Asked {
        first: names
            .iter()
            .map(|&name| page_of(name).map_err(ExecuteError::Operand))
            .collect::<Result<_, _>>()?,
        expression: expression.try_map(|name| Ok::<_, ExecuteError>(place(name)))?,
    })
}
