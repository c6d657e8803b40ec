//! Bitwise expressions over stored vectors, as Python objects that operators combine.

use bitline::VectorId;
use pyo3::prelude::*;

/// An expression over vectors, given as group and number. Immutable.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Expression(pub(crate) bitline::Expression);

#[pymethods]
impl Expression {
    #[new]
    fn new(group: u32, vector: u32) -> Expression {
        Expression(VectorId::new(group, vector).into())
    }

    fn __and__(&self, other: &Expression) -> Expression {
        Expression(self.0.clone() & other.0.clone())
    }

    fn __or__(&self, other: &Expression) -> Expression {
        Expression(self.0.clone() | other.0.clone())
    }

    fn __xor__(&self, other: &Expression) -> Expression {
        Expression(self.0.clone() ^ other.0.clone())
    }

    fn __invert__(&self) -> Expression {
        Expression(!self.0.clone())
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    /// The distinct vectors named, ascending by group and number.
    fn vectors(&self) -> Vec<(u32, u32)> {
        let vectors = self.0.vectors();
        vectors.iter().map(|id| (id.group, id.vector)).collect()
    }
}
