//! Digests: CRC-32C over a header, or over data (TCP 3.3.1.1).

/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 4;

/// The digest of `bytes` that follow others, whose digest was `so_far`; 0 if there are none.
pub fn digest_of(so_far: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(so_far, bytes)
}

/// The digest of `bytes`, as it crosses.
pub fn digest(bytes: &[u8]) -> [u8; DIGEST_BYTES] {
    digest_of(0, bytes).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        // RFC 3720, B.4.
        assert_eq!(digest(&[0; 32]), [0xAA, 0x36, 0x91, 0x8A]);
        assert_eq!(digest(&[0xFF; 32]), [0x43, 0xAB, 0xA8, 0x62]);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(digest(&ascending), [0x4E, 0x79, 0xDD, 0x46]);
        let halves = digest_of(digest_of(0, &ascending[..9]), &ascending[9..]);
        assert_eq!(halves.to_le_bytes(), digest(&ascending));
    }
}
