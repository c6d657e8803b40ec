//! Numbers as names whose order is that of the numbers, for [`super::ranges`].

/// An unsigned number.
pub fn unsigned(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A signed number: its sign bit is inverted, so that negative ones come first.
pub fn signed(number: i64) -> [u8; 8] {
    (number.cast_unsigned() ^ 1 << 63).to_be_bytes()
}

/// A double-precision number: the order of IEEE 754's totalOrder, in which all bits of negative ones are inverted, but -0 is
/// the same as 0. `None` for what is not a number, which has no place among those.
pub fn float(number: f64) -> Option<[u8; 8]> {
    if number.is_nan() {
        return None;
    }
    // Adding 0 makes -0 one.
    let bits = (number + 0.0).to_bits();
    let ordered = match bits >> 63 {
        0 => bits ^ 1 << 63,
        _ => !bits,
    };
    Some(ordered.to_be_bytes())
}

/// The signed number that [`signed`] made a name of.
pub fn to_signed(name: [u8; 8]) -> i64 {
    (u64::from_be_bytes(name) ^ 1 << 63).cast_signed()
}

/// The number that [`float`] made a name of.
pub fn to_float(name: [u8; 8]) -> f64 {
    let ordered = u64::from_be_bytes(name);
    f64::from_bits(match ordered >> 63 {
        0 => !ordered,
        _ => ordered ^ 1 << 63,
    })
}
