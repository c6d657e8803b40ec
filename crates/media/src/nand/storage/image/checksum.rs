//! CRC-32 (IEEE 802.3), to recognize damage in images.

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let divides = remainder & 1 != 0;
            remainder >>= 1;
            if divides {
                remainder ^= 0xEDB8_8320;
            }
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

/// The checksum of the concatenation of `parts`.
pub(super) fn crc32(parts: &[&[u8]]) -> u32 {
    let bytes = parts.iter().copied().flatten();
    !bytes.fold(!0, |crc: u32, byte| {
        crc >> 8 ^ TABLE[((crc ^ u32::from(*byte)) & 0xFF) as usize]
    })
}

#[cfg(test)]
mod tests {
    use super::crc32;

    #[test]
    fn has_the_published_check_value() {
        assert_eq!(crc32(&[b"1234", b"56789"]), 0xCBF4_3926);
    }
}
