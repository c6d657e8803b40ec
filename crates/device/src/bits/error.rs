//! What can go wrong in placing and planning bulk bitwise operations.

use nvme::VectorId;
use nvme::command::Home;
use thiserror::Error;

/// Why vectors cannot be placed or an expression cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BitsError {
    /// The expression or command names a vector that was never (completely) written.
    #[error("group {} holds no vector {}", .0.group, .0.vector)]
    UnknownVector(VectorId),
    /// The command names a group that holds nothing.
    #[error("there is no group {0}")]
    UnknownGroup(u32),
    /// Operands of one expression, or vectors of one group, differ in length.
    #[error(
        "vector {} of group {} has {found} bits where {expected} are required",
        .vector.vector, .vector.group
    )]
    LengthMismatch {
        /// The vector whose length does not fit.
        vector: VectorId,
        /// The length the others have, in bits.
        expected: u64,
        /// Its own length, in bits.
        found: u64,
    },
    /// A vector of no bits, or longer than a record can state.
    #[error(
        "a vector of {0} bits cannot be stored: 1 to {max} bits are allowed",
        max = super::placement::BITS_MAX
    )]
    LengthUnsupported(u64),
    /// The drive has no such dies.
    #[error(
        "a home from die {} on, over {} dies, is none: the drive has dies 0 to {}",
        .home.first, .home.dies, .dies - 1
    )]
    NoSuchHome {
        /// The home asked for.
        home: Home,
        /// Dies of the drive.
        dies: u32,
    },
    /// The group's vectors lie on other dies.
    #[error(
        "group {group} begins at die {} and has {} dies (0 means all), not {} and {}",
        .expected.first, .expected.dies, .found.first, .found.dies
    )]
    HomeMismatch {
        /// The group.
        group: u32,
        /// Its home.
        expected: Home,
        /// The home asked for.
        found: Home,
    },
    /// A plane has no block left to extend the group with.
    #[error("group {group} cannot grow: plane {plane} has no free block")]
    OutOfBlocks {
        /// The group to be extended.
        group: u32,
        /// The plane without a free block (global index).
        plane: u32,
    },
    /// The group's strings were renewed more often than a record can count.
    #[error(
        "group {0} is worn out, its row set numbers used up: write its vectors into another group"
    )]
    GroupExhausted(u32),
}
