//! Bitwise expressions over stored vectors, made in one go from what Python has put together.

use bitline::VectorId;
use pyo3::prelude::*;

use crate::error::usage;

/// An expression over vectors, given as group and number. Immutable.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Expression(pub(crate) bitline::Expression);

#[pymethods]
impl Expression {
    #[new]
    fn new(group: u32, vector: u32) -> Expression {
        Expression(VectorId::new(group, vector).into())
    }

    /// All of `operands` under one operator: `&`, `|` or `^`.
    #[staticmethod]
    fn combine(operator: &str, operands: Vec<PyRef<'_, Expression>>) -> PyResult<Expression> {
        let operands = operands.iter().map(|operand| operand.0.clone());
        let combined = match operator {
            "&" => bitline::Expression::all(operands),
            "|" => bitline::Expression::any(operands),
            "^" => bitline::Expression::parity(operands),
            _ => return Err(usage(format!("there is no operator {operator:?}"))),
        };
        let combined = combined.map_err(|error| usage(error.to_string()))?;
        Ok(Expression(combined))
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
