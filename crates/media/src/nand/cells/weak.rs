//! Which cells of a page read wrong: those that are weakest, always the same ones.
//!
//! Every cell has its place in the distribution of its state for good. The weakest cells of a page
//! are drawn one after the other in the order of their weakness, as the points of a Poisson process:
//! how many of them read wrong depends on the error rate alone, so that what is wrong once
//! stays wrong as cells age, and reading twice gives the same bits.

/// Draws that look random and are always the same for a key.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    key: u64,
    count: u64,
}

impl Draws {
    /// The draws of `key`.
    pub(crate) fn new(key: u64) -> Draws {
        Draws { key, count: 0 }
    }

    /// Uniform over 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.count += 1;
        mix(self.key ^ mix(self.count))
    }

    /// Uniform over 0 (exclusive) to 1 (inclusive).
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal number (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }
}

/// Mixes a number so that near ones become unlike (the finalizer of SplitMix64).
pub(crate) fn mix(position: u64) -> u64 {
    let mut bits = position.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// The weakest of `cells` cells, weakest first, as far as they read wrong at an error rate.
pub(crate) struct WeakCells {
    draws: Draws,
    cells: u32,
    rate: f64,
    weakness: f64,
}

impl WeakCells {
    pub(crate) fn new(key: u64, cells: u32, rate: f64) -> WeakCells {
        WeakCells {
            draws: Draws::new(key),
            cells,
            rate,
            weakness: 0.0,
        }
    }
}

impl Iterator for WeakCells {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.weakness -= libm::log(self.draws.uniform()) / f64::from(self.cells);
        if self.weakness > self.rate {
            return None;
        }
        let place = u128::from(self.draws.bits()) * u128::from(self.cells);
        Some((place >> 64) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_cells_are_weak_as_the_rate_says_and_weakness_stays() {
        let (cells, pages) = (131_072, 400);
        let weak = |page: u64, rate| -> Vec<u32> { WeakCells::new(page, cells, rate).collect() };
        for rate in [1e-5, 1e-4, 1e-3] {
            let counts: Vec<f64> = (0..pages)
                .map(|page| weak(page, rate).len() as f64)
                .collect();
            let mean = counts.iter().sum::<f64>() / pages as f64;
            let variance = counts
                .iter()
                .map(|count| (count - mean).powi(2))
                .sum::<f64>()
                / pages as f64;
            let expected = rate * f64::from(cells);
            // A Poisson number: mean and variance alike, here within five standard errors.
            let error = 5.0 * (expected / pages as f64).sqrt();
            assert!((mean - expected).abs() < error, "{mean} for {expected}");
            assert!(
                (variance / expected - 1.0).abs() < 0.4,
                "{variance} for {expected}"
            );
        }
        let (fewer, more) = (weak(7, 1e-4), weak(7, 1e-3));
        assert_eq!(
            fewer,
            more[..fewer.len()],
            "ageing adds errors, and keeps those there are"
        );
        assert_ne!(weak(7, 1e-3), weak(8, 1e-3));
    }
}
