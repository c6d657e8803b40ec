//! From the steps of a plan to the commands of a die.

use media::nand::{Command, MwsPlane, MwsSlot, PlaneMask};

use super::placement::{DieBatch, Groups};
use super::plan::{Sense, Step};

/// The command that carries out `step` for the chunks of one die, all planes at once.
///
/// `None` if a row set of the plan has no block for a chunk: it was erased after the plan was made,
/// or the chunk is past the end of its vectors.
///
/// # Panics
/// If `batch` is empty.
pub fn command(step: &Step, groups: &Groups, batch: &DieBatch) -> Option<Command> {
    match step {
        Step::Sense(sense) => {
            let planes = batch.iter().map(|&chunk| plane(sense, groups, chunk));
            Some(Command::mws(sense.iscm, planes.collect::<Option<_>>()?))
        }
        Step::Xor => Some(Command::Xor {
            planes: planes_of(groups, batch),
        }),
    }
}

/// The planes of a die that hold the chunks.
pub fn planes_of(groups: &Groups, batch: &DieBatch) -> PlaneMask {
    let layout = groups.layout();
    let bit = |&chunk: &u64| 1 << layout.geometry().plane_in_die(layout.plane(chunk));
    PlaneMask(batch.iter().map(bit).fold(0, |mask, bit| mask | bit))
}

fn plane(sense: &Sense, groups: &Groups, chunk: u64) -> Option<MwsPlane> {
    let slot = |slot: &super::plan::Slot| {
        let string = groups.string(slot.row_set, chunk)?;
        Some(MwsSlot {
            block: string.block,
            string: string.string,
            wordlines: slot.wordlines,
        })
    };
    Some(MwsPlane {
        slots: sense.slots.iter().map(slot).collect::<Option<_>>()?,
    })
}
