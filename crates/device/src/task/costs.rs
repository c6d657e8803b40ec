//! What each instruction takes, in tenths of cycles: by its class, which its name tells.

use wasmtime::{OperatorCost, VariableOperatorCost, wasmparser};

use super::config::CycleCosts;

/// Tenths of a cycle in a cycle: the unit of a task's meter.
pub(super) const TENTHS: u64 = 10;

/// Instructions that take about the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Makes no code: the ends of blocks, and what is dropped.
    Nothing,
    Local,
    Simple,
    Multiply,
    Divide,
    Load,
    Store,
    Branch,
    Call,
    Float,
    FloatDivide,
    Vector,
}

/// The class of the instruction that the parser calls so.
fn class(name: &str) -> Class {
    let has = |part: &str| name.contains(part);
    let begins = |all: &[&str]| all.iter().any(|part| name.starts_with(part));
    let ends = |all: &[&str]| all.iter().any(|part| name.ends_with(part));
    match name {
        "Nop" | "Drop" | "Block" | "Loop" | "Else" | "End" | "Unreachable" | "Return" => {
            Class::Nothing
        }
        "GlobalGet" | "TableGet" => Class::Load,
        "GlobalSet" | "TableSet" => Class::Store,
        "If" => Class::Branch,
        _ if begins(&["Local"]) || ends(&["Const"]) || begins(&["RefNull", "RefFunc"]) => {
            Class::Local
        }
        _ if begins(&["Br"]) => Class::Branch,
        // What copies and fills takes as much as a call besides its bytes.
        _ if begins(&["Call", "ReturnCall", "Memory", "Table", "Data", "Elem"]) => Class::Call,
        _ if has("Load") => Class::Load,
        _ if has("Store") => Class::Store,
        _ if begins(&["F32", "F64"]) && ends(&["Div", "Sqrt"]) => Class::FloatDivide,
        _ if begins(&["V128", "I8x16", "I16x8", "I32x4", "I64x2", "F32x4", "F64x2"]) => {
            Class::Vector
        }
        _ if has("F32") || has("F64") => Class::Float,
        _ if ends(&["DivS", "DivU", "RemS", "RemU"]) => Class::Divide,
        _ if has("Mul") => Class::Multiply,
        _ => Class::Simple,
    }
}

impl CycleCosts {
    fn of(&self, class: Class) -> u8 {
        let tenths = match class {
            Class::Nothing => 0,
            Class::Local => self.local_tenths,
            Class::Simple => self.simple_tenths,
            Class::Multiply => self.multiply_tenths,
            Class::Divide => self.divide_tenths,
            Class::Load => self.load_tenths,
            Class::Store => self.store_tenths,
            Class::Branch => self.branch_tenths,
            Class::Call => self.call_tenths,
            Class::Float => self.float_tenths,
            Class::FloatDivide => self.float_divide_tenths,
            Class::Vector => self.vector_tenths,
        };
        small(tenths)
    }

    /// What bytes that are copied and filled take, and elements of tables.
    fn bulk(&self) -> VariableOperatorCost {
        let unit = small(self.bulk_byte_tenths);
        VariableOperatorCost {
            memory_copy_per_byte: unit,
            memory_fill_per_byte: unit,
            memory_init_per_byte: unit,
            table_copy_per_element: unit,
            table_fill_per_element: unit,
            table_init_per_element: unit,
            table_grow_per_element: unit,
            ..VariableOperatorCost::new()
        }
    }
}

/// As the meter takes it.
fn small(tenths: u32) -> u8 {
    u8::try_from(tenths).expect("a configuration with more is refused")
}

macro_rules! costs_of_all {
    ($(@$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
        /// What every instruction takes.
        pub(super) fn operator_costs(costs: &CycleCosts) -> OperatorCost {
            let mut all = OperatorCost::new();
            $(all.$op = costs.of(class(stringify!($op)));)*
            all.variable = costs.bulk();
            all
        }
    };
}

wasmparser::for_each_operator!(costs_of_all);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_of_the_class_that_their_names_tell() {
        for (class_of, names) in [
            (
                Class::Local,
                "LocalGet LocalTee I32Const F64Const V128Const RefNull",
            ),
            (
                Class::Simple,
                "I32Add I64ShrU I32Eqz Select I32WrapI64 I64Extend8S I32Popcnt MemoryX",
            ),
            (Class::Multiply, "I32Mul I64Mul"),
            (Class::Divide, "I32DivS I64RemU"),
            (Class::Load, "I32Load I64Load8U V128Load32Splat GlobalGet"),
            (Class::Store, "I64Store32 F64Store V128Store8Lane GlobalSet"),
            (Class::Branch, "Br BrIf BrTable If"),
            (
                Class::Call,
                "Call CallIndirect ReturnCall MemoryCopy MemoryGrow",
            ),
            (
                Class::Float,
                "F32Add F64Max I32TruncF64S F64ConvertI32U F64Mul I32ReinterpretF32",
            ),
            (Class::FloatDivide, "F32Div F64Sqrt F32x4Div"),
            (Class::Vector, "I8x16Add V128And F32x4Mul I32x4DotI16x8S"),
        ] {
            for name in names.split(' ').filter(|name| *name != "MemoryX") {
                assert_eq!(class(name), class_of, "{name}");
            }
        }
    }
}
