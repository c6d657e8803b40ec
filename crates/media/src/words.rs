//! Work on many words at once, in the widest registers that the processor has.

use arrayvec::ArrayVec;

/// Operands that are ANDed at once.
pub(crate) const STREAMS: usize = 12;

/// Words that are worked on side by side: a line of the processor's cache.
const LINE_WORDS: usize = 8;

type Line = [u64; LINE_WORDS];

/// A function compiled twice: as `plain`, for every processor, and for those that have AVX2. Which one runs shows in nothing
/// but speed.
macro_rules! widest {
    ($(#[$about:meta])* $visible:vis fn $name:ident($($of:ident: $type:ty),*) $(-> $gives:ty)? = $plain:ident) => {
        $(#[$about])*
        $visible fn $name($($of: $type),*) $(-> $gives)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,popcnt")]
                fn wide($($of: $type),*) $(-> $gives)? {
                    $plain($($of),*)
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                    // SAFETY: the processor has what the function is compiled for.
                    return unsafe { wide($($of),*) };
                }
            }
            $plain($($of),*)
        }
    };
}

widest! {
    /// Number of ones.
    pub fn count_ones(bytes: &[u8]) -> u64 = count_plain
}

widest! {
    /// ANDs operands of the length of `into` into it, or, `anew`, puts their AND there: as many streams at once as there
    /// are, since memory serves several faster than one after the other. Tells whether `into` is still to be begun.
    pub(crate) fn and_all(into: &mut [u64], operands: &[&[u64]], anew: bool) -> bool = and_plain
}

/// Number of ones among the first `bits` bits.
pub(crate) fn count_first_ones(bytes: &[u8], bits: u64) -> u64 {
    let whole = (bits / 8).min(bytes.len() as u64) as usize;
    let (whole, rest) = bytes.split_at(whole);
    let mask = (1u8 << (bits % 8)) - 1;
    let rest = rest.first().map_or(0, |byte| (byte & mask).count_ones());
    count_ones(whole) + u64::from(rest)
}

widest! {
    /// `into &= words`, word by word.
    pub(crate) fn and(into: &mut [u64], words: &[u64]) = plain_and
}

widest! {
    /// `into |= words`, word by word.
    pub(crate) fn or(into: &mut [u64], words: &[u64]) = plain_or
}

widest! {
    /// `into ^= words`, word by word.
    pub(crate) fn xor(into: &mut [u64], words: &[u64]) = plain_xor
}

widest! {
    /// Whether all words are zero. Looks no further than to the first that is not, about.
    pub(crate) fn is_zero(words: &[u64]) -> bool = is_zero_plain
}

widest! {
    /// Whether so few lines have any ones that looking at each of them alone is quicker than at all of them.
    pub(crate) fn is_sparse(words: &[u64]) -> bool = is_sparse_plain
}

/// ANDs operands, of which the words from `start` on lie beside `into`, into it, and looks at them only where `into` has ones left.
pub(crate) fn and_where_any(into: &mut [u64], operands: &[&[u64]], start: usize) {
    for (at, line) in (start..)
        .step_by(LINE_WORDS)
        .zip(into.chunks_mut(LINE_WORDS))
    {
        for some in operands.chunks(STREAMS) {
            if is_zero_plain(line) {
                break;
            }
            let end = at + line.len();
            let some = some.iter().map(|operand| &operand[at..end]);
            and_all(line, &some.collect::<ArrayVec<_, STREAMS>>(), false);
        }
    }
}

pub(crate) fn invert(words: &mut [u64]) {
    words.iter_mut().for_each(|word| *word = !*word);
}

#[inline(always)]
fn plain_and(into: &mut [u64], words: &[u64]) {
    for (into, word) in into.iter_mut().zip(words) {
        *into &= word;
    }
}

#[inline(always)]
fn plain_or(into: &mut [u64], words: &[u64]) {
    for (into, word) in into.iter_mut().zip(words) {
        *into |= word;
    }
}

#[inline(always)]
fn plain_xor(into: &mut [u64], words: &[u64]) {
    for (into, word) in into.iter_mut().zip(words) {
        *into ^= word;
    }
}

#[inline(always)]
fn is_zero_plain(words: &[u64]) -> bool {
    let (lines, rest) = words.as_chunks::<LINE_WORDS>();
    let line_is_zero = |line: &Line| line.iter().fold(0, |all, word| all | word) == 0;
    lines.iter().all(line_is_zero) && rest.iter().all(|word| *word == 0)
}

