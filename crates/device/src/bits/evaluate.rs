//! A pure interpreter of plans: what the latches and the controller would compute, without any
//! drive.
//!
//! It is the other half of every test of the planner, and refuses what the flash would refuse.

use thiserror::Error;

use super::combine::Combiner;
use super::plan::{Computation, Plan, Sense, Step};
use super::rows::RowSetId;

/// A step that the flash would refuse, or whose result it would not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IllegalStep {
    /// A sense selects no block, or more than allowed.
    #[error("a sense selects {0} blocks")]
    Blocks(usize),
    /// A sense selects two strings of one block.
    #[error("a sense selects {0} twice")]
    SameBlock(RowSetId),
    /// A slot selects no wordline.
    #[error("a sense selects no wordline of {0}")]
    NoWordline(RowSetId),
    /// An inverse read that does not initialize the sensing latch.
    #[error("an inverse read must initialize the sensing latch")]
    InverseWithoutInit,
    /// A latch is used before it was initialized.
    #[error("latch {0} is used before it is initialized")]
    Uninitialized(char),
}

/// The page of `words` 64-bit words that `plan` computes, `fetch` giving the stored page of a row
/// (by row set and layer). At most `blocks_max` blocks may be selected at once.
///
/// # Errors
/// [`IllegalStep`] if a step is not legal; a plan of [`super::plan::plan`] never is.
pub fn evaluate<'a>(
    plan: &Plan,
    blocks_max: usize,
    words: usize,
    fetch: &impl Fn(RowSetId, u32) -> &'a [u64],
) -> Result<Vec<u64>, IllegalStep> {
    let run = |computation| run(computation, blocks_max, words, fetch);
    let pages: Vec<Vec<u64>> = plan
        .computations
        .iter()
        .map(run)
        .collect::<Result<_, _>>()?;
    let mut result = vec![0; words];
    Combiner::new().combine(&plan.root, &pages, &mut result);
    Ok(result)
}

fn run<'a>(
    computation: &Computation,
    blocks_max: usize,
    words: usize,
    fetch: &impl Fn(RowSetId, u32) -> &'a [u64],
) -> Result<Vec<u64>, IllegalStep> {
    let (mut s, mut c) = (None::<Vec<u64>>, None::<Vec<u64>>);
    for step in &computation.steps {
        if let Step::Sense(sense) = step {
            check(sense, blocks_max)?;
            if sense.iscm.init_c {
                c = Some(vec![0; words]);
            }
            if sense.iscm.init_s {
                s = Some(vec![u64::MAX; words]);
            }
        }
        let s = s.as_mut().ok_or(IllegalStep::Uninitialized('S'))?;
        let mut c = c.as_mut().ok_or(IllegalStep::Uninitialized('C'));
        match step {
            Step::Sense(sense) => {
                sense_into(s, sense, fetch);
                if sense.iscm.transfer {
                    let c = c.as_mut().map_err(|error| *error)?;
                    c.iter_mut().zip(s).for_each(|(c, s)| *c |= *s);
                }
            }
            Step::Xor => c?.iter_mut().zip(s).for_each(|(c, s)| *c ^= *s),
        }
    }
    c.ok_or(IllegalStep::Uninitialized('C'))
}

fn check(sense: &Sense, blocks_max: usize) -> Result<(), IllegalStep> {
    if sense.slots.is_empty() || sense.slots.len() > blocks_max {
        return Err(IllegalStep::Blocks(sense.slots.len()));
    }
    for (i, slot) in sense.slots.iter().enumerate() {
        if slot.wordlines.is_empty() {
            return Err(IllegalStep::NoWordline(slot.row_set));
        }
        if sense.slots[..i]
            .iter()
            .any(|other| other.row_set == slot.row_set)
        {
            return Err(IllegalStep::SameBlock(slot.row_set));
        }
    }
    if sense.iscm.inverse && !sense.iscm.init_s {
        return Err(IllegalStep::InverseWithoutInit);
    }
    Ok(())
}

/// Word by word: v = OR over slots (AND over wordlines), then S = !v or S &= v.
fn sense_into<'a>(s: &mut [u64], sense: &Sense, fetch: &impl Fn(RowSetId, u32) -> &'a [u64]) {
    let pages: Vec<Vec<&[u64]>> = sense
        .slots
        .iter()
        .map(|slot| {
            slot.wordlines
                .iter()
                .map(|layer| fetch(slot.row_set, layer))
                .collect()
        })
        .collect();
    for (i, s) in s.iter_mut().enumerate() {
        let all_ones =
            |string: &Vec<&[u64]>| string.iter().fold(u64::MAX, |all, page| all & page[i]);
        let sensed = pages
            .iter()
            .map(all_ones)
            .fold(0, |any, string| any | string);
        *s = if sense.iscm.inverse {
            !sensed
        } else {
            *s & sensed
        };
    }
}
