//! What operators there are, how large their operands are and how much there is to compute.

/// Multiplications of one operator at most: more are to be several.
pub const MACS_MAX: u64 = 1 << 32;

/// The most that any extent may be, so that no number of bytes is beyond 64 bits.
const EXTENT_MAX: u32 = 1 << 28;

/// What the numbers of an operand are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Signed, of one byte.
    Int8,
    /// Signed, of four bytes.
    Int32,
    /// IEEE 754, of four bytes.
    Float32,
}

impl Type {
    /// Bytes of a number.
    pub const fn bytes(self) -> u64 {
        match self {
            Type::Int8 => 1,
            Type::Int32 | Type::Float32 => 4,
        }
    }

    /// Of the sums of products: 32 bits.
    const fn of_sums(self) -> Type {
        match self {
            Type::Int8 | Type::Int32 => Type::Int32,
            Type::Float32 => Type::Float32,
        }
    }
}

/// A tensor of so many planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Planes.
    pub channels: u32,
    /// Rows of each.
    pub height: u32,
    /// Numbers of a row.
    pub width: u32,
}

impl Plane {
    const fn count(self) -> u64 {
        self.channels as u64 * self.height as u64 * self.width as u64
    }
}

/// What is computed, of operands how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A matrix `[rows][columns]` (the other operand) times each of some vectors `[vectors][columns]`, plus a bias
    /// `[rows]`: `[vectors][rows]`, of 32 bits.
    MatrixVector {
        /// Rows of the matrix.
        rows: u32,
        /// Columns of the matrix.
        columns: u32,
        /// Vectors.
        vectors: u32,
    },
    /// Kernels `[outputs][channels][kernel][kernel]` (the other operand) over the input, plus a bias `[outputs]`:
    /// `[outputs][height][width]`, of 32 bits. What lies outside of the input adds nothing.
    Convolution {
        /// The input.
        input: Plane,
        /// Kernels.
        outputs: u32,
        /// Rows and columns of a kernel.
        kernel: u32,
        /// How far the kernel moves.
        stride: u32,
        /// Rows and columns around the input.
        padding: u32,
    },
    /// Sums of numbers of two operands, saturated.
    Add {
        /// Numbers.
        count: u32,
    },
    /// Products of numbers of two operands, those of integers shifted to the right, rounded and saturated.
    Multiply {
        /// Numbers.
        count: u32,
        /// Bits to shift out.
        shift: u32,
    },
    /// The hyperbolic tangent.
    Tanh {
        /// Numbers.
        count: u32,
        /// Bits behind the point of integers.
        shift: u32,
    },
    /// 1 / (1 + e^-x).
    Sigmoid {
        /// Numbers.
        count: u32,
        /// Bits behind the point of integers.
        shift: u32,
    },
    /// What is above 0, else 0.
    Relu {
        /// Numbers.
        count: u32,
    },
    /// The largest of each window.
    MaxPool {
        /// The input.
        input: Plane,
        /// Rows and columns of a window.
        window: u32,
        /// How far the window moves.
        stride: u32,
    },
    /// The mean of each window, that of integers rounded to nearest, halves to even.
    AveragePool {
        /// The input.
        input: Plane,
        /// Rows and columns of a window.
        window: u32,
        /// How far the window moves.
        stride: u32,
    },
    /// int32 to int8, shifted to the right, rounded and saturated. Its type is int32.
    Narrow {
        /// Numbers.
        count: u32,
        /// Bits to shift out.
        shift: u32,
    },
}

/// An operator: what it computes, of which numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operator {
    /// What is computed.
    pub shape: Shape,
    /// Of which numbers.
    pub of: Type,
}

/// There is no such operator: an extent is 0 or beyond all bounds, a window larger than what it moves over, a shift of
/// more than 31 bits, or there is more to multiply than [`MACS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Impossible;

/// How often a window fits.
pub(crate) const fn places(extent: u32, window: u32, stride: u32) -> u32 {
    (extent - window) / stride + 1
}

