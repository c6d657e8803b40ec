//! How many accelerators a drive has, and how fast they are.

use operators::Type;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::OutOfRange;

/// The most of any of these a second, and of femtojoules and milliwatts.
const MOST: u64 = 1_000_000_000_000_000;

/// Accelerators for operators of tasks, all alike. Each computes one operator at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorConfig {
    /// How many there are; 0 for a drive on which tasks compute operators on their cores.
    pub count: u32,
    /// Multiplications a second whose products are summed, each accelerator.
    pub macs_per_second: ByType,
    /// Other operations a second (a sum, a product, a function or a number looked at by pooling), each accelerator.
    pub operations_per_second: u64,
    /// Bytes a second between an accelerator's SRAM and the memory of tasks; those of the DRAM are waited for besides.
    pub bytes_per_second: u64,
    /// Bytes of the SRAM of an accelerator. Operands that do not fit are brought in more than once.
    pub sram_bytes: u64,
    /// From when an accelerator is told what to compute until it begins, in nanoseconds.
    pub setup_ns: u64,
    /// What a multiplication spends with its sum, in femtojoules.
    pub femtojoules_per_mac: ByType,
    /// What another operation spends, in femtojoules.
    pub femtojoules_per_operation: u64,
    /// What a byte spends that is brought in or out, in femtojoules; the DRAM's share is its own.
    pub femtojoules_per_byte: u64,
    /// Power of an accelerator at any time, in milliwatts.
    pub standing_milliwatts: u64,
}

/// A number for each type of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByType {
    /// Of integers of 8 bits.
    pub int8: u64,
    /// Of integers of 32 bits.
    pub int32: u64,
    /// Of floating-point numbers of 32 bits.
    pub float32: u64,
}

impl ByType {
    /// That of a type.
    pub fn of(&self, of: Type) -> u64 {
        match of {
            Type::Int8 => self.int8,
            Type::Int32 => self.int32,
            Type::Float32 => self.float32,
        }
    }
}

impl AcceleratorConfig {
    /// Checks that there can be such accelerators.
    ///
    /// # Errors
    /// The first number that cannot be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        OutOfRange::check("count", self.count, 0, 1024)?;
        let (rates, energies) = (&self.macs_per_second, &self.femtojoules_per_mac);
        for (key, value, least) in [
            ("macs_per_second.int8", rates.int8, 1),
            ("macs_per_second.int32", rates.int32, 1),
            ("macs_per_second.float32", rates.float32, 1),
            ("operations_per_second", self.operations_per_second, 1),
            ("bytes_per_second", self.bytes_per_second, 1),
            ("sram_bytes", self.sram_bytes, 2),
            ("setup_ns", self.setup_ns, 0),
            ("femtojoules_per_mac.int8", energies.int8, 0),
            ("femtojoules_per_mac.int32", energies.int32, 0),
            ("femtojoules_per_mac.float32", energies.float32, 0),
            (
                "femtojoules_per_operation",
                self.femtojoules_per_operation,
                0,
            ),
            ("femtojoules_per_byte", self.femtojoules_per_byte, 0),
        ] {
            OutOfRange::check(key, value, least, MOST)?;
        }
        OutOfRange::check(
            "standing_milliwatts",
            self.standing_milliwatts,
            0,
            1_000_000,
        )
    }
}
