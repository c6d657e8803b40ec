//! The random numbers that MQSim's flows draw, so that a `Seed` means the same requests here.
//!
//! The generator is L'Ecuyer's MRG32k3a (Operations Research 47(1), 1999), started from ones and
//! moved ahead by `n * 2^e` steps, where `n` and `e` come from the seed. MQSim multiplies the
//! matrices of that move in signed 64-bit integers, in which products wrap; what it arrives at is
//! therefore not quite the state that the seed stands for, but it is what its flows draw from.

/// Moduli of the two components.
const MODULI: [i64; 2] = [4_294_967_087, 4_294_944_443];
/// One step of each component, negative factors taken modulo the modulus.
const STEPS: [Matrix; 2] = [
    [[0, 1, 0], [0, 0, 1], [MODULI[0] - 810_728, 1_403_580, 0]],
    [[0, 1, 0], [0, 0, 1], [MODULI[1] - 1_370_589, 0, 527_612]],
];

type Matrix = [[i64; 3]; 3];

/// A stream of numbers in (0, 1).
#[derive(Clone, Debug)]
pub(super) struct Generator {
    state: [[f64; 3]; 2],
    /// The second of a pair of normal numbers, not yet given out; 0 is none.
    normal: f64,
}

impl Generator {
    pub(super) fn new(seed: u32) -> Generator {
        let (mut steps, doublings) = (seed / 200 + 1, seed % 200);
        let mut power = STEPS;
        let mut state = [[1_i64; 3]; 2];
        let square = |power: &mut [Matrix; 2]| {
            for (matrix, modulus) in power.iter_mut().zip(MODULI) {
                *matrix = product(matrix, matrix, modulus);
            }
        };
        for _ in 0..doublings {
            square(&mut power);
        }
        while steps != 0 {
            if steps & 1 != 0 {
                for part in 0..2 {
                    state[part] = applied(&power[part], &state[part], MODULI[part]);
                }
            }
            steps >>= 1;
            square(&mut power);
        }
        Generator {
            state: state.map(|part| part.map(|value| value as f64)),
            normal: 0.0,
        }
    }

    /// The next number, in (0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        let [first, second] = &mut self.state;
        let [one, two] = MODULI.map(|modulus| modulus as f64);
        let p1 = remainder(1_403_580.0 * first[1] - 810_728.0 * first[0], one);
        let p2 = remainder(527_612.0 * second[2] - 1_370_589.0 * second[0], two);
        *first = [first[1], first[2], p1];
        *second = [second[1], second[2], p2];
        let difference = p1 - p2;
        let positive = if difference < 0.0 {
            difference + one
        } else {
            difference
        };
        (positive + 1.0) * 2.328_306_549_295_728e-10
    }

    /// A whole number from `least` to `most`, both included.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + ((most - least + 1) as f64 * self.unit()) as u64
    }

    /// Exponentially distributed.
    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        0.0 - mean * self.unit().ln()
    }

    /// Normally distributed, by the polar method.
    pub(super) fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        if self.normal != 0.0 {
            let kept = std::mem::take(&mut self.normal);
            return mean + kept * deviation;
        }
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.normal = y * scale;
                return mean + x * scale * deviation;
            }
        }
    }
}

fn remainder(value: f64, modulus: f64) -> f64 {
    let rest = value - (value / modulus).trunc() * modulus;
    if rest < 0.0 { rest + modulus } else { rest }
}

/// `sum + a * b` as MQSim has it.
fn accumulated(sum: i64, a: i64, b: i64, modulus: i64) -> i64 {
    a.wrapping_mul(b).wrapping_add(sum) % modulus
}

fn product(a: &Matrix, b: &Matrix, modulus: i64) -> Matrix {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| {
            (0..3).fold(0, |sum, k| {
                accumulated(sum, a[row][k], b[k][column], modulus)
            })
        })
    })
}

fn applied(matrix: &Matrix, vector: &[i64; 3], modulus: i64) -> [i64; 3] {
    std::array::from_fn(|row| {
        (0..3).fold(0, |sum, k| {
            accumulated(sum, matrix[row][k], vector[k], modulus)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The case `mix70-4k-qd32-ideal-nocache` reports 139,887 reads among 200,000 requests.
    #[test]
    fn a_seed_draws_the_reads_that_mqsim_counted() {
        let mut random = Generator::new(798);
        let reads = (0..200_000).filter(|_| random.unit() <= 0.7).count();
        assert_eq!(reads, 139_887);
    }

    #[test]
    fn normal_numbers_have_their_mean_and_deviation() {
        let mut random = Generator::new(5);
        let drawn: Vec<f64> = (0..100_000).map(|_| random.normal(10.0, 3.0)).collect();
        let mean = drawn.iter().sum::<f64>() / 1e5;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 10.0).abs() < 0.05, "{mean}");
        assert!((variance.sqrt() - 3.0).abs() < 0.05, "{variance}");
    }
}
