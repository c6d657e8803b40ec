//! Bits of many entries in words, and in the bytes of a page.

/// Bits of entries are in words of so many.
pub(super) const WORD: usize = 64;

/// Up to eight bytes as a word.
pub(super) fn word_of(bytes: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(eight)
}

/// Makes bit j of word i bit i of word j: halves change places, then quarters, and so on.
pub(super) fn transpose(words: &mut [u64; WORD]) {
    let (mut width, mut mask) = (WORD / 2, u64::MAX >> (WORD / 2));
    while width > 0 {
        let mut at = 0;
        while at < WORD {
            let other = at + width;
            let differing = (words[at] >> width ^ words[other]) & mask;
            words[at] ^= differing << width;
            words[other] ^= differing;
            at = (other + 1) & !width;
        }
        width /= 2;
        mask ^= mask << width;
    }
}

/// Words as bytes, as many as there is room for.
pub(super) fn fill(words: impl Iterator<Item = u64>, into: &mut [u8]) {
    for (word, eight) in words.zip(into.chunks_mut(8)) {
        eight.copy_from_slice(&word.to_le_bytes()[..eight.len()]);
    }
}

/// The numbers of the ones among words.
pub(super) fn ones(words: impl Iterator<Item = u64>) -> impl Iterator<Item = u32> {
    let words = words.enumerate().filter(|(_, word)| *word != 0);
    words.flat_map(|(at, mut word)| {
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros())?;
            word &= word - 1;
            Some(at as u32 * WORD as u32 + bit)
        })
    })
}

/// A page of bits as words.
pub(super) fn words(page: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let (eights, _) = page.as_chunks::<8>();
    eights.iter().map(|eight| u64::from_le_bytes(*eight))
}
