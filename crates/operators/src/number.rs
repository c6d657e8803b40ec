//! Numbers of operands, and how they are computed with.

use alloc::vec::Vec;

use crate::activation;

/// A number of an operand.
pub(crate) trait Number: Copy + PartialOrd {
    /// What products are summed in.
    type Sum: Number;
    /// Nothing.
    const ZERO: Self;
    /// Whether sums depend on the order of what is summed.
    const IN_ORDER: bool;

    /// Numbers of bytes, as many as are whole.
    fn all(bytes: &[u8]) -> Vec<Self>;
    /// Puts it where there is room for it.
    fn put(self, room: &mut [u8]);
    /// A sum with one product more.
    fn summed(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
    /// a + b.
    fn plus(self, other: Self) -> Self;
    /// a b, shifted.
    fn times(self, other: Self, shift: u32) -> Self;
    /// A function of float32, of a number with so many bits behind the point.
    fn through(self, function: fn(f32) -> f32, shift: u32) -> Self;
    /// The mean of numbers.
    fn mean(numbers: impl Iterator<Item = Self>, count: u32) -> Self;
}

/// Shifted to the right, rounded to nearest, halves to even.
pub(crate) fn shifted(number: i64, shift: u32) -> i64 {
    if shift == 0 {
        return number;
    }
    let whole = number >> shift;
    let rest = number - (whole << shift);
    let half = 1 << (shift - 1);
    let goes_up = rest > half || (rest == half && whole & 1 == 1);
    whole + i64::from(goes_up)
}

/// Divided, rounded to nearest, halves to even.
fn divided(number: i64, by: i64) -> i64 {
    let (whole, rest) = (number.div_euclid(by), number.rem_euclid(by));
    let goes_up = 2 * rest > by || (2 * rest == by && whole & 1 == 1);
    whole + i64::from(goes_up)
}

/// Rounded to nearest, halves to even, and no further than 32 bits go.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "what is truncated is what lies behind the point"
)]
fn rounded(number: f32) -> i64 {
    if number >= 2_147_483_648.0 {
        return i32::MAX.into();
    }
    if number < -2_147_483_648.0 {
        return i32::MIN.into();
    }
    let whole = number as i32;
    let rest = number - whole as f32;
    let is_odd = whole & 1 == 1;
    let whole = i64::from(whole);
    if rest > 0.5 || (rest == 0.5 && is_odd) {
        return whole + 1;
    }
    if rest < -0.5 || (rest == -0.5 && is_odd) {
        return whole - 1;
    }
    whole
}

/// A function of float32 over fixed-point numbers.
#[expect(clippy::cast_precision_loss, reason = "as it is stated: in float32")]
fn fixed(number: i32, function: fn(f32) -> f32, shift: u32) -> i64 {
    let one = (1_u64 << shift) as f32;
    rounded(function(number as f32 / one) * one)
}

/// As near as eight bits come.
#[expect(clippy::cast_possible_truncation, reason = "it is clamped")]
pub(crate) fn saturated8(number: i64) -> i8 {
    number.clamp(i8::MIN.into(), i8::MAX.into()) as i8
}

