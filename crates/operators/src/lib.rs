//! Operators that tasks of a drive call: convolution, matrix-vector product, point-wise functions, pooling (the templates of
//! TH-iSSD, TECS 2023, 4.1.1), in int8, int32 and float32. An accelerator of a drive and a task on a core, which computes by itself
//! where there is none, have the same arithmetic, so that the results have the same bits.
//!
//! # Arithmetic
//! - *int8* and *int32*: products are summed in 32 bits, which wrap around. Sums that are a result by themselves, and results that
//!   are shifted, saturate; what is shifted out is rounded to nearest, halves to even.
//! - *float32*: each product and each sum is rounded to nearest, ties to even; none are fused. Sums begin with the bias, or with +0, and
//!   go on in the order of the operands in memory. NaNs are the quiet one.
//! - Integers of tanh and sigmoid are fixed-point numbers with `shift` bits behind the point, and so are the results, which are
//!   those of float32, rounded to nearest, halves to even.
//!
//! Numbers are little-endian, tensors row-major: `[channels][height][width]`.
#![no_std]

extern crate alloc;

mod activation;
mod compute;
mod number;
mod operator;
mod pooling;
mod sums;
mod words;

pub use activation::{sigmoid, tanh};
pub use compute::apply;
pub use operator::{Impossible, MACS_MAX, Operator, Plane, Shape, Type};
pub use words::{Descriptor, WORDS};
