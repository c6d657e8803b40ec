//! The bytes, of which those that were never written take no room.

use std::collections::BTreeMap;
use std::ops::Range;

const PAGE_BYTES: u64 = 4096;

/// Bytes, zero until they are written.
#[derive(Default)]
pub(super) struct Store(BTreeMap<u64, Box<[u8]>>);

impl Store {
    pub(super) fn read(&self, start: u64, into: &mut [u8]) {
        let all = start..start + into.len() as u64;
        for (page, part) in pages(&all) {
            let place = place(&all, page, &part);
            match self.0.get(&page) {
                Some(bytes) => into[place].copy_from_slice(&bytes[part]),
                None => into[place].fill(0),
            }
        }
    }

    pub(super) fn write(&mut self, start: u64, from: &[u8]) {
        let all = start..start + from.len() as u64;
        for (page, part) in pages(&all) {
            let place = place(&all, page, &part);
            let bytes = self.0.entry(page);
            let bytes = bytes.or_insert_with(|| vec![0; PAGE_BYTES as usize].into());
            bytes[part].copy_from_slice(&from[place]);
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The pages that bytes touch, and which bytes of each.
fn pages(all: &Range<u64>) -> impl Iterator<Item = (u64, Range<usize>)> + use<> {
    let Range { start, end } = *all;
    let touched = start / PAGE_BYTES..end.div_ceil(PAGE_BYTES);
    touched.map(move |page| {
        let base = page * PAGE_BYTES;
        let first = start.max(base) - base;
        let last = end.min(base + PAGE_BYTES) - base;
        (page, first as usize..last as usize)
    })
}

/// Where in all of the bytes a part of a page lies.
fn place(all: &Range<u64>, page: u64, part: &Range<usize>) -> Range<usize> {
    let first = (page * PAGE_BYTES + part.start as u64 - all.start) as usize;
    first..first + part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_wherever_pages_end() {
        let mut store = Store::default();
        let mut model = vec![0; 5 * PAGE_BYTES as usize];
        for (number, (start, bytes)) in [(4000, 200), (0, 1), (8192, 4096), (4095, 8194)]
            .into_iter()
            .enumerate()
        {
            let data = vec![number as u8 + 1; bytes];
            store.write(start, &data);
            model[start as usize..][..bytes].copy_from_slice(&data);
        }
        let mut all = vec![9; model.len()];
        store.read(0, &mut all);
        assert_eq!(all, model);
        let mut part = vec![9; 5000];
        store.read(4094, &mut part);
        assert_eq!(part, model[4094..9094]);
        store.clear();
        store.read(0, &mut all);
        assert!(all.iter().all(|byte| *byte == 0));
    }
}
