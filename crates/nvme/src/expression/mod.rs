//! Bitwise expressions over stored vectors, as trees and as the postfix bytes that cross the link.
//!
//! The code of a step is one byte: 01h operand, then the logical block it begins with (SLBA), little-endian,
//! 64 bits; 02h NOT; 03h AND, 04h OR, 05h XOR, each with a little-endian 16-bit count, at least 2,
//! of the operands it takes. An expression leaves exactly one value.
//!
//! Trees of any depth can be built, copied, compared, printed and dropped without deep recursion;
//! only encoding and decoding enforce the limits.

mod encoding;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::ops::{BitAnd, BitOr, BitXor, Not};

use crate::identifier::Lba;
use encoding::{Check, OPERAND_STEP_BYTES};
pub use encoding::{
    ExpressionError, MAX_DEPTH, MAX_ENCODED_BYTES, MAX_OPERANDS, MAX_OPERATORS, Step,
};

/// What an expression is over: anything that eight bytes can name. To the drive it is the logical block with
/// which a vector begins.
pub trait Operand: Copy + Ord + fmt::Display {
    /// The eight bytes, as a number.
    fn code(self) -> u64;
    /// The operand of these eight bytes.
    fn from_code(code: u64) -> Self;
}

impl Operand for Lba {
    fn code(self) -> u64 {
        self.get()
    }

    fn from_code(code: u64) -> Lba {
        Lba::new(code)
    }
}

impl Operand for VectorId {
    fn code(self) -> u64 {
        u64::from(self.group) | u64::from(self.vector) << 32
    }

    fn from_code(code: u64) -> VectorId {
        VectorId::new(code as u32, (code >> 32) as u32)
    }
}

/// The name of a stored vector, where a host names them by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VectorId {
    /// The group: vectors of one group can be sensed together.
    pub group: u32,
    /// The vector's number in its group.
    pub vector: u32,
}

/// A bitwise expression over vectors, each named by a `V`.
pub enum Expression<V: Operand = VectorId> {
    /// A stored vector.
    Vector(V),
    /// The complement.
    Not(Box<Expression<V>>),
    /// 1 where all operands are; two or more of them.
    And(Vec<Expression<V>>),
    /// 1 where any operand is; two or more of them.
    Or(Vec<Expression<V>>),
    /// 1 where an odd number of operands are; two or more of them.
    Xor(Vec<Expression<V>>),
}

impl VectorId {
    /// Vector `vector` of group `group`.
    pub const fn new(group: u32, vector: u32) -> VectorId {
        VectorId { group, vector }
    }
}

impl<V: Operand> Expression<V> {
    /// The AND of `operands`; one operand is itself.
    ///
    /// # Errors
    /// [`ExpressionError::Empty`] if there are none.
    pub fn all<T: Into<Expression<V>>>(
        operands: impl IntoIterator<Item = T>,
    ) -> Result<Expression<V>, ExpressionError> {
        combine(operands, Expression::And)
    }

    /// The OR of `operands`; one operand is itself.
    ///
    /// # Errors
    /// [`ExpressionError::Empty`] if there are none.
    pub fn any<T: Into<Expression<V>>>(
        operands: impl IntoIterator<Item = T>,
    ) -> Result<Expression<V>, ExpressionError> {
        combine(operands, Expression::Or)
    }

    /// The XOR of `operands`; one operand is itself.
    ///
    /// # Errors
    /// [`ExpressionError::Empty`] if there are none.
    pub fn parity<T: Into<Expression<V>>>(
        operands: impl IntoIterator<Item = T>,
    ) -> Result<Expression<V>, ExpressionError> {
        combine(operands, Expression::Xor)
    }

    /// The NAND of `operands`: 1 where not all of them are. Of one operand, its complement.
    ///
    /// # Errors
    /// [`ExpressionError::Empty`] if there are none.
    pub fn nand<T: Into<Expression<V>>>(
        operands: impl IntoIterator<Item = T>,
    ) -> Result<Expression<V>, ExpressionError> {
        Expression::all(operands).map(Expression::not)
    }

    /// The NOR of `operands`: 1 where none of them is. Of one operand, its complement.
    ///
    /// # Errors
    /// [`ExpressionError::Empty`] if there are none.
    pub fn nor<T: Into<Expression<V>>>(
        operands: impl IntoIterator<Item = T>,
    ) -> Result<Expression<V>, ExpressionError> {
        Expression::any(operands).map(Expression::not)
    }

    /// The XNOR of `operands`: 1 where an even number of them are. Of one operand, its complement.
    ///
    /// # Errors
    /// [`ExpressionError::Empty`] if there are none.
    pub fn xnor<T: Into<Expression<V>>>(
        operands: impl IntoIterator<Item = T>,
    ) -> Result<Expression<V>, ExpressionError> {
        Expression::parity(operands).map(Expression::not)
    }

    /// The operands of this node, in order; none for a vector.
    pub fn operands(&self) -> &[Expression<V>] {
        match self {
            Expression::Vector(_) => &[],
            Expression::Not(operand) => std::slice::from_ref(operand),
            Expression::And(operands) | Expression::Or(operands) | Expression::Xor(operands) => {
                operands
            }
        }
    }

