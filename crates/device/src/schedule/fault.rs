//! What can go wrong with a flash transaction.

use media::nand::{BlockId, PageAddress};

/// A transaction that did not do what it was to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The page's bits could not be made out.
    #[error("uncorrectable read of page {} in block {}", .0.page, .0.block.0)]
    Uncorrectable(PageAddress),
    /// The page has more errors than can be copied inside its die; it is to be read and corrected.
    #[error("page {} in block {} must be corrected outside its die", .0.page, .0.block.0)]
    NeedsCorrection(PageAddress),
    /// The die reports that a program failed: the page holds nothing of worth. Or a raise of cells: each of them is raised or
    /// not, and the page can be read.
    #[error("program of page {} in block {} failed", .0.page, .0.block.0)]
    ProgramFailed(PageAddress),
    /// The die reports that an erase failed; the block is worn out.
    #[error("erase of block {} failed", .0.0)]
    EraseFailed(BlockId),
    /// The die refused the command, an error of the firmware and not of the flash; or an image whose disk
    /// takes nothing has no room in memory left. The drive reports it as an internal error and goes on.
    #[error("the die refused a command for block {}", .0.0)]
    Refused(BlockId),
}
