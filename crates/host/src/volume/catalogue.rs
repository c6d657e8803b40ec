//! The objects of a volume in memory: by number, by name, and vectors by group and number.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::extent::{Alignment, Space};
use super::object::{Content, Entry, Group, HANDLE_MAX, ObjectId};
use super::record::Record;
use super::superblock::Layout;

/// All objects. Whatever it holds is consistent: names differ, vectors have a group, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Catalogue {
    objects: BTreeMap<ObjectId, Entry>,
    names: BTreeMap<(ObjectId, String), ObjectId>,
    /// Vectors by group and number.
    vectors: BTreeMap<(ObjectId, u32), ObjectId>,
    /// How many vectors groups have, unless they have none.
    counts: BTreeMap<ObjectId, usize>,
    /// Groups by placement handle.
    handles: BTreeMap<u16, ObjectId>,
    /// The highest number that an object had.
    last: u32,
}

impl Catalogue {
    pub(super) fn get(&self, id: ObjectId) -> Option<&Entry> {
        self.objects.get(&id)
    }

    pub(super) fn named(&self, parent: ObjectId, name: &str) -> Option<ObjectId> {
        self.names.get(&(parent, name.to_owned())).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ObjectId, &Entry)> {
        self.objects.iter().map(|(id, entry)| (*id, entry))
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Groups, arrays, files and tables by name.
    pub(super) fn roots(&self) -> impl Iterator<Item = ObjectId> {
        let is_root = |((parent, _), _): &(&(ObjectId, String), _)| *parent == ObjectId::ROOT;
        self.names.iter().take_while(is_root).map(|(_, id)| *id)
    }

    /// The vectors of a group by number.
    pub(super) fn vectors(&self, group: ObjectId) -> impl Iterator<Item = ObjectId> {
        self.vectors.range(numbers(group)).map(|(_, id)| *id)
    }

    pub(super) fn numbered(&self, group: ObjectId, number: u32) -> Option<ObjectId> {
        self.vectors.get(&(group, number)).copied()
    }

    /// The highest number that an object had.
    pub(super) fn last(&self) -> u32 {
        self.last
    }

    /// New objects get numbers above this one, too.
    pub(super) fn number_above(&mut self, last: u32) {
        self.last = self.last.max(last);
    }

    /// The number after the highest of a group's vectors; `None` if there is no higher one.
    pub(super) fn next_number(&self, group: ObjectId) -> Option<u32> {
        let last = self.vectors.range(numbers(group)).next_back();
        last.map_or(Some(0), |((_, number), _)| number.checked_add(1))
    }

    /// A number for a new object: higher than any before, as long as there are any.
    pub(super) fn next_id(&self) -> ObjectId {
        let next = self.last.checked_add(1).map(ObjectId);
        next.unwrap_or_else(|| {
            let is_free = |id: &ObjectId| !self.objects.contains_key(id);
            let mut ids = (1..=u32::MAX).map(ObjectId);
            ids.find(is_free)
                .expect("memory holds fewer objects than there are numbers")
        })
    }

    /// How many vectors a group has.
    pub(super) fn vector_count(&self, group: ObjectId) -> usize {
        self.counts.get(&group).copied().unwrap_or(0)
    }

    pub(super) fn group_of_handle(&self, handle: u16) -> Option<ObjectId> {
        self.handles.get(&handle).copied()
    }

    /// The lowest placement handle that no group has and that is not taken otherwise; 0 is left free.
    pub(super) fn next_handle(&self, is_taken: impl Fn(u16) -> bool) -> Option<u16> {
        (1..=HANDLE_MAX).find(|handle| !self.handles.contains_key(handle) && !is_taken(*handle))
    }

    /// Replaces objects, all at once, and gives back what they were.
    ///
    /// # Errors
    /// What would not be consistent afterwards; nothing is changed then.
    pub(super) fn apply(&mut self, records: Vec<Record>) -> Result<Vec<Record>, String> {
        let ids: Vec<ObjectId> = records.iter().map(|(id, _)| *id).collect();
        let before: Vec<Record> = ids.iter().map(|id| (*id, self.take(*id))).collect();
        let mut result = Ok(());
        for (id, entry) in records {
            if let (Some(entry), true) = (entry, result.is_ok()) {
                result = self.put(id, entry);
            }
        }
        let result = result.and_then(|()| ids.iter().try_for_each(|id| self.check_group(*id)));
        if let Err(error) = result {
            self.restore(before);
            return Err(error);
        }
        Ok(before)
    }

    /// Puts back what [`Catalogue::apply`] gave.
    pub(super) fn restore(&mut self, before: Vec<Record>) {
        before.iter().for_each(|(id, _)| drop(self.take(*id)));
        for (id, entry) in before {
            if let Some(entry) = entry {
                let put = self.put(id, entry);
                debug_assert!(put.is_ok(), "what was there before fits: {put:?}");
            }
        }
    }

    fn take(&mut self, id: ObjectId) -> Option<Entry> {
        let entry = self.objects.remove(&id)?;
        self.names.remove(&(entry.parent(), entry.name.clone()));
        match &entry.content {
            Content::Vector(vector) => {
                self.vectors.remove(&(vector.group, vector.number));
                let left = self.vector_count(vector.group) - 1;
                match left {
                    0 => self.counts.remove(&vector.group),
                    _ => self.counts.insert(vector.group, left),
                };
            }
            Content::Group(group) => drop(self.handles.remove(&group.handle)),
            _ => {}
        }
        Some(entry)
    }

    fn put(&mut self, id: ObjectId, entry: Entry) -> Result<(), String> {
        let name = (entry.parent(), entry.name.clone());
        if self.objects.contains_key(&id) || self.names.contains_key(&name) {
            return Err(format!("object {} {:?} is there twice", id.0, entry.name));
        }
        match &entry.content {
            Content::Vector(vector) => {
                let number = (vector.group, vector.number);
                if self.vectors.contains_key(&number) {
                    return Err(format!("two vectors of a group have number {}", number.1));
                }
                self.vectors.insert(number, id);
                *self.counts.entry(vector.group).or_default() += 1;
            }
            Content::Group(group) => {
                if self.handles.contains_key(&group.handle) {
                    return Err(format!("two groups have handle {}", group.handle));
                }
                self.handles.insert(group.handle, id);
            }
            _ => {}
        }
        self.names.insert(name, id);
        self.objects.insert(id, entry);
        self.last = self.last.max(id.0);
        Ok(())
    }

    /// Whether an object that was replaced, or is there no more, leaves groups and vectors as they must be.
    fn check_group(&self, id: ObjectId) -> Result<(), String> {
        if let Some(Entry {
            name,
            content: Content::Vector(vector),
            ..
        }) = self.get(id)
        {
            let group = self.get(vector.group).map(|entry| &entry.content);
            return match group {
                Some(Content::Group(group)) if group.bits == vector.bits => Ok(()),
                Some(Content::Group(_)) => {
                    Err(format!("vector {name:?} is not as long as its group's"))
                }
                _ => Err(format!("vector {name:?} has no group")),
            };
        }
        let bits = self.get(id).and_then(|entry| match &entry.content {
            Content::Group(group) => Some(group.bits),
            _ => None,
        });
        let first = self.vectors.range(numbers(id)).next();
        let of_first = first.and_then(|(_, vector)| match &self.get(*vector)?.content {
            Content::Vector(vector) => Some(vector.bits),
            _ => None,
        });
        match (of_first, bits) {
            (Some(_), None) => Err(format!("group {} went, its vectors did not", id.0)),
            (Some(found), Some(bits)) if found != bits => Err(format!(
                "a vector of group {} is not as long as its group's",
                id.0
            )),
            _ => Ok(()),
        }
    }

    /// The free space that the objects leave in a volume.
    ///
    /// # Errors
    /// An object that does not lie where objects of this volume can, or where another does.
    pub(super) fn space(&self, layout: &Layout) -> Result<Space, String> {
        let mut space = Space::new(layout.data_pages());
        for entry in self.objects.values() {
            let name = &entry.name;
            if let Content::Group(group) = &entry.content {
                alignment(group, layout)
                    .ok_or_else(|| format!("group {name:?} has a matrix that cannot be"))?;
            }
            let mut pages = 0;
            for run in &entry.runs {
                let ends = run.first.checked_add(run.pages);
                if ends.is_none() || !space.claim(*run) {
                    return Err(format!(
                        "{name:?} lies where it cannot, or where another object lies"
                    ));
                }
                pages += u64::from(run.pages);
            }
            if matches!(entry.content, Content::Store(_)) && entry.runs.len() > 1 {
                return Err(format!("store {name:?} lies in pieces"));
            }
            if pages != layout.pages_for(entry.content.bytes()) {
                return Err(format!(
                    "{name:?} has {pages} pages for {} bytes",
                    entry.content.bytes()
                ));
            }
        }
        Ok(space)
    }
}

/// Where the vectors of a group may lie; `None` if its matrix does not fit the volume.
pub(super) fn alignment(group: &Group, layout: &Layout) -> Option<Alignment> {
    let page = u64::from(layout.page_blocks);
    let anchor = group.anchor.checked_sub(layout.data())?;
    let is_whole = anchor.is_multiple_of(page) && group.pitch.is_multiple_of(page);
    let alignment = Alignment {
        modulus: u32::try_from(group.pitch / page).ok()?,
        residue: u32::try_from(anchor / page).ok()?,
    };
    let row = layout.pages_for(group.bits.div_ceil(8));
    let fits =
        is_whole && alignment.residue < layout.data_pages() && u64::from(alignment.modulus) >= row;
    fits.then_some(alignment)
}

fn numbers(group: ObjectId) -> RangeInclusive<(ObjectId, u32)> {
    (group, 0)..=(group, u32::MAX)
}