    /// The steps that evaluate the expression, operands before their operator.
    pub fn steps(&self) -> Vec<Step<V>> {
        // Operators before operands, from the right, is the reverse of postfix.
        let mut steps = Vec::new();
        let mut pending = vec![self];
        while let Some(node) = pending.pop() {
            steps.push(node.step());
            pending.extend(node.operands());
        }
        steps.reverse();
        steps
    }

    /// The same expression over other operands.
    pub fn map<W: Operand>(&self, mut rename: impl FnMut(V) -> W) -> Expression<W> {
        let Ok(mapped) = self.try_map(|name| Ok::<_, Infallible>(rename(name)));
        mapped
    }

    /// The same expression over other names.
    ///
    /// # Errors
    /// The first that `rename` has no name for.
    pub fn try_map<W: Operand, E>(
        &self,
        mut rename: impl FnMut(V) -> Result<W, E>,
    ) -> Result<Expression<W>, E> {
        let mut values = Vec::new();
        for step in self.steps() {
            let step = match step {
                Step::Vector(name) => Step::Vector(rename(name)?),
                Step::Not => Step::Not,
                Step::And(count) => Step::And(count),
                Step::Or(count) => Step::Or(count),
                Step::Xor(count) => Step::Xor(count),
            };
            apply(step, &mut values);
        }
        Ok(values.pop().expect("the steps of a tree leave that tree"))
    }

    /// The distinct vectors named, ascending.
    pub fn vectors(&self) -> Vec<V> {
        let mut vectors = BTreeSet::new();
        let mut pending = vec![self];
        while let Some(node) = pending.pop() {
            if let Expression::Vector(id) = node {
                vectors.insert(*id);
            }
            pending.extend(node.operands());
        }
        vectors.into_iter().collect()
    }

    /// The bytes of the expression.
    ///
    /// # Errors
    /// When it breaks a limit, or an AND, OR or XOR has fewer than two operands.
    pub fn encode(&self) -> Result<Vec<u8>, ExpressionError> {
        let steps = self.steps();
        let mut check = Check::default();
        for step in &steps {
            check.take(*step)?;
        }
        check.finish()?;
        let mut bytes = Vec::with_capacity(steps.len() * OPERAND_STEP_BYTES);
        for step in &steps {
            step.encode_into(&mut bytes);
        }
        Ok(bytes)
    }

    /// The expression that `bytes` are.
    ///
    /// # Errors
    /// Whatever [`ExpressionError`] says; no bytes make it panic or take more than
    /// [`MAX_ENCODED_BYTES`] worth of memory.
    pub fn decode(bytes: &[u8]) -> Result<Expression<V>, ExpressionError> {
        let mut check = Check::default();
        let mut values = Vec::new();
        let mut offset = 0;
        while offset < bytes.len() {
            let (step, length) = Step::decode(&bytes[offset..], offset)?;
            check.take(step)?;
            apply(step, &mut values);
            offset += length;
        }
        check.finish()?;
        values.pop().ok_or(ExpressionError::Empty)
    }

    fn step(&self) -> Step<V> {
        match self {
            Expression::Vector(id) => Step::Vector(*id),
            Expression::Not(_) => Step::Not,
            Expression::And(operands) => Step::And(operands.len()),
            Expression::Or(operands) => Step::Or(operands.len()),
            Expression::Xor(operands) => Step::Xor(operands.len()),
        }
    }
}

fn combine<V: Operand, T: Into<Expression<V>>>(
    operands: impl IntoIterator<Item = T>,
    operator: fn(Vec<Expression<V>>) -> Expression<V>,
) -> Result<Expression<V>, ExpressionError> {
    let mut operands: Vec<Expression<V>> = operands.into_iter().map(Into::into).collect();
    match operands.len() {
        0 => Err(ExpressionError::Empty),
        1 => operands.pop().ok_or(ExpressionError::Empty),
        _ => Ok(operator(operands)),
    }
}

/// Carries out one step on trees. The values it takes must be there.
fn apply<V: Operand>(step: Step<V>, values: &mut Vec<Expression<V>>) {
    let taken = values.split_off(values.len() - step.takes());
    values.push(match step {
        Step::Vector(id) => Expression::Vector(id),
        Step::Not => {
            let operand = taken.into_iter().next();
            Expression::Not(Box::new(operand.expect("NOT takes exactly one value")))
        }
        Step::And(_) => Expression::And(taken),
        Step::Or(_) => Expression::Or(taken),
        Step::Xor(_) => Expression::Xor(taken),
    });
}

impl<V: Operand> Clone for Expression<V> {
    fn clone(&self) -> Expression<V> {
        let mut values = Vec::new();
        for step in self.steps() {
            apply(step, &mut values);
        }
        values.pop().expect("the steps of a tree leave that tree")
    }
}

