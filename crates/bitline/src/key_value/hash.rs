//! A hash of 128 bits (SipHash-2-4 with a result of 128 bits; Aumasson and Bernstein, "SipHash: a fast short-input PRF",
//! INDOCRYPT 2012, and the reference code's `siphash.c`).

struct State {
    v: [u64; 4],
}

impl State {
    fn round(&mut self) {
        let [v0, v1, v2, v3] = &mut self.v;
        *v0 = v0.wrapping_add(*v1);
        *v1 = v1.rotate_left(13) ^ *v0;
        *v0 = v0.rotate_left(32);
        *v2 = v2.wrapping_add(*v3);
        *v3 = v3.rotate_left(16) ^ *v2;
        *v0 = v0.wrapping_add(*v3);
        *v3 = v3.rotate_left(21) ^ *v0;
        *v2 = v2.wrapping_add(*v1);
        *v1 = v1.rotate_left(17) ^ *v2;
        *v2 = v2.rotate_left(32);
    }

    fn absorb(&mut self, word: u64) {
        self.v[3] ^= word;
        self.round();
        self.round();
        self.v[0] ^= word;
    }

    fn half(&mut self) -> u64 {
        (0..4).for_each(|_| self.round());
        self.v.iter().fold(0, |all, word| all ^ word)
    }
}

/// The hash of some bytes under a key.
pub(super) fn hash(key: [u64; 2], bytes: &[u8]) -> [u8; 16] {
    let mut state = State {
        v: [
            key[0] ^ 0x736f_6d65_7073_6575,
            key[1] ^ 0x646f_7261_6e64_6f6d ^ 0xEE,
            key[0] ^ 0x6c79_6765_6e65_7261,
            key[1] ^ 0x7465_6462_7974_6573,
        ],
    };
    let words = bytes.chunks_exact(8);
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    last[7] = bytes.len() as u8;
    for word in words {
        state.absorb(u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    state.absorb(u64::from_le_bytes(last));
    state.v[2] ^= 0xEE;
    let low = state.half();
    state.v[1] ^= 0xDD;
    let high = state.half();
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&low.to_le_bytes());
    hash[8..].copy_from_slice(&high.to_le_bytes());
    hash
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn it_is_the_reference_codes() {
        // `vectors_sip128` of the reference code: key 0, 1, ... 15, input 0, 1, ... of that length.
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let bytes: Vec<u8> = (0..63).collect();
        assert_eq!(
            hash(key, &[]),
            0xa3817f04ba25a8e66df67214c7550293_u128.to_be_bytes()
        );
        assert_eq!(
            hash(key, &bytes[..1]),
            0xda87c1d86b99af44347659119b22fc45_u128.to_be_bytes()
        );
        assert_eq!(
            hash(key, &bytes[..15]),
            0x5493e99933b0a8117e08ec0f97cfc3d9_u128.to_be_bytes()
        );
        assert_eq!(
            hash(key, &bytes),
            0x5150d1772f50834a503e069a973fbd7c_u128.to_be_bytes()
        );
    }
}
