//! Accelerators beside the controller's cores: processing elements that compute operators of neural networks (TH-iSSD, TECS 2023,
//! Figure 3 and 4.1.1), at stated rates, out of an SRAM that operands are brought into.

mod config;

pub use config::{AcceleratorConfig, ByType};
use operators::{Operator, Type};
use sim::{Energy, Span};

/// Femtojoules of a picojoule.
const FEMTO: u128 = 1000;

/// What an operator takes of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Bytes that are brought into the SRAM, some of them more than once.
    pub bytes_in: u64,
    /// Bytes of results.
    pub bytes_out: u64,
    /// Multiplications whose products are summed.
    pub macs: u64,
    /// Other operations.
    pub operations: u64,
    of: Type,
}

impl Demand {
    /// What `operator`, which was checked, takes with so many bytes of SRAM.
    ///
    /// Half of the SRAM keeps the smaller of the two operands of a convolution or a product, or as much of it as there is room for; the
    /// larger one passes by as often as it takes to go through the smaller one.
    pub fn of(operator: &Operator, has_bias: bool, sram_bytes: u64) -> Demand {
        let (input, other) = (operator.input_bytes(), operator.other_bytes());
        let macs = operator.macs().unwrap_or(u64::MAX);
        let (kept, passing) = (input.min(other), input.max(other));
        let passes = match macs {
            0 => 1,
            _ => kept.div_ceil((sram_bytes / 2).max(1)).max(1),
        };
        let bias = if has_bias { operator.bias_bytes() } else { 0 };
        Demand {
            bytes_in: kept + passing.saturating_mul(passes) + bias,
            bytes_out: operator.output_bytes(),
            macs,
            operations: operator.operations(),
            of: operator.of,
        }
    }

    /// Bytes in and out.
    pub fn bytes(&self) -> u64 {
        self.bytes_in.saturating_add(self.bytes_out)
    }
}

impl AcceleratorConfig {
    /// How long an accelerator is at work: it is set up; then bytes come and go while it computes.
    pub fn span_of(&self, demand: &Demand) -> Span {
        let computing = Span::of_transfer(demand.macs, self.macs_per_second.of(demand.of))
            + Span::of_transfer(demand.operations, self.operations_per_second);
        let moving = Span::of_transfer(demand.bytes(), self.bytes_per_second);
        Span::from_ns(self.setup_ns) + computing.max(moving)
    }

    /// What it spends at work.
    pub fn energy_of(&self, demand: &Demand) -> Energy {
        let each = |count: u64, femtojoules: u64| u128::from(count) * u128::from(femtojoules);
        let femtojoules = each(demand.macs, self.femtojoules_per_mac.of(demand.of))
            + each(demand.operations, self.femtojoules_per_operation)
            + each(demand.bytes(), self.femtojoules_per_byte);
        Energy::from_pj((femtojoules / FEMTO) as u64)
    }

    /// What all of them spend in `on`, whether or not they are at work.
    pub fn standing_energy(&self, on: Span) -> Energy {
        let milliwatts = u128::from(self.standing_milliwatts) * u128::from(self.count);
        Energy::from_pj((milliwatts * u128::from(on.as_ps()) / 1000) as u64)
    }
}

#[cfg(test)]
mod tests {
    use operators::{Plane, Shape};

    use super::*;

    fn config() -> AcceleratorConfig {
        AcceleratorConfig {
            count: 2,
            macs_per_second: ByType {
                int8: 2_000_000_000,
                int32: 500_000_000,
                float32: 1_000_000_000,
            },
            operations_per_second: 250_000_000,
            bytes_per_second: 4_000_000_000,
            sram_bytes: 8192,
            setup_ns: 700,
            femtojoules_per_mac: ByType {
                int8: 230,
                int32: 3200,
                float32: 4600,
            },
            femtojoules_per_operation: 900,
            femtojoules_per_byte: 1250,
            standing_milliwatts: 30,
        }
    }

    fn matrix_vector(rows: u32, columns: u32, vectors: u32) -> Operator {
        Operator {
            shape: Shape::MatrixVector {
                rows,
                columns,
                vectors,
            },
            of: Type::Float32,
        }
    }

    #[test]
    fn an_operator_takes_the_longer_of_computing_and_moving() {
        let config = config();
        // 64 x 100 products of one vector: 25,600 bytes of matrix, 400 of vector, 256 of bias, 256 out.
        let one = Demand::of(&matrix_vector(64, 100, 1), true, config.sram_bytes);
        assert_eq!((one.bytes_in, one.bytes_out, one.macs), (26_256, 256, 6400));
        assert_eq!(
            config.span_of(&one),
            Span::from_ns(700 + 6628),
            "4 bytes a ns"
        );
        // Of 16 vectors: 102,400 products at one a ns, 36,352 bytes at four a ns. The vectors are smaller than the matrix,
        // and go through half of the SRAM in two parts.
        let many = Demand::of(&matrix_vector(64, 100, 16), false, config.sram_bytes);
        assert_eq!((many.bytes_in, many.bytes_out), (6400 + 2 * 25_600, 4096));
        assert_eq!(config.span_of(&many), Span::from_ns(700 + 102_400));
        let spent = (102_400 * 4600 + 61_696 * 1250) / 1000;
        assert_eq!(config.energy_of(&many), Energy::from_pj(spent));
    }

    #[test]
    fn point_wise_operators_take_an_operation_a_number() {
        let config = config();
        let pool = Operator {
            shape: Shape::MaxPool {
                input: Plane {
                    channels: 3,
                    height: 8,
                    width: 8,
                },
                window: 2,
                stride: 2,
            },
            of: Type::Int8,
        };
        let demand = Demand::of(&pool, false, config.sram_bytes);
        assert_eq!((demand.operations, demand.bytes()), (192, 192 + 48));
        assert_eq!(config.span_of(&demand), Span::from_ns(700 + 768));
        assert_eq!(
            config.standing_energy(Span::from_ns(10)),
            Energy::from_pj(600)
        );
    }
}
