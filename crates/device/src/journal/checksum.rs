//! CRC-32 (IEEE 802.3) over the payload of a page.

const POLYNOMIAL: u32 = 0xEDB8_8320;

/// What each value of a byte changes.
static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let odd = crc & 1 == 1;
            crc >>= 1;
            if odd {
                crc ^= POLYNOMIAL;
            }
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// The checksum of `bytes`.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        crc >> 8 ^ TABLE[((crc ^ u32::from(*byte)) & 0xFF) as usize]
    })
}

#[test]
fn the_check_value_of_the_standard_comes_out() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
}
