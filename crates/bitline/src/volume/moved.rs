//! Vectors that move to another group.

use host::volume::{Change, ObjectId};
use nvme::{Expression, VectorId};

use super::information::{Rows, Vector, usage};
use super::lookup::find;
use super::vectors::{Written, name_rows, undone};
use crate::bits::{Answer, Request};
use crate::driver::Queue;
use crate::error::Error;
use crate::host_end::Absent;
use crate::host_end::DriveVolume;
use crate::host_end::Host;
use crate::host_end::erased;

/// Vectors that are to be in another group, under its next free numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Move {
    /// The vectors, one after the other.
    pub vectors: Vec<VectorId>,
    /// The group, which is made if there is none.
    pub to: String,
    /// As what they are written.
    pub rows: Rows,
}

impl Move {
    /// Of these vectors to the group `to`, as `rows`.
    pub fn new(vectors: Vec<VectorId>, to: &str, rows: Rows) -> Move {
        Move {
            vectors,
            to: to.to_owned(),
            rows,
        }
    }
}

impl Host {
    /// Moves vectors to other groups: they are read and written, and one change of the catalogue names them there and
    /// nowhere else. A power cut leaves all where they were, or has all moved. A group that has no vectors any more is
    /// removed. Gives the vectors as they are then, in the order of `moves`.
    ///
    /// # Errors
    /// [`Error::NoVector`]; as [`Host::write_vectors`]; the volume was changed meanwhile, in whatever way: then nothing is
    /// moved.
    pub async fn move_vectors(&self, moves: &[Move]) -> Result<Vec<Vector>, Error> {
        let vectors: Vec<VectorId> = moves.iter().flat_map(|of| of.vectors.clone()).collect();
        let look = async |volume: &mut DriveVolume| {
            vectors
                .iter()
                .try_for_each(|id| find(volume, *id).map(drop))?;
            Ok(volume.commits())
        };
        let before = self.mount.with(self, Absent::Leave, look).await?;
        let mut written = Vec::with_capacity(moves.len());
        for of in moves {
            let mut rows = Vec::with_capacity(of.vectors.len());
            for vector in &of.vectors {
                let whole = Request::new(&Expression::from(*vector)).answered_by(Answer::Read);
                rows.push(self.ask(&whole).await?.bits);
            }
            written.push(self.written(&of.to, &of.rows, &rows).await?);
        }
        let mine = |volume: &DriveVolume| {
            let numbers = vectors.iter().map(|id| Ok(find(volume, *id)?.1.get()));
            numbers.collect()
        };
        let commit = async |volume: &mut DriveVolume| {
            // Bits that are given twice may be where they were, so that places tell nothing.
            if before.is_some_and(|before| before != volume.commits()) {
                return usage(
                    "the volume was changed while vectors were moved; they are where they were"
                        .into(),
                );
            }
            let mut change = volume.change()?;
            let named = named(&mut change, moves, &written);
            let moved = named.and_then(|named| Ok((named, removed(&mut change, &vectors)?)));
            let (named, emptied) = match moved {
                Ok(moved) => moved,
                Err(error) => return Err(undone(change, error).await),
            };
            change.commit().await?;
            self.mount.learn(|index| {
                vectors.iter().for_each(|id| index.forget(*id));
                emptied.iter().for_each(|id| index.forget_group(*id));
            });
            let learned = named.into_iter();
            let learned = learned.flat_map(|(group, rows)| self.learned(volume, group, &rows));
            Ok(learned.collect())
        };
        let moved = self.mount.alone_with(self, mine, commit).await;
        moved.and_then(|moved| moved.ok_or_else(erased))
    }
}

/// Names what was written for moves: the group of each, and its vectors.
fn named(
    change: &mut Change<'_, Queue>,
    moves: &[Move],
    written: &[Written<'_>],
) -> Result<Vec<(ObjectId, Vec<ObjectId>)>, Error> {
    let moves = moves.iter().zip(written);
    let named =
        moves.map(|(of, rows)| name_rows(change, &of.to, &rows.group, &of.rows, &rows.held));
    named.collect()
}

/// Removes vectors, and the groups that have none then: these groups.
pub(super) fn removed(
    change: &mut Change<'_, Queue>,
    vectors: &[VectorId],
) -> Result<Vec<ObjectId>, Error> {
    let mut emptied = Vec::new();
    for id in vectors {
        let (group, vector, _) = find(change.volume(), *id)?;
        change.remove(vector)?;
        if change.volume().vector_count(group) == 0 {
            change.remove(group)?;
            emptied.push(group);
        }
    }
    Ok(emptied)
}
