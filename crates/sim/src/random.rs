//! Seeded randomness: one independent stream for each named part.

use rand::{Rng, RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers that depends on nothing but the simulation's seed
/// and the name of the part that draws: adding a part shifts nobody's numbers.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream of the part `name` under `seed`.
    pub fn named(seed: u64, name: &str) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(seed ^ name_hash(name)))
    }

    /// Sixty-four random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..limit`.
    ///
    /// # Panics
    /// If `limit` is zero.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "no number is below zero");
        // Multiplication instead of division (Lemire); the bias is below limit / 2^64.
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Uniform in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        self.0.random::<f64>()
    }

    /// Exponentially distributed with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Fills `bytes` with random ones.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

/// FNV-1a: a fixed function of the name, on every platform and in every version.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
