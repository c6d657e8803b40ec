//! From the steps of a plan to the commands of a die.

use std::rc::Rc;

use media::nand::{Command, Geometry, MwsPlane, MwsSlot, PlaneMask, WordlineBitmap};

use super::plan::{Computation, Sense, Slot, Step};
use super::rows::RowSetId;
use crate::planted::{Bug, is_planted};
use crate::region::{DieBatch, StringAddress};

/// The commands that carry out `computation` for chunks in different planes of one die, all at once; `string` tells
/// where a row set is for a chunk.
///
/// # Panics
/// If `batch` is empty.
pub fn commands(
    computation: &Computation,
    geometry: &Geometry,
    string: &impl Fn(RowSetId, u64) -> StringAddress,
    batch: &DieBatch,
) -> Rc<[Command]> {
    let planes = planes_of(computation, geometry, string, batch);
    let steps = computation.steps.iter();
    steps
        .map(|step| match step {
            Step::Sense(sense) => {
                let planes = batch.iter().map(|&chunk| plane(sense, string, chunk));
                Command::mws(sense.iscm, planes.collect())
            }
            Step::Xor => Command::Xor { planes },
        })
        .collect()
}

/// The planes of a die that hold the chunks.
fn planes_of(
    computation: &Computation,
    geometry: &Geometry,
    string: &impl Fn(RowSetId, u64) -> StringAddress,
    batch: &DieBatch,
) -> PlaneMask {
    let Some(row_set) = computation.first_row_set() else {
        return PlaneMask(0);
    };
    let bit = |&chunk: &u64| {
        let plane = geometry.plane_of_block(string(row_set, chunk).block);
        1 << geometry.plane_in_die(plane)
    };
    PlaneMask(batch.iter().map(bit).fold(0, |mask, bit| mask | bit))
}

fn plane(sense: &Sense, string: &impl Fn(RowSetId, u64) -> StringAddress, chunk: u64) -> MwsPlane {
    let slot = |slot: &Slot| {
        let string = string(slot.row_set, chunk);
        MwsSlot {
            block: string.block,
            string: string.string,
            wordlines: selected(slot.wordlines),
        }
    };
    MwsPlane {
        slots: sense.slots.iter().map(slot).collect(),
    }
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
