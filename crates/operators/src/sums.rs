//! Sums of products.

use alloc::vec;
use alloc::vec::Vec;

use crate::number::Number;
use crate::operator::{Operator, Plane};

/// Rows of a matrix that are gone through together: their sums do not wait for each other.
const ROWS: usize = 8;

/// What sums begin with.
pub(crate) fn begun<N: Number>(bias: Option<&[u8]>, count: usize) -> Vec<N::Sum> {
    bias.map_or_else(|| vec![N::Sum::ZERO; count], N::Sum::all)
}

/// A matrix of as many rows as there are biases times each vector.
pub(crate) fn matrix_vector<N: Number>(
    (matrix, bias): (&[N], &[N::Sum]),
    (vectors, columns): (&[N], usize),
    mut put: impl FnMut(usize, N::Sum),
) {
    let mut index = 0;
    for vector in vectors.chunks_exact(columns) {
        let rows = matrix.chunks(columns * ROWS).zip(bias.chunks(ROWS));
        for (rows, bias) in rows {
            let mut sums = [N::Sum::ZERO; ROWS];
            sums[..bias.len()].copy_from_slice(bias);
            if N::IN_ORDER && bias.len() == ROWS {
                together(&mut sums, rows, vector);
            } else {
                for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(columns)) {
                    let products = row.iter().zip(vector);
                    *sum = products.fold(*sum, |sum, (a, b)| N::summed(sum, *a, *b));
                }
            }
            for sum in &sums[..bias.len()] {
                put(index, *sum);
                index += 1;
            }
        }
    }
}

fn together<N: Number>(sums: &mut [N::Sum; ROWS], rows: &[N], vector: &[N]) {
    let columns = vector.len();
    let rows: [&[N]; ROWS] = core::array::from_fn(|row| &rows[row * columns..][..columns]);
    for (column, b) in vector.iter().enumerate() {
        for (sum, row) in sums.iter_mut().zip(&rows) {
            *sum = N::summed(*sum, row[column], *b);
        }
    }
}

/// A convolution's extents.
pub(crate) struct Kernels {
    pub(crate) input: Plane,
    pub(crate) kernel: u32,
    pub(crate) stride: u32,
    pub(crate) padding: u32,
}

/// Kernels, as many as there are biases, over an input. Each sum goes through channels, rows and columns of its kernel.
pub(crate) fn convolution<N: Number>(
    operator: &Operator,
    kernels: &Kernels,
    (weights, bias): (&[N], &[N::Sum]),
    input: &[N],
    mut put: impl FnMut(usize, N::Sum),
) {
    let (height, width) = operator.placed();
    let plane = kernels.input;
    let (rows, columns) = (plane.height as usize, plane.width as usize);
    let kernel = kernels.kernel as usize;
    let of_output = plane.channels as usize * kernel * kernel;
    let mut sums = vec![N::Sum::ZERO; width as usize];
    let mut index = 0;
    for (weights, bias) in weights.chunks_exact(of_output).zip(bias) {
        for row in 0..height {
            sums.fill(*bias);
            let mut weights = weights.iter();
            for channel in input.chunks_exact(rows * columns) {
                for down in 0..kernels.kernel {
                    let weights = weights.by_ref().take(kernel);
                    let at = u64::from(row) * u64::from(kernels.stride) + u64::from(down);
                    let Some(at) = inside(at, kernels.padding, plane.height) else {
                        weights.for_each(drop);
                        continue;
                    };
                    let line = &channel[at * columns..][..columns];
                    for (across, weight) in weights.enumerate() {
                        add(kernels, &mut sums, line, (across as u32, *weight));
                    }
                }
            }
            for sum in &sums {
                put(index, *sum);
                index += 1;
            }
        }
    }
}

/// Where in the input something is that lies so far from the beginning of the padding.
fn inside(at: u64, padding: u32, extent: u32) -> Option<usize> {
    let at = at.checked_sub(padding.into())?;
    (at < extent.into()).then_some(at as usize)
}

/// Adds what one weight gives to the sums of a row.
fn add<N: Number>(kernels: &Kernels, sums: &mut [N::Sum], line: &[N], (across, weight): (u32, N)) {
    let (stride, padding) = (kernels.stride as usize, kernels.padding as usize);
    let across = across as usize;
    // The first and the last place at which the weight lies over the line.
    let first = padding.saturating_sub(across).div_ceil(stride);
    let past = (line.len() + padding)
        .saturating_sub(across)
        .div_ceil(stride);
    let past = past.min(sums.len());
    if first >= past {
        return;
    }
    let from = first * stride + across - padding;
    let numbers = line[from..].iter().step_by(stride);
    for (sum, number) in sums[first..past].iter_mut().zip(numbers) {
        *sum = N::summed(*sum, *number, weight);
    }
}