#[inline(always)]
fn is_sparse_plain(words: &[u64]) -> bool {
    let (lines, rest) = words.as_chunks::<LINE_WORDS>();
    let has_any = |line: &&Line| line.iter().fold(0, |all, word| all | word) != 0;
    // No further than to as many as are too many.
    let most = lines.len() / 4;
    lines.iter().filter(has_any).take(most + 1).count() <= most && rest.is_empty()
}

#[inline(always)]
fn count_plain(bytes: &[u8]) -> u64 {
    let (lines, rest) = bytes.as_chunks::<{ 8 * LINE_WORDS }>();
    let (words, rest) = rest.as_chunks::<8>();
    let ones = |word: &[u8; 8]| u64::from(u64::from_le_bytes(*word).count_ones());
    let rest = rest.iter().map(|byte| u64::from(byte.count_ones()));
    count_lines(lines) + words.iter().map(ones).sum::<u64>() + rest.sum::<u64>()
}

/// The ones of lines, by carry-save adders (Harley and Seal; Warren, Hacker's Delight, 5-2): of sixteen lines all bits at
/// a place are added up in binary, so that ones are counted in one line of sixteen.
#[inline(always)]
fn count_lines(lines: &[[u8; 8 * LINE_WORDS]]) -> u64 {
    let line = |bytes: &[u8; 8 * LINE_WORDS]| -> Line {
        let (words, _) = bytes.as_chunks::<8>();
        std::array::from_fn(|at| u64::from_le_bytes(words[at]))
    };
    let (groups, rest) = lines.as_chunks::<16>();
    let [mut ones, mut twos, mut fours, mut eights] = [[0; LINE_WORDS]; 4];
    let mut sixteens = 0;
    for group in groups {
        let mut carries = [[0; LINE_WORDS]; 8];
        for (pair, twos_of_pair) in group.as_chunks::<2>().0.iter().zip(&mut carries) {
            *twos_of_pair = add(&mut ones, line(&pair[0]), line(&pair[1]));
        }
        for at in 0..4 {
            carries[at] = add(&mut twos, carries[2 * at], carries[2 * at + 1]);
        }
        for at in 0..2 {
            carries[at] = add(&mut fours, carries[2 * at], carries[2 * at + 1]);
        }
        sixteens += ones_of(&add(&mut eights, carries[0], carries[1]));
    }
    let rest: u64 = rest.iter().map(|bytes| ones_of(&line(bytes))).sum();
    16 * sixteens
        + 8 * ones_of(&eights)
        + 4 * ones_of(&fours)
        + 2 * ones_of(&twos)
        + ones_of(&ones)
        + rest
}

/// Adds two lines to `sum`, bit by bit; gives the carries.
#[inline(always)]
fn add(sum: &mut Line, a: Line, b: Line) -> Line {
    let mut carries = [0; LINE_WORDS];
    for at in 0..LINE_WORDS {
        let half = sum[at] ^ a[at];
        carries[at] = (sum[at] & a[at]) | (half & b[at]);
        sum[at] = half ^ b[at];
    }
    carries
}

#[inline(always)]
fn ones_of(line: &Line) -> u64 {
    line.iter().map(|word| u64::from(word.count_ones())).sum()
}

#[inline(always)]
fn and_plain(into: &mut [u64], operands: &[&[u64]], anew: bool) -> bool {
    let (anew, rest) = and_groups::<STREAMS>(into, operands, anew);
    let (anew, rest) = and_groups::<4>(into, rest, anew);
    let (anew, rest) = and_groups::<2>(into, rest, anew);
    and_groups::<1>(into, rest, anew).0
}

/// As [`and_all`], as many groups of `N` operands as there are; gives the others as well.
#[inline(always)]
fn and_groups<'a, 'b, const N: usize>(
    into: &mut [u64],
    mut operands: &'a [&'b [u64]],
    mut anew: bool,
) -> (bool, &'a [&'b [u64]]) {
    while let Some((streams, rest)) = operands.split_first_chunk::<N>() {
        match anew {
            true => and_streams::<N, true>(into, *streams),
            false => and_streams::<N, false>(into, *streams),
        }
        (anew, operands) = (false, rest);
    }
    (anew, operands)
}

