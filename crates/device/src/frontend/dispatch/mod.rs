//! From a command to the job that carries it out.

mod bits;
mod compare;
pub(super) mod copy;
mod direct;
mod io;
mod uncorrectable;

pub(super) use direct::{CachedReads, DirectReads};
pub(super) use uncorrectable::Marks;