/// As near as 32 bits come.
#[expect(clippy::cast_possible_truncation, reason = "it is clamped")]
fn saturated32(number: i64) -> i32 {
    number.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

impl Number for i8 {
    type Sum = i32;
    const ZERO: i8 = 0;
    const IN_ORDER: bool = false;

    fn all(bytes: &[u8]) -> Vec<i8> {
        bytes.iter().map(|byte| byte.cast_signed()).collect()
    }

    fn put(self, room: &mut [u8]) {
        room.copy_from_slice(&self.to_le_bytes());
    }

    fn summed(sum: i32, a: i8, b: i8) -> i32 {
        sum.wrapping_add(i32::from(a) * i32::from(b))
    }

    fn plus(self, other: i8) -> i8 {
        self.saturating_add(other)
    }

    fn times(self, other: i8, shift: u32) -> i8 {
        saturated8(shifted(i64::from(self) * i64::from(other), shift))
    }

    fn through(self, function: fn(f32) -> f32, shift: u32) -> i8 {
        saturated8(fixed(self.into(), function, shift))
    }

    fn mean(numbers: impl Iterator<Item = i8>, count: u32) -> i8 {
        saturated8(divided(numbers.map(i64::from).sum(), count.into()))
    }
}

impl Number for i32 {
    type Sum = i32;
    const ZERO: i32 = 0;
    const IN_ORDER: bool = false;

    fn all(bytes: &[u8]) -> Vec<i32> {
        let (words, _) = bytes.as_chunks();
        words.iter().map(|word| i32::from_le_bytes(*word)).collect()
    }

    fn put(self, room: &mut [u8]) {
        room.copy_from_slice(&self.to_le_bytes());
    }

    fn summed(sum: i32, a: i32, b: i32) -> i32 {
        sum.wrapping_add(a.wrapping_mul(b))
    }

    fn plus(self, other: i32) -> i32 {
        self.saturating_add(other)
    }

    fn times(self, other: i32, shift: u32) -> i32 {
        saturated32(shifted(i64::from(self) * i64::from(other), shift))
    }

    fn through(self, function: fn(f32) -> f32, shift: u32) -> i32 {
        saturated32(fixed(self, function, shift))
    }

    fn mean(numbers: impl Iterator<Item = i32>, count: u32) -> i32 {
        saturated32(divided(numbers.map(i64::from).sum(), count.into()))
    }
}

impl Number for f32 {
    type Sum = f32;
    const ZERO: f32 = 0.0;
    const IN_ORDER: bool = true;

    fn all(bytes: &[u8]) -> Vec<f32> {
        let (words, _) = bytes.as_chunks();
        words.iter().map(|word| f32::from_le_bytes(*word)).collect()
    }

    fn put(self, room: &mut [u8]) {
        let number = if self.is_nan() { f32::NAN } else { self };
        room.copy_from_slice(&number.to_le_bytes());
    }

    fn summed(sum: f32, a: f32, b: f32) -> f32 {
        sum + a * b
    }

    fn plus(self, other: f32) -> f32 {
        self + other
    }

    fn times(self, other: f32, _: u32) -> f32 {
        self * other
    }

    fn through(self, function: fn(f32) -> f32, _: u32) -> f32 {
        function(self)
    }

    #[expect(clippy::cast_precision_loss, reason = "as it is stated: in float32")]
    fn mean(numbers: impl Iterator<Item = f32>, count: u32) -> f32 {
        numbers.fold(0.0, |sum, number| sum + number) / count as f32
    }
}

/// What is above 0, else 0.
pub(crate) fn rectified<N: Number>(number: N) -> N {
    if number > N::ZERO { number } else { N::ZERO }
}

pub(crate) use activation::{sigmoid, tanh};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shifted_divided_and_rounded_goes_to_the_nearest_and_halves_to_even() {
        let cases = [
            (5, 1, 2),
            (6, 1, 3),
            (7, 1, 4),
            (-5, 1, -2),
            (-7, 1, -4),
            (-3, 2, -1),
            (9, 0, 9),
        ];
        for (number, shift, result) in cases {
            assert_eq!(shifted(number, shift), result, "{number} >> {shift}");
        }
        let cases = [
            (5, 2, 2),
            (7, 2, 4),
            (-5, 2, -2),
            (-7, 2, -4),
            (-4, 3, -1),
            (5, 3, 2),
        ];
        for (number, by, result) in cases {
            assert_eq!(divided(number, by), result, "{number} / {by}");
        }
        for half in -9..=9_i32 {
            let number = half as f32 / 2.0;
            assert_eq!(rounded(number), number.round_ties_even() as i64);
        }
        assert_eq!(
            (rounded(3e9), rounded(-3e9)),
            (i64::from(i32::MAX), i64::from(i32::MIN))
        );
        assert_eq!(rounded(16_777_217.0), 16_777_216);
    }
}
