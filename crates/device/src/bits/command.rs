//! From the steps of a plan to the commands of a die.

use std::rc::Rc;

use media::nand::{Command, MwsPlane, MwsSlot, PlaneMask, WordlineBitmap};

use super::placement::{DieBatch, Groups, Layout};
use super::plan::{Program, Sense, Step};
use crate::planted::{Bug, is_planted};

/// The commands that carry out `program` for chunks of one die, all planes at once.
///
/// `None` if a row set of the program has no block for a chunk: it was erased after the plan was
/// made, or the chunk is past the end of its vectors.
///
/// # Panics
/// If `batch` is empty.
pub fn commands(program: &Program, groups: &Groups, batch: &DieBatch) -> Option<Rc<[Command]>> {
    let planes = planes_of(layout_of(program, groups), batch);
    let steps = program.steps.iter();
    steps
        .map(|step| match step {
            Step::Sense(sense) => {
                let planes = batch.iter().map(|&chunk| plane(sense, groups, chunk));
                Some(Command::mws(sense.iscm, planes.collect::<Option<_>>()?))
            }
            Step::Xor => Some(Command::Xor { planes }),
        })
        .collect()
}

/// How the chunks that a program works on are spread: all its row sets have the same home.
pub fn layout_of<'a>(program: &Program, groups: &'a Groups) -> &'a Layout {
    let first = program.first_row_set();
    first.map_or(groups.layout(), |row_set| groups.layout_of(row_set))
}

/// The planes of a die that hold the chunks.
fn planes_of(layout: &Layout, batch: &DieBatch) -> PlaneMask {
    let bit = |&chunk: &u64| 1 << layout.geometry().plane_in_die(layout.plane(chunk));
    PlaneMask(batch.iter().map(bit).fold(0, |mask, bit| mask | bit))
}

fn plane(sense: &Sense, groups: &Groups, chunk: u64) -> Option<MwsPlane> {
    let slot = |slot: &super::plan::Slot| {
        let string = groups.string(slot.row_set, chunk)?;
        Some(MwsSlot {
            block: string.block,
            string: string.string,
            wordlines: selected(slot.wordlines),
        })
    };
    Some(MwsPlane {
        slots: sense.slots.iter().map(slot).collect::<Option<_>>()?,
    })
}

/// The wordlines that are selected for those of a plan: the same.
fn selected(wordlines: WordlineBitmap) -> WordlineBitmap {
    if is_planted(Bug::SenseMissesAWordline) && wordlines.count() > 1 {
        return wordlines.iter().take(wordlines.count() as usize - 1).fold(
            WordlineBitmap::EMPTY,
            |mut some, layer| {
                some.insert(layer);
                some
            },
        );
    }
    wordlines
}
