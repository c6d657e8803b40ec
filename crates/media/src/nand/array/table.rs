//! States and spare bytes of the pages of one block.

use super::PageState;
use std::collections::BTreeMap;

/// Made when a block's first page is programmed. Spare bytes lie in records as long as those of the
/// block's first page, which all its pages have in practice; longer ones are kept aside.
#[derive(Clone)]
pub(super) struct PageTable {
    states: Box<[PageState]>,
    /// For each page a length byte and `stride` bytes; empty until a page has spare bytes.
    records: Box<[u8]>,
    stride: u8,
    long: BTreeMap<u32, Box<[u8]>>,
}

/// The length byte of a page whose spare bytes are kept aside.
const LONG: u8 = u8::MAX;

impl PageTable {
    pub(super) fn new(pages: u32) -> PageTable {
        PageTable {
            states: vec![PageState::Erased; pages as usize].into(),
            records: Box::default(),
            stride: 0,
            long: BTreeMap::new(),
        }
    }

    /// The state of a page; pages beyond the block's mode are erased.
    pub(super) fn state(&self, page: u32) -> PageState {
        self.states
            .get(page as usize)
            .copied()
            .unwrap_or(PageState::Erased)
    }

    pub(super) fn spare(&self, page: u32) -> &[u8] {
        if self.records.is_empty() {
            return self.long.get(&page).map_or(&[], |spare| spare);
        }
        let start = page as usize * (1 + usize::from(self.stride));
        match self.records[start] {
            LONG => &self.long[&page],
            length => &self.records[start + 1..start + 1 + usize::from(length)],
        }
    }

    pub(super) fn program(&mut self, page: u32, state: PageState, spare: &[u8]) {
        self.states[page as usize] = state;
        if spare.is_empty() {
            return;
        }
        if self.records.is_empty() && spare.len() < usize::from(LONG) {
            self.stride = spare.len() as u8;
            self.records = vec![0; self.states.len() * (1 + spare.len())].into();
            for &page in self.long.keys() {
                self.records[page as usize * (1 + spare.len())] = LONG;
            }
        }
        let stride = usize::from(self.stride);
        let start = page as usize * (1 + stride);
        if spare.len() > stride {
            if let Some(length) = self.records.get_mut(start) {
                *length = LONG;
            }
            self.long.insert(page, spare.into());
        } else {
            self.records[start] = spare.len() as u8;
            self.records[start + 1..start + 1 + spare.len()].copy_from_slice(spare);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_bytes_of_any_length_come_back() {
        let lengths = [300, 0, 12, 12, 254, 255, 3, 0, 13];
        for first in 0..lengths.len() {
            let mut table = PageTable::new(32);
            let spare = |page: usize| vec![page as u8 + 1; lengths[(first + page) % lengths.len()]];
            for page in 0..lengths.len() {
                table.program(page as u32, PageState::Programmed, &spare(page));
            }
            for page in 0..lengths.len() {
                assert_eq!(table.spare(page as u32), spare(page), "order {first}");
            }
            assert_eq!(table.spare(31), b"");
        }
    }
}
