//! Zipf's law by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to
//! generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996):
//! constant time for any number of places, without tables.

use sim::Random;

const THETA_MAX: f64 = 10.0;

pub(super) fn check(theta: f64) -> Result<(), String> {
    if theta > 0.0 && theta <= THETA_MAX {
        return Ok(());
    }
    Err(format!(
        "pattern: theta = {theta} must be above 0 and at most {THETA_MAX}"
    ))
}

pub(in crate::workload::flow) struct Zipf {
    places: u64,
    theta: f64,
    /// The integral at 1.5 less the probability of rank one, and at the last rank and
    /// a half: what is drawn lies between them.
    low: f64,
    high: f64,
    /// Up to here from its rank, a number is accepted without computing anything.
    near: f64,
    /// Ranks are this far apart in the range; it shares no divisor with `places`.
    stride: u64,
    random: Random,
}

impl Zipf {
    pub(super) fn new(places: u64, theta: f64, random: Random) -> Zipf {
        Zipf {
            places,
            theta,
            low: integral(theta, 1.5) - 1.0,
            high: integral(theta, places as f64 + 0.5),
            near: 2.0 - inverse(theta, integral(theta, 2.5) - (-theta * 2f64.ln()).exp()),
            stride: stride(places),
            random,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        let rank = self.rank() - 1;
        ((u128::from(rank) * u128::from(self.stride)) % u128::from(self.places)) as u64
    }

    /// From one to the number of places.
    fn rank(&mut self) -> u64 {
        loop {
            let drawn = self.high + self.random.unit() * (self.low - self.high);
            let x = inverse(self.theta, drawn);
            let rank = (x + 0.5).floor().clamp(1.0, self.places as f64);
            if rank - x <= self.near
                || drawn >= integral(self.theta, rank + 0.5) - (-self.theta * rank.ln()).exp()
            {
                return rank as u64;
            }
        }
    }
}

/// The integral of x^-theta from 1 to `x`.
fn integral(theta: f64, x: f64) -> f64 {
    let log = x.ln();
    growth((1.0 - theta) * log) * log
}

/// The inverse of [`integral`].
fn inverse(theta: f64, y: f64) -> f64 {
    // Never below -1, where the logarithm ends, whatever rounding says.
    let t = (y * (1.0 - theta)).max(-1.0);
    (shrinkage(t) * y).exp()
}

/// (e^x - 1) / x, which is 1 at 0.
fn growth(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.exp_m1() / x
    } else {
        1.0 + x / 2.0
    }
}

/// ln(1 + x) / x, which is 1 at 0.
fn shrinkage(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.ln_1p() / x
    } else {
        1.0 - x / 2.0
    }
}

/// Near the golden section of `places`, so that neighbours in rank lie far apart.
fn stride(places: u64) -> u64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let mut stride = ((places as f64 * GOLDEN) as u64).max(1);
    while divisor(stride, places) != 1 {
        stride += 1;
    }
    stride
}

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_often_as_the_law_says() {
        for theta in [0.5, 0.99, 1.0, 1.2, 3.0] {
            const PLACES: u64 = 1000;
            const DRAWS: u64 = 400_000;
            let mut zipf = Zipf::new(PLACES, theta, Random::named(7, "zipf"));
            let mut counts = vec![0u64; PLACES as usize + 1];
            for _ in 0..DRAWS {
                counts[zipf.rank() as usize] += 1;
            }
            let sum: f64 = (1..=PLACES).map(|rank| (rank as f64).powf(-theta)).sum();
            for rank in [1u64, 2, 3, 10, 100] {
                let expected = DRAWS as f64 * (rank as f64).powf(-theta) / sum;
                let deviation = (counts[rank as usize] as f64 - expected).abs();
                // Five standard deviations of a count.
                assert!(
                    deviation <= 5.0 * expected.sqrt() + 1.0,
                    "theta {theta}, rank {rank}: {} instead of {expected}",
                    counts[rank as usize]
                );
            }
        }
    }

    #[test]
    fn ranks_are_scattered_and_none_meets_another() {
        for places in [1u64, 2, 3, 4, 10, 4096, 65_537] {
            let stride = stride(places);
            let mut seen = vec![false; places as usize];
            for rank in 0..places {
                let place = (rank * stride) % places;
                assert!(!std::mem::replace(&mut seen[place as usize], true));
            }
        }
    }
}
