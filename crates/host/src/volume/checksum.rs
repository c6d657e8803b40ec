//! CRC-32 (IEEE 802.3), which every page of a catalogue carries.

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let (mut crc, mut bit) = (index as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xEDB8_8320
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

/// The checksum of `bytes`.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        crc >> 8 ^ TABLE[((crc ^ u32::from(*byte)) & 0xFF) as usize]
    })
}

#[test]
fn it_is_the_one_of_ieee_802_3() {
    assert_eq!(
        crc32(b"123456789"),
        0xCBF4_3926,
        "the check value of the standard"
    );
}
