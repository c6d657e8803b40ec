//! Memory in slabs of one size, which whoever takes them keeps.

use std::ops::{Deref, DerefMut};

use bytes::BytesMut;

use super::chunks::{CHUNK_BYTES, new_chunk};

/// The first chunk, which is of ordinary pages: who wants few slabs takes little.
const FIRST_CHUNK_BYTES: usize = 4 << 20;

/// Where slabs come from: from large chunks, so that they lie in huge pages where the operating system has them. With ordinary ones
/// nearly every use of one of many slabs would miss the processor's translation buffer.
pub struct Slabs {
    bytes: usize,
    /// What is left of the chunk that came last.
    chunk: BytesMut,
    has_chunks: bool,
}

/// Some memory.
pub struct Slab(BytesMut);

impl Slabs {
    /// Of so many bytes each.
    pub fn of(bytes: usize) -> Slabs {
        Slabs {
            bytes,
            chunk: BytesMut::new(),
            has_chunks: false,
        }
    }

    /// One more, of zeroes.
    pub fn take(&mut self) -> Slab {
        if self.chunk.len() < self.bytes {
            let is_first = !std::mem::replace(&mut self.has_chunks, true);
            let room = match is_first {
                true => FIRST_CHUNK_BYTES,
                false => CHUNK_BYTES,
            };
            let slabs = (room / self.bytes).max(1);
            self.chunk = new_chunk(slabs * self.bytes, !is_first);
        }
        Slab(self.chunk.split_to(self.bytes))
    }
}

impl Deref for Slab {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Slab {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_are_disjoint() {
        for bytes in [24, 4096, CHUNK_BYTES] {
            let mut slabs = Slabs::of(bytes);
            let mut taken: Vec<Slab> = (0..5).map(|_| slabs.take()).collect();
            for (number, slab) in (1..).zip(&mut taken) {
                assert_eq!((slab.len(), slab[0]), (bytes, 0));
                (slab[0], slab[bytes - 1]) = (number, number);
            }
            let ends: Vec<_> = taken
                .iter()
                .map(|slab| (slab[0], slab[bytes - 1]))
                .collect();
            assert_eq!(ends, [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]);
        }
    }
}
