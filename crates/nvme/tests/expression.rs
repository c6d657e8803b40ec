//! Expressions: bytes, limits, infix form, and what they mean.

use nvme::{
    Expression, ExpressionError, MAX_DEPTH, MAX_ENCODED_BYTES, MAX_OPERANDS, MAX_OPERATORS, Status,
    Step, VectorId,
};
use proptest::prelude::*;

fn vector(number: u32) -> VectorId {
    VectorId::new(7, number)
}

/// The meaning of a tree over single words: the oracle.
fn meaning(expression: &Expression, value: &dyn Fn(VectorId) -> u64) -> u64 {
    let operands = || {
        expression
            .operands()
            .iter()
            .map(|operand| meaning(operand, value))
    };
    match expression {
        Expression::Vector(id) => value(*id),
        Expression::Not(operand) => !meaning(operand, value),
        Expression::And(_) => operands().fold(u64::MAX, |left, right| left & right),
        Expression::Or(_) => operands().fold(0, |left, right| left | right),
        Expression::Xor(_) => operands().fold(0, |left, right| left ^ right),
    }
}

/// The meaning of postfix steps, by a stack machine.
fn run(steps: &[Step], value: &dyn Fn(VectorId) -> u64) -> u64 {
    let mut stack: Vec<u64> = Vec::new();
    for step in steps {
        let taken = stack.split_off(stack.len() - step.takes());
        stack.push(match step {
            Step::Vector(id) => value(*id),
            Step::Not => !taken[0],
            Step::And(_) => taken.iter().fold(u64::MAX, |left, right| left & right),
            Step::Or(_) => taken.iter().fold(0, |left, right| left | right),
            Step::Xor(_) => taken.iter().fold(0, |left, right| left ^ right),
        });
    }
    assert_eq!(stack.len(), 1);
    stack[0]
}

