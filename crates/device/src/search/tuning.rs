//! By how much the read voltage of a lookup is raised, so that it misses no name (ANVIL 5.1, false-negative voltage tuning):
//! what firmware knows of a block decides, which is how often it was erased and read, and for how long it has held its names.
//! Names that need a higher one than if they were programmed now are programmed anew, before reads of single pages, which
//! are not raised, get them wrong.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use media::nand::cells::Condition;
use media::nand::{BlockId, MISSED_CELLS_MAX, Nand, NandConfig, ProgramMode, RAISE_MAX};
use sim::Sim;
use sim::resource::Broadcast;

use super::Search;
use super::seal::Wear;

/// Conditions for which the raise is remembered.
const KNOWN_MAX: usize = 64;

/// What a condition calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tuned {
    /// Steps by which the read voltage is raised.
    raise: u8,
    /// It would be less if the names were programmed anew.
    is_tired: bool,
}

/// The raises of conditions that were met last.
pub(super) struct Tuning {
    known: RefCell<Vec<(ProgramMode, Condition, Tuned)>>,
    /// Blocks whose names are to be programmed anew.
    tired: RefCell<BTreeSet<u32>>,
    /// Announced when there is another.
    noticed: Broadcast,
}

impl Tuning {
    pub(super) fn new(sim: &Sim) -> Tuning {
        Tuning {
            known: RefCell::default(),
            tired: RefCell::default(),
            noticed: Broadcast::new(sim),
        }
    }

    /// Steps by which the read voltage of a sense of `blocks` is raised.
    pub(super) fn raise(&self, nand: &Nand, blocks: impl Iterator<Item = BlockId>) -> u8 {
        let raises = blocks.filter_map(|block| {
            let (mode, condition) = nand.history(block)?;
            let tuned = self.of_condition(nand.config(), mode, condition);
            if tuned.is_tired && self.tired.borrow_mut().insert(block.0) {
                self.noticed.announce();
            }
            Some(tuned.raise)
        });
        raises.max().unwrap_or(0)
    }

    /// Waits for a block whose names are to be programmed anew.
    async fn next_tired(&self) -> BlockId {
        loop {
            let first = self.tired.borrow_mut().pop_first();
            match first {
                Some(block) => return BlockId(block),
                None => self.noticed.next().await,
            }
        }
    }

    fn of_condition(&self, config: &NandConfig, mode: ProgramMode, condition: Condition) -> Tuned {
        let mut known = self.known.borrow_mut();
        let found = known
            .iter()
            .find(|(other, known, _)| *other == mode && *known == condition);
        if let Some((.., tuned)) = found {
            return *tuned;
        }
        let tuned = tuned(config, mode, condition);
        if known.len() == KNOWN_MAX {
            known.remove(0);
        }
        known.push((mode, condition, tuned));
        tuned
    }
}

fn tuned(config: &NandConfig, mode: ProgramMode, condition: Condition) -> Tuned {
    // One more than there are where none is enough.
    let raise = |condition| {
        let tuned = config.tuned_raise(mode, &condition, MISSED_CELLS_MAX);
        tuned.unwrap_or(RAISE_MAX + 1)
    };
    let now = raise(condition);
    // Programmed anew, a block has one more cycle behind it, and neither hours nor reads.
    let anew = condition.after_hours(0.0).after_reads(0.0);
    let anew = anew.after_cycles(condition.cycles + 1.0);
    Tuned {
        raise: now.min(RAISE_MAX),
        is_tired: now > 0 && raise(anew) < now,
    }
}

impl Search {
    /// Programs rows anew whose names lookups would miss before long.
    pub(super) async fn refresh_names(self: Rc<Search>) {
        loop {
            let block = self.tuning.next_tired().await;
            let moved = self.move_row_of(block, Wear::Fresh).await;
            if !moved && self.row_of(block).is_some() {
                // Room comes with a change; the next lookup notices the block again.
                self.changed.next().await;
            }
        }
    }
}
