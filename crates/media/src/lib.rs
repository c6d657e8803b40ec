//! What physically exists in a drive: NAND packages, channels, DRAM, the controller's cores and accelerators, the host link.

pub mod accelerator;
pub mod channel;
pub mod core;
pub mod dram;
pub mod link;
pub mod nand;
mod range;
pub mod words;

pub use range::OutOfRange;