/// Line by line, so that the compiler uses wide registers whatever it thinks of the lengths.
#[inline(always)]
fn and_streams<const N: usize, const ANEW: bool>(into: &mut [u64], operands: [&[u64]; N]) {
    let length = into.len();
    let (lines, rest) = into.as_chunks_mut::<LINE_WORDS>();
    let count = lines.len();
    let operand_lines = operands.map(|operand| &operand.as_chunks::<LINE_WORDS>().0[..count]);
    for (index, line) in lines.iter_mut().enumerate() {
        let mut all = if ANEW { [u64::MAX; LINE_WORDS] } else { *line };
        for operand in &operand_lines {
            let words = &operand[index];
            all = std::array::from_fn(|at| all[at] & words[at]);
        }
        *line = all;
    }
    if ANEW {
        rest.fill(u64::MAX);
    }
    for operand in operands {
        plain_and(rest, &operand[length - rest.len()..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of four kinds: none, all, many, some.
    fn bytes(count: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            match state >> 62 {
                0 => 0,
                1 => u8::MAX,
                2 => (state >> 40) as u8 | (state >> 48) as u8,
                _ => (state >> 40) as u8,
            }
        };
        (0..count).map(|_| random()).collect()
    }

    #[test]
    fn ones_are_counted_whatever_the_length() {
        let bytes = bytes(5000);
        let mut ones = 0;
        for (length, byte) in bytes.iter().enumerate() {
            assert_eq!(count_ones(&bytes[..length]), ones);
            assert_eq!(count_plain(&bytes[..length]), ones);
            for bits in 0..8 {
                let first = u64::from((byte & ((1 << bits) - 1)).count_ones());
                let found = count_first_ones(&bytes, 8 * length as u64 + bits);
                assert_eq!(found, ones + first, "{length} bytes and {bits} bits");
            }
            ones += u64::from(byte.count_ones());
        }
        assert_eq!(count_first_ones(&bytes, u64::MAX), ones);
    }

    #[test]
    fn words_are_zero_if_none_is_not() {
        for length in 0..40 {
            let mut words = vec![0; length];
            for is_zero in [is_zero, is_zero_plain] {
                assert!(is_zero(&words));
                for at in 0..length {
                    words[at] = 1 << (at % 64);
                    assert!(!is_zero(&words), "{at} of {length}");
                    words[at] = 0;
                }
            }
        }
    }

    #[test]
    fn where_nothing_is_left_operands_are_not_looked_at() {
        let words: Vec<u64> = bytes(8 * 600)
            .chunks(8)
            .map(|word| word[0].into())
            .collect();
        let operands: Vec<&[u64]> = (0..2 * STREAMS + 3)
            .map(|at| &words[at..at + 300])
            .collect();
        for (start, length) in [(0, 64), (24, 256), (40, 13)] {
            for line in 0..=length / LINE_WORDS {
                let mut into = vec![0; length];
                into[(line * LINE_WORDS).min(length - 1)] = 0xfe;
                let sparse = length % LINE_WORDS == 0 && length / LINE_WORDS >= 4;
                assert_eq!(is_sparse(&into), sparse);
                let mut expected = into.clone();
                let beside: Vec<&[u64]> =
                    operands.iter().map(|of| &of[start..][..length]).collect();
                and_all(&mut expected, &beside, false);
                and_where_any(&mut into, &operands, start);
                assert_eq!(into, expected);
            }
        }
        for count in 0..=32 {
            let mut into = vec![0; 32 * LINE_WORDS];
            into.chunks_mut(LINE_WORDS)
                .take(count)
                .for_each(|line| line[3] = 1);
            for is_sparse in [is_sparse, is_sparse_plain] {
                assert_eq!(is_sparse(&into), count <= 8);
            }
        }
    }

    #[test]
    fn both_forms_of_an_and_are_that_of_each_word() {
        let words: Vec<u64> = bytes(8 * 50).chunks(8).map(|word| word[0].into()).collect();
        for count in 0..=2 * STREAMS {
            for length in [0, 1, 7, 8, 9, 20] {
                let operands: Vec<&[u64]> = (0..count).map(|at| &words[at..at + length]).collect();
                let expected = |start: u64, word: usize| {
                    let of = operands.iter().map(|operand| operand[word]);
                    of.fold(start, |all, operand| all & operand)
                };
                for anew in [false, true] {
                    for and in [and_all, and_plain] {
                        let mut into = vec![0xfe; length];
                        let is_open = and(&mut into, &operands, anew);
                        assert_eq!(is_open, anew && count == 0);
                        let start = if anew && count > 0 { u64::MAX } else { 0xfe };
                        assert!((0..length).all(|at| into[at] == expected(start, at)));
                    }
                }
            }
        }
    }
}
