//! Which group every vector is in, and whether it is stored inverted.

use std::collections::BTreeMap;

use nvme::VectorId;

use super::Given;

/// An arrangement of vectors, which are known by their places in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrangement {
    /// By vector.
    pub(super) group: Vec<usize>,
    /// By vector.
    pub(super) inverse: Vec<bool>,
}

impl Arrangement {
    /// All in one group, as they are.
    pub(super) fn together(vectors: usize) -> Arrangement {
        Arrangement {
            group: vec![0; vectors],
            inverse: vec![false; vectors],
        }
    }

    /// As given; those that are not are in one further group.
    pub(super) fn given(vectors: &[VectorId], given: &BTreeMap<VectorId, Given>) -> Arrangement {
        let mut arrangement = Arrangement::together(vectors.len());
        let mut numbers: Vec<Option<u32>> = Vec::new();
        for (place, id) in vectors.iter().enumerate() {
            let (group, inverse) = match given.get(id) {
                Some(given) => (Some(given.group), given.inverse),
                None => (None, false),
            };
            let known = numbers.iter().position(|number| *number == group);
            arrangement.group[place] = known.unwrap_or_else(|| {
                numbers.push(group);
                numbers.len() - 1
            });
            arrangement.inverse[place] = inverse;
        }
        arrangement
    }

    /// Numbers of groups are below this.
    pub(super) fn bound(&self) -> usize {
        self.group.iter().max().map_or(0, |most| most + 1)
    }

    /// The vectors of each group, empty ones left out; groups in the order of their first vector.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
        for (vector, group) in self.group.iter().enumerate() {
            match groups.iter_mut().find(|(number, _)| number == group) {
                Some((_, vectors)) => vectors.push(vector),
                None => groups.push((*group, vec![vector])),
            }
        }
        groups.into_iter().map(|(_, vectors)| vectors).collect()
    }

    /// The same with groups numbered without gaps.
    pub(super) fn tidied(&self) -> Arrangement {
        let mut tidy = self.clone();
        for (number, vectors) in self.groups().into_iter().enumerate() {
            for vector in vectors {
                tidy.group[vector] = number;
            }
        }
        tidy
    }
}
