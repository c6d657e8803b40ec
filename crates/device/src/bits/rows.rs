//! What plans are made over: rows of strings, named for one evaluation.

use std::fmt;

/// Strings that a plan names: for each chunk one, in different blocks. Numbered within one evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowSetId(pub u32);

/// Stands for the strings that are lent to an evaluation, until they are and after.
pub const LENT: RowSetId = RowSetId(u32::MAX);

/// Marks numbers of operands whose pages are read, not sensed together with others.
const PAGE: u32 = 1 << 30;

impl RowSetId {
    /// Stands for the pages of operand number `operand`, which lie in no string of the region.
    pub fn page(operand: u32) -> RowSetId {
        RowSetId(PAGE | operand)
    }

    /// The operand whose pages it stands for.
    pub fn operand(self) -> Option<u32> {
        (self.0 & PAGE != 0 && self != LENT).then_some(self.0 & !PAGE)
    }
}

impl fmt::Display for RowSetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operand() {
            _ if *self == LENT => f.write_str("temporary"),
            Some(operand) => write!(f, "page of {operand}"),
            None => write!(f, "string {}", self.0),
        }
    }
}

/// One stored row: a wordline of the strings of a row set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// The strings.
    pub row_set: RowSetId,
    /// The wordline in every one of them.
    pub layer: u32,
    /// It holds the inverse.
    pub inverse: bool,
}

/// How an operand is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operand {
    /// It was never written, or deallocated: zeroes.
    Zeroes,
    /// In this row.
    Row(Row),
}

/// What an expression is over once its operands are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Leaf {
    /// The operand of this number.
    Stored(u32),
    /// What is brought to this layer of the strings lent.
    Brought(u32),
}

impl nvme::Operand for Leaf {
    fn code(self) -> u64 {
        match self {
            Leaf::Stored(number) => number.into(),
            Leaf::Brought(layer) => 1 << 32 | u64::from(layer),
        }
    }

    fn from_code(code: u64) -> Leaf {
        match code >> 32 {
            0 => Leaf::Stored(code as u32),
            _ => Leaf::Brought(code as u32),
        }
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leaf::Stored(number) => write!(f, "operand {number}"),
            Leaf::Brought(layer) => write!(f, "temporary {layer}"),
        }
    }
}
