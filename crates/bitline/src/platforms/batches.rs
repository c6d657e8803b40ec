//! Long vectors in batches.

/// Batches that are on their way at the same time: enough to keep dies and link busy while one ends
/// and the next begins.
pub(crate) const AHEAD: usize = 4;

/// A part of vectors, and of what is computed from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Its first page.
    pub(crate) page: u64,
    /// Its length in bits.
    pub(crate) bits: u64,
}

/// How vectors are divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batches {
    page_bits: u64,
    pages: u64,
}

impl Batches {
    /// Into batches of as many pages of `page_bytes` as `batch_bytes` hold, at least one.
    pub(crate) fn new(page_bytes: u32, batch_bytes: u64) -> Batches {
        let page_bytes = u64::from(page_bytes);
        Batches {
            page_bits: page_bytes * 8,
            pages: (batch_bytes / page_bytes).max(1),
        }
    }

    /// The batches of a vector of `bits`, in order.
    pub(crate) fn of(self, bits: u64) -> impl Iterator<Item = Batch> {
        let step = self.pages * self.page_bits;
        (0..bits.div_ceil(step)).map(move |number| Batch {
            page: number * self.pages,
            bits: step.min(bits - number * step),
        })
    }
}
