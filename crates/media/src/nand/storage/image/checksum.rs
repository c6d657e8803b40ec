//! Checksums of parts of images, and sums over all that an image holds.

/// The CRC-32 (IEEE 802.3) of the concatenation of `slices`.
pub(super) fn crc32(slices: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    slices.iter().for_each(|slice| hasher.update(slice));
    hasher.finalize()
}

/// What a record with this number and checksum adds to the sum over all records. Numbers are never used
/// twice, so an older record in the place of a newer one changes the sum, and so does a missing one.
pub(super) fn weight(number: u64, check: u32) -> u64 {
    // The finalizer of SplitMix64.
    let mut mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(check);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::crc32;

    #[test]
    fn has_the_published_check_value() {
        assert_eq!(crc32(&[b"1234", b"56789"]), 0xCBF4_3926);
    }
}
