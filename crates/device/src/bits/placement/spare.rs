//! The record in the spare area of every page of a vector, from which recovery rebuilds the groups.

use super::BITS_MAX;

/// Bytes of an encoded record.
pub const SPARE_BYTES: usize = 32;

/// First byte of every record; other pages have other tags.
const TAG: u8 = 0x56;
const INVERSE: u8 = 1;
const DELETED: u8 = 2;
/// Row set numbers have 24 bits.
pub(super) const ROW_SET_MAX: u32 = (1 << 24) - 1;

/// What a page is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorSpare {
    /// The group.
    pub group: u32,
    /// The vector in the group.
    pub vector: u32,
    /// Which chunk of the vector this page is; a vector of `bits` has `ceil(bits / page bits)`
    /// chunks.
    pub chunk: u32,
    /// The row set of the group; the layer follows from the page's address. Below 2^24.
    pub row_set: u32,
    /// Length of the vector in bits, at most [`BITS_MAX`].
    pub bits: u64,
    /// Rises with every vector written on the drive; below 2^48.
    pub version: u64,
    /// Dies of the group's home, zero for all of the drive; the first of them follows from the page's
    /// address.
    pub dies: u16,
    /// The inverse of the vector is stored.
    pub inverse: bool,
    /// The vector was deleted: this page says so and holds no data.
    pub deleted: bool,
}

impl VectorSpare {
    /// The record as bytes, little-endian: tag, flags, group, vector, chunk (4 bytes each), row set
    /// (3), bits, version (6 each), dies (2), checksum.
    pub fn encode(&self) -> [u8; SPARE_BYTES] {
        assert!(
            self.row_set <= ROW_SET_MAX && self.bits <= BITS_MAX && self.version < 1 << 48,
            "the groups keep these within their fields"
        );
        let mut bytes = [0; SPARE_BYTES];
        bytes[0] = TAG;
        bytes[1] = (u8::from(self.inverse) * INVERSE) | (u8::from(self.deleted) * DELETED);
        bytes[2..6].copy_from_slice(&self.group.to_le_bytes());
        bytes[6..10].copy_from_slice(&self.vector.to_le_bytes());
        bytes[10..14].copy_from_slice(&self.chunk.to_le_bytes());
        bytes[14..17].copy_from_slice(&self.row_set.to_le_bytes()[..3]);
        bytes[17..23].copy_from_slice(&self.bits.to_le_bytes()[..6]);
        bytes[23..29].copy_from_slice(&self.version.to_le_bytes()[..6]);
        bytes[29..31].copy_from_slice(&self.dies.to_le_bytes());
        bytes[SPARE_BYTES - 1] = checksum(&bytes);
        bytes
    }

    /// The record at the beginning of a page's spare area; `None` if there is none, or a damaged
    /// one.
    pub fn decode(spare: &[u8]) -> Option<VectorSpare> {
        let bytes: &[u8; SPARE_BYTES] = spare.first_chunk()?;
        let flags = bytes[1];
        let sound = bytes[0] == TAG
            && flags & !(INVERSE | DELETED) == 0
            && bytes[SPARE_BYTES - 1] == checksum(bytes);
        sound.then(|| VectorSpare {
            group: little_endian(&bytes[2..6]) as u32,
            vector: little_endian(&bytes[6..10]) as u32,
            chunk: little_endian(&bytes[10..14]) as u32,
            row_set: little_endian(&bytes[14..17]) as u32,
            bits: little_endian(&bytes[17..23]),
            version: little_endian(&bytes[23..29]),
            dies: little_endian(&bytes[29..31]) as u16,
            inverse: flags & INVERSE != 0,
            deleted: flags & DELETED != 0,
        })
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// CRC-8 (polynomial 0x07) over all but the last byte.
fn checksum(bytes: &[u8; SPARE_BYTES]) -> u8 {
    bytes[..SPARE_BYTES - 1]
        .iter()
        .fold(0, |crc, &byte| CRC_OF[usize::from(crc ^ byte)])
}

/// The CRC of each byte: millions of records are made when vectors are placed.
const CRC_OF: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u8, 0);
        while bit < 8 {
            crc = (crc << 1) ^ if crc & 0x80 != 0 { 0x07 } else { 0 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = VectorSpare> {
        let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), 0..=ROW_SET_MAX);
        (
            numbers,
            0..=BITS_MAX,
            0..=BITS_MAX,
            any::<u16>(),
            any::<bool>(),
            any::<bool>(),
        )
            .prop_map(
                |((group, vector, chunk, row_set), bits, version, dies, inverse, deleted)| {
                    VectorSpare {
                        group,
                        vector,
                        chunk,
                        row_set,
                        bits,
                        version,
                        dies,
                        inverse,
                        deleted,
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn records_round_trip(record in record(), tail in vec(any::<u8>(), 0..9)) {
            let mut bytes = record.encode().to_vec();
            bytes.extend(tail);
            prop_assert_eq!(VectorSpare::decode(&bytes), Some(record));
        }

        #[test]
        fn a_flipped_bit_is_noticed(record in record(), bit in 0..SPARE_BYTES * 8) {
            let mut bytes = record.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(VectorSpare::decode(&bytes), None);
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in vec(any::<u8>(), 0..40)) {
            if let Some(record) = VectorSpare::decode(&bytes) {
                prop_assert_eq!(&record.encode()[..], &bytes[..SPARE_BYTES]);
            }
        }
    }
}
