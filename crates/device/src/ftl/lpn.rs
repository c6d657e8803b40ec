//! How logical pages are named.

/// A logical page number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lpn(pub u32);
