//! Memory range sets: which ranges programs may see.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use nvme::Status;

use super::GRANULARITY;

/// Ranges that a program sees, in order: bytes of the memory.
#[derive(Debug, Default)]
pub struct RangeSet(Vec<Range<u64>>);

impl RangeSet {
    /// A set of ranges of a memory of so many bytes.
    ///
    /// # Errors
    /// Invalid Memory Range Set for ranges without bytes, beyond the memory, or not of whole dwords; Overlapping Memory Ranges.
    pub fn new(ranges: Vec<Range<u64>>, memory_bytes: u64) -> Result<RangeSet, Status> {
        let granularity = u64::from(GRANULARITY);
        let fits = |range: &Range<u64>| {
            let whole =
                range.start.is_multiple_of(granularity) && range.end.is_multiple_of(granularity);
            whole && range.start < range.end && range.end <= memory_bytes
        };
        if !ranges.iter().all(fits) {
            return Err(Status::INVALID_MEMORY_RANGE_SET);
        }
        let mut sorted: Vec<_> = ranges.iter().collect();
        sorted.sort_unstable_by_key(|range| range.start);
        let overlap = sorted.windows(2).any(|two| two[1].start < two[0].end);
        match overlap {
            true => Err(Status::OVERLAPPING_MEMORY_RANGES),
            false => Ok(RangeSet(ranges)),
        }
    }

    /// The ranges.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }
}

/// The sets that there are, by identifier.
#[derive(Default)]
pub(super) struct Sets(BTreeMap<u16, Rc<RangeSet>>);

impl Sets {
    /// Takes a set; gives its identifier, the lowest that is free.
    pub(super) fn create(&mut self, set: RangeSet, most: u16) -> Result<u16, Status> {
        let free = (1..=most).find(|id| !self.0.contains_key(id));
        let id = free.ok_or(Status::MAXIMUM_MEMORY_RANGE_SETS_EXCEEDED)?;
        self.0.insert(id, Rc::new(set));
        Ok(id)
    }

    pub(super) fn get(&self, id: u16) -> Result<Rc<RangeSet>, Status> {
        let set = self.0.get(&id).cloned();
        set.ok_or(Status::INVALID_MEMORY_RANGE_SET_IDENTIFIER)
    }

    /// Removes a set that no run sees.
    pub(super) fn delete(&mut self, id: u16) -> Result<(), Status> {
        let set = self.0.get(&id);
        let set = set.ok_or(Status::INVALID_MEMORY_RANGE_SET_IDENTIFIER)?;
        if Rc::strong_count(set) > 1 {
            return Err(Status::MEMORY_RANGE_SET_IN_USE);
        }
        self.0.remove(&id);
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, &RangeSet)> {
        self.0.iter().map(|(id, set)| (*id, &**set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_checked_numbered_and_kept_while_in_use() {
        let set = |ranges: &[Range<u64>]| RangeSet::new(ranges.to_vec(), 4096);
        let refused = |ranges: &[Range<u64>]| set(ranges).err();
        let invalid = Some(Status::INVALID_MEMORY_RANGE_SET);
        for wrong in [8..8, 2..8, 4..6, 4092..4100, 5000..5004] {
            assert_eq!(refused(&[0..4, wrong]), invalid);
        }
        let overlapping = Some(Status::OVERLAPPING_MEMORY_RANGES);
        assert_eq!(refused(&[100..200, 0..8, 196..300]), overlapping);
        assert_eq!(refused(&[100..200, 0..8, 200..300]), None);

        let mut sets = Sets::default();
        let one = || set(&[0..4, 4..8]).expect("a set");
        assert_eq!(sets.create(one(), 2), Ok(1));
        assert_eq!(sets.create(one(), 2), Ok(2));
        let full = Err(Status::MAXIMUM_MEMORY_RANGE_SETS_EXCEEDED);
        assert_eq!(sets.create(one(), 2), full);
        let used = sets.get(1).expect("it is there");
        assert_eq!(sets.delete(1), Err(Status::MEMORY_RANGE_SET_IN_USE));
        drop(used);
        assert_eq!(sets.delete(1), Ok(()));
        let unknown = Status::INVALID_MEMORY_RANGE_SET_IDENTIFIER;
        assert_eq!(sets.delete(1), Err(unknown));
        assert_eq!(sets.get(0).err(), Some(unknown));
        assert_eq!(sets.create(one(), 2), Ok(1));
    }
}
