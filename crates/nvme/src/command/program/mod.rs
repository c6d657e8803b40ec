//! Programs that the drive runs: those of the Computational Programs command set ("CP") that load and activate them, and a vendor
//! command of a namespace's own that runs one over logical blocks of it. Their fields are in [`ADMIN_ROWS`] and [`IO_ROWS`], and
//! from there in `docs/reference/commands.md`.
//!
//! CP has programs belong to a compute namespace, and Execute Program (01h there) name ranges of memory namespaces. Here
//! programs belong to the namespace whose blocks they work on, where 01h is Write: so what runs one is a vendor opcode, and what it
//! runs on are the extents of files ([`crate::task::Request`]). Memory Range Set Management (89h) is left out, as there are no
//! memory namespaces of which sets could be made.

mod execute;
mod load;
mod rows;

pub use execute::ExecuteProgram;
pub use load::{LoadProgram, ProgramActivation, WEB_ASSEMBLY};
pub(super) use rows::{ADMIN_ROWS, IO_ROWS};
