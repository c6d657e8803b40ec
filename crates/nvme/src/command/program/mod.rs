//! Programs that the drive runs: those commands of the Computational Programs command set ("CP") that load and activate them, and a
//! vendor command of a namespace of blocks that runs one over files in it. Their fields are in [`ADMIN_ROWS`] and [`IO_ROWS`], and
//! from there in `docs/reference/commands.md`.
//!
//! CP has programs belong to a compute namespace, and its Execute Program run them over ranges of memory ([`super::compute`]). What
//! it cannot say is files in a transaction: that is the vendor command, whose request ([`crate::task::Request`]) names extents of
//! the namespace that the command addresses; the program is one of a compute namespace, or of that namespace itself.

mod execute;
mod load;
mod rows;

pub use execute::ExecuteProgram;
pub use load::{LoadProgram, ProgramActivation, WEB_ASSEMBLY};
pub(super) use rows::{ADMIN_ROWS, IO_ROWS};
