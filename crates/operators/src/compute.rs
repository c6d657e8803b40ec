//! Computes an operator's output.

use crate::number::{self, Number, rectified, shifted};
use crate::operator::{Operator, Shape, Type};
use crate::pooling::{Pool, pool};
use crate::sums::{self, Kernels};

/// Computes an operator that was checked, from operands and into an output of the sizes that it says.
///
/// # Panics
/// If they are smaller.
pub fn apply(
    operator: &Operator,
    input: &[u8],
    other: &[u8],
    bias: Option<&[u8]>,
    output: &mut [u8],
) {
    match operator.of {
        Type::Int8 => compute::<i8>(operator, input, other, bias, output),
        Type::Int32 => compute::<i32>(operator, input, other, bias, output),
        Type::Float32 => compute::<f32>(operator, input, other, bias, output),
    }
}

fn compute<N: Number>(
    operator: &Operator,
    input: &[u8],
    other: &[u8],
    bias: Option<&[u8]>,
    output: &mut [u8],
) {
    let numbers = N::all(input);
    let each = |output: &mut [u8], function: &dyn Fn(N) -> N| {
        let rooms = output.chunks_exact_mut(size_of::<N>());
        for (number, room) in numbers.iter().zip(rooms) {
            function(*number).put(room);
        }
    };
    match operator.shape {
        Shape::MatrixVector { rows, columns, .. } => {
            let begun = sums::begun::<N>(bias, rows as usize);
            let matrix = (&*N::all(other), &*begun);
            let put = |index, sum: N::Sum| sum.put(room::<N::Sum>(output, index));
            sums::matrix_vector(matrix, (&numbers, columns as usize), put);
        }
        Shape::Convolution {
            input,
            outputs,
            kernel,
            stride,
            padding,
        } => {
            let begun = sums::begun::<N>(bias, outputs as usize);
            let weights = (&*N::all(other), &*begun);
            let kernels = Kernels {
                input,
                kernel,
                stride,
                padding,
            };
            let put = |index, sum: N::Sum| sum.put(room::<N::Sum>(output, index));
            sums::convolution(operator, &kernels, weights, &numbers, put);
        }
        Shape::Add { .. } => {
            pairs(&numbers, &N::all(other), output, N::plus);
        }
        Shape::Multiply { shift, .. } => {
            pairs(&numbers, &N::all(other), output, |a, b| a.times(b, shift));
        }
        Shape::Tanh { shift, .. } => each(output, &|x| x.through(number::tanh, shift)),
        Shape::Sigmoid { shift, .. } => each(output, &|x| x.through(number::sigmoid, shift)),
        Shape::Relu { .. } => each(output, &rectified),
        Shape::MaxPool {
            input,
            window,
            stride,
        } => {
            let put = |index, number: N| number.put(room::<N>(output, index));
            pool(
                operator,
                Pool::Largest,
                (input, window, stride),
                &numbers,
                put,
            );
        }
        Shape::AveragePool {
            input,
            window,
            stride,
        } => {
            let put = |index, number: N| number.put(room::<N>(output, index));
            pool(operator, Pool::Mean, (input, window, stride), &numbers, put);
        }
        Shape::Narrow { shift, .. } => {
            for (number, room) in i32::all(input).iter().zip(output) {
                let narrow = number::saturated8(shifted((*number).into(), shift));
                *room = narrow.cast_unsigned();
            }
        }
    }
}

/// Where the number of an index goes.
fn room<N>(output: &mut [u8], index: usize) -> &mut [u8] {
    &mut output[index * size_of::<N>()..][..size_of::<N>()]
}

fn pairs<N: Number>(first: &[N], second: &[N], output: &mut [u8], function: impl Fn(N, N) -> N) {
    let rooms = output.chunks_exact_mut(size_of::<N>());
    for ((a, b), room) in first.iter().zip(second).zip(rooms) {
        function(*a, *b).put(room);
    }
}