/// Some word for each vector, all different.
fn word(id: VectorId) -> u64 {
    (u64::from(id.group) << 32 | u64::from(id.vector))
        .wrapping_add(1)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn expression() -> impl Strategy<Value = Expression> {
    let leaf = (any::<u32>(), 0u32..5)
        .prop_map(|(group, vector)| Expression::Vector(VectorId { group, vector }));
    leaf.prop_recursive(6, 120, 6, |inner| {
        let several = || prop::collection::vec(inner.clone(), 2..6);
        prop_oneof![
            inner.clone().prop_map(|operand| !operand),
            several().prop_map(Expression::And),
            several().prop_map(Expression::Or),
            several().prop_map(Expression::Xor),
        ]
    })
}

#[test]
fn bytes_are_as_documented() {
    let expression = (vector(1) & !vector(2)) | vector(0x0102_0304);
    let expected = [
        0x01, 7, 0, 0, 0, 1, 0, 0, 0, // 7:1
        0x01, 7, 0, 0, 0, 2, 0, 0, 0,    // 7:2
        0x02, // NOT
        0x03, 2, 0, // AND of 2
        0x01, 7, 0, 0, 0, 4, 3, 2, 1, // the third
        0x04, 2, 0, // OR of 2
    ];
    assert_eq!(expression.encode().as_deref(), Ok(&expected[..]));
    assert_eq!(<Expression>::decode(&expected), Ok(expression));
    let parity = [
        1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 5, 2, 0,
    ];
    let zero = VectorId::new(0, 0);
    assert_eq!(<Expression>::decode(&parity), Ok(zero ^ zero));
}

#[test]
fn operators_build_flat_nodes_and_print_infix() {
    let chain = vector(1) & vector(2) & vector(3);
    assert_eq!(chain.operands().len(), 3);
    let mixed = !(chain | vector(4)) ^ vector(5);
    assert_eq!(mixed.to_string(), "!((7:1 & 7:2 & 7:3) | 7:4) ^ 7:5");
    assert_eq!((!!vector(1)).to_string(), "!!7:1");
    let listed = (vector(9) & vector(2)) | (vector(9) ^ VectorId::new(1, 50));
    assert_eq!(
        listed.vectors(),
        [VectorId::new(1, 50), vector(2), vector(9)]
    );
}

#[test]
fn constructors_take_any_number() {
    assert_eq!(
        Expression::all((0..2).map(vector)),
        Ok(vector(0) & vector(1))
    );
    assert_eq!(Expression::any([vector(3)]), Ok(vector(3).into()));
    assert_eq!(
        Expression::parity((0..2).map(vector)),
        Ok(vector(0) ^ vector(1))
    );
    assert_eq!(Expression::all::<VectorId>([]), Err(ExpressionError::Empty));
    let three = || (0..3).map(vector);
    let [a, b, c] = [0, 1, 2].map(vector);
    assert_eq!(Expression::nand(three()), Ok(!(a & b & c)));
    assert_eq!(Expression::nor(three()), Ok(!(a | b | c)));
    assert_eq!(Expression::xnor(three()), Ok(!(a ^ b ^ c)));
    assert_eq!(Expression::nor([a]), Ok(!a));
    assert_eq!(
        Expression::nand::<VectorId>([]),
        Err(ExpressionError::Empty)
    );
}

#[test]
fn malformed_bytes_are_named() {
    let operand = [1, 0, 0, 0, 0, 0, 0, 0, 0];
    let with = |tail: &[u8]| <Expression>::decode(&[&operand[..], tail].concat());
    assert_eq!(<Expression>::decode(&[]), Err(ExpressionError::Empty));
    assert_eq!(
        with(&[9]),
        Err(ExpressionError::UnknownCode { code: 9, offset: 9 })
    );
    assert_eq!(
        with(&[1, 2, 3]),
        Err(ExpressionError::Truncated { offset: 9 })
    );
    assert_eq!(with(&[3, 2]), Err(ExpressionError::Truncated { offset: 9 }));
    assert_eq!(with(&[3, 1, 0]), Err(ExpressionError::Arity { count: 1 }));
    assert_eq!(
        with(&[4, 2, 0]),
        Err(ExpressionError::MissingOperands {
            wanted: 2,
            available: 1
        })
    );
    assert_eq!(
        <Expression>::decode(&[2]),
        Err(ExpressionError::MissingOperands {
            wanted: 1,
            available: 0
        })
    );
    assert_eq!(
        with(&operand),
        Err(ExpressionError::Unfinished { count: 2 })
    );
    assert_eq!(
        Status::from(ExpressionError::Empty),
        Status::INVALID_EXPRESSION
    );
}

#[test]
fn limits_hold_at_their_borders() {
    let nested = |depth: usize| (0..depth).fold(Expression::from(vector(0)), |inner, _| !inner);
    assert!(nested(MAX_DEPTH).encode().is_ok());
    assert_eq!(
        nested(MAX_DEPTH + 1).encode(),
        Err(ExpressionError::TooDeep)
    );

    let wide = |count: usize| Expression::And(vec![vector(0).into(); count]);
    let bytes = wide(MAX_OPERANDS).encode().expect("as many as allowed");
    assert_eq!(<Expression>::decode(&bytes), Ok(wide(MAX_OPERANDS)));
    assert_eq!(
        wide(MAX_OPERANDS + 1).encode(),
        Err(ExpressionError::TooManyOperands)
    );
    assert_eq!(
        <Expression>::And(vec![]).encode(),
        Err(ExpressionError::Arity { count: 0 })
    );

    let operators = |count: usize| {
        // Every operand is complemented `count / operands` times, then all are joined.
        let mut each: Vec<Expression> = vec![vector(0).into(); 128];
        for index in 0..count - 1 {
            let slot = &mut each[index % 128];
            *slot = Expression::Not(Box::new(slot.clone()));
        }
        Expression::Or(each)
    };
    assert!(operators(MAX_OPERATORS).encode().is_ok());
    assert_eq!(
        operators(MAX_OPERATORS + 1).encode(),
        Err(ExpressionError::TooManyOperators)
    );
    assert_eq!(MAX_ENCODED_BYTES, 49_152);
}

#[test]
fn depth_costs_no_stack() {
    let mut deep = Expression::from(vector(0));
    for number in 0..300_000 {
        deep = if number % 2 == 0 {
            !deep
        } else {
            vector(number) & deep
        };
    }
    let copy = deep.clone();
    assert!(copy == deep);
    assert!(copy.to_string().len() > 300_000);
    assert_eq!(copy.vectors().len(), 150_001);
    assert_eq!(copy.encode(), Err(ExpressionError::TooManyOperands));
    drop(copy);
    drop(deep);
}

proptest! {
    #[test]
    fn bytes_round_trip(expression in expression()) {
        let bytes = expression.encode().expect("small enough by construction");
        prop_assert!(bytes.len() <= MAX_ENCODED_BYTES);
        let back = <Expression>::decode(&bytes);
        prop_assert_eq!(back.as_ref(), Ok(&expression));
        prop_assert_eq!(back.map(|back| meaning(&back, &word)), Ok(meaning(&expression, &word)));
    }

    #[test]
    fn steps_mean_what_the_tree_means(expression in expression()) {
        prop_assert_eq!(run(&expression.steps(), &word), meaning(&expression, &word));
    }

    #[test]
    fn unequal_trees_have_unequal_bytes(left in expression(), right in expression()) {
        prop_assert_eq!(left == right, left.encode() == right.encode());
    }

    /// Any bytes decode or say why not; what decodes encodes to the same bytes.
    #[test]
    fn decoding_is_total(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(expression) = <Expression>::decode(&bytes) {
            prop_assert_eq!(expression.encode(), Ok(bytes));
        }
    }

    /// The same with bytes that look like steps, so that deep inside is reached too.
    #[test]
    fn decoding_is_total_on_plausible_steps(
        steps in prop::collection::vec((0u8..7, 0u16..4, any::<u8>()), 0..60),
        missing in 0usize..9,
    ) {
        let mut bytes = Vec::new();
        for (code, count, number) in steps {
            bytes.push(code);
            match code {
                1 => bytes.extend([0, 0, 0, 0, number, 0, 0, 0]),
                3..=5 => bytes.extend(count.to_le_bytes()),
                _ => {}
            }
        }
        bytes.truncate(bytes.len().saturating_sub(missing));
        if let Ok(expression) = <Expression>::decode(&bytes) {
            prop_assert_eq!(expression.encode(), Ok(bytes));
        }
    }
}
