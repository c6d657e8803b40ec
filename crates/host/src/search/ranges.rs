//! Ranges of numbers as names with don't cares: a drive that compares bits finds a range by the prefixes that make it up.
//!
//! Names are numbers whose first byte is the most significant one, so that the order of bytes is that of the numbers. Of
//! a number of bits that is no multiple of eight, the last byte has the lowest ones (at most 7) in its lower end, where
//! patterns have them.

use std::ops::Bound;

use nvme::query::{MAX_NAME_BITS, Pattern, QueryError};

use super::error::SearchError;

/// The fewest prefixes that are exactly the numbers of `bits` bits between two bounds, in ascending order; none if there
/// are no such numbers. They are at most 2 `bits` - 2, and one for all numbers (Gupta and McKeown, "Algorithms for Packet
/// Classification", IEEE Network 2001).
///
/// # Errors
/// Bits that no name has; [`SearchError::Usage`] for a bound that is no number of so many bits.
pub fn prefixes(
    bits: u32,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
) -> Result<Vec<Pattern>, SearchError> {
    if !(1..=MAX_NAME_BITS).contains(&bits) {
        return Err(QueryError::Bits(bits).into());
    }
    let low = match low {
        Bound::Unbounded => Some(vec![false; bits as usize]),
        Bound::Included(low) => Some(digits(bits, low)?),
        Bound::Excluded(low) => neighbour(digits(bits, low)?, true),
    };
    let high = match high {
        Bound::Unbounded => Some(vec![true; bits as usize]),
        Bound::Included(high) => Some(digits(bits, high)?),
        Bound::Excluded(high) => neighbour(digits(bits, high)?, false),
    };
    let (Some(low), Some(high)) = (low, high) else {
        return Ok(Vec::new());
    };
    if low > high {
        return Ok(Vec::new());
    }
    let all = between(&low, &high);
    all.iter().map(|prefix| pattern(bits, prefix)).collect()
}

/// A number's bits, the most significant one first.
fn digits(bits: u32, number: &[u8]) -> Result<Vec<bool>, SearchError> {
    let last_bits = (bits - 1) % 8 + 1;
    let has_bytes = number.len() == bits.div_ceil(8) as usize;
    let fits = number
        .last()
        .is_some_and(|byte| u32::from(*byte) >> last_bits == 0);
    if !has_bytes || !fits {
        return Err(SearchError::Usage(format!(
            "{} bytes are no number of {bits} bits: it takes {} bytes, the last with its lower {} bits",
            number.len(),
            bits.div_ceil(8),
            last_bits
        )));
    }
    let position = |index: u32| number[index as usize / 8] >> (place(bits, index) % 8) & 1 != 0;
    Ok((0..bits).map(position).collect())
}

/// Which bit of a name the `index`-th most significant one of its number is.
fn place(bits: u32, index: u32) -> u32 {
    let byte = index / 8;
    let bits_of_byte = (bits - 8 * byte).min(8);
    8 * byte + bits_of_byte - 1 - index % 8
}

/// The next number, or the one before; none beyond the ends.
fn neighbour(mut number: Vec<bool>, is_next: bool) -> Option<Vec<bool>> {
    // What carries over: ones upwards, zeroes downwards.
    let stop = number.iter().rposition(|digit| *digit != is_next)?;
    number[stop] = is_next;
    number[stop + 1..].fill(!is_next);
    Some(number)
}

/// The prefixes from `low` to `high`, both included, in ascending order.
fn between(low: &[bool], high: &[bool]) -> Vec<Vec<bool>> {
    let differing = low.iter().zip(high).position(|(low, high)| low != high);
    let common = differing.unwrap_or(low.len());
    let is_whole = !low[common..].contains(&true) && !high[common..].contains(&false);
    if is_whole {
        return vec![low[..common].to_vec()];
    }
    let with = |number: &[bool], index: usize, digit| {
        let mut prefix = number[..index].to_vec();
        prefix.push(digit);
        prefix
    };
    // From `common` on `low` goes on with 0 and `high` with 1; what of each comes after only zeroes, or only ones, is one
    // prefix with it.
    let tail = |number: &[bool], digit| {
        let last = number[common + 1..]
            .iter()
            .rposition(|found| *found == digit);
        last.map_or(common + 1, |last| common + 1 + last + 1)
    };
    let (low_end, high_end) = (tail(low, true), tail(high, false));
    let mut prefixes = vec![low[..low_end].to_vec()];
    let above = (common + 1..low_end).rev().filter(|index| !low[*index]);
    prefixes.extend(above.map(|index| with(low, index, true)));
    let below = (common + 1..high_end).filter(|index| high[*index]);
    prefixes.extend(below.map(|index| with(high, index, false)));
    prefixes.push(high[..high_end].to_vec());
    prefixes
}

fn pattern(bits: u32, prefix: &[bool]) -> Result<Pattern, SearchError> {
    let bytes = bits.div_ceil(8) as usize;
    let (mut name, mut mask) = (vec![0_u8; bytes], vec![0_u8; bytes]);
    for (index, digit) in prefix.iter().enumerate() {
        let place = place(bits, index as u32);
        mask[place as usize / 8] |= 1 << (place % 8);
        name[place as usize / 8] |= u8::from(*digit) << (place % 8);
    }
    Ok(Pattern::new(bits, &name, &mask)?)
}
