//! One place after another, round and round.

#[derive(Default)]
pub(in crate::workload::flow) struct Sequence {
    next: u64,
}

impl Sequence {
    /// The place behind the last request, or the first if `length` do not fit there.
    #[inline]
    pub(super) fn next(&mut self, length: u64, places: u64) -> u64 {
        if self.next + length > places {
            self.next = 0;
        }
        let place = self.next;
        self.next += length;
        place
    }
}
