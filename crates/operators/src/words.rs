//! How a task tells the drive which operator, and where its operands are.

use crate::operator::{Operator, Plane, Shape, Type};

/// Words of a descriptor.
pub const WORDS: usize = 14;

/// An operator, and where in the task's memory its operands are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// What is computed.
    pub operator: Operator,
    /// Where the input is.
    pub input: u32,
    /// Where the other operand is; of no effect without one.
    pub other: u32,
    /// Where the bias is; 0 is none.
    pub bias: u32,
    /// Where the output goes.
    pub output: u32,
}

impl Descriptor {
    /// As words of 32 bits: which operator, of which type, four places, and what the operator's shape is made of.
    pub fn encode(&self) -> [u32; WORDS] {
        let (kind, shape) = encode_shape(self.operator.shape);
        let of = match self.operator.of {
            Type::Int8 => 0,
            Type::Int32 => 1,
            Type::Float32 => 2,
        };
        let mut words = [0; WORDS];
        words[..6].copy_from_slice(&[kind, of, self.input, self.other, self.bias, self.output]);
        words[6..].copy_from_slice(&shape);
        words
    }

    /// What words say; nothing if there is no such operator or type.
    pub fn decode(words: [u32; WORDS]) -> Option<Descriptor> {
        let [kind, of, input, other, bias, output, shape @ ..] = words;
        let of = match of {
            0 => Type::Int8,
            1 => Type::Int32,
            2 => Type::Float32,
            _ => return None,
        };
        let operator = Operator {
            shape: decode_shape(kind, shape)?,
            of,
        };
        Some(Descriptor {
            operator,
            input,
            other,
            bias,
            output,
        })
    }
}

fn encode_shape(shape: Shape) -> (u32, [u32; 8]) {
    match shape {
        Shape::MatrixVector {
            rows,
            columns,
            vectors,
        } => (0, [rows, columns, vectors, 0, 0, 0, 0, 0]),
        Shape::Convolution {
            input,
            outputs,
            kernel,
            stride,
            padding,
        } => {
            let [channels, height, width] = of_plane(input);
            let shape = [channels, height, width, outputs, kernel, stride, padding, 0];
            (1, shape)
        }
        Shape::Add { count } => (2, [count, 0, 0, 0, 0, 0, 0, 0]),
        Shape::Multiply { count, shift } => (3, [count, shift, 0, 0, 0, 0, 0, 0]),
        Shape::Tanh { count, shift } => (4, [count, shift, 0, 0, 0, 0, 0, 0]),
        Shape::Sigmoid { count, shift } => (5, [count, shift, 0, 0, 0, 0, 0, 0]),
        Shape::Relu { count } => (6, [count, 0, 0, 0, 0, 0, 0, 0]),
        Shape::MaxPool {
            input,
            window,
            stride,
        } => {
            let [channels, height, width] = of_plane(input);
            (7, [channels, height, width, window, stride, 0, 0, 0])
        }
        Shape::AveragePool {
            input,
            window,
            stride,
        } => {
            let [channels, height, width] = of_plane(input);
            (8, [channels, height, width, window, stride, 0, 0, 0])
        }
        Shape::Narrow { count, shift } => (9, [count, shift, 0, 0, 0, 0, 0, 0]),
    }
}

fn of_plane(plane: Plane) -> [u32; 3] {
    [plane.channels, plane.height, plane.width]
}

fn decode_shape(
    kind: u32,
    [first, second, third, fourth, fifth, sixth, seventh, _]: [u32; 8],
) -> Option<Shape> {
    let input = Plane {
        channels: first,
        height: second,
        width: third,
    };
    let (count, shift, window, stride) = (first, second, fourth, fifth);
    Some(match kind {
        0 => Shape::MatrixVector {
            rows: first,
            columns: second,
            vectors: third,
        },
        1 => Shape::Convolution {
            input,
            outputs: fourth,
            kernel: fifth,
            stride: sixth,
            padding: seventh,
        },
        2 => Shape::Add { count },
        3 => Shape::Multiply { count, shift },
        4 => Shape::Tanh { count, shift },
        5 => Shape::Sigmoid { count, shift },
        6 => Shape::Relu { count },
        7 => Shape::MaxPool {
            input,
            window,
            stride,
        },
        8 => Shape::AveragePool {
            input,
            window,
            stride,
        },
        9 => Shape::Narrow { count, shift },
        _ => return None,
    })
}
