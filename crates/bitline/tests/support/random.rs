//! Random vectors and expressions, and what expressions yield of vectors in plain memory.

#![allow(dead_code, reason = "each test uses some of it")]

use std::collections::BTreeMap;

use bitline::{Expression, VectorId};

/// Numbers that look random (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    /// A vector of `bits` bits; what its last byte holds besides is clear.
    pub(crate) fn vector(&mut self, bits: u64) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..bits.div_ceil(8)).map(|_| self.bits() as u8).collect();
        clear_tail(&mut bytes, bits);
        bytes
    }

    /// An expression over some of `vectors`, operators nested up to `depth` deep.
    pub(crate) fn expression(&mut self, vectors: &[VectorId], depth: u32) -> Expression {
        let vector = vectors[self.below(vectors.len() as u64) as usize];
        let kind = if depth == 0 { 0 } else { self.below(6) };
        if kind <= 1 {
            return vector.into();
        }
        if kind == 2 {
            return !self.expression(vectors, depth - 1);
        }
        let count = 2 + self.below(4);
        let operands: Vec<Expression> = (0..count)
            .map(|_| self.expression(vectors, depth - 1))
            .collect();
        match kind {
            3 => Expression::And(operands),
            4 => Expression::Or(operands),
            _ => Expression::Xor(operands),
        }
    }
}

pub(crate) fn clear_tail(bytes: &mut [u8], bits: u64) {
    if let (Some(last), used @ 1..) = (bytes.last_mut(), bits % 8) {
        *last &= (1 << used) - 1;
    }
}

/// What an expression yields of vectors held in plain memory.
pub(crate) fn oracle(
    expression: &Expression,
    vectors: &BTreeMap<VectorId, Vec<u8>>,
    bits: u64,
) -> Vec<u8> {
    let fold = |operands: &[Expression], apply: fn(u8, u8) -> u8| {
        let operands = operands
            .iter()
            .map(|operand| oracle(operand, vectors, bits));
        operands
            .reduce(|a, b| a.iter().zip(b).map(|(a, b)| apply(*a, b)).collect())
            .expect("operators have operands")
    };
    let mut result = match expression {
        Expression::Vector(id) => vectors[id].clone(),
        Expression::Not(inner) => oracle(inner, vectors, bits).iter().map(|b| !b).collect(),
        Expression::And(operands) => fold(operands, |a, b| a & b),
        Expression::Or(operands) => fold(operands, |a, b| a | b),
        Expression::Xor(operands) => fold(operands, |a, b| a ^ b),
    };
    clear_tail(&mut result, bits);
    result
}

pub(crate) fn ones(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(byte.count_ones())).sum()
}
