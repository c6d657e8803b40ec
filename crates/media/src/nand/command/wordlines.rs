//! The page bitmap of a multi-wordline sense.

use super::super::geometry::CELLS_PER_STRING_MAX;

/// A set of wordlines (layers) of one string: the page bitmap of Flash-Cosmos Figure 15.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordlineBitmap([u64; 4]);

impl WordlineBitmap {
    /// No wordline.
    pub const EMPTY: WordlineBitmap = WordlineBitmap([0; 4]);

    /// The wordline at `layer`.
    ///
    /// # Panics
    /// If `layer` is 256 or more.
    pub const fn single(layer: u32) -> WordlineBitmap {
        let mut bitmap = WordlineBitmap::EMPTY;
        bitmap.insert(layer);
        bitmap
    }

    /// The wordlines below `layers`.
    ///
    /// # Panics
    /// If `layers` is more than 256.
    pub fn first(layers: u32) -> WordlineBitmap {
        (0..layers).collect()
    }

    /// Adds the wordline at `layer`.
    ///
    /// # Panics
    /// If `layer` is 256 or more.
    pub const fn insert(&mut self, layer: u32) {
        assert!(
            layer < CELLS_PER_STRING_MAX,
            "a string has at most 256 cells"
        );
        self.0[layer as usize / 64] |= 1 << (layer % 64);
    }

    /// Whether the wordline at `layer` is in the set.
    pub const fn contains(&self, layer: u32) -> bool {
        layer < CELLS_PER_STRING_MAX && self.0[layer as usize / 64] & 1 << (layer % 64) != 0
    }

    /// How many wordlines.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }

    /// The highest layer; `None` of the empty set.
    pub fn last(&self) -> Option<u32> {
        (0..4u32).rev().find_map(|word| {
            let bits = self.0[word as usize];
            (bits != 0).then(|| word * 64 + 63 - bits.leading_zeros())
        })
    }

    /// The layers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + Clone + use<> {
        let words = self.0;
        (0..4u32).flat_map(move |word| {
            let mut bits = words[word as usize];
            std::iter::from_fn(move || {
                (bits != 0).then(|| {
                    let bit = bits.trailing_zeros();
                    bits &= bits - 1;
                    word * 64 + bit
                })
            })
        })
    }

    /// The bytes of the bitmap, layer 0 in bit 0 of byte 0.
    pub(crate) fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

impl FromIterator<u32> for WordlineBitmap {
    /// The set of these layers.
    ///
    /// # Panics
    /// If a layer is 256 or more.
    fn from_iter<I: IntoIterator<Item = u32>>(layers: I) -> WordlineBitmap {
        let mut bitmap = WordlineBitmap::EMPTY;
        for layer in layers {
            bitmap.insert(layer);
        }
        bitmap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_come_back_ascending() {
        let layers = [0, 5, 63, 64, 127, 128, 200, 255];
        let bitmap: WordlineBitmap = layers.into_iter().rev().collect();
        assert_eq!(bitmap.iter().collect::<Vec<_>>(), layers);
        assert_eq!((bitmap.count(), bitmap.last()), (8, Some(255)));
        assert!(bitmap.contains(200) && !bitmap.contains(201) && !bitmap.contains(256));
        assert_eq!(
            WordlineBitmap::first(48).iter().collect::<Vec<_>>(),
            (0..48).collect::<Vec<_>>()
        );
        assert_eq!(WordlineBitmap::EMPTY.last(), None);
    }
}
