//! Windows over an input.

use crate::number::Number;
use crate::operator::{Operator, Plane};

/// What a window gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pool {
    Largest,
    Mean,
}

/// Windows over each plane of an input.
pub(crate) fn pool<N: Number>(
    operator: &Operator,
    pool: Pool,
    (plane, window, stride): (Plane, u32, u32),
    input: &[N],
    mut put: impl FnMut(usize, N),
) {
    let (height, width) = operator.placed();
    let columns = plane.width as usize;
    let mut index = 0;
    for channel in input.chunks_exact(plane.height as usize * columns) {
        for row in 0..height {
            for column in 0..width {
                let (top, left) = ((row * stride) as usize, (column * stride) as usize);
                let lines = channel[top * columns..].chunks(columns);
                let numbers = lines
                    .take(window as usize)
                    .flat_map(|line| line[left..][..window as usize].iter().copied());
                let number = match pool {
                    Pool::Largest => largest(numbers),
                    Pool::Mean => N::mean(numbers, window * window),
                };
                put(index, number);
                index += 1;
            }
        }
    }
}

/// The largest; the first one if it is a NaN, and no other NaN.
fn largest<N: Number>(numbers: impl Iterator<Item = N>) -> N {
    numbers
        .reduce(|most, number| if number > most { number } else { most })
        .unwrap_or(N::ZERO)
}
