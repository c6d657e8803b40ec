//! tanh and sigmoid in float32: by these steps and no others, so that every machine has the same bits.

/// Beyond this, e^x has no float32 that is neither 0 nor infinite in what follows, and both functions are at their limits.
const EXPONENT_MAX: f32 = 80.0;

/// Below this, tanh is its Taylor polynomial.
const SMALL: f32 = 0.25;

/// e^x for |x| up to 80: 2^n e^r, with r within half of ln 2 and e^r by its Taylor polynomial of degree 7, whose error is below
/// 2^-27.
fn exponential(x: f32) -> f32 {
    let turns = x * core::f32::consts::LOG2_E;
    let half = if turns < 0.0 { -0.5 } else { 0.5 };
    #[expect(clippy::cast_possible_truncation, reason = "no more than 116")]
    let n = (turns + half) as i32;
    #[expect(clippy::cast_precision_loss, reason = "no more than 116")]
    let whole = n as f32;
    // ln 2 in two parts, the first of few bits, so that its multiples are exact.
    let r = (x - whole * 0.693_359_4) - whole * -2.121_944_4e-4;
    let mut sum = 1.0 / 5040.0;
    for coefficient in [
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        sum = sum * r + coefficient;
    }
    #[expect(clippy::cast_sign_loss, reason = "at least 11")]
    let scale = f32::from_bits(((n + 127) as u32) << 23);
    sum * scale
}

/// The hyperbolic tangent, within 2e-7 of the true one; a NaN for a NaN.
pub fn tanh(x: f32) -> f32 {
    if x.is_nan() {
        return f32::NAN;
    }
    let size = if x < 0.0 { -x } else { x };
    if size < SMALL {
        let square = x * x;
        let mut sum = 62.0 / 2835.0;
        for coefficient in [-17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0] {
            sum = sum * square + coefficient;
        }
        return x + x * (square * sum);
    }
    let limited = if size > EXPONENT_MAX / 2.0 {
        EXPONENT_MAX / 2.0
    } else {
        size
    };
    let above = 1.0 - 2.0 / (exponential(limited + limited) + 1.0);
    if x < 0.0 { -above } else { above }
}

/// 1 / (1 + e^-x), within 2e-7 of the true one; a NaN for a NaN.
pub fn sigmoid(x: f32) -> f32 {
    if x.is_nan() {
        return f32::NAN;
    }
    let limited = x.clamp(-EXPONENT_MAX, EXPONENT_MAX);
    1.0 / (1.0 + exponential(-limited))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn they_are_as_near_the_true_ones_as_they_say() {
        for step in -400_000..=400_000_i32 {
            let x = step as f32 / 4096.0;
            let exact = f64::from(x);
            let error = (f64::from(tanh(x)) - exact.tanh()).abs();
            assert!(error < 2e-7, "tanh {x}: {error}");
            let error = (f64::from(sigmoid(x)) - 1.0 / (1.0 + (-exact).exp())).abs();
            assert!(error < 2e-7, "sigmoid {x}: {error}");
        }
        assert_eq!((tanh(f32::INFINITY), tanh(-1e30)), (1.0, -1.0));
        assert_eq!(sigmoid(f32::INFINITY), 1.0);
        assert!(sigmoid(f32::NEG_INFINITY) < 1e-30);
        assert!(tanh(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan());
        assert_eq!(tanh(1e-20), 1e-20);
    }
}
