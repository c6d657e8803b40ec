//! Which group every vector is in, and whether it is stored inverted.

use std::collections::BTreeMap;

use nvme::VectorId;

use super::Given;

/// How the vectors of one expression lie: by vector, the string (numbered by first use) and whether
/// it holds the inverse.
pub(super) type Positions = Vec<(u32, bool)>;

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

    /// The same in the order in which vectors are best written: those of a string that are stored alike one after another.
    pub(super) fn to_be_written(&self, cells_per_string: u32) -> Vec<Vec<usize>> {
        let mut groups = self.groups();
        for string in groups
            .iter_mut()
            .flat_map(|group| group.chunks_mut(cells_per_string as usize))
        {
            string.sort_by_key(|vector| self.inverse[*vector]);
        }
        groups
    }

    /// How these vectors lie, each in the string that `strings` says.
    pub(super) fn positions(&self, vectors: &[usize], strings: &[usize]) -> Positions {
        let mut seen: Vec<usize> = Vec::new();
        let position = |&vector: &usize| {
            let string = strings[vector];
            let number = seen.iter().position(|known| *known == string);
            let number = number.unwrap_or_else(|| {
                seen.push(string);
                seen.len() - 1
            });
            (number as u32, self.inverse[vector])
        };
        vectors.iter().map(position).collect()
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
