//! Whether a page that has a code can be corrected: how many bits of its worst codeword are wrong.

use super::config::EccConfig;
use super::weak::Draws;

/// A probability that is taken for none.
const NEVER: f64 = 1.0 / (1u64 << 60) as f64;

/// The code of normal data, for pages of a size.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    bits: f64,
    codewords: f64,
    correctable: u32,
    /// The raw bit error rate up to which no page is ever given up.
    safe: f64,
}

impl Code {
    pub(crate) fn new(config: &EccConfig, page_bytes: u32) -> Code {
        let mut code = Code {
            bits: f64::from(config.codeword_bytes.min(page_bytes)) * 8.0,
            codewords: f64::from(page_bytes.div_ceil(config.codeword_bytes)),
            correctable: config.correctable_bits,
            safe: 0.0,
        };
        let (mut safe, mut unsafe_) = (0.0, 0.5);
        for _ in 0..60 {
            let middle = 0.5 * (safe + unsafe_);
            if code.beyond(middle) < NEVER {
                safe = middle;
            } else {
                unsafe_ = middle;
            }
        }
        code.safe = safe;
        code
    }

    /// The raw bit error rate up to which no page is ever given up.
    pub(crate) fn safe_rate(&self) -> f64 {
        self.safe
    }

    /// Whether the page of `key` can be corrected at a raw bit error rate. A page that can at some
    /// rate can at every lower one.
    pub(crate) fn corrects(&self, key: u64, rate: f64) -> bool {
        if rate <= self.safe {
            return true;
        }
        // The worst of n codewords is where one of them is with the n-th root of the chance.
        let worst = libm::pow(Draws::new(key).uniform(), 1.0 / self.codewords);
        1.0 - worst >= self.beyond(rate)
    }

    /// The chance that a codeword has more wrong bits than can be corrected (Poisson).
    fn beyond(&self, rate: f64) -> f64 {
        let mean = rate * self.bits;
        let count = f64::from(self.correctable) + 1.0;
        // The terms from `count` on, relative to the first of them.
        let (mut sum, mut term, mut at) = (1.0, 1.0, count);
        while term > sum * 1e-17 {
            at += 1.0;
            term *= mean / at;
            sum += term;
            if sum > 1e300 {
                return 1.0;
            }
        }
        let first = count * libm::log(mean) - mean - libm::lgamma(count + 1.0);
        (libm::exp(first) * sum).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> Code {
        let config = EccConfig {
            codeword_bytes: 1024,
            correctable_bits: 72,
            retries_max: 0,
            retry_step_mv: 0,
        };
        Code::new(&config, 16384)
    }

    #[test]
    fn the_tail_is_the_sum_of_its_terms() {
        let code = code();
        for rate in [1e-3, 5e-3, 8e-3, 9e-3, 1.2e-2, 3e-2] {
            let mean: f64 = rate * 8192.0;
            let mut term = (-mean).exp();
            let mut within = term;
            for count in 1..=72 {
                term *= mean / f64::from(count);
                within += term;
            }
            let beyond = code.beyond(rate);
            assert!((beyond - (1.0 - within)).abs() < 1e-12, "{rate}: {beyond}");
        }
    }

    #[test]
    fn pages_are_given_up_as_often_as_the_tail_says() {
        let code = code();
        assert!(
            (1e-3..5e-3).contains(&code.safe_rate()),
            "{}",
            code.safe_rate()
        );
        let pages = 20_000;
        for rate in [6e-3, 7e-3, 8e-3] {
            let lost = (0..pages).filter(|&key| !code.corrects(key, rate)).count();
            let expected = 1.0 - (1.0 - code.beyond(rate)).powi(16);
            let share = lost as f64 / pages as f64;
            let error = 5.0 * (expected / pages as f64).sqrt();
            assert!(
                (share - expected).abs() < error,
                "{rate}: {share} for {expected}"
            );
        }
        let holds = |key| code.corrects(key, 7e-3) || !code.corrects(key, 8e-3);
        assert!(
            (0..pages).all(holds),
            "what is lost stays lost as cells age"
        );
    }
}
