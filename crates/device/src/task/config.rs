//! What the configuration says of tasks: how much each may have, and what its instructions take.

use media::OutOfRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Limits, QuotaConfig};

/// The most tenths of cycles that an instruction or a byte may take: what the meter of a task holds.
const TENTHS: u64 = 255;

/// Tasks that run inside the drive: what each may have, and what its instructions take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskConfig {
    /// Bytes of the drive's DRAM for the memories of tasks, all together. A task that finds no room waits for those before it.
    pub dram_bytes: u64,
    /// Bytes of memory that a task may have, at most, and has if it asks for no other limit.
    pub memory_bytes: u64,
    /// Bytes of stack for calls that are nested; the stack of a C program is in its memory besides.
    pub stack_bytes: u64,
    /// Cycles of a core that a run may take, at most, and may if it asks for no other limit. It is stopped then.
    pub cycles_max: u64,
    /// Bytes that a run may write to its log.
    pub log_bytes: u32,
    /// Bytes of arguments that a run may be given.
    pub arguments_bytes: u32,
    /// Bytes that a run may return.
    pub return_bytes: u32,
    /// Reads and writes that a run may have submitted and not waited for.
    pub tickets: u32,
    /// For how long a task has a core before another that waits for one gets it, in microseconds.
    pub quantum_us: u64,
    /// Bytes of a module, at most.
    pub module_bytes: u64,
    /// Functions that a module may have.
    pub functions: u32,
    /// Bytes of the body of a function, at most.
    pub function_bytes: u32,
    /// Global variables that a module may have.
    pub globals: u32,
    /// Elements of each table of functions, at most.
    pub table_elements: u32,
    /// What programs of each namespace may have.
    pub quota: QuotaConfig,
    /// What instructions take.
    pub cycles: CycleCosts,
}

/// What each class of WebAssembly instructions takes of a core, in tenths of cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CycleCosts {
    /// A local variable read or written, or a constant, in tenths of cycles.
    pub local_tenths: u32,
    /// An addition, a comparison, a shift, a logical operation or a selection of integers, in tenths of cycles.
    pub simple_tenths: u32,
    /// A multiplication of integers, in tenths of cycles.
    pub multiply_tenths: u32,
    /// A division of integers, in tenths of cycles.
    pub divide_tenths: u32,
    /// A load from memory, or of a global variable, in tenths of cycles.
    pub load_tenths: u32,
    /// A store to memory, or to a global variable, in tenths of cycles.
    pub store_tenths: u32,
    /// A branch, taken or not, in tenths of cycles.
    pub branch_tenths: u32,
    /// A call of a function and its return, in tenths of cycles.
    pub call_tenths: u32,
    /// An operation on floating-point numbers, in tenths of cycles.
    pub float_tenths: u32,
    /// A division or square root of floating-point numbers, in tenths of cycles.
    pub float_divide_tenths: u32,
    /// An operation on vectors of 128 bits, in tenths of cycles.
    pub vector_tenths: u32,
    /// A byte that is copied or filled, or an element of a table, in tenths of cycles.
    pub bulk_byte_tenths: u32,
    /// A call into the firmware, besides what it has the firmware do.
    pub request_cycles: u64,
}

impl TaskConfig {
    /// # Errors
    /// The first number that cannot be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        OutOfRange::check("dram_bytes", self.dram_bytes, 1 << 16, 1 << 40)?;
        let most = self.dram_bytes.min(1 << 32);
        OutOfRange::check("memory_bytes", self.memory_bytes, 1 << 16, most)?;
        OutOfRange::check("stack_bytes", self.stack_bytes, 1 << 14, 1 << 24)?;
        OutOfRange::check("cycles_max", self.cycles_max, 1, 1 << 56)?;
        OutOfRange::check("log_bytes", self.log_bytes, 0, 1 << 28)?;
        OutOfRange::check("arguments_bytes", self.arguments_bytes, 0, 1 << 28)?;
        OutOfRange::check("return_bytes", self.return_bytes, 0, 1 << 28)?;
        OutOfRange::check("tickets", self.tickets, 0, 1 << 16)?;
        OutOfRange::check("quantum_us", self.quantum_us, 1, 1_000_000)?;
        OutOfRange::check("module_bytes", self.module_bytes, 8, 1 << 28)?;
        OutOfRange::check("functions", self.functions, 1, 1_000_000)?;
        OutOfRange::check("function_bytes", self.function_bytes, 2, 1 << 22)?;
        OutOfRange::check("globals", self.globals, 0, 1_000_000)?;
        OutOfRange::check("table_elements", self.table_elements, 0, 10_000_000)?;
        self.quota.validate()?;
        self.cycles.validate()
    }

    /// What a run may have that asks for no limits of its own.
    pub fn limits(&self) -> Limits {
        Limits {
            memory_bytes: self.memory_bytes,
            cycles: self.cycles_max,
            log_bytes: self.log_bytes,
            return_bytes: self.return_bytes,
            tickets: self.tickets,
        }
    }
}

impl CycleCosts {
    /// # Errors
    /// The first number that cannot be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        for (key, tenths) in [
            ("cycles.local_tenths", self.local_tenths),
            ("cycles.simple_tenths", self.simple_tenths),
            ("cycles.multiply_tenths", self.multiply_tenths),
            ("cycles.divide_tenths", self.divide_tenths),
            ("cycles.load_tenths", self.load_tenths),
            ("cycles.store_tenths", self.store_tenths),
            ("cycles.call_tenths", self.call_tenths),
            ("cycles.float_tenths", self.float_tenths),
            ("cycles.float_divide_tenths", self.float_divide_tenths),
            ("cycles.vector_tenths", self.vector_tenths),
            ("cycles.bulk_byte_tenths", self.bulk_byte_tenths),
        ] {
            OutOfRange::check(key, tenths, 0, TENTHS)?;
        }
        // A loop has a branch: one that goes on for ever is noticed.
        OutOfRange::check("cycles.branch_tenths", self.branch_tenths, 1, TENTHS)?;
        let request = self.request_cycles;
        OutOfRange::check("cycles.request_cycles", request, 0, 1_000_000_000)
    }
}
