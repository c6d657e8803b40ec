//! Where the vectors of the volume are, for whoever evaluates them while it is changed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use host::volume::{Content, Object, ObjectId};
use nvme::VectorId;

use super::DriveVolume;

/// Where a vector is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its name in its group.
    pub(crate) name: Rc<str>,
    /// Its first logical block.
    pub(crate) first: u64,
    /// How many it has.
    pub(crate) blocks: u64,
    /// Its length, bits.
    pub(crate) bits: u64,
}

/// The vectors that there are. A change of some is learned by looking at these alone.
#[derive(Default)]
pub(crate) struct Index {
    places: BTreeMap<VectorId, Place>,
    /// The names of groups, by number.
    groups: BTreeMap<u32, Rc<str>>,
}

impl Index {
    /// Everything that a volume holds.
    pub(crate) fn of(volume: &DriveVolume) -> Index {
        let mut index = Index::default();
        for object in volume.objects() {
            index.learn(volume, object.id);
            let vectors = volume.vectors(object.id);
            index
                .places
                .extend(vectors.filter_map(|vector| place(&vector)));
        }
        index
    }

    /// Learns a group's name, or where a vector is.
    pub(crate) fn learn(&mut self, volume: &DriveVolume, id: ObjectId) {
        let Some(object) = volume.get(id) else {
            return;
        };
        if let Some((id, place)) = place(&object) {
            self.places.insert(id, place);
        } else if matches!(object.content, Content::Group(_)) {
            self.groups.insert(object.id.get(), object.name.into());
        }
    }

    /// Forgets a vector.
    pub(crate) fn forget(&mut self, vector: VectorId) {
        self.places.remove(&vector);
    }

    /// Forgets a group and its vectors.
    pub(crate) fn forget_group(&mut self, group: ObjectId) {
        let number = group.get();
        self.groups.remove(&number);
        let all = VectorId::new(number, 0)..=VectorId::new(number, u32::MAX);
        let vectors: Vec<VectorId> = self.places.range(all).map(|(id, _)| *id).collect();
        vectors.iter().for_each(|id| drop(self.places.remove(id)));
    }

    /// Where a vector is.
    pub(crate) fn place(&self, id: VectorId) -> Option<&Place> {
        self.places.get(&id)
    }

    /// The vectors that there are.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Place> {
        self.places.values()
    }

    /// What people call a vector: `group:vector`.
    pub(crate) fn label(&self, id: VectorId) -> Rc<str> {
        let known = self.groups.get(&id.group).zip(self.places.get(&id));
        let label = known.map(|(group, place)| format!("{group}:{}", place.name));
        label.unwrap_or_else(|| id.to_string()).into()
    }
}

/// What a vector is called in expressions, and where it is.
fn place(vector: &Object) -> Option<(VectorId, Place)> {
    let Content::Vector(content) = &vector.content else {
        return None;
    };
    let row = row(vector);
    let place = Place {
        name: vector.name.as_str().into(),
        first: row.start,
        blocks: row.end - row.start,
        bits: content.bits,
    };
    Some((id_of(vector.id, content.group), place))
}

/// What a vector is called in expressions: nothing that comes later is called the same.
pub(crate) fn id_of(vector: ObjectId, group: ObjectId) -> VectorId {
    VectorId::new(group.get(), vector.get())
}

/// The logical blocks of a vector, which is one run of them.
fn row(vector: &Object) -> Range<u64> {
    let extents = &vector.extents;
    let first = extents.first().map_or(0, |extent| extent.first);
    first
        ..extents
            .last()
            .map_or(0, |extent| extent.first + extent.blocks)
}