impl<V: Operand> PartialEq for Expression<V> {
    fn eq(&self, other: &Expression<V>) -> bool {
        // Side by side, so that the first difference ends it: most expressions that are compared differ early.
        let (mut one, mut other) = (self, other);
        let mut pending = Vec::new();
        while one.step() == other.step() {
            pending.extend(one.operands().iter().zip(other.operands()));
            match pending.pop() {
                Some(next) => (one, other) = next,
                None => return true,
            }
        }
        false
    }
}

impl<V: Operand> Eq for Expression<V> {}

impl<V: Operand> Drop for Expression<V> {
    /// Takes deep trees apart level by level, so that their depth costs no stack.
    fn drop(&mut self) {
        if self
            .operands()
            .iter()
            .all(|operand| operand.operands().is_empty())
        {
            return;
        }
        let mut pending = self.take_operands();
        while let Some(mut node) = pending.pop() {
            pending.append(&mut node.take_operands());
        }
    }
}

impl<V: Operand> Expression<V> {
    /// Leaves this node without operands (a NOT with a vector as a placeholder).
    fn take_operands(&mut self) -> Vec<Expression<V>> {
        match self {
            Expression::Vector(_) => Vec::new(),
            Expression::Not(operand) => {
                let placeholder = Expression::Vector(V::from_code(0));
                vec![std::mem::replace(&mut **operand, placeholder)]
            }
            Expression::And(operands) | Expression::Or(operands) | Expression::Xor(operands) => {
                std::mem::take(operands)
            }
        }
    }
}

impl fmt::Display for VectorId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.group, self.vector)
    }
}

impl<V: Operand> fmt::Display for Expression<V> {
    /// Infix, every operator inside another in parentheses except NOT.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(formatter, &|id, formatter| write!(formatter, "{id}"))
    }
}

/// How an operand is written.
type Write<'a, V> = &'a dyn Fn(V, &mut fmt::Formatter<'_>) -> fmt::Result;

/// An expression whose operands are written by the names that something gives them.
struct Named<'a, V: Operand, N>(&'a Expression<V>, N);

impl<V: Operand, S: fmt::Display, N: Fn(V) -> S> fmt::Display for Named<'_, V, N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Named(expression, name) = self;
        expression.write(formatter, &|id, formatter| {
            write!(formatter, "{}", name(id))
        })
    }
}

impl<V: Operand> Expression<V> {
    /// The text that it is displayed as, with names of operands that `name` gives.
    pub fn named<S: fmt::Display>(&self, name: impl Fn(V) -> S) -> impl fmt::Display {
        Named(self, name)
    }

    fn write(&self, formatter: &mut fmt::Formatter<'_>, name: Write<'_, V>) -> fmt::Result {
        /// What is still to be printed, the next on top.
        enum Piece<'a, V: Operand> {
            Node(&'a Expression<V>, bool),
            Text(&'static str),
        }
        let mut pending = vec![Piece::Node(self, false)];
        while let Some(piece) = pending.pop() {
            let (node, nested) = match piece {
                Piece::Text(text) => {
                    formatter.write_str(text)?;
                    continue;
                }
                Piece::Node(node, nested) => (node, nested),
            };
            let separator = match node {
                Expression::Vector(id) => {
                    name(*id, formatter)?;
                    continue;
                }
                Expression::Not(operand) => {
                    formatter.write_str("!")?;
                    pending.push(Piece::Node(operand, true));
                    continue;
                }
                Expression::And(_) => " & ",
                Expression::Or(_) => " | ",
                Expression::Xor(_) => " ^ ",
            };
            if nested {
                formatter.write_str("(")?;
                pending.push(Piece::Text(")"));
            }
            for (index, operand) in node.operands().iter().enumerate().rev() {
                pending.push(Piece::Node(operand, true));
                if index > 0 {
                    pending.push(Piece::Text(separator));
                }
            }
        }
        Ok(())
    }
}

impl<V: Operand> fmt::Debug for Expression<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Expression({self})")
    }
}

impl<V: Operand> From<V> for Expression<V> {
    fn from(id: V) -> Expression<V> {
        Expression::Vector(id)
    }
}

/// Implements an operator on expressions and vectors; `a & b & c` is one AND of three.
macro_rules! operator {
    ($operator:ident, $method:ident, $variant:ident) => {
        impl<V: Operand, T: Into<Expression<V>>> $operator<T> for Expression<V> {
            type Output = Expression<V>;

            fn $method(mut self, other: T) -> Expression<V> {
                if let Expression::$variant(operands) = &mut self {
                    operands.push(other.into());
                    return self;
                }
                Expression::$variant(vec![self, other.into()])
            }
        }

        impl<T: Into<Expression>> $operator<T> for VectorId {
            type Output = Expression;

            fn $method(self, other: T) -> Expression {
                Expression::$variant(vec![self.into(), other.into()])
            }
        }
    };
}

operator!(BitAnd, bitand, And);
operator!(BitOr, bitor, Or);
operator!(BitXor, bitxor, Xor);

impl<V: Operand> Not for Expression<V> {
    type Output = Expression<V>;

    fn not(self) -> Expression<V> {
        Expression::Not(Box::new(self))
    }
}

impl Not for VectorId {
    type Output = Expression;

    fn not(self) -> Expression {
        !Expression::Vector(self)
    }
}