impl Operator {
    /// Checks that it can be computed.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self) -> Result<(), Impossible> {
        let is_possible = match self.shape {
            Shape::MatrixVector {
                rows,
                columns,
                vectors,
            } => are_extents([rows, columns, vectors]),
            Shape::Convolution {
                input,
                outputs,
                kernel,
                stride,
                padding,
            } => {
                is_plane(input)
                    && are_extents([outputs, kernel, stride])
                    && padding < kernel
                    && kernel <= input.height + 2 * padding
                    && kernel <= input.width + 2 * padding
            }
            Shape::Add { count } | Shape::Relu { count } => are_extents([count]),
            Shape::Multiply { count, shift }
            | Shape::Tanh { count, shift }
            | Shape::Sigmoid { count, shift } => are_extents([count]) && shift < 32,
            Shape::MaxPool {
                input,
                window,
                stride,
            }
            | Shape::AveragePool {
                input,
                window,
                stride,
            } => {
                is_plane(input)
                    && are_extents([window, stride])
                    && window <= input.height.min(input.width)
            }
            Shape::Narrow { count, shift } => {
                self.of == Type::Int32 && are_extents([count]) && shift < 32
            }
        };
        let is_small = || self.macs().is_some_and(|macs| macs <= MACS_MAX);
        match is_possible && is_small() {
            true => Ok(()),
            false => Err(Impossible),
        }
    }

    /// Rows and columns that a window gives.
    pub(crate) fn placed(&self) -> (u32, u32) {
        match self.shape {
            Shape::Convolution {
                input,
                kernel,
                stride,
                padding,
                ..
            } => (
                places(input.height + 2 * padding, kernel, stride),
                places(input.width + 2 * padding, kernel, stride),
            ),
            Shape::MaxPool {
                input,
                window,
                stride,
            }
            | Shape::AveragePool {
                input,
                window,
                stride,
            } => (
                places(input.height, window, stride),
                places(input.width, window, stride),
            ),
            _ => (1, 1),
        }
    }

    /// Multiplications whose products are summed; none beyond 64 bits.
    pub fn macs(&self) -> Option<u64> {
        match self.shape {
            Shape::MatrixVector {
                rows,
                columns,
                vectors,
            } => product([rows, columns, vectors]),
            Shape::Convolution {
                input,
                outputs,
                kernel,
                ..
            } => {
                let (height, width) = self.placed();
                product([outputs, height, width, input.channels, kernel, kernel])
            }
            _ => Some(0),
        }
    }

    /// Other operations on numbers: one for each number of an input that is looked at.
    pub fn operations(&self) -> u64 {
        match self.shape {
            Shape::MatrixVector { .. } | Shape::Convolution { .. } => 0,
            Shape::Add { count }
            | Shape::Multiply { count, .. }
            | Shape::Tanh { count, .. }
            | Shape::Sigmoid { count, .. }
            | Shape::Relu { count }
            | Shape::Narrow { count, .. } => count.into(),
            Shape::MaxPool { window, .. } | Shape::AveragePool { window, .. } => {
                let numbers = self.output_bytes() / self.of.bytes();
                numbers.saturating_mul(u64::from(window).saturating_mul(window.into()))
            }
        }
    }

    /// Bytes of the input.
    pub fn input_bytes(&self) -> u64 {
        let numbers = match self.shape {
            Shape::MatrixVector {
                columns, vectors, ..
            } => u64::from(columns) * u64::from(vectors),
            Shape::Convolution { input, .. }
            | Shape::MaxPool { input, .. }
            | Shape::AveragePool { input, .. } => input.count(),
            _ => self.operations(),
        };
        numbers * self.of.bytes()
    }

    /// Bytes of the other operand: matrix, kernels, or the second of two; 0 without one.
    pub fn other_bytes(&self) -> u64 {
        let numbers = match self.shape {
            Shape::MatrixVector { rows, columns, .. } => u64::from(rows) * u64::from(columns),
            Shape::Convolution {
                input,
                outputs,
                kernel,
                ..
            } => product([outputs, input.channels, kernel, kernel]).unwrap_or(u64::MAX / 4),
            Shape::Add { count } | Shape::Multiply { count, .. } => count.into(),
            _ => 0,
        };
        numbers * self.of.bytes()
    }

    /// Bytes of the bias, where there is one.
    pub fn bias_bytes(&self) -> u64 {
        let numbers = match self.shape {
            Shape::MatrixVector { rows, .. } => rows,
            Shape::Convolution { outputs, .. } => outputs,
            _ => 0,
        };
        u64::from(numbers) * self.of.of_sums().bytes()
    }

    /// Bytes of the output.
    pub fn output_bytes(&self) -> u64 {
        let (height, width) = self.placed();
        match self.shape {
            Shape::MatrixVector { rows, vectors, .. } => {
                u64::from(rows) * u64::from(vectors) * self.of.of_sums().bytes()
            }
            Shape::Convolution { outputs, .. } => {
                let numbers = product([outputs, height, width]).unwrap_or(u64::MAX / 4);
                numbers * self.of.of_sums().bytes()
            }
            Shape::MaxPool { input, .. } | Shape::AveragePool { input, .. } => {
                u64::from(input.channels) * u64::from(height) * u64::from(width) * self.of.bytes()
            }
            Shape::Narrow { count, .. } => count.into(),
            _ => self.input_bytes(),
        }
    }

    /// Whether the output may lie where an operand does.
    pub fn is_in_place(&self) -> bool {
        matches!(
            self.shape,
            Shape::Add { .. }
                | Shape::Multiply { .. }
                | Shape::Tanh { .. }
                | Shape::Sigmoid { .. }
                | Shape::Relu { .. }
        )
    }
}

fn are_extents<const COUNT: usize>(extents: [u32; COUNT]) -> bool {
    extents
        .iter()
        .all(|extent| (1..=EXTENT_MAX).contains(extent))
}

/// No more numbers than a memory of 4 GiB holds.
fn is_plane(plane: Plane) -> bool {
    let extents = [plane.channels, plane.height, plane.width];
    are_extents(extents) && product(extents).is_some_and(|count| count <= 1 << 32)
}

fn product<const COUNT: usize>(factors: [u32; COUNT]) -> Option<u64> {
    let mut factors = factors.iter();
    factors.try_fold(1_u64, |product, factor| {
        product.checked_mul((*factor).into())
    })
}
